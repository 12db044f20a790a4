"""`mergebo show`: print the trials of a study."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer

from mergebo.cli.output import (
    STATES,
    Json,
    as_data,
    best_so_far,
    console,
    echo,
    format_number,
    print_json,
    sparkline,
    trial_table,
)
from mergebo.cli.studies import DEFAULT_STORAGE, Name, Storage, Study, address, load, studies


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
    if not name and len(names := studies(storage)) > 1:
        if as_json:
            print_json({"studies": names})
            return
        echo(f"Studies in {address(storage)}; select one with --study:")
        for each in names:
            echo(f"  {each}")
        return
    study = load(storage, name)
    explanations = _explanations(study) if explain else []
    if as_json:
        data: dict[str, Any] = {"study": study.name, "directions": study.directions, "setup": study.config.to_data()}
        data["trials"] = [as_data(study, trial) for trial in study.trials()]
        print_json({**data, **({"explanations": explanations} if explain else {})})
        return
    _table(study, None if every else last)
    for each in explanations:
        echo()
        echo(each)


def _explanations(study: Study) -> list[str]:
    """The explanation of each objective."""
    opt, _ = study.read()
    return [str(opt.explain(objective)) for objective in range(len(study.directions))]


def _table(study: Study, last: int | None) -> None:
    trials = study.trials()
    counts = Counter(STATES[trial.state.name] for trial in trials)
    summary = ", ".join(f"{count} {state}" for state, count in counts.items()) or "no trials yet; use `mergebo ask`"
    echo((study.name, "bold"), f": {summary}")
    curve = best_so_far(study, trials)
    best = [trial.number for trial in study.optuna.best_trials] if curve else []
    if len(curve) > 1 and len(study.directions) == 1:
        echo(f"best so far  {format_number(curve[0])} {sparkline(curve)} {format_number(curve[-1])}")
    recent = [trial.number for trial in (trials if last is None else trials[-last:])]
    shown = [trial for trial in trials if trial.number in recent or trial.number in best]
    if not shown:
        return
    if len(shown) < len(trials):
        echo((f"the last {last} of {len(trials)} trials, and the best (--all for all)", "italic"))
    console().print(trial_table(study, shown, best))
