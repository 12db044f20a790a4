"""`mergebo import`: add the results in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mergebo.cli.options import DEFAULT_STORAGE, Name, Storage
from mergebo.cli.output import Json, echo, print_json


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
    semicolons or tabs. Numbers may have a decimal comma, but no units.

    Results that the study already has are skipped, unless it is `--noisy`: then they count as repeated measurements.

    Example: `mergebo import results.csv`
    """
    from mergebo.studies import load
    from mergebo.studies.table import add_results, read_table

    study = load(storage, name)
    results = read_table(study, table, separator)
    added = add_results(study, results, table.name)
    skipped = len(results) - added
    if as_json:
        print_json({"added": added, "skipped": skipped})
        return
    text = "1 result" if added == 1 else f"{added} results"
    echo(f"Imported {text}" + (f"; skipped {skipped} that the study already has." if skipped else "."))
