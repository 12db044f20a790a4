"""`mergebo import` and `mergebo export`: results from tables and for tables."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mergebo.cli.screen import STATES, Json, as_data, console, print_json
from mergebo.cli.studies import HERE, REASON, Name, Storage, Study, load
from mergebo.cli.words import ORDER
from mergebo.errors import MergeboError, TableError, unknown_choice

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

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


def value_columns(study: Study) -> list[str]:
    """The columns of the values."""
    count = len(study.directions)
    return ["value"] if count == 1 else [f"value {k + 1}" for k in range(count)]


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
    if as_json and out is None:
        print_json([as_data(study, trial) for trial in study.trials()])
        return
    text = io.StringIO()
    others = columns_of(study)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "trial",
            "state",
            *value_columns(study),
            *slots(study),
            *(each for some in others.values() for each in some),
            "reason",
        ]
    )
    for trial in study.trials():
        writer.writerow(_cells(study, trial, others))
    if out is None:
        typer.echo(text.getvalue(), nl=False)
        return
    out.write_text(text.getvalue(), encoding="utf-8")
    console().print(f"{len(study.trials())} trials are in {out}.")


def _cells(study: Study, trial: FrozenTrial, others: Mapping[str, list[str]]) -> Iterator[Any]:
    yield trial.number
    yield STATES[trial.state.name]
    yield from trial.values or [""] * len(study.directions)
    point = study.point(trial)
    yield from [""] * len(slots(study)) if point is None else point[ORDER]
    for name, columns in others.items():
        value = "" if point is None else point[name]
        yield from value if isinstance(value, list) else [value] * len(columns)
    yield trial.user_attrs.get(REASON, "")


def import_(
    table: Annotated[Path, typer.Argument(metavar="FILE", help="A table with a head line (CSV).")],
    separator: Annotated[str, typer.Option(help="What is between items, if one column `order` holds whole orders.")] = ">",
    storage: Storage = HERE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Add results from elsewhere. All lines are checked first: with an error anywhere nothing is added.

    Columns are `value` and `order 1`, `order 2`, ... with an item in each, as `export` writes them, or one column `order`
    with whole orders (`acid > base > salt`), and those of other variables by their names. Other columns are left alone, as
    are lines whose state is not `done` and results that the study has already.

    Example: `mergebo import results.csv`
    """
    import optuna

    from mergebo.integrations.optuna import distributions, params

    study = load(storage, name)
    points = list(read_table(study, table, separator))
    have = {(str(trial.params), str(trial.values)) for trial in study.trials()}
    added = []
    for point, values in points:
        held = params(study.space, point)
        trial = optuna.create_trial(
            params=held,
            distributions=distributions(study.space),
            values=values,
            user_attrs={ORDER: list(point[ORDER]), "mergebo:from": table.name},
        )
        if (key := (str(trial.params), str(trial.values))) not in have or study.setup.noisy:
            have.add(key)
            added.append(trial)
    study.optuna.add_trials(added)
    there = len(points) - len(added)
    if as_json:
        print_json({"added": len(added), "there already": there})
    else:
        console().print(f"{len(added)} results were added" + (f", {there} were there already." if there else "."))


def read_table(study: Study, table: Path, separator: str = ">") -> list[tuple[dict[str, Any], list[float]]]:
    """The points and values of a table, or one error that says what is wrong in which lines."""
    try:
        text = table.read_text(encoding="utf-8-sig")
        dialect = ";" if text.split("\n", 1)[0].count(";") > text.split("\n", 1)[0].count(",") else ","
        lines = csv.DictReader(io.StringIO(text, newline=""), delimiter=dialect, strict=True)
        head = [each.strip() for each in lines.fieldnames or []]
        lines.fieldnames = head
        rows = [(lines.line_num, row) for row in lines]
    except OSError as error:
        raise TableError(f"{table} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{table} is not a table in UTF-8: {error}") from error
    whole = ORDER in head and slots(study)[0] not in head
    needed = [
        *value_columns(study),
        *([ORDER] if whole else slots(study)),
        *(each for some in columns_of(study).values() for each in some),
    ]
    missing = [each for each in needed if each not in head]
    if missing:
        raise TableError(
            f"{table} has no column {', '.join(map(repr, missing[:SHOWN]))}; it has {', '.join(map(repr, head[:SHOWN]))}. "
            "`mergebo export` writes a table with the right ones"
        )
    found, wrong = [], []
    for line, row in rows:
        if row.get("state") not in (None, "", "done") or not any(
            (each or "").strip() for each in row.values() if not isinstance(each, list)
        ):
            continue
        try:
            found.append(_read(study, row, whole, separator))
        except MergeboError as error:
            wrong.append(f"  line {line}: {error}")
    if wrong:
        rest = f"\n  and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise TableError(f"nothing was added, for in {table}\n" + "\n".join(wrong[:SHOWN]) + rest)
    return found


def _read(study: Study, row: Mapping[str, Any], whole: bool, separator: str) -> tuple[dict[str, Any], list[float]]:
    """One line."""
    if None in row:
        raise TableError(f"there are more cells than columns: {row[None]!r}")  # type: ignore[index]
    if any(each is None for each in row.values()):
        raise TableError("there are fewer cells than columns")
    values = [_number(column, row[column]) for column in value_columns(study)]
    order: Any = study.space.variables[ORDER]
    items = [each.strip() for each in (row[ORDER].split(separator) if whole else [row[column] for column in slots(study)])]
    names = {str(item): item for item in order.names}
    for item in items:
        if item not in names:
            raise unknown_choice("an item", item, names)
    point: dict[str, Any] = {ORDER: [names[item] for item in items]}
    for name, columns in columns_of(study).items():
        point[name] = _value(study.space.variables[name], name, [row[column].strip() for column in columns])
    study.space.encode(point)
    return point, values


def _value(variable: Any, name: str, cells: list[str]) -> Any:
    """The value of a variable that is no order."""
    from mergebo.spaces import Binary, Choice, Integer

    match variable:
        case Choice(options):
            names = {str(option): option for option in options}
            if cells[0] not in names:
                raise unknown_choice(name, cells[0], names)
            return names[cells[0]]
        case Binary():
            return [int(_number(name, cell)) for cell in cells]
        case Integer():
            number = _number(name, cells[0])
            if number != int(number):
                raise TableError(f"{name} is a whole number, got {cells[0]!r}")
            return int(number)
    return _number(name, cells[0])


def _number(column: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        raise TableError(f"{column} is a number, got {cell!r}") from None
    if not math.isfinite(value):
        raise TableError(f"{column} is a finite number, got {cell!r}")
    return value
