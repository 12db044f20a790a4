"""Timing on a noisy machine: functions take turns within one run, and the ratios of their best times are reported."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """A measurement and its target."""

    what: str
    mergebo: str
    """Result of mergebo; the name is also a key of the files in `results`, like the next one."""
    rival: str
    """Result of the reference implementation, if any."""
    figure: float
    unit: str
    target: str
    met: bool | None


def best_times(*functions: Callable[[], object], rounds: int = 7) -> list[float]:
    """The best time of each function in seconds; they are called in turn after one warm-up call each."""
    for function in functions:
        function()
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for k, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def seconds(value: float) -> str:
    """A time as readable text."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def faster(what: str, own: float, reference: float, *, at_least: float | None = None, rounds_of: int = 1) -> Row:
    """A row for "at least `at_least` times faster than the reference"; times are divided by `rounds_of` for display."""
    ratio = reference / own
    target = "" if at_least is None else f">= {at_least:g}x faster"
    met = None if at_least is None else ratio >= at_least
    return Row(what, seconds(own / rounds_of), seconds(reference / rounds_of), ratio, "x faster", target, met)


def within(what: str, own: float, reference: float, *, at_most: float, rounds_of: int = 1) -> Row:
    """A row for "at most `at_most` times as long as the reference"."""
    ratio = own / reference
    return Row(
        what,
        seconds(own / rounds_of),
        seconds(reference / rounds_of),
        ratio,
        "x as long",
        f"<= {at_most:g}x",
        ratio <= at_most,
    )


def run(name: str, cases: list[Callable[[], list[Row]]], how: str = "best of interleaved runs") -> None:
    """Measure all cases with a progress display, print the table and write it as JSON to the folder `results`."""
    rows: list[Row] = []
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), transient=True) as progress:
        task = progress.add_task("", total=len(cases))
        for case in cases:
            progress.update(task, description=(case.__doc__ or case.__name__).splitlines()[0].rstrip("."))
            rows += case()
            progress.advance(task)
    table = Table(title=f"{name}: {how}, one thread")
    for column in ("what", "mergebo", "reference", "result", "target", ""):
        table.add_column(column, justify="right" if column in ("mergebo", "reference", "result") else "left")
    for row in rows:
        mark = {None: "", True: "[green]met[/]", False: "[red]MISSED[/]"}[row.met]
        table.add_row(
            row.what,
            row.mergebo,
            row.rival,
            f"{row.figure:.3g} {row.unit}" if row.figure < 1000 else f"{row.figure:,.0f} {row.unit}",
            row.target,
            mark,
        )
    Console(width=150).print(table)
    path = Path(__file__).parent / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    versions = {package: version(package) for package in ("mergebo", "numpy", "numba", "torch", "gpytorch")}
    record = {"python": platform.python_version(), "versions": versions, "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"written to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
