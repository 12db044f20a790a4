"""Exact optima: enumeration, and dynamic programming for tours."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints
from mergebo.problems.base import Problem

__all__: list[str] = []


def brute_force(problem: Problem) -> tuple[float, Ints]:
    """The optimum of a problem over orders, by enumeration; for up to about 9 items."""
    orders = np.array(list(itertools.permutations(range(problem.space.width))))
    values = problem.evaluate_rows(orders)
    return float(values.min()), orders[values.argmin()]


def held_karp(distances: NDArray[np.float64]) -> tuple[float, Ints]:
    """The shortest tour by dynamic programming over subsets (Held and Karp 1962): O(2^n n^2), for n up to 16."""
    n = len(distances) - 1  # city n is the start and end
    if n < 1:
        return float(distances.sum()), np.zeros(1, np.int64)
    step = distances[:n, :n]
    # cost[set, j]: the shortest path from city n through all cities of the set to its member j.
    cost = np.full((1 << n, n), np.inf)
    came_from = np.zeros((1 << n, n), np.int64)
    cost[1 << np.arange(n), np.arange(n)] = distances[n, :n]
    for members in range(1, 1 << n):
        last = np.flatnonzero(members >> np.arange(n) & 1)
        if len(last) < 2:
            continue
        through = cost[members ^ (1 << last)] + step[:, last].T
        came_from[members, last] = through.argmin(axis=1)
        cost[members, last] = through.min(axis=1)
    members = (1 << n) - 1
    closing = cost[members] + distances[:n, n]
    tour, city = [n], int(closing.argmin())
    while members:
        tour.append(city)
        members, city = members ^ (1 << city), int(came_from[members, city])
    return float(closing.min()), np.array(tour[:1] + tour[:0:-1])
