"""`mergebo best`: the best trial so far."""

from __future__ import annotations

import math
from typing import Any

import typer

from mergebo._text import format_number, point_text
from mergebo.cli.options import DEFAULT_STORAGE, Name, Storage
from mergebo.cli.output import PARETO_FRONT, Json, console, echo, print_json, trial_table, warn


def best(storage: Storage = DEFAULT_STORAGE, name: Name = "", as_json: Json = False) -> None:
    """Print the best trial so far.

    With noisy values, this is the point with the best expected value, not the best single measurement. With several
    objectives, all trials on the Pareto front are printed.

    Exit code 1 if there are no results yet.

    Example: `mergebo best --json`
    """
    from mergebo.studies import load

    study = load(storage, name)
    if not study.completed():
        warn(f"there are no results yet; use `{study.command_line('ask')}`, then `{study.command_line('tell TRIAL VALUE')}`")
        raise typer.Exit(1)
    found, several = study.best(), len(study.directions) > 1
    if as_json:
        print_json(found if several else found[0])
    elif study.is_noisy():
        _expected(found, several)
    elif several:
        echo((PARETO_FRONT, "italic"))
        console().print(trial_table(study, study.best_trials()))
    else:
        (trial,) = found
        echo((format_number(trial["value"]), "bold"), f" in trial {trial['trial']}")
        echo(point_text(trial["point"]))


def _expected(found: list[dict[str, Any]], several: bool) -> None:
    """Print points with their expected values, rather than the measured ones."""
    if several:
        echo(("Pareto front of the expected values", "italic"))
    for each in found:
        values, deviations = (each[name] if several else (each[name],) for name in ("expected", "std"))
        text = ", ".join(_uncertain(*pair) for pair in zip(values, deviations, strict=True))
        times = "once" if each["measurements"] == 1 else f"{each['measurements']} times"
        echo((text, "bold"), f" expected for trial {each['trial']}, measured {times}")
        echo(point_text(each["point"]))


def _uncertain(value: float, deviation: float) -> str:
    """A value with its standard deviation."""
    return format_number(value) + (f" ± {deviation:.2g}" if math.isfinite(deviation) else "")
