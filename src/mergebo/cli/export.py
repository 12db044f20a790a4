"""`mergebo export`: all trials as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mergebo.cli.options import DEFAULT_STORAGE, Name, Storage
from mergebo.cli.output import Json, echo, print_json, writing
from mergebo.errors import ArgumentError


def export(
    out: Annotated[Path | None, typer.Option(help="Output file; standard output by default.")] = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Export all trials as a CSV table, with a column for each slot of the order. `mergebo import` reads it back.

    Example: `mergebo export --out results.csv`
    """
    from mergebo.studies import load
    from mergebo.studies.table import table_text

    study = load(storage, name)
    trials = study.trials()
    if as_json and out is None:
        print_json([study.data(trial) for trial in trials])
        return
    if as_json:
        raise ArgumentError("--json prints to the standard output and --out writes a table; use one of them")
    text = table_text(study)
    if out is None:
        typer.echo(text, nl=False)
        return
    with writing(out) as file:
        file.write_text(text, encoding="utf-8")
    echo(f"Exported {len(trials)} trials to {out}.")
