"""`mergebo tell` and `mergebo fail`: record the result of a trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mergebo._text import format_number, format_numbers, read_number
from mergebo.cli.options import DEFAULT_STORAGE, Name, Storage
from mergebo.cli.output import Json, echo, print_json
from mergebo.errors import TrialError

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from mergebo.studies import Study

Number = Annotated[int, typer.Argument(metavar="TRIAL", help="The trial number.")]


def tell(
    trial: Number,
    values: Annotated[list[str], typer.Argument(metavar="VALUE", help="The value, or one for each objective.")],
    noise: Annotated[
        list[str] | None,
        typer.Option(metavar="<float>", help="Standard deviation of the value, if known; once for each objective."),
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Record the value of a trial.

    Example: `mergebo tell 4 82.1 --noise 0.5`
    """
    from mergebo.studies import load

    study = load(storage, name)
    study.check_pending(trial)
    hint = f"; for a trial without a value, use `{study.command_line(f'fail {trial}')}`"
    numbers = [read_number(text, "a value", TrialError, hint) for text in values]
    recorded = study.tell(trial, numbers, [read_number(text, "the standard deviation", TrialError) for text in noise or ()])
    _report(study, recorded, as_json, f"Trial {trial} has the value {format_numbers(numbers)}.")


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
    from mergebo.studies import load

    study = load(storage, name)
    failed = study.fail(trial, reason)
    _report(study, failed, as_json, f"Trial {trial} has failed; its point is not proposed again.")


def _report(study: Study, trial: FrozenTrial, as_json: bool, text: str) -> None:
    if as_json:
        print_json(study.data(trial))
        return
    echo(text)
    count = len(study.completed())
    if count and len(study.directions) == 1 and not study.is_noisy():
        (best,) = study.best_trials()
        echo(f"Best of {count}: {format_number(best.value)} in trial {best.number}.")
    elif count:
        echo(f"`{study.command_line('best')}` prints the best of {count}.")
