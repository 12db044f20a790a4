"""`mergebo show`: print the trials of a study."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mergebo._text import format_number
from mergebo.cli.options import DEFAULT_STORAGE, Name, Storage
from mergebo.cli.output import Json, console, echo, print_json, sparkline, trial_table

if TYPE_CHECKING:
    from mergebo.studies import Study


def show(
    last: Annotated[int, typer.Option(min=1, help="Number of recent trials to show.")] = 20,
    every: Annotated[bool, typer.Option("--all", help="Show all trials.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain the results: what matters in an order, and what moves the value.")
    ] = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Show the trials, the progress of the best value and, with `--explain`, what the model has learned.

    Example: `mergebo show --explain`
    """
    from mergebo.studies import address, load, study_names

    if not name and len(names := study_names(storage)) > 1:
        if as_json:
            print_json({"studies": names})
            return
        echo(f"Studies in {address(storage)}; select one with --study:")
        for each in names:
            echo(f"  {each}")
        return
    study = load(storage, name)
    explanations = [str(study.explain(k)) for k in range(len(study.directions))] if explain else []
    if as_json:
        data: dict[str, Any] = {"study": study.name, "directions": study.directions, "setup": study.config.to_data()}
        data["trials"] = [study.data(trial) for trial in study.trials()]
        print_json({**data, **({"explanations": explanations} if explain else {})})
        return
    _table(study, None if every else last)
    for each in explanations:
        echo()
        echo(each)


def _table(study: Study, last: int | None) -> None:
    from mergebo.studies.trials import state_of

    trials = study.trials()
    counts = Counter(state_of(trial) for trial in trials)
    summary = ", ".join(f"{count} {state}" for state, count in counts.items())
    summary = summary or f"no trials yet; use `{study.command_line('ask')}`"
    echo((study.name, "bold"), f": {summary}")
    curve = study.best_so_far(trials)
    best = [trial.number for trial in study.best_trials()]
    if len(curve) > 1 and len(study.directions) == 1:
        echo(f"best so far  {format_number(curve[0])} {sparkline(curve)} {format_number(curve[-1])}")
    recent = [trial.number for trial in (trials if last is None else trials[-last:])]
    shown = [trial for trial in trials if trial.number in recent or trial.number in best]
    if not shown:
        return
    if len(shown) < len(trials):
        echo((f"the last {last} of {len(trials)} trials, and the best (--all for all)", "italic"))
    console().print(trial_table(study, shown, best))
