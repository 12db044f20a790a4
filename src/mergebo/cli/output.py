"""What commands print: tables for people, JSON for machines."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mergebo._text import format_numbers, point_text
from mergebo.errors import ArgumentError

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial
    from rich.console import Console
    from rich.table import Table

    from mergebo.studies import Study

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]

PARETO_FRONT = "Pareto front (trials that no other trial dominates)"
SPARKLINE_BARS = "▁▂▃▄▅▆▇█"
MAX_WIDTH = 100_000
"""Width of the output in columns if it is not a terminal, so that lines in files and pipes are not wrapped."""


def console() -> Console:
    """The console for output that people read."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=MAX_WIDTH)


def echo(*parts: str | tuple[str, str]) -> None:
    """Print texts, optionally with a style, literally: markup and emoji codes in names are not interpreted."""
    from rich.text import Text

    console().print(Text.assemble(*parts), soft_wrap=True)


def warn(text: str) -> None:
    """Print a message on the standard error."""
    typer.echo(f"mergebo: {text}", err=True)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A file to write, which replaces that at the path once it is complete, so that no part of one is ever there.

    Anything but an ordinary file, such as a device, is written in place. Errors of writing become an `ArgumentError`.
    """
    target = path.resolve()
    in_place = (target.exists() and not target.is_file()) or not os.access(target.parent, os.W_OK)
    written = target if in_place else target.with_name(f".{target.stem}-{os.getpid()}{target.suffix}")
    try:
        yield written
        if not in_place:
            if target.exists():
                shutil.copymode(target, written)
            written.replace(target)
    except OSError as error:
        raise ArgumentError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        if not in_place:
            written.unlink(missing_ok=True)


def print_json(data: Any) -> None:
    """Print one line of JSON in ASCII, which is safe in any locale; nan becomes null."""

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if isinstance(value, Mapping):
            return {str(key): plain(each) for key, each in value.items()}
        return [plain(each) for each in value] if isinstance(value, list | tuple) else value

    typer.echo(json.dumps(plain(data)))


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """Values as a row of bars, thinned to at most `width`."""
    if len(values) > width:
        values = [values[round(k * (len(values) - 1) / (width - 1))] for k in range(width)]
    low, high = min(values, default=0.0), max(values, default=0.0)
    scale = (len(SPARKLINE_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(SPARKLINE_BARS[round((value - low) * scale)] for value in values)


def duration_text(seconds: float | None) -> str:
    """A duration as people write it."""
    if seconds is None:
        return ""
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def trial_table(study: Study, trials: Iterable[FrozenTrial], best: Iterable[int] = ()) -> Table:
    """A table of trials; the best ones are highlighted."""
    from rich.table import Table
    from rich.text import Text

    from mergebo.studies.attributes import REASON
    from mergebo.studies.trials import state_of

    highlighted = set(best)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("trial", justify="right", no_wrap=True)
    table.add_column("value" if len(study.directions) == 1 else "values", justify="right", no_wrap=True)
    trials = list(trials)
    timed = any(study.seconds(trial) is not None for trial in trials)
    if timed:
        table.add_column("time", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for trial in trials:
        state = state_of(trial)
        point = Text(point_text(study.point(trial)))
        if state in ("failed", "cancelled"):
            point = Text(trial.user_attrs.get(REASON, "") + "  ", style="red") + point
        value = format_numbers(trial.values) if state == "done" else state
        style = "bold green" if trial.number in highlighted else "dim" if state in ("failed", "cancelled", "queued") else ""
        table.add_row(str(trial.number), value, *[duration_text(study.seconds(trial))] * timed, point, style=style)
    return table
