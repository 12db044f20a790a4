"""Rules and shapes of order: how fast orders are drawn and moves checked, and what symmetry is worth on round tours.

`python benchmarks/rules.py` measures speed, and that 10 000 drawn and searched points keep their rules. With `--tours` it
also runs `auto` on tours of 15 and 30 cities, with symmetry and without, which takes an hour.
"""

from __future__ import annotations

import argparse
import time
from itertools import chain

import numpy as np
from harness import Row, best_times, run, seconds

import mergebo as mb
from mergebo.moves import MOVES, feasible_moves, move_slots, move_table, random_neighbours

SIZES = (5, 10, 20, 50, 100, 200)


def partial_order(n: int, pairs: int, seed: int) -> mb.PermutationSpace:
    """A space with random pairs of items in order."""
    rng = np.random.default_rng(seed)
    order, slots = rng.permutation(n), np.sort(rng.integers(0, n, (pairs, 2)), axis=1)
    return mb.PermutationSpace(n, before=[(int(order[a]), int(order[b])) for a, b in slots if a < b])


def broken(space: mb.PermutationSpace, rows: np.ndarray) -> int:
    """Rows that break a rule, checked in plain numpy."""
    ranks = np.argsort(rows, axis=1)
    wrong = np.zeros(len(rows), bool)
    for a, b in space.order.before:
        wrong |= ranks[:, a] > ranks[:, b]
    return int(wrong.sum())


def drawing() -> list[Row]:
    """Orders drawn at random."""
    out = []
    for n in SIZES:
        space = partial_order(n, n, n)
        (took,) = best_times(lambda space=space: space.sample_rows(10, seed=0), rounds=3)
        out.append(Row(f"one random linear extension, n = {n}", seconds(took / 10), "", took / 10, "s", "", None))
    return out


def checking() -> list[Row]:
    """Which of all moves keep the rules, against neighbours written out."""
    space = partial_order(200, 200, 0)
    order, rules = space.sample_rows(seed=0), space.order.rules
    assert rules is not None
    out = []
    for move in MOVES:

        def written(move: str = move) -> np.ndarray:
            return rules.holds(order[move_table(200, move)])

        times = best_times(lambda move=move: feasible_moves(order, space.order, move), written, rounds=3)
        figure = times[1] / times[0]
        what = f"which of {len(move_slots(200, move)):,} moves keep 200 pairs in order, {move}, n = 200"
        out.append(Row(what, seconds(times[0]), seconds(times[1]), figure, "x faster", "", None))
    return out


def feasible() -> list[Row]:
    """10 000 points, drawn and searched."""
    count = wrong = 0
    for n, seed in [(n, seed) for n in SIZES for seed in range(4)]:
        space = partial_order(n, (seed + 1) * n // 2, seed)
        drawn = space.sample_rows(220, seed=seed)
        around = [random_neighbours(row, space, tuple(MOVES), 21, np.random.default_rng(seed)) for row in drawn[:10]]
        asked = []
        for method in ("bops-h", "local-search", "genetic", "auto"):
            optimizer = mb.Optimizer(space, method, seed=seed, initial=5)
            for _ in range(8):
                try:
                    trial = optimizer.ask()
                except mb.errors.ExhaustedError:
                    break
                optimizer.tell(trial, float(trial.point[0]))
                asked.append(trial.point)
        rows = np.concatenate([drawn, *around, asked])
        count, wrong = count + len(rows), wrong + broken(space, rows)
    what = f"of {count:,} drawn and searched points of random partial orders, n = 5 to 200, that break a rule"
    return [Row(what, str(wrong), "", wrong, "points", "0 of 10 000", wrong == 0 and count >= 10_000)]


def tours(n: int, instances: range, seeds: int = 3, budget: int = 60) -> list[Row]:
    """`auto` on round tours, the items renamed at random, with symmetry and without, by pairs."""
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
    for what, gaps in (("length of the best tour", ends), ("its mean over the search", areas)):
        each = np.reshape(gaps, (len(instances), seeds)).mean(axis=1)
        mean, error = float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(instances)))
        said = f"{what} with symmetry over that without, less 1 (standard error {error:.3f}), n = {n}"
        out.append(Row(said, f"{mean:+.3f}", "", mean, "", "no more than 2 errors above 0", mean <= 2 * error + 1e-9))
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tours", action="store_true")
    cases = [drawing, checking, feasible]
    if parser.parse_args().tours:
        cases.append(lambda: list(chain(tours(15, range(100, 108)), tours(30, range(120, 149)))))
    run("rules", cases)
