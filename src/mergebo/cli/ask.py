"""`mergebo ask`: what to try next."""

from __future__ import annotations

from typing import Annotated

import typer

from mergebo.cli.screen import Json, as_data, console, print_json, trial_table
from mergebo.cli.studies import HERE, Name, Storage, load


def ask(
    count: Annotated[int, typer.Option("--count", "-k", min=1, help="How many trials; they may run at the same time.")] = 1,
    storage: Storage = HERE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Say what to try next. A trial stays pending until you `tell` its value, or that it failed.

    Example: `mergebo ask -k 3`
    """
    from mergebo.integrations.optuna import suggest

    study = load(storage, name)
    asked = []
    for _ in range(count):
        trial = study.optuna.ask()
        suggest(trial, study.space)
        asked.append(trial.number)
    trials = [trial for trial in study.trials() if trial.number in asked]
    if as_json:
        print_json([as_data(study, trial) for trial in trials])
        return
    console().print(trial_table(study, trials))
    value = " ".join(["VALUE"] * len(study.directions))
    console().print(
        f"\n`mergebo tell {asked[0]} {value}` when you know what came of it, `mergebo fail {asked[0]}` if nothing did."
    )
