"""`mergebo ask`: what to try next."""

from __future__ import annotations

from typing import Annotated

import typer

from mergebo.cli.screen import Json, as_data, complain, console, print_json, say, trial_table
from mergebo.cli.studies import HERE, Name, Storage, Study, load


def ask(
    count: Annotated[int, typer.Option("--count", "-k", min=1, help="How many trials; they may run at the same time.")] = 1,
    storage: Storage = HERE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Say what to try next. A trial stays pending until you `tell` its value, or that it failed.

    Exit status 1 if every order was tried already.

    Example: `mergebo ask -k 3`
    """
    study = load(storage, name)
    asked: list[int] = []
    while len(asked) < count and (number := _begin(study)) is not None:
        asked.append(number)
    trials = [trial for trial in study.trials() if trial.number in asked]
    if as_json:
        print_json([as_data(study, trial) for trial in trials])
    elif trials:
        console().print(trial_table(study, trials))
    if len(asked) < count:
        complain(f"there is {'nothing' if not asked else 'no more'} to try: every point has a trial already")
    if not asked:
        raise typer.Exit(1)
    if not as_json:
        value = " ".join(["VALUE"] * len(study.directions))
        say()
        say(f"`mergebo tell {asked[0]} {value}` when you know what came of it, `mergebo fail {asked[0]}` if nothing did.")


def _begin(study: Study) -> int | None:
    """Begin a trial; None if there is no point left for one."""
    from mergebo.integrations.optuna import suggest

    queued = any(trial.state.name == "WAITING" for trial in study.every_trial())
    if study.exhausted() and not queued:
        return None
    trial = study.asking.ask()
    try:
        suggest(trial, study.space)
    except BaseException:  # Ctrl-C, perhaps: a trial without a point would be pending for ever
        study.discard(trial.number)
        raise
    return int(trial.number)
