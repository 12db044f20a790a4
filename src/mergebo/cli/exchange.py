"""`mergebo import` and `mergebo export`: results from tables and for tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from mergebo.cli.screen import STATES, Json, as_data, print_json, say, writing
from mergebo.cli.studies import HERE, REASON, Name, Storage, Study, load
from mergebo.cli.words import ORDER, read_number
from mergebo.errors import ArgumentError, MergeboError, TableError, unknown_choice

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

SEPARATORS = ",;\t"
"""What may be between cells; the one that the head line has most of."""
DECIMAL = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
"""A number with a decimal comma, as tables have it in some languages."""
SHOWN = 8
"""Errors of a table that are shown at once."""


def slots(study: Study) -> list[str]:
    """The columns of an order: one for each slot, from 1 on, as people count."""
    order: Any = study.space.variables[ORDER]
    return [f"{ORDER} {slot + 1}" for slot in range(order.length)]


def columns_of(study: Study) -> dict[str, list[str]]:
    """The columns of every variable but the order."""
    out = {}
    for name, variable in study.space.variables.items():
        if name != ORDER:
            out[name] = [name] if variable.width == 1 else [f"{name} {k + 1}" for k in range(variable.width)]
    return out


def objective_columns(study: Study, what: str) -> list[str]:
    """The columns of what there is once for each objective: `value` and `noise`."""
    count = len(study.directions)
    return [what] if count == 1 else [f"{what} {k + 1}" for k in range(count)]


def export(
    out: Annotated[Path | None, typer.Option(help="The file; standard output otherwise.")] = None,
    storage: Storage = HERE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Write all trials as a table (CSV), one column for every slot of the order. `mergebo import` reads it again.

    Example: `mergebo export --out results.csv`
    """
    study = load(storage, name)
    trials = study.trials()
    if as_json and out is None:
        print_json([as_data(study, trial) for trial in trials])
        return
    if as_json:
        raise ArgumentError("--json is for the standard output, --out for a table; leave one of them out")
    text = table_text(study)
    if out is None:
        typer.echo(text, nl=False)
        return
    with writing(out):
        out.write_text(text, encoding="utf-8")
    say(f"{len(trials)} trials are in {out}.")


def table_text(study: Study) -> str:
    """All trials as a table, which `read_table` reads."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            *("trial", "state", *objective_columns(study, "value"), *slots(study)),
            *(each for some in columns_of(study).values() for each in some),
            *(*objective_columns(study, "noise"), "reason"),
        ]
    )
    for trial in study.trials():
        writer.writerow(_cells(study, trial))
    return text.getvalue()


def _cells(study: Study, trial: FrozenTrial) -> Iterator[Any]:
    """The cells of a trial, in the order of the columns."""
    from mergebo.integrations.optuna import NOISE

    nothing = [""] * len(study.directions)
    yield trial.number
    yield STATES[trial.state.name]
    yield from trial.values or nothing
    point = study.point(trial)
    yield from [""] * len(slots(study)) if point is None else point[ORDER]
    for name, columns in columns_of(study).items():
        value = "" if point is None else point[name]
        yield from value if isinstance(value, list) else [value] * len(columns)
    noise = trial.user_attrs.get(NOISE, nothing)
    yield from noise if isinstance(noise, list) else [noise]
    yield trial.user_attrs.get(REASON, "")


class Line(NamedTuple):
    """One result of a table."""

    point: dict[str, Any]
    values: list[float]
    noise: list[float] | None


def import_(
    table: Annotated[Path, typer.Argument(metavar="FILE", help="A table with a head line (CSV).")],
    separator: Annotated[str, typer.Option(help="What is between items, if one column `order` holds whole orders.")] = ">",
    storage: Storage = HERE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Add results from elsewhere. All lines are checked first: with an error anywhere nothing is added.

    Columns are `value` and `order 1`, `order 2`, ... with an item in each, as `export` writes them, or one column `order`
    with whole orders (`acid > base > salt`), and those of other variables by their names. A column `noise` may hold standard
    deviations. Other columns are left alone, as are lines whose state is not `done`. Results that the study has already are
    not added again, unless it is `--noisy`, where they count as measured once more. Cells are separated by commas,
    semicolons or tabs.

    Example: `mergebo import results.csv`
    """
    study = load(storage, name)
    lines = read_table(study, table, separator)
    have = {(str(trial.params), str(trial.values)) for trial in study.trials()}
    added = []
    for line in lines:
        trial = _trial(study, line, table.name)
        if (key := (str(trial.params), str(trial.values))) not in have or study.setup.noisy:
            have.add(key)
            added.append(trial)
    study.optuna.add_trials(added)
    there = len(lines) - len(added)
    if as_json:
        print_json({"added": len(added), "there already": there})
        return
    said = "1 result was added" if len(added) == 1 else f"{len(added)} results were added"
    say(said + (f", {there} {'was' if there == 1 else 'were'} there already." if there else "."))


def _trial(study: Study, line: Line, source: str) -> FrozenTrial:
    """A finished trial with the result of a line."""
    import optuna

    from mergebo.integrations.optuna import NOISE, distributions, params

    attributes: dict[str, Any] = {ORDER: list(line.point[ORDER]), "mergebo:from": source}
    if line.noise is not None:
        attributes[NOISE] = line.noise if len(line.noise) > 1 else line.noise[0]
    return optuna.create_trial(
        params=params(study.space, line.point),
        distributions=distributions(study.space),
        values=line.values,
        user_attrs=attributes,
    )


def read_table(study: Study, table: Path, separator: str = ">") -> list[Line]:
    """The results of a table, or one error that says what is wrong in which lines."""
    if not separator.strip():
        raise ArgumentError("--separator is what is written between two items, such as >")
    head, rows = _read_cells(table)
    whole = ORDER in head and slots(study)[0] not in head
    needed = [
        *objective_columns(study, "value"),
        *([ORDER] if whole else slots(study)),
        *(each for some in columns_of(study).values() for each in some),
    ]
    missing = [each for each in needed if each not in head]
    if missing:
        raise TableError(
            f"{table} has no column {', '.join(map(repr, missing[:SHOWN]))}; it has "
            f"{', '.join(map(repr, head[:SHOWN])) or 'none'}. `mergebo export` writes a table with the right ones"
        )
    twice = [each for each in needed if head.count(each) > 1]
    if twice:
        raise TableError(f"{table} has the column {twice[0]!r} more than once")
    found, wrong = [], []
    for line, cells in rows:
        try:
            if len(cells) != len(head):
                raise TableError(f"there are {len(cells)} cells for {len(head)} columns")
            row = dict(zip(head, cells, strict=True))
            if row.get("state", "done") in ("", "done"):
                found.append(_read(study, row, whole, separator.strip()))
        except MergeboError as error:
            wrong.append(f"  line {line}: {error}")
    if wrong:
        rest = f"\n  and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise TableError(f"nothing was added, for in {table}\n" + "\n".join(wrong[:SHOWN]) + rest)
    return found


def _read_cells(table: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The head of a table, and its other lines that are not blank, with their numbers."""
    try:
        text = table.read_text(encoding="utf-8-sig")
        first = text.lstrip().partition("\n")[0]
        separator = max(SEPARATORS, key=first.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    except OSError as error:
        raise TableError(f"{table} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TableError(f"{table} is not a text file in UTF-8: {error}") from error
    except csv.Error as error:
        raise TableError(f"{table} is not a table (CSV): line {reader.line_num}: {error}") from error
    if not rows:
        raise TableError(f"{table} is empty")
    if separator != ",":  # then numbers may have a decimal comma
        rows = [(line, [cell.replace(",", ".") if DECIMAL.fullmatch(cell) else cell for cell in row]) for line, row in rows]
    return rows[0][1], rows[1:]


def _read(study: Study, row: Mapping[str, str], whole: bool, separator: str) -> Line:
    """One line."""
    values = [read_number(row[column], column, TableError) for column in objective_columns(study, "value")]
    noise = [row[column] for column in objective_columns(study, "noise") if row.get(column)]
    if noise and len(noise) != len(values):
        raise TableError(f"noise is there for each objective or for none, got {', '.join(noise)}")
    deviations = [read_number(cell, "noise", TableError) for cell in noise]
    if any(each < 0 for each in deviations):
        raise TableError(f"noise is a standard deviation, which is not negative, got {', '.join(noise)}")
    order: Any = study.space.variables[ORDER]
    items = [each.strip() for each in row[ORDER].split(separator)] if whole else [row[column] for column in slots(study)]
    for item in items:
        order.number(item)
    point: dict[str, Any] = {ORDER: items}
    for name, columns in columns_of(study).items():
        point[name] = _value(study.space.variables[name], name, [row[column] for column in columns])
    study.space.encode(point)
    return Line(point, values, deviations or None)


def _value(variable: Any, name: str, cells: list[str]) -> Any:
    """The value of a variable that is no order."""
    from mergebo.spaces import Binary, Choice, Integer

    match variable:
        case Choice(options):
            if cells[0] not in options:
                raise unknown_choice(name, cells[0], options)
            return cells[0]
        case Binary():
            return [_whole(name, cell) for cell in cells]
        case Integer():
            return _whole(name, cells[0])
    return read_number(cells[0], name, TableError)


def _whole(column: str, cell: str) -> int:
    number = read_number(cell, column, TableError)
    if number != int(number):
        raise TableError(f"{column} is a whole number, got {cell!r}")
    return int(number)
