"""Item embeddings: coordinates of items in the plane, learned from the values of orders.

The value of an order is modelled as the length of the path through its items' coordinates plus a Gaussian process on shared
adjacent pairs, which models the residual. Coordinates have a normal prior and are fitted by L-BFGS. The likelihood becomes
multimodal as the residual variance shrinks; with a large one any start leads to about the same embedding. So embeddings are
fitted with decreasing residual variance, each warm-started from the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from mergebo._typing import Floats, Rows
from mergebo.compiled.adjacency import SMOOTH, edge_gradients, edge_sums
from mergebo.compiled.walks import cost_steps
from mergebo.neighbours import exchange_sequence, move_slots

LENGTH_VARIANCE = 4 - np.pi
"""Variance of the distance between two points whose coordinates are standard normal."""


def distances(coordinates: Floats) -> Floats:
    """Distances from the exit of each item to the entry of each other; `coordinates` is `(ends, n, 2)`.

    With one kind of ends, exit and entry coincide and distances are symmetric.
    """
    return np.asarray(np.sqrt(cdist(coordinates[0], coordinates[-1], "sqeuclidean") + SMOOTH))


@dataclass(frozen=True, eq=False)
class PathLengthMean:
    """Mean function of orders: the length of the path through the items' coordinates."""

    coordinates: Floats
    cyclic: bool

    @cached_property
    def costs(self) -> Floats:
        """The length of each step."""
        return distances(self.coordinates)

    def value(self, rows: Rows) -> Floats:
        out = np.empty(len(rows))
        edge_sums(np.ascontiguousarray(rows, np.int64), self.costs, self.cyclic, out)
        return out

    def changes(self, row: Rows, variable: str, move: str) -> Floats:
        out = np.empty(len(move_slots(len(row), move)))
        cost_steps(np.ascontiguousarray(row, np.int64), self.costs, self.cyclic, exchange_sequence(len(row), move)[0], out)
        return out


def fit_embedding(
    orders: Rows, y: Floats, precision: Floats, start: Floats, *, variance: float, cyclic: bool, steps: int
) -> Floats:
    """Maximum a posteriori coordinates, by at most `steps` iterations of L-BFGS from `start`.

    `precision` is the inverse covariance of the residual, whose constant mean takes its best value. `variance` is the prior
    variance of the path lengths of random orders, with pairs treated as independent.
    """
    orders = np.ascontiguousarray(orders, np.int64)
    count, n = orders.shape
    prior_std = np.sqrt(variance / (LENGTH_VARIANCE * n))
    by_ones = precision.sum(axis=1)
    lengths, gradient = np.empty(count), np.empty(start.shape)

    def loss(flat: Floats) -> tuple[float, Floats]:
        coordinates = flat.reshape(start.shape)
        edge_sums(orders, distances(coordinates), cyclic, lengths)
        residual = y - lengths
        residual = residual - by_ones @ residual / by_ones.sum()
        alpha = precision @ residual
        gradient[:] = 0
        edge_gradients(orders, -alpha, coordinates[0], coordinates[-1], cyclic, gradient)
        value = 0.5 * (residual @ alpha + (flat @ flat) / prior_std**2)
        return float(value), gradient.reshape(-1) + flat / prior_std**2

    found = minimize(loss, start.reshape(-1), jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxfun": 2 * steps})
    return np.asarray(found.x).reshape(start.shape)
