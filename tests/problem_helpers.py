"""A problem with all types of variables, and a slow reference implementation of the travelling thief."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import mergebo as mb
from mergebo import problems


@dataclass(frozen=True, eq=False, repr=False)
class Brew(problems.Problem):
    """A custom problem with all types of variables; minimal in oak, at 40 degrees, three hours, in order."""

    space = mb.Space(
        order=mb.Permutation(4), vessel=mb.Choice(["tin", "oak", "glass"]), celsius=mb.Real(20, 80), hours=mb.Integer(1, 9)
    )

    def _evaluate(self, rows: np.ndarray) -> np.ndarray:
        off = (rows[:, :4] != np.arange(4)).sum(axis=1) + 2 * (rows[:, 4] != 1)
        return off + np.abs(rows[:, 5] - 40) / 10 + np.abs(rows[:, 6] - 3)

    def _describe(self) -> str:
        return "a brew"


def reference_ttp(problem: problems.TTP, route: list[int], picks: list[int]) -> float:
    """The objective by its definition, one city after the other, for a feasible plan."""
    start = route.index(0)
    tour = route[start:] + route[:start]
    profit = time = weight = 0.0
    for city, successor in zip(tour, tour[1:] + tour[:1], strict=True):
        for item, location in enumerate(problem.cities):
            if location == city and picks[item]:
                profit += problem.profits[item]
                weight += problem.weights[item]
        speed = problem.max_speed - weight / problem.capacity * (problem.max_speed - problem.min_speed)
        (x, y), (u, v) = problem.coordinates[city], problem.coordinates[successor]
        time += np.ceil(((x - u) ** 2 + (y - v) ** 2) ** 0.5) / speed
    return problem.rent * time - profit
