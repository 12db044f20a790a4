"""`mergebo tell` and `mergebo fail`: what came of a trial."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from mergebo.cli.screen import STATES, Json, as_data, number, numbers, print_json, say, visible
from mergebo.cli.studies import HERE, REASON, Name, Storage, Study, load
from mergebo.cli.words import read_number
from mergebo.errors import TrialError

Number = Annotated[int, typer.Argument(metavar="TRIAL", help="The number of the trial.")]


def tell(
    trial: Number,
    values: Annotated[list[str], typer.Argument(metavar="VALUE", help="The value; one for each objective.")],
    noise: Annotated[
        list[float] | None,
        typer.Option(min=0, help="The standard deviation of the value, if it is known; once for each objective."),
    ] = None,
    storage: Storage = HERE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Record the value of a trial.

    Example: `mergebo tell 4 82.1 --noise 0.5`
    """
    from mergebo.integrations.optuna import NOISE

    study = load(storage, name)
    _check_pending(study, trial)
    hint = "; a trial without one has failed: mergebo fail"
    given = [read_number(text, "a value", TrialError, hint) for text in values]
    for what, these in (("value", given), ("noise", noise)):
        if these and len(these) != len(study.directions):
            wanted = "one objective" if len(study.directions) == 1 else f"{len(study.directions)} objectives"
            raise TrialError(f"the study has {wanted}, with a {what} for each; got {len(these)}: {numbers(these)}")
    if noise:
        if not all(map(math.isfinite, noise)):
            raise TrialError(f"noise is a standard deviation, not negative and finite, got {numbers(noise)}")
        study.note(trial, NOISE, noise if len(noise) > 1 else noise[0])
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
    _check_pending(study, trial)
    study.note(trial, REASON, visible(reason))  # also if there is none: without it a worker's trial would be tried again
    study.optuna.tell(trial, state=TrialState.FAIL)
    _said(study, trial, as_json, f"Trial {trial} has failed; its point is not asked for again.")


def _check_pending(study: Study, wanted: int) -> None:
    """An error unless the trial of a number is pending."""
    trials = {trial.number: trial for trial in study.trials()}
    if wanted not in trials:
        there = f"the last one is {max(trials)}" if trials else "there are none yet; `mergebo ask` makes one"
        raise TrialError(f"there is no trial {wanted}; {there}")
    trial = trials[wanted]
    match STATES[trial.state.name]:
        case "pending":
            return
        case "queued":
            raise TrialError(f"trial {wanted} is queued; `mergebo ask` or `mergebo optimize` begins it")
        case "failed":
            raise TrialError(f"trial {wanted} has failed already; nothing was changed")
    raise TrialError(
        f"trial {wanted} has the value {numbers(trial.values)} already; nothing was changed. To correct a value, `mergebo "
        "export` the table, correct it there, and `mergebo import` it into a new study"
    )


def _said(study: Study, trial: int, as_json: bool, text: str) -> None:
    if as_json:
        print_json(as_data(study, study.optuna.get_trials(deepcopy=False)[trial]))
        return
    say(text)
    count = len(study.done())
    if count and len(study.directions) == 1 and not study.noisy:
        best = study.optuna.best_trial
        say(f"Best of {count}: {number(best.value)} in trial {best.number}.")
    elif count:
        say(f"`mergebo best` says what is best of {count}.")
