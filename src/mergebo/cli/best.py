"""`mergebo best`: the best so far."""

from __future__ import annotations

import typer

from mergebo.cli.screen import Json, as_data, console, number, numbers, point_text, print_json, trial_table
from mergebo.cli.studies import HERE, Name, Storage, Study, load, plain


def best(storage: Storage = HERE, name: Name = "", as_json: Json = False) -> None:
    """Say which order is best so far. Exit status 1 if there is no result yet.

    Of noisy results it is the one that is expected to be the best, not the luckiest. With several objectives, these are all
    trials that no other beats.

    Example: `mergebo best --json`
    """
    study = load(storage, name)
    if not any(trial.state.name == "COMPLETE" for trial in study.trials()):
        typer.echo("There is no result yet: `mergebo ask`, then `mergebo tell`.", err=True)
        raise typer.Exit(1)
    if len(study.directions) > 1:
        _front(study, as_json)
    elif study.setup.noisy:
        _expected(study, as_json)
    else:
        trial = study.optuna.best_trial
        if as_json:
            print_json(as_data(study, trial))
        else:
            console().print(f"[bold]{number(trial.value)}[/] in trial {trial.number}")
            console().print(point_text(study.point(trial)), markup=False)


def _front(study: Study, as_json: bool) -> None:
    trials = study.optuna.best_trials
    if as_json:
        print_json([as_data(study, trial) for trial in trials])
    else:
        console().print(trial_table(study, trials, title="No other trial beats these in all objectives"))


def _expected(study: Study, as_json: bool) -> None:
    opt, places = study.read()
    found = opt.best
    assert found is not None
    point, deviation, count = plain(found.point), found.deviation, found.measurements  # type: ignore[attr-defined]
    if as_json:
        data = {
            "trial": places[found.id],
            "expected": found.value,
            "deviation": deviation,
            "measurements": count,
            "point": point,
        }
        print_json(data)
        return
    times = "once" if count == 1 else f"{count} times"
    said = f"[bold]{number(found.value)} ± {numbers([deviation])}[/] expected of trial {places[found.id]}, measured {times}"
    console().print(said)
    console().print(point_text(point), markup=False)
