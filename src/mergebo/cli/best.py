"""`mergebo best`: the best trial so far."""

from __future__ import annotations

import math
from typing import Any

import typer

from mergebo.cli.output import (
    PARETO_FRONT,
    Json,
    as_data,
    console,
    echo,
    format_number,
    point_text,
    print_json,
    trial_table,
    warn,
)
from mergebo.cli.studies import DEFAULT_STORAGE, Name, Storage, Study, load, plain


def best(storage: Storage = DEFAULT_STORAGE, name: Name = "", as_json: Json = False) -> None:
    """Print the best trial so far.

    With noisy values, this is the point with the best expected value, not the best single measurement. With several
    objectives, all trials on the Pareto front are printed.

    Exit code 1 if there are no results yet.

    Example: `mergebo best --json`
    """
    study = load(storage, name)
    if not study.completed():
        warn("there are no results yet; use `mergebo ask`, then `mergebo tell`")
        raise typer.Exit(1)
    if study.noisy:
        _expected(study, as_json)
    elif len(study.directions) > 1:
        trials = study.optuna.best_trials
        if as_json:
            print_json([as_data(study, trial) for trial in trials])
        else:
            echo((PARETO_FRONT, "italic"))
            console().print(trial_table(study, trials))
    else:
        trial = study.optuna.best_trial
        if as_json:
            print_json(as_data(study, trial))
        else:
            echo((format_number(trial.value), "bold"), f" in trial {trial.number}")
            echo(point_text(study.point(trial)))


def _expected(study: Study, as_json: bool) -> None:
    """Print the best points of a noisy study with their expected values, rather than the measured ones."""
    opt, numbers = study.read()
    multiple = len(study.directions) > 1
    found: list[Any] = list(opt.pareto.trials) if multiple else [opt.best]
    if as_json:
        data = [
            {
                "trial": numbers[each.id],
                "expected": each.value,
                "deviation": each.std,
                "measurements": each.measurements,
                "point": plain(each.point),
            }
            for each in found
        ]
        print_json(data if multiple else data[0])
        return
    if multiple:
        echo(("Pareto front of the expected values", "italic"))
    for each in found:
        values, deviations = (part if multiple else (part,) for part in (each.value, each.std))
        text = ", ".join(_uncertain(*pair) for pair in zip(values, deviations, strict=True))
        times = "once" if each.measurements == 1 else f"{each.measurements} times"
        echo((text, "bold"), f" expected for trial {numbers[each.id]}, measured {times}")
        echo(point_text(plain(each.point)))


def _uncertain(value: float, deviation: float) -> str:
    """A value with its standard deviation."""
    return format_number(value) + (f" ± {deviation:.2g}" if math.isfinite(deviation) else "")
