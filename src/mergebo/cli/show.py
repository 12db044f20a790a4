"""`mergebo show`: a study at a glance."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from mergebo.cli.screen import STATES, Json, as_data, best_so_far, console, number, print_json, sparkline, trial_table
from mergebo.cli.studies import HERE, Name, Storage, load, studies


def show(
    last: Annotated[int, typer.Option(min=1, help="How many of the last trials.")] = 20,
    every: Annotated[bool, typer.Option("--all", help="All trials.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what the results say: what matters, and what moves the value.")
    ] = False,
    storage: Storage = HERE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Show trials, how the best value went down, and with `--explain` what the model believes.

    Example: `mergebo show --explain`
    """
    if not name and len(names := studies(storage)) > 1:
        console().print(f"Studies in {storage}; say which with --study:")
        for each in names:
            console().print(f"  {each}", markup=False)
        return
    study = load(storage, name)
    trials = study.trials()
    if as_json:
        print_json(
            {"study": study.name, "setup": study.setup.to_data(), "trials": [as_data(study, trial) for trial in trials]}
        )
        return
    counts = Counter(STATES[trial.state.name] for trial in trials)
    said = ", ".join(f"{count} {state}" for state, count in counts.items()) or "no trials yet: `mergebo ask`"
    out = console()
    out.print(f"[bold]{study.name}[/]: {said}")
    curve = best_so_far(study, trials)
    best = [trial.number for trial in study.optuna.best_trials] if curve else []
    if len(curve) > 1 and len(study.directions) == 1:
        out.print(f"best so far  {number(curve[0])} {sparkline(curve)} {number(curve[-1])}")
    shown = trials if every else trials[-last:]
    shown += [trial for trial in trials if trial.number in best and trial not in shown]
    if trials:
        title = None if len(shown) == len(trials) else f"the last {last} of {len(trials)}, and the best (--all shows all)"
        out.print(trial_table(study, sorted(shown, key=lambda trial: trial.number), best, title=title))
    if explain:
        opt, _ = study.read()
        for objective in range(len(study.directions)):
            out.print()
            out.print(str(opt.explain(objective)), markup=False)
