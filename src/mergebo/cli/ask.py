"""`mergebo ask`: propose trials."""

from __future__ import annotations

from typing import Annotated

import typer

from mergebo.cli.options import DEFAULT_STORAGE, Name, Storage
from mergebo.cli.output import Json, console, echo, print_json, trial_table, warn


def ask(
    count: Annotated[
        int, typer.Option("--count", "-k", min=1, help="Number of trials; they may be evaluated in parallel.")
    ] = 1,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Propose the next trials. Each stays pending until `tell` or `fail` records its result.

    Exit code 1 if every point has been tried.

    Example: `mergebo ask -k 3`
    """
    from mergebo.studies import load

    study = load(storage, name)
    trials = study.ask(count)
    if as_json:
        print_json([study.data(trial) for trial in trials])
    elif trials:
        console().print(trial_table(study, trials))
    if len(trials) < count:
        warn(f"there are no {'more ' if trials else ''}points to try: every point has a trial already")
    if not trials:
        raise typer.Exit(1)
    if not as_json:
        value = " ".join(["VALUE"] * len(study.directions))
        echo()
        first = trials[0].number
        tell, fail = study.command_line(f"tell {first} {value}"), study.command_line(f"fail {first}")
        echo(f"Record the result with `{tell}`, or `{fail}` if it failed.")
