"""`mergebo best`: the best so far."""

from __future__ import annotations

import math
from typing import Any

import typer

from mergebo.cli.screen import UNBEATEN, Json, as_data, complain, console, number, point_text, print_json, say, trial_table
from mergebo.cli.studies import HERE, Name, Storage, Study, load, plain


def best(storage: Storage = HERE, name: Name = "", as_json: Json = False) -> None:
    """Say which order is best so far. Exit status 1 if there is no result yet.

    Of noisy results it is the one that is expected to be the best, not the luckiest. With several objectives, these are all
    trials that no other beats.

    Example: `mergebo best --json`
    """
    study = load(storage, name)
    if not study.done():
        complain("there is no result yet: `mergebo ask`, then `mergebo tell`")
        raise typer.Exit(1)
    if study.noisy:
        _expected(study, as_json)
    elif len(study.directions) > 1:
        trials = study.optuna.best_trials
        if as_json:
            print_json([as_data(study, trial) for trial in trials])
        else:
            console().print(trial_table(study, trials, title=UNBEATEN))
    else:
        trial = study.optuna.best_trial
        if as_json:
            print_json(as_data(study, trial))
        else:
            say((number(trial.value), "bold"), f" in trial {trial.number}")
            say(point_text(study.point(trial)))


def _expected(study: Study, as_json: bool) -> None:
    """What noisy results say: points with what is expected of them, not with what was measured."""
    opt, places = study.read()
    several = len(study.directions) > 1
    found: list[Any] = list(opt.pareto.trials) if several else [opt.best]
    if as_json:
        data = [
            {
                "trial": places[each.id],
                "expected": each.value,
                "deviation": each.deviation,
                "measurements": each.measurements,
                "point": plain(each.point),
            }
            for each in found
        ]
        print_json(data if several else data[0])
        return
    if several:
        say(("No other is expected to beat these in all objectives", "italic"))
    for each in found:
        values, deviations = (part if several else (part,) for part in (each.value, each.deviation))
        said = ", ".join(_uncertain(*pair) for pair in zip(values, deviations, strict=True))
        times = "once" if each.measurements == 1 else f"{each.measurements} times"
        say((said, "bold"), f" expected of trial {places[each.id]}, measured {times}")
        say(point_text(plain(each.point)))


def _uncertain(value: float, deviation: float) -> str:
    return number(value) + (f" ± {deviation:.2g}" if math.isfinite(deviation) else "")
