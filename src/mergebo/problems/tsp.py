"""Travelling salesman problems: the length of a round tour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Rows, Seed
from mergebo.errors import ShapeError, unknown_choice
from mergebo.permutations import as_generator
from mergebo.problems.base import OrderProblem

__all__ = ["TSP"]

Metric: TypeAlias = Literal["exact", "round", "ceil"]
"""Rounding of Euclidean distances: none, TSPLIB's EUC_2D (nearest integer) or CEIL_2D (next integer)."""


def euclidean(coordinates: NDArray[np.float64], metric: Metric = "exact") -> NDArray[np.float64]:
    """Distances between all points in the plane."""
    if metric not in get_args(Metric):
        raise unknown_choice("metric", metric, get_args(Metric))
    points = np.asarray(coordinates, np.float64)
    exact: NDArray[np.float64] = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    if metric == "exact":
        return exact
    return np.asarray(np.floor(exact + 0.5) if metric == "round" else np.ceil(exact))


@dataclass(frozen=True, eq=False, repr=False)
class TSP(OrderProblem):
    """The length of the round tour that visits cities in the given order: `sum_k distances[order[k], order[k + 1]]`."""

    distances: NDArray[np.float64]
    coordinates: NDArray[np.float64] | None = None
    """Coordinates of the cities, if there are any, for plots."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distances.ndim != 2 or self.distances.shape[0] != self.distances.shape[1]:
            raise ShapeError(f"distances must be a square matrix, got shape {self.distances.shape}")

    @property
    def n(self) -> int:
        return len(self.distances)

    def _evaluate(self, rows: Rows) -> Floats:
        # One flat index is twice as fast as a pair of index arrays.
        steps = rows * self.n
        steps[:, :-1] += rows[:, 1:]
        steps[:, -1] += rows[:, 0]
        lengths: Floats = self.distances.reshape(-1).take(steps).sum(axis=-1)
        return lengths

    def _describe(self) -> str:
        return f"the shortest round tour of {self.n} cities"


def uniform(name: str, n: int, seed: Seed) -> TSP:
    """Cities uniform in the unit square."""
    points = as_generator(seed).random((n, 2))
    return TSP(name, euclidean(points), points)


def clustered(name: str, n: int, seed: Seed, clusters: int = 4) -> TSP:
    """Cities in Gaussian clusters in the unit square."""
    rng = as_generator(seed)
    centres = rng.random((clusters, 2))
    points = centres[rng.integers(0, clusters, n)] + rng.normal(0, 0.06, (n, 2))
    return TSP(name, euclidean(points), points)


def drill_holes(name: str, board: NDArray[np.float64], n: int, seed: Seed) -> TSP:
    """A tour through n holes sampled from a printed circuit board, with TSPLIB's rounded distances."""
    chosen = as_generator(seed).choice(len(board), n, replace=False)
    return TSP(name, euclidean(board[chosen], "round"), board[chosen])
