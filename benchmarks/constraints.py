"""Constraints and symmetries: speed of sampling orders and checking moves, and the effect of symmetry on round tours.

`python benchmarks/constraints.py` measures speed, and checks that 10 000 sampled and searched points are feasible. With
`--tours` it also runs `auto` on tours of 15 and 30 cities, with and without symmetry, which takes an hour.
"""

from __future__ import annotations

import argparse
import time
from itertools import chain

import numpy as np
from harness import Row, best_times, run, seconds

import mergebo as mb
from mergebo.neighbours import MOVES, move_slots, move_table

SIZES = (5, 10, 20, 50, 100, 200)


def partial_order(n: int, pairs: int, seed: int) -> mb.PermutationSpace:
    """A space with random precedence constraints."""
    rng = np.random.default_rng(seed)
    order, slots = rng.permutation(n), np.sort(rng.integers(0, n, (pairs, 2)), axis=1)
    return mb.PermutationSpace(n, before=[(int(order[a]), int(order[b])) for a, b in slots if a < b])


def count_infeasible(space: mb.PermutationSpace, rows: np.ndarray) -> int:
    """Number of infeasible rows, checked in plain NumPy."""
    ranks = np.argsort(rows, axis=1)
    wrong = np.zeros(len(rows), bool)
    for a, b in space.order.before:
        wrong |= ranks[:, a] > ranks[:, b]
    return int(wrong.sum())


def drawing() -> list[Row]:
    """Sampling of feasible orders."""
    out = []
    for n in SIZES:
        space = partial_order(n, n, n)
        (took,) = best_times(lambda space=space: space.sample_rows(10, seed=0), rounds=3)
        out.append(Row(f"one random linear extension, n = {n}", seconds(took / 10), "", took / 10, "s", "", None))
    return out


def checking() -> list[Row]:
    """Which moves are feasible, compared with checking explicit neighbours."""
    space = partial_order(200, 200, 0)
    order, constraints = space.sample_rows(seed=0), space.order.constraints
    assert constraints is not None
    out = []
    for move in MOVES:

        def explicit(move: str = move) -> np.ndarray:
            return constraints.satisfied(order[move_table(200, move)])

        times = best_times(lambda move=move: space.order.feasible_moves(order, move), explicit, rounds=3)
        figure = times[1] / times[0]
        what = f"which of {len(move_slots(200, move)):,} moves satisfy 200 precedence constraints, {move}, n = 200"
        out.append(Row(what, seconds(times[0]), seconds(times[1]), figure, "x faster", "", None))
    return out


def feasible() -> list[Row]:
    """Feasibility of 10 000 sampled and searched points."""
    count = wrong = 0
    for n, seed in [(n, seed) for n in SIZES for seed in range(4)]:
        space = partial_order(n, (seed + 1) * n // 2, seed)
        drawn = space.sample_rows(220, seed=seed)
        around = [space.random_neighbours(row, tuple(MOVES), 21, np.random.default_rng(seed)) for row in drawn[:10]]
        proposed = []
        for method in ("bops-h", "local-search", "genetic", "auto"):
            optimizer = mb.Optimizer(space, method, seed=seed, initial=5)
            for _ in range(8):
                try:
                    trial = optimizer.ask()
                except mb.errors.ExhaustedError:
                    break
                optimizer.tell(trial, float(trial.point[0]))
                proposed.append(trial.point)
        rows = np.concatenate([drawn, *around, proposed])
        count, wrong = count + len(rows), wrong + count_infeasible(space, rows)
    what = f"infeasible ones of {count:,} sampled and searched points of random partial orders, n = 5 to 200"
    return [Row(what, str(wrong), "", wrong, "points", "0 of 10 000", wrong == 0 and count >= 10_000)]


def tours(n: int, instances: range, seeds: int = 3, budget: int = 60) -> list[Row]:
    """`auto` on round tours with relabelled items, with and without symmetry, paired."""
    ends, areas, start = [], [], time.perf_counter()
    for instance in instances:
        problem = mb.problems.get(f"tsp:random(n={n},seed={instance})").relabelled(instance)
        for seed in range(seeds):
            pair = []
            for options in ({}, {"symmetry": ("cycle", "reversal")}):
                space = mb.PermutationSpace(n, **options)
                pair.append(mb.minimize(problem.evaluate, space, budget=budget, seed=seed, initial=20).convergence())
            ends.append(pair[1][-1] / pair[0][-1] - 1)
            areas.append(pair[1][20:].mean() / pair[0][20:].mean() - 1)
            print(n, instance, seed, f"{ends[-1]:+.3f} {areas[-1]:+.3f}", f"{time.perf_counter() - start:.0f} s", flush=True)
    out = []
    for what, differences in (("length of the best tour", ends), ("its mean over the search", areas)):
        each = np.reshape(differences, (len(instances), seeds)).mean(axis=1)
        mean, error = float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(instances)))
        text = f"{what}: relative change by symmetry (standard error {error:.3f}), n = {n}"
        out.append(Row(text, f"{mean:+.3f}", "", mean, "", "at most 2 standard errors above 0", mean <= 2 * error + 1e-9))
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tours", action="store_true")
    cases = [drawing, checking, feasible]
    if parser.parse_args().tours:
        cases.append(lambda: list(chain(tours(15, range(100, 108)), tours(30, range(120, 149)))))
    run("constraints", cases)
