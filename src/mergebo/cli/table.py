"""`mergebo import` and `mergebo export`: results as tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from mergebo.cli.options import ORDER, read_number
from mergebo.cli.output import STATES, Json, as_data, echo, print_json, writing
from mergebo.cli.studies import DEFAULT_STORAGE, REASON, Name, Storage, Study, load
from mergebo.errors import ArgumentError, MergeboError, TableError, unknown_choice

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

SEPARATORS = ",;\t"
"""Possible separators of cells; the most frequent one in the header is used."""
DECIMAL = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
"""A number with a decimal comma, as in tables of some locales."""
MAX_SHOWN = 8
"""Maximum number of errors or columns that a message lists."""


def slots(study: Study) -> list[str]:
    """The columns of the order: one for each slot, counted from 1."""
    order: Any = study.space.variables[ORDER]
    return [f"{ORDER} {slot + 1}" for slot in range(order.length)]


def columns_of(study: Study) -> dict[str, list[str]]:
    """The columns of every variable other than the order."""
    out = {}
    for name, variable in study.space.variables.items():
        if name != ORDER:
            out[name] = [name] if variable.width == 1 else [f"{name} {k + 1}" for k in range(variable.width)]
    return out


def objective_columns(study: Study, name: str) -> list[str]:
    """The columns of a quantity that exists for each objective: `value` or `noise`."""
    count = len(study.directions)
    return [name] if count == 1 else [f"{name} {k + 1}" for k in range(count)]


def export(
    out: Annotated[Path | None, typer.Option(help="Output file; standard output by default.")] = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Export all trials as a CSV table, with a column for each slot of the order. `mergebo import` reads it back.

    Example: `mergebo export --out results.csv`
    """
    study = load(storage, name)
    trials = study.trials()
    if as_json and out is None:
        print_json([as_data(study, trial) for trial in trials])
        return
    if as_json:
        raise ArgumentError("--json prints to the standard output and --out writes a table; use one of them")
    text = table_text(study)
    if out is None:
        typer.echo(text, nl=False)
        return
    with writing(out):
        out.write_text(text, encoding="utf-8")
    echo(f"Exported {len(trials)} trials to {out}.")


def table_text(study: Study) -> str:
    """All trials as a table that `read_table` can read."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            *("trial", "state", *objective_columns(study, "value"), *slots(study)),
            *(column for columns in columns_of(study).values() for column in columns),
            *(*objective_columns(study, "noise"), "reason"),
        ]
    )
    for trial in study.trials():
        writer.writerow(_cells(study, trial))
    return text.getvalue()


def _cells(study: Study, trial: FrozenTrial) -> Iterator[Any]:
    """The cells of a trial, in the order of the columns."""
    from mergebo.integrations.optuna import NOISE

    empty = [""] * len(study.directions)
    yield trial.number
    yield STATES[trial.state.name]
    yield from trial.values or empty
    point = study.point(trial)
    yield from [""] * len(slots(study)) if point is None else point[ORDER]
    for name, columns in columns_of(study).items():
        value = "" if point is None else point[name]
        yield from value if isinstance(value, list) else [value] * len(columns)
    noise = trial.user_attrs.get(NOISE, empty)
    yield from noise if isinstance(noise, list) else [noise]
    yield trial.user_attrs.get(REASON, "")


class Line(NamedTuple):
    """One result in a table."""

    point: dict[str, Any]
    values: list[float]
    noise: list[float] | None


def import_(
    table: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV table with a header line.")],
    separator: Annotated[
        str, typer.Option(help="Separator of the items, if a single column `order` holds the order.")
    ] = ">",
    storage: Storage = DEFAULT_STORAGE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Import results from a CSV table. All lines are checked first; if any is invalid, nothing is added.

    The table has a column `value`; columns `order 1`, `order 2`, ... with one item each, as written by `export`, or a single
    column `order` such as `acid > base > salt`; and a column for each other variable. A column `noise` may hold standard
    deviations. Other columns are ignored, and so are lines whose state is not `done`. Cells are separated by commas,
    semicolons or tabs.

    Results that the study already has are skipped, unless it is `--noisy`: then they count as repeated measurements.

    Example: `mergebo import results.csv`
    """
    study = load(storage, name)
    lines = read_table(study, table, separator)
    known = {(str(trial.params), str(trial.values)) for trial in study.trials()}
    added = []
    for line in lines:
        trial = _trial(study, line, table.name)
        if (key := (str(trial.params), str(trial.values))) not in known or study.config.noisy:
            known.add(key)
            added.append(trial)
    study.optuna.add_trials(added)
    skipped = len(lines) - len(added)
    if as_json:
        print_json({"added": len(added), "there already": skipped})
        return
    results = "1 result" if len(added) == 1 else f"{len(added)} results"
    echo(f"Imported {results}" + (f"; skipped {skipped} that the study already has." if skipped else "."))


def _trial(study: Study, line: Line, source: str) -> FrozenTrial:
    """A complete trial with the result of a line."""
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
    """The results in a table; raises one error that lists all invalid lines."""
    if not separator.strip():
        raise ArgumentError("--separator must be the text between two items, such as >")
    header, rows = _read_cells(table)
    single_column = ORDER in header and slots(study)[0] not in header
    required = [
        *objective_columns(study, "value"),
        *([ORDER] if single_column else slots(study)),
        *(column for columns in columns_of(study).values() for column in columns),
    ]
    missing = [column for column in required if column not in header]
    if missing:
        raise TableError(
            f"{table} has no column {', '.join(map(repr, missing[:MAX_SHOWN]))}; it has "
            f"{', '.join(map(repr, header[:MAX_SHOWN])) or 'none'}. `mergebo export` writes a table with the right columns"
        )
    duplicates = [column for column in required if header.count(column) > 1]
    if duplicates:
        raise TableError(f"{table} has the column {duplicates[0]!r} more than once")
    lines, invalid = [], []
    for number, cells in rows:
        try:
            if len(cells) != len(header):
                raise TableError(f"there are {len(cells)} cells for {len(header)} columns")
            row = dict(zip(header, cells, strict=True))
            if row.get("state", "done") in ("", "done"):
                lines.append(_read(study, row, single_column, separator.strip()))
        except MergeboError as error:
            invalid.append(f"  line {number}: {error}")
    if invalid:
        rest = f"\n  and {len(invalid) - MAX_SHOWN} more" if len(invalid) > MAX_SHOWN else ""
        raise TableError(f"nothing was imported; invalid lines in {table}:\n" + "\n".join(invalid[:MAX_SHOWN]) + rest)
    return lines


def _read_cells(table: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of a table and its other lines, with their numbers; blank lines are skipped."""
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


def _read(study: Study, row: Mapping[str, str], single_column: bool, separator: str) -> Line:
    """Parse one line."""
    values = [read_number(row[column], column, TableError) for column in objective_columns(study, "value")]
    noise = [row[column] for column in objective_columns(study, "noise") if row.get(column)]
    if noise and len(noise) != len(values):
        raise TableError(f"noise must be given for each objective or for none, got {', '.join(noise)}")
    deviations = [read_number(cell, "noise", TableError) for cell in noise]
    if any(each < 0 for each in deviations):
        raise TableError(f"noise is a standard deviation and must not be negative, got {', '.join(noise)}")
    order: Any = study.space.variables[ORDER]
    items = (
        [each.strip() for each in row[ORDER].split(separator)] if single_column else [row[column] for column in slots(study)]
    )
    for item in items:
        order.number(item)
    point: dict[str, Any] = {ORDER: items}
    for name, columns in columns_of(study).items():
        point[name] = _value(study.space.variables[name], name, [row[column] for column in columns])
    study.space.encode(point)
    return Line(point, values, deviations or None)


def _value(variable: Any, name: str, cells: list[str]) -> Any:
    """Parse the value of a variable other than the order."""
    from mergebo.spaces import Binary, Choice, Integer

    match variable:
        case Choice(options):
            if cells[0] not in options:
                raise unknown_choice(name, cells[0], options)
            return cells[0]
        case Binary():
            return [_integer(name, cell) for cell in cells]
        case Integer():
            return _integer(name, cells[0])
    return read_number(cells[0], name, TableError)


def _integer(column: str, cell: str) -> int:
    number = read_number(cell, column, TableError)
    if number != int(number):
        raise TableError(f"{column} must be an integer, got {cell!r}")
    return int(number)
