"""Places of items on a plane, learned from the values of orders: a pair of neighbours costs as much as they are apart.

The value of an order is modelled as the length of the path through its items' places plus a Gaussian process on shared
neighbouring pairs, which takes up what a map cannot say. Places have a normal prior and are found by L-BFGS. How much of
the variance is left to the process decides how rugged that is: with much of it, any start leads to about the same map.
So maps are fitted with less and less of it, each from the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from mergebo._typing import Floats, Rows
from mergebo.compiled.edges import SMOOTH, edge_pulls, edge_sums
from mergebo.compiled.walks import cost_steps
from mergebo.moves import move_slots, walk

LENGTH_VARIANCE = 4 - np.pi
"""Of the distance between two places whose coordinates are standard normal."""


def distances(places: Floats) -> Floats:
    """From where one leaves each item to where one arrives at each other; `places` is `(ends, n, 2)`.

    With one kind of ends, leaving and arriving are at the same place and distances are symmetric.
    """
    return np.asarray(np.sqrt(cdist(places[0], places[-1], "sqeuclidean") + SMOOTH))


@dataclass(frozen=True, eq=False)
class PathCosts:
    """The length of the path through the items' places, as the trend of a model of orders."""

    places: Floats
    cyclic: bool

    @cached_property
    def costs(self) -> Floats:
        """What each pair of neighbours costs."""
        return distances(self.places)

    def value(self, rows: Rows) -> Floats:
        out = np.empty(len(rows))
        edge_sums(np.ascontiguousarray(rows, np.int64), self.costs, self.cyclic, out)
        return out

    def changes(self, row: Rows, variable: str, move: str) -> Floats:
        out = np.empty(len(move_slots(len(row), move)))
        cost_steps(np.ascontiguousarray(row, np.int64), self.costs, self.cyclic, walk(len(row), move)[0], out)
        return out


def fit_places(
    orders: Rows, y: Floats, precision: Floats, start: Floats, *, variance: float, cyclic: bool, steps: int
) -> Floats:
    """The likeliest places, as far as so many steps of L-BFGS from `start` find them.

    `precision` is the inverse covariance of what the lengths leave unexplained, whose constant mean is at its best value;
    `variance` is what lengths of random orders have under the prior, if pairs were independent of each other.
    """
    orders = np.ascontiguousarray(orders, np.int64)
    count, n = orders.shape
    spread = np.sqrt(variance / (LENGTH_VARIANCE * n))
    by_ones = precision.sum(axis=1)
    lengths, pulls = np.empty(count), np.empty(start.shape)

    def loss(flat: Floats) -> tuple[float, Floats]:
        places = flat.reshape(start.shape)
        edge_sums(orders, distances(places), cyclic, lengths)
        left = y - lengths
        left = left - by_ones @ left / by_ones.sum()
        alpha = precision @ left
        pulls[:] = 0
        edge_pulls(orders, -alpha, places[0], places[-1], cyclic, pulls)
        value = 0.5 * (left @ alpha + (flat @ flat) / spread**2)
        return float(value), pulls.reshape(-1) + flat / spread**2

    found = minimize(loss, start.reshape(-1), jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxfun": 2 * steps})
    return np.asarray(found.x).reshape(start.shape)
