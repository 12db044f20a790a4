"""`mergebo ask`: propose trials."""

from __future__ import annotations

from typing import Annotated

import typer

from mergebo.cli.output import Json, as_data, console, echo, print_json, trial_table, warn
from mergebo.cli.studies import DEFAULT_STORAGE, Name, Storage, Study, load


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
    study = load(storage, name)
    numbers: list[int] = []
    while len(numbers) < count and (number := _begin(study)) is not None:
        numbers.append(number)
    trials = [trial for trial in study.trials() if trial.number in numbers]
    if as_json:
        print_json([as_data(study, trial) for trial in trials])
    elif trials:
        console().print(trial_table(study, trials))
    if len(numbers) < count:
        warn(f"there are no {'more ' if numbers else ''}points to try: every point has a trial already")
    if not numbers:
        raise typer.Exit(1)
    if not as_json:
        value = " ".join(["VALUE"] * len(study.directions))
        echo()
        echo(f"Record the result with `mergebo tell {numbers[0]} {value}`, or `mergebo fail {numbers[0]}` if it failed.")


def _begin(study: Study) -> int | None:
    """Start a trial and return its number; None if every point has a trial."""
    from mergebo.integrations.optuna import suggest

    queued = any(trial.state.name == "WAITING" for trial in study.all_trials())
    if study.exhausted() and not queued:
        return None
    trial = study.with_sampler.ask()
    try:
        suggest(trial, study.space)
    except BaseException:  # such as Ctrl-C: a trial without a point would stay pending for ever
        study.discard(trial.number)
        raise
    return int(trial.number)
