"""Regenerate stored optima: `python -m mergebo.problems.optima.regenerate [--write] [--quick] [NAME ...]`.

Exact where possible (dynamic programming for tours of up to 16 cities, enumeration of up to 8 items), otherwise long
searches that exploit the structure of the problem. Published values are kept: finding a better value than a proved optimum
is an error. With --write, values better than the stored ones are stored.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mergebo._typing import Rows
from mergebo.problems import registry
from mergebo.problems.base import Problem
from mergebo.problems.linear_ordering import LOP
from mergebo.problems.optima.exact import brute_force, held_karp
from mergebo.problems.optima.heuristics import anneal, steepest_descent
from mergebo.problems.optima.linear_orders import order_search
from mergebo.problems.optima.tours import tour_search
from mergebo.problems.order_of_addition import Synthesis
from mergebo.problems.registry import QAPLIB, available, get
from mergebo.problems.scheduling import TAILLARD
from mergebo.problems.tsp import TSP, euclidean
from mergebo.problems.ttp import TTP

__all__: list[str] = []

PUBLISHED: dict[str, tuple[float, bool, str]] = {
    "tsp:a280": (2579, True, "TSPLIB"),
    **{f"qap:{name}": (value, name != "tai30a", "QAPLIB") for name, value in QAPLIB.items()},
    **{
        f"flowshop:ta{first + k:03d}": (value, True, "Taillard 1993")
        for first, _, values in TAILLARD.values()
        for k, value in enumerate(values)
    },
}
"""Value, whether it is proved, and its source."""


def solve(problem: Problem, *, quick: bool = False, thief_steps: int = 300_000) -> tuple[float, Rows, bool, str]:
    """The best value and row found, whether it is proved optimal, and how.

    `quick`: one search instead of several. `thief_steps`: steps of annealing of a travelling thief.
    """
    few, many = (range(1), range(1)) if quick else (range(4), range(8))
    if isinstance(problem, TSP) and problem.n <= 16:
        return *held_karp(problem.distances), True, "dynamic programming"
    if isinstance(problem, TSP):
        found = [tour_search(problem.distances, seed=seed, kicks=400_000) for seed in many]
        return *min(found, key=lambda pair: pair[0]), False, "2-opt, Or-opt and kicks"
    if isinstance(problem, TTP):
        return *_thief(problem, thief_steps), False, "annealed from a short tour and a good knapsack"
    if (order := problem.space.single_permutation) is not None and order.n <= 8:
        return *brute_force(problem), True, "all orders tried"
    if isinstance(problem, Synthesis) and problem.n <= 8:
        rows = problem.best_quantities(np.array(list(itertools.permutations(range(problem.n)))))
        values = problem.evaluate_rows(rows)
        return float(values.min()), rows[values.argmin()], True, "all orders tried, each with its best quantities"
    if isinstance(problem, LOP):
        found = [order_search(problem.gains, seed=seed, kicks=1_000_000 // problem.n) for seed in few]
        return *min(found, key=lambda pair: pair[0]), False, "insertions and kicks"
    # Long chains for many items, many chains for few.
    chains, steps = (48, 30_000) if problem.space.width < 30 else (12, 40_000)
    found = [
        anneal(problem, seed=seed, chains=chains, steps=steps, initial_temperature=0.15 * (1 + seed % 2)) for seed in few
    ]
    found = [steepest_descent(problem, row) for _, row in found]
    return *min(found, key=lambda pair: pair[0]), False, "simulated annealing, then steepest descent"


def _thief(problem: TTP, steps: int) -> tuple[float, Rows]:
    """Annealing from a good tour in both directions with greedy knapsacks."""
    if problem.name.startswith("ttp:a280"):
        tour = np.array(get("tsp:a280").optimizers[0], np.int64)
    else:
        _, tour = tour_search(euclidean(problem.coordinates, "ceil"), seed=0, kicks=10_000)
    found = []
    for fill in (0.3, 0.5, 0.7, 0.9):
        worth = problem.by_worth
        picks = np.zeros(len(worth), np.int64)
        picks[worth[np.cumsum(problem.weights[worth]) <= fill * problem.capacity]] = 1
        found += [np.concatenate([route, picks]) for route in (tour, tour[::-1])]
    rows = np.array(found)
    best = rows[problem.evaluate_rows(rows).argmin()]
    _, annealed = anneal(problem, seed=0, chains=8, steps=steps, start=best, initial_temperature=0.003)
    return steepest_descent(problem, annealed)


def main(
    arguments: Sequence[str] | None = None,
    *,
    path: Path = registry.OPTIMA,
    published: Mapping[str, tuple[float, bool, str]] = PUBLISHED,
) -> None:
    """Solve and compare; see the docstring of the module. The stored optima are in the file `path`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="problems to solve; by default all without parameters")
    parser.add_argument("--write", action="store_true", help="store values that are better than the stored ones")
    parser.add_argument("--quick", action="store_true", help="run one search instead of several")
    options = parser.parse_args(arguments)
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    elsewhere = ("tsp:pcb442", "addition:heated")  # a published tour; a real variable without a closed-form optimum
    names = options.names or [name for name in available() if "(" not in name and name not in elsewhere]
    for position, given in enumerate(names, 1):
        start = time.perf_counter()
        problem = get(given)
        name = problem.name  # with all parameters, the key of the stored values
        value, row, proved, source = solve(problem, quick=options.quick)
        record: dict[str, Any] = {"value": value, "proved": proved, "source": source, "rows": [np.asarray(row).tolist()]}
        if name in published:
            best, best_proved, origin = published[name]
            if value < best and best_proved:
                raise SystemExit(f"{name}: found {value:g}, below the proved optimum {best:g}: the problem is wrong")
            if value >= best:
                reached = record["rows"] if value == best else []
                record = {"value": best, "proved": best_proved, "source": origin, "rows": reached}
        before = stored.get(name, {"value": np.inf, "proved": False, "rows": []})
        print(
            f"[{position}/{len(names)}] {name}: found {value:.10g} ({source}); "
            f"optimum {record['value']:.10g} ({'proved' if record['proved'] else 'best known'}, {record['source']}); "
            f"stored {before['value']:.10g}; {time.perf_counter() - start:.1f} s",
            flush=True,
        )
        better = (-record["value"], record["proved"], len(record["rows"])) > (
            -before["value"],
            before["proved"],
            len(before["rows"]),
        )
        if options.write and better:
            stored[name] = record
            lines = (f"{json.dumps(key)}: {json.dumps(stored[key])}" for key in sorted(stored))
            path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            registry.stored_optima.cache_clear()


if __name__ == "__main__":
    main()
