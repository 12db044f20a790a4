"""`mergebo show`: a study at a glance."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer

from mergebo.cli.screen import STATES, Json, as_data, best_so_far, console, number, print_json, say, sparkline, trial_table
from mergebo.cli.studies import HERE, Name, Storage, Study, address, load, studies


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
    """Show trials, how the best value became better, and with `--explain` what the model believes.

    Example: `mergebo show --explain`
    """
    if not name and len(names := studies(storage)) > 1:
        if as_json:
            print_json({"studies": names})
            return
        say(f"Studies in {address(storage)}; say which with --study:")
        for each in names:
            say(f"  {each}")
        return
    study = load(storage, name)
    explanations = _explanations(study) if explain else []
    if as_json:
        data: dict[str, Any] = {"study": study.name, "directions": study.directions, "setup": study.setup.to_data()}
        data["trials"] = [as_data(study, trial) for trial in study.trials()]
        print_json({**data, **({"explanations": explanations} if explain else {})})
        return
    _table(study, None if every else last)
    for each in explanations:
        say()
        say(each)


def _explanations(study: Study) -> list[str]:
    """What the results say about each objective."""
    opt, _ = study.read()
    return [str(opt.explain(objective)) for objective in range(len(study.directions))]


def _table(study: Study, last: int | None) -> None:
    trials = study.trials()
    counts = Counter(STATES[trial.state.name] for trial in trials)
    said = ", ".join(f"{count} {state}" for state, count in counts.items()) or "no trials yet: `mergebo ask`"
    say((study.name, "bold"), f": {said}")
    curve = best_so_far(study, trials)
    best = [trial.number for trial in study.optuna.best_trials] if curve else []
    if len(curve) > 1 and len(study.directions) == 1:
        say(f"best so far  {number(curve[0])} {sparkline(curve)} {number(curve[-1])}")
    recent = [trial.number for trial in (trials if last is None else trials[-last:])]
    shown = [trial for trial in trials if trial.number in recent or trial.number in best]
    if shown:
        title = None if len(shown) == len(trials) else f"the last {last} of {len(trials)}, and the best (--all shows all)"
        console().print(trial_table(study, shown, best, title=title))
