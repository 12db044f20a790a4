"""Results as CSV tables: all trials of a study as text, and results from such a table or from one made elsewhere."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from optuna.trial import FrozenTrial, TrialState

from mergebo._text import decimal_point, read_number
from mergebo.errors import ArgumentError, MergeboError, TableError
from mergebo.studies.attributes import NOISE, REASON, SOURCE
from mergebo.studies.study import Study, stored_noise
from mergebo.studies.trials import state_of

__all__ = ["Result", "add_results", "read_table", "table_text"]

SEPARATORS = ",;\t"
"""Possible separators of cells; the most frequent one in the header is used."""
MAX_SHOWN = 8
"""Maximum number of errors or columns that a message lists."""


class Result(NamedTuple):
    """One result in a table."""

    point: dict[str, Any]
    values: list[float]
    noise: list[float] | None


def table_text(study: Study) -> str:
    """All trials as a table that `read_table` can read."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    variables = [column for columns in _variable_columns(study).values() for column in columns]
    values, noise = _objective_columns(study, "value"), _objective_columns(study, "noise")
    writer.writerow(["trial", "state", *values, *variables, *noise, "reason", "duration (s)"])
    for trial in study.trials():
        writer.writerow(_cells(study, trial))
    return text.getvalue()


def _cells(study: Study, trial: FrozenTrial) -> Iterator[Any]:
    """The cells of a trial, in the order of the columns."""
    empty = [""] * len(study.directions)
    yield trial.number
    yield state_of(trial)
    yield from trial.values or empty
    point = study.point(trial)
    for name, variable in study.space.variables.items():
        yield from [""] * len(variable.columns(name)) if point is None else variable.to_cells(point[name])
    noise = trial.user_attrs.get(NOISE, empty)
    yield from noise if isinstance(noise, list) else [noise]
    yield trial.user_attrs.get(REASON, "")
    seconds = study.seconds(trial)
    yield "" if seconds is None else f"{seconds:.3f}"


def add_results(study: Study, results: Sequence[Result], source: str) -> int:
    """Add results to a study, with the name of their source; returns how many.

    Results that the study already has are skipped, unless it is noisy: then they count as repeated measurements.
    """
    known = {(str(trial.params), str(trial.values)) for trial in study.trials()}
    added = []
    for result in results:
        trial = _trial(study, result, source)
        if (key := (str(trial.params), str(trial.values))) not in known or study.config.noisy:
            known.add(key)
            added.append(trial)
    study.optuna.add_trials(added)
    return len(added)


def _trial(study: Study, result: Result, source: str) -> FrozenTrial:
    """A complete trial with a result."""
    attributes: dict[str, Any] = {SOURCE: source}
    if result.noise is not None:
        attributes[NOISE] = stored_noise(result.noise)
    params = study.codec.params(study.space.encode(result.point))
    return study.new_trial(TrialState.COMPLETE, params, values=result.values, attributes=attributes)


def read_table(study: Study, table: Path | str, separator: str = ">") -> list[Result]:
    """The results in a file, or in the text of one; raises one error that lists all invalid lines.

    An order may be in a single column, with this separator between the items.
    """
    if not separator.strip():
        raise ArgumentError("--separator must be the text between two items, such as >")
    header, rows = _read_cells(table)
    columns = _variable_columns(study)
    for name in study.space.permutations:
        if name in header and columns[name][0] not in header:
            columns[name] = [name]
    required = [*_objective_columns(study, "value"), *(column for each in columns.values() for column in each)]
    missing = [column for column in required if column not in header]
    if missing:
        export = study.command_line("export")
        raise TableError(
            f"{_named(table)} has no column {', '.join(map(repr, missing[:MAX_SHOWN]))}; it has "
            f"{', '.join(map(repr, header[:MAX_SHOWN])) or 'none'}. `{export}` writes a table with the right columns"
        )
    duplicates = [column for column in required if header.count(column) > 1]
    if duplicates:
        raise TableError(f"{_named(table)} has the column {duplicates[0]!r} more than once")
    results, invalid = [], []
    for number, cells in rows:
        try:
            if len(cells) != len(header):
                raise TableError(f"there are {len(cells)} cells for {len(header)} columns")
            row = dict(zip(header, cells, strict=True))
            if row.get("state", "done") in ("", "done"):
                results.append(_read(study, row, columns, separator.strip()))
        except MergeboError as error:
            invalid.append(f"  line {number}: {error}")
    if invalid:
        rest = f"\n  and {len(invalid) - MAX_SHOWN} more" if len(invalid) > MAX_SHOWN else ""
        lines = "\n".join(invalid[:MAX_SHOWN]) + rest
        raise TableError(f"nothing was imported; invalid lines in {_named(table)}:\n{lines}")
    return results


def _named(table: Path | str) -> str:
    """The name of a table in messages."""
    return str(table) if isinstance(table, Path) else "the table"


def _read_cells(table: Path | str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of a table and its other lines, with their numbers; blank lines are skipped."""
    named = _named(table)
    try:
        text = table.read_text(encoding="utf-8-sig") if isinstance(table, Path) else table.removeprefix("\ufeff")
        first = text.lstrip().partition("\n")[0]
        separator = max(SEPARATORS, key=first.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    except OSError as error:
        raise TableError(f"{named} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TableError(f"{named} is not a text file in UTF-8: {error}") from error
    except csv.Error as error:
        raise TableError(f"{named} is not a table (CSV): line {reader.line_num}: {error}") from error
    if not rows:
        raise TableError(f"{named} is empty")
    if separator != ",":  # then a comma is a decimal one, even in 1,234
        rows = [(line, [*map(decimal_point, row)]) for line, row in rows]
    return rows[0][1], rows[1:]


def _read(study: Study, row: Mapping[str, str], columns: Mapping[str, list[str]], separator: str) -> Result:
    """Parse one line."""
    values = [read_number(row[column], column, TableError) for column in _objective_columns(study, "value")]
    noise = [row[column] for column in _objective_columns(study, "noise") if row.get(column)]
    if noise and len(noise) != len(values):
        raise TableError(f"noise must be given for each objective or for none, got {', '.join(noise)}")
    deviations = [read_number(cell, "noise", TableError) for cell in noise]
    if any(each < 0 for each in deviations):
        raise TableError(f"noise is a standard deviation and must not be negative, got {', '.join(noise)}")
    point = {}
    for name, variable in study.space.variables.items():
        cells = [row[column] for column in columns[name]]
        if name in study.space.permutations and columns[name] == [name]:
            cells = [each.strip() for each in cells[0].split(separator)]
        point[name] = variable.from_cells(name, cells)
    study.space.encode(point)
    return Result(point, values, deviations or None)


def _objective_columns(study: Study, name: str) -> list[str]:
    """The columns of a quantity that exists for each objective: `value` or `noise`."""
    count = len(study.directions)
    return [name] if count == 1 else [f"{name} {k + 1}" for k in range(count)]


def _variable_columns(study: Study) -> dict[str, list[str]]:
    """The columns of every variable."""
    return {name: variable.columns(name) for name, variable in study.space.variables.items()}
