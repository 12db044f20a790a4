"""`mergebo tell` and `mergebo fail`: record the result of a trial."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from mergebo.cli.options import read_number
from mergebo.cli.output import STATES, Json, as_data, echo, escape_control, format_number, format_numbers, print_json
from mergebo.cli.studies import DEFAULT_STORAGE, REASON, Name, Storage, Study, load
from mergebo.errors import TrialError

Number = Annotated[int, typer.Argument(metavar="TRIAL", help="The trial number.")]


def tell(
    trial: Number,
    values: Annotated[list[str], typer.Argument(metavar="VALUE", help="The value, or one for each objective.")],
    noise: Annotated[
        list[float] | None,
        typer.Option(min=0, help="Standard deviation of the value, if known; once for each objective."),
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Record the value of a trial.

    Example: `mergebo tell 4 82.1 --noise 0.5`
    """
    from mergebo.integrations.optuna import NOISE

    study = load(storage, name)
    _check_pending(study, trial)
    hint = "; for a trial without a value, use mergebo fail"
    numbers = [read_number(text, "a value", TrialError, hint) for text in values]
    for kind, given in (("value", numbers), ("noise", noise)):
        if given and len(given) != len(study.directions):
            objectives = "one objective" if len(study.directions) == 1 else f"{len(study.directions)} objectives"
            raise TrialError(
                f"the study has {objectives} and needs one {kind} for each; got {len(given)}: {format_numbers(given)}"
            )
    if noise:
        if not all(map(math.isfinite, noise)):
            raise TrialError(f"noise is a standard deviation, finite and not negative, got {format_numbers(noise)}")
        study.set_trial_attr(trial, NOISE, noise if len(noise) > 1 else noise[0])
    study.optuna.tell(trial, numbers)
    _report(study, trial, as_json, f"Trial {trial} has the value {format_numbers(numbers)}.")


def fail(
    trial: Number,
    reason: Annotated[str, typer.Option(help="Reason, stored with the trial.")] = "",
    storage: Storage = DEFAULT_STORAGE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Record that a trial failed. Its point is not proposed again.

    Example: `mergebo fail 5 --reason "flask broke"`
    """
    from optuna.trial import TrialState

    study = load(storage, name)
    _check_pending(study, trial)
    # Stored even if empty: a failed trial of a worker without a reason counts as interrupted, and would be repeated.
    study.set_trial_attr(trial, REASON, escape_control(reason))
    study.optuna.tell(trial, state=TrialState.FAIL)
    _report(study, trial, as_json, f"Trial {trial} has failed; its point is not proposed again.")


def _check_pending(study: Study, number: int) -> None:
    """Raise an error unless a trial is pending."""
    trials = {trial.number: trial for trial in study.trials()}
    if number not in trials:
        hint = f"the last one is {max(trials)}" if trials else "there are none yet; `mergebo ask` creates one"
        raise TrialError(f"trial {number} does not exist; {hint}")
    trial = trials[number]
    match STATES[trial.state.name]:
        case "pending":
            return
        case "queued":
            raise TrialError(f"trial {number} is queued; `mergebo ask` or `mergebo optimize` starts it")
        case "failed":
            raise TrialError(f"trial {number} has already failed; nothing was changed")
    raise TrialError(
        f"trial {number} already has the value {format_numbers(trial.values)}; nothing was changed. To correct a value, "
        "`mergebo export` the table, edit it, and `mergebo import` it into a new study"
    )


def _report(study: Study, trial: int, as_json: bool, text: str) -> None:
    if as_json:
        print_json(as_data(study, study.optuna.get_trials(deepcopy=False)[trial]))
        return
    echo(text)
    count = len(study.completed())
    if count and len(study.directions) == 1 and not study.noisy:
        best = study.optuna.best_trial
        echo(f"Best of {count}: {format_number(best.value)} in trial {best.number}.")
    elif count:
        echo(f"`mergebo best` prints the best of {count}.")
