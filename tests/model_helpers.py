"""Models of random results, their data, and a slow definition of the length of a path."""

from __future__ import annotations

import numpy as np

from mergebo import distances
from mergebo.gp import GP
from mergebo.methods import KernelModel, merge_kernel
from mergebo.spaces import PermutationSpace, SearchSpace

SPACE = PermutationSpace(8)


def model() -> GP:
    """A model of the distance to an order."""
    rows = SPACE.sample_rows(20, seed=0)
    values = distances.kendall(rows, np.arange(8), view="rank").astype(float)
    return GP(KernelModel(merge_kernel).similarity(SPACE), rows, values)


def data(space: SearchSpace, count: int = 18, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random rows and noisy values of a linear function."""
    rows = space.sample_rows(count, seed=seed)
    return rows, (rows * np.arange(1, rows.shape[1] + 1)).sum(axis=1) + np.random.default_rng(seed).normal(0, 3, count)


def path_lengths(orders: np.ndarray, costs: np.ndarray, cyclic: bool) -> np.ndarray:
    """Step by step."""
    steps = range(orders.shape[1] if cyclic else orders.shape[1] - 1)
    return np.array([sum(costs[order[k], order[(k + 1) % len(order)]] for k in steps) for order in orders])
