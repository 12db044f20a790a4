"""Mean functions of standardised values: linear in beliefs and a heuristic, path lengths, and sums of these.

Beliefs and a heuristic are the features of a linear mean function whose weights are learned. Every feature has mean 0 and
standard deviation 1 over random points. Its weight, in standardised values, has a normal prior: the feature is expected to
help, but may not, or may do the opposite. The weights come from a Bayesian linear regression that treats all unexplained
variance as noise, so a few observations hardly move them and many override the prior. The Gaussian process models the
residual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.spatial.distance import cdist

from mergebo._typing import Floats, Rows
from mergebo.beliefs import Belief
from mergebo.compiled.adjacency import SMOOTH, cost_steps, edge_sums
from mergebo.errors import ArgumentError
from mergebo.neighbours import exchange_sequence, move_slots
from mergebo.spaces import SearchSpace
from mergebo.transforms import standardize

__all__ = ["LinearMean", "MeanFunction", "PathLengthMean", "PriorMean", "SumMean"]

PRIOR_WEIGHT = 0.7
"""Share of the values' standard deviation that all features together are expected to explain."""
PRIOR_STD = 1.0
"""Prior standard deviation of a weight relative to its prior mean: one time in six its sign is wrong."""
REFERENCE_ROWS = 1000
"""Random points over which features are standardised."""
MAX_CACHED = 1 << 16
"""Size of the cache of the heuristic's values: searches visit the same points again."""


class MeanFunction(Protocol):
    """The mean function of standardised values; the Gaussian process models the residual."""

    def value(self, rows: Rows) -> Floats:
        """The mean at rows."""
        ...

    def changes(self, row: Rows, variable: str, move: str) -> Floats:
        """Differences of the mean at all neighbours of a row, by one kind of move of one variable, to that at the row."""
        ...


@dataclass(frozen=True)
class SumMean:
    """The sum of several mean functions."""

    parts: tuple[MeanFunction, ...]

    @staticmethod
    def parts_of(mean_function: MeanFunction | None) -> tuple[MeanFunction, ...]:
        """The summands of a mean function."""
        return (
            () if mean_function is None else mean_function.parts if isinstance(mean_function, SumMean) else (mean_function,)
        )

    def value(self, rows: Rows) -> Floats:
        return sum((part.value(rows) for part in self.parts), np.zeros(len(rows)))

    def changes(self, row: Rows, variable: str, move: str) -> Floats:
        return np.asarray(sum(part.changes(row, variable, move) for part in self.parts))


@dataclass(frozen=True, eq=False)
class PriorMean:
    """Beliefs and a heuristic, a function that estimates the value of a point; larger is worse, as for methods."""

    space: SearchSpace
    beliefs: tuple[Belief, ...] = ()
    heuristic: Callable[[Any], float] | None = None
    sign: float = 1.0
    """-1 where the user's values are maximised."""

    @cached_property
    def expected(self) -> Floats:
        """The prior means of all weights: the heuristic's first."""
        strengths = np.array([1.0] * (self.heuristic is not None) + [-belief.strength for belief in self.beliefs])
        return np.asarray(strengths * PRIOR_WEIGHT / max(1.0, np.sqrt(len(strengths))))

    def features(self, rows: Rows) -> Floats:
        """Standardised, `(rows, features)`."""
        centre, scale = self._moments
        return (self._raw(rows) - centre) / scale

    def weights(self, rows: Rows, values: Floats) -> Floats:
        """The posterior means of the weights, in standardised values."""
        features = self.features(rows)
        features = features - features.mean(axis=0)
        precision = (PRIOR_STD * self.expected) ** -2.0
        y, _, _ = standardize(values)
        gram = features.T @ features + np.diag(precision)
        return np.asarray(np.linalg.solve(gram, features.T @ y + precision * self.expected))

    def mean_function(self, rows: Rows, values: Floats) -> LinearMean:
        """The mean function of standardised values, given observations."""
        return LinearMean(self, self.weights(rows, values))

    def prior(self, rows: Rows) -> Floats:
        """The mean of rows before there are observations."""
        return np.asarray(self.features(rows) @ self.expected)

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        sample = self._raw(self.space.sample_rows(REFERENCE_ROWS, seed=0))
        scale = sample.std(axis=0)
        return sample.mean(axis=0), np.where(scale > 0, scale, 1.0)

    @cached_property
    def _cache(self) -> dict[bytes, float]:
        return {}

    def _raw(self, rows: Rows) -> Floats:
        columns = [] if self.heuristic is None else [np.array([self._estimate(row) for row in rows], np.float64)]
        columns += [belief.feature(self.space, rows) for belief in self.beliefs]
        return np.stack(columns, axis=1).reshape(len(rows), len(columns))

    def _estimate(self, row: Rows) -> float:
        assert self.heuristic is not None
        key = row.tobytes()
        if key not in self._cache:
            point = self.space.decode(row)
            estimate = self.heuristic(point)
            try:
                number = float(estimate)
            except (TypeError, ValueError):
                number = np.nan
            if not np.isfinite(number):
                raise ArgumentError(
                    f"the heuristic must return a finite number for every point, got {estimate!r} for {point}"
                )
            if len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            self._cache[key] = self.sign * number
        return self._cache[key]


@dataclass(frozen=True, eq=False)
class LinearMean:
    """A mean function that is linear in the features."""

    prior_mean: PriorMean
    weights: Floats

    def value(self, rows: Rows) -> Floats:
        return np.asarray(self.prior_mean.features(rows) @ self.weights)

    def changes(self, row: Rows, variable: str, move: str) -> Floats:
        space = self.prior_mean.space
        around = space.variables[variable].neighbours(row[space.slices[variable]], move)
        return self.value(space.replace_part(variable, row, around)) - self.value(row[None])


def path_costs(coordinates: Floats) -> Floats:
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
        return path_costs(self.coordinates)

    def value(self, rows: Rows) -> Floats:
        out = np.empty(len(rows))
        edge_sums(np.ascontiguousarray(rows, np.int64), self.costs, self.cyclic, out)
        return out

    def changes(self, row: Rows, variable: str, move: str) -> Floats:
        out = np.empty(len(move_slots(len(row), move)))
        cost_steps(np.ascontiguousarray(row, np.int64), self.costs, self.cyclic, exchange_sequence(len(row), move)[0], out)
        return out
