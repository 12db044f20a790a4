"""Evaluations per second of each family of problems, at the sizes of the paper. Run by `make bench`."""

from __future__ import annotations

from harness import Row, best_times, run, seconds

from mergebo import problems

COUNT = 4000

TARGETS = {
    "tsp:a280": 20_000,
    "tsp:pcb15-0": 20_000,
    "qap:chr15a": 20_000,
    "qap:nug30": 20_000,
    "floorplan:fp-1": 20_000,
    "cells:cp-1": 20_000,
    "ttp:a280-n279-uncorr": 2_000,
    "ttp:a280-n837-bounded": 2_000,
    "ttp:a280-n837-uncorr": 2_000,
    "flowshop:ta001": 20_000,
    "flowshop:random(n=100,machines=5)": 20_000,
    "lop:planted(n=30)": 20_000,
    "lop:planted(n=100)": 20_000,
    "addition:demo": 20_000,
}
"""Target evaluations per second on one core, including validation of the points."""


def evaluations() -> list[Row]:
    """Evaluations per second."""
    rows = []
    for name, target in TARGETS.items():
        problem = problems.get(name)
        points = problem.space.sample(COUNT, seed=0)
        (best,) = best_times(lambda problem=problem, points=points: problem.evaluate(points), rounds=5)
        rate = COUNT / best
        rows.append(Row(name, seconds(best / COUNT), "", rate, "a second", f">= {target}", rate >= target))
    return rows


if __name__ == "__main__":
    run("problems", [evaluations])
