"""Time of one `ask` of `auto`, the default method, including the fits of all its models. Run by `make bench`.

The observations resemble those of a run: random points, random neighbours of the best so far, then points that `auto` asks
for. Times are processor times, because other programs may be running, except wall-clock times where threads are compared.
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
from mergebo.neighbours import MOVES

TARGETS = {
    ("tsp:random", 30): 0.3,
    ("lop:planted", 30): 0.3,
    ("cells:random", 30): 0.3,
    ("tsp:random", 280): 2.0,
    ("lop:planted", 280): 2.0,
    ("tsp:random", 1000): 10.0,
    ("lop:planted", 1000): 10.0,
}
"""Maximum seconds that an ask should take with `OBSERVATIONS` observations."""
OBSERVATIONS, ASKS = 100, 8
"""The method caches results of the previous ask, and repeats some computations only at every eighth one."""


def after_hill_climbing(problem: mb.problems.Problem, count: int) -> mb.Optimizer:
    """A run of `auto` with `count` observations from hill climbing by random neighbours."""
    rng = np.random.default_rng(0)
    rows = problem.space.sample_rows(20, seed=rng)
    values = problem.evaluate_rows(rows)
    while len(rows) < count:
        new = problem.space.random_neighbours(rows[values.argmin()], tuple(MOVES), 1, rng)[:1]
        rows, values = np.concatenate([rows, new]), np.append(values, problem.evaluate_rows(new))
    state = mb.Optimizer(problem.space, "auto").state()
    trials = [{"row": row.tolist(), "state": "done", "value": float(value)} for row, value in zip(rows, values, strict=True)]
    return mb.Optimizer.from_state({**state, "trials": trials, "finished": list(range(count))})


Ask = Callable[[mb.Optimizer], mb.Trial]


def ask_seconds(
    name: str, n: int, ask: Ask = mb.Optimizer.ask, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Seconds of the first ask, which fills the caches, and of the `ASKS` after it, up to `OBSERVATIONS` observations."""
    problem = mb.problems.get(name, n=n)
    optimizer = after_hill_climbing(problem, OBSERVATIONS - ASKS)
    times = []
    for _ in range(1 + ASKS):
        start = clock()
        trial = ask(optimizer)
        times.append(clock() - start)
        optimizer.tell(trial, float(problem.evaluate(trial.point)))
    return times


def asking(name: str, n: int, target: float) -> list[Row]:
    """Complete asks."""
    first, *others = ask_seconds(name, n)
    took, what, start = mean(others), f"{name}, n = {n}", OBSERVATIONS - ASKS
    return [
        Row(
            f"ask, {what}, N = {start + 1} to {OBSERVATIONS}",
            seconds(took),
            "",
            took,
            "s",
            f"<= {target:g} s",
            took <= target,
        ),
        Row(f"first ask of a loaded state, {what}, N = {start}", seconds(first), "", first, "s", "", None),
    ]


def all_asking() -> list[Row]:
    """Asks with 100 observations."""
    for name in {name for name, _ in TARGETS}:
        ask_seconds(name, 10)  # compiles
    return list(chain.from_iterable(asking(name, n, target) for (name, n), target in TARGETS.items()))


def on_all_processors(optimizer: mb.Optimizer) -> mb.Trial:
    """An ask in which NumPy and SciPy may use all threads."""
    with threadpool_limits(os.cpu_count(), user_api="blas"):
        trial: mb.Trial = mb.Optimizer.ask.__wrapped__(optimizer)
        return trial


def threads() -> list[Row]:
    """Asks on one thread and on several threads."""
    rows = []
    for name, n in (("cells:random", 30), ("lop:planted", 280)):
        (_, *one), (_, *several) = (
            ask_seconds(name, n, ask, time.perf_counter) for ask in (mb.Optimizer.ask, on_all_processors)
        )
        what = f"ask, {name}, n = {n}, against {os.cpu_count()} threads"
        rows.append(faster(what, sum(one), sum(several), rounds_of=ASKS))
    return rows


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    run("auto", [all_asking, threads], f"mean processor time of {ASKS} asks")
