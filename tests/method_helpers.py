"""Similarities of the methods' models, and results of random points of a problem, as methods read them."""

from __future__ import annotations

from mergebo import problems
from mergebo.methods import METHODS, Dataset, History, SingleKernel, StructureModels
from mergebo.similarity import Adjacency, Positions

ORDERS = {
    **{name: info.fixed["kernel"] for name, info in METHODS.items() if info.make is SingleKernel},
    "position": Positions,
    "adjacency": Adjacency,
}
"""Similarities of the methods' models, and others."""


def make_history(problem: str, count: int, seed: int = 0) -> History:
    made = problems.get(problem)
    rows = made.space.sample_rows(count, seed=seed)
    nothing = rows[:0]
    return History(made.space, rows, made.evaluate_rows(rows), nothing, nothing, count)


def make_dataset(problem: str, count: int, seed: int = 0) -> Dataset:
    return StructureModels().dataset(make_history(problem, count, seed))
