"""`mergebo tell` and `mergebo fail`: what came of a trial."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from mergebo.cli.screen import STATES, Json, as_data, console, number, numbers, print_json
from mergebo.cli.studies import HERE, REASON, Name, Storage, Study, load
from mergebo.errors import TrialError

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

Number = Annotated[int, typer.Argument(metavar="TRIAL", help="The number of the trial.")]


def tell(
    trial: Number,
    values: Annotated[list[str], typer.Argument(metavar="VALUE...", help="The value; one for each objective.")],
    noise: Annotated[float | None, typer.Option(min=0, help="The standard deviation of this value, if it is known.")] = None,
    storage: Storage = HERE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Record the value of a trial. A negative one is written after two dashes: `mergebo tell -- 4 -3.2`.

    Example: `mergebo tell 4 82.1`
    """
    from mergebo.integrations.optuna import NOISE

    study = load(storage, name)
    pending(study, trial)
    given = [_read(text) for text in values]
    if len(given) != len(study.directions):
        raise TrialError(
            f"the study has {len(study.directions)} objectives, and these are {len(given)} values: {numbers(given)}"
        )
    if noise is not None:
        study.note(trial, NOISE, noise)
    study.optuna.tell(trial, given)
    _said(study, trial, as_json, f"Trial {trial} has the value {numbers(given)}.")


def fail(
    trial: Number,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    storage: Storage = HERE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Record that a trial gave no value. Its point is not asked for again.

    Example: `mergebo fail 5 --reason "flask broke"`
    """
    from optuna.trial import TrialState

    study = load(storage, name)
    pending(study, trial)
    study.note(trial, REASON, reason)  # also if there is none: without it a worker's trial would be tried again
    study.optuna.tell(trial, state=TrialState.FAIL)
    _said(study, trial, as_json, f"Trial {trial} has failed; its point is not asked for again.")


def pending(study: Study, wanted: int) -> FrozenTrial:
    """The trial of a number, which must be pending."""
    trials = study.optuna.get_trials(deepcopy=False)
    if not 0 <= wanted < len(trials):
        there = f"trials are 0 to {len(trials) - 1}" if trials else "there are none yet; `mergebo ask` makes one"
        raise TrialError(f"there is no trial {wanted}; {there}")
    trial = trials[wanted]
    if trial.state.name != "RUNNING":
        value = f" (value {numbers(trial.values)})" if trial.values else ""
        raise TrialError(f"trial {wanted} is {STATES[trial.state.name]} already{value}; nothing was changed")
    return trial


def _read(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise TrialError(f"a value is a number, got {text!r}") from None
    if not math.isfinite(value):
        raise TrialError(f"a value is finite, got {text!r}; a trial without one has failed: mergebo fail")
    return value


def _said(study: Study, trial: int, as_json: bool, text: str) -> None:
    done = next(each for each in study.optuna.get_trials(deepcopy=False) if each.number == trial)
    if as_json:
        print_json(as_data(study, done))
        return
    console().print(text)
    count = len([each for each in study.trials() if each.state.name == "COMPLETE"])
    if len(study.directions) == 1 and count:
        best = study.optuna.best_trial
        console().print(f"Best of {count}: {number(best.value)} in trial {best.number}.")
