"""Seconds that `auto`, the default method, takes for one `ask`, fits of all its models included. Run by `make bench`.

Results are those of a run: random points, then random neighbours of the best so far, then what the method itself asks for.
Seconds are those of the processor, on which others may run as well, but where threads are compared: there they are those of
the clock.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from itertools import chain
from statistics import mean

import numpy as np
from harness import Row, faster, run, seconds
from threadpoolctl import threadpool_limits

import mergebo as mb
from mergebo.moves import MOVES, random_neighbours

BARS = {
    ("tsp:random", 30): 0.3,
    ("lop:planted", 30): 0.3,
    ("cells:random", 30): 0.3,
    ("tsp:random", 280): 2.0,
    ("lop:planted", 280): 2.0,
    ("tsp:random", 1000): 10.0,
    ("lop:planted", 1000): 10.0,
}
"""The most seconds that an ask should take, with `RESULTS` results."""
RESULTS, ASKS = 100, 8
"""The method remembers what it computed at the ask before, and looks at some things every eighth time only."""


def climbed(problem: mb.problems.Problem, count: int) -> mb.Optimizer:
    """A run of `auto` with so many results of a climb by random neighbours."""
    rng = np.random.default_rng(0)
    rows = problem.space.sample_rows(20, seed=rng)
    values = problem.evaluate_rows(rows)
    while len(rows) < count:
        new = random_neighbours(rows[values.argmin()], problem.space, tuple(MOVES), 1, rng)[:1]
        rows, values = np.concatenate([rows, new]), np.append(values, problem.evaluate_rows(new))
    state = mb.Optimizer(problem.space, "auto").state()
    trials = [{"row": row.tolist(), "state": "done", "value": float(value)} for row, value in zip(rows, values, strict=True)]
    return mb.Optimizer.from_state({**state, "trials": trials, "finished": list(range(count))})


Asking = Callable[[mb.Optimizer], mb.Trial]


def ask_seconds(
    name: str, n: int, ask: Asking = mb.Optimizer.ask, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Of the first ask, after which a run is warm, and of `ASKS` more up to the one with `RESULTS` results."""
    problem = mb.problems.get(name, n=n)
    optimizer = climbed(problem, RESULTS - ASKS)
    times = []
    for _ in range(1 + ASKS):
        start = clock()
        trial = ask(optimizer)
        times.append(clock() - start)
        optimizer.tell(trial, float(problem.evaluate(trial.point)))
    return times


def asking(name: str, n: int, bar: float) -> list[Row]:
    """Whole asks."""
    first, *others = ask_seconds(name, n)
    took, what, less = mean(others), f"{name}, n = {n}", RESULTS - ASKS
    return [
        Row(f"ask, {what}, N = {less + 1} to {RESULTS}", seconds(took), "", took, "s", f"<= {bar:g} s", took <= bar),
        Row(f"first ask of a loaded state, {what}, N = {less}", seconds(first), "", first, "s", "", None),
    ]


def all_asking() -> list[Row]:
    """Asks with 100 results."""
    for name in {name for name, _ in BARS}:
        ask_seconds(name, 10)  # compiles
    return list(chain.from_iterable(asking(name, n, bar) for (name, n), bar in BARS.items()))


def on_all_processors(optimizer: mb.Optimizer) -> mb.Trial:
    """An ask as it would be if nobody kept NumPy and SciPy from using threads."""
    with threadpool_limits(os.cpu_count(), user_api="blas"):
        asked: mb.Trial = mb.Optimizer.ask.__wrapped__(optimizer)
        return asked


def threads() -> list[Row]:
    """Asks on one thread and on several."""
    rows = []
    for name, n in (("cells:random", 30), ("lop:planted", 280)):
        (_, *ours), (_, *theirs) = (
            ask_seconds(name, n, ask, time.perf_counter) for ask in (mb.Optimizer.ask, on_all_processors)
        )
        what = f"ask, {name}, n = {n}, against {os.cpu_count()} threads"
        rows.append(faster(what, sum(ours), sum(theirs), rounds_of=ASKS))
    return rows


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    run("auto", [all_asking, threads], f"mean processor time of {ASKS} asks")
