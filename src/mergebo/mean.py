"""The prior mean: beliefs and a heuristic as features of a linear mean function whose weights are learned.

Every feature has mean 0 and standard deviation 1 over random points. Its weight, in standardised values, has a normal
prior: the feature is expected to help, but may not, or may do the opposite. The weights come from a Bayesian linear
regression that treats all unexplained variance as noise, so a few observations hardly move them and many override the
prior. The Gaussian process models the residual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.beliefs import Belief
from mergebo.errors import ArgumentError
from mergebo.gp import GP, standardize
from mergebo.neighbours import move_table, replaced, steps
from mergebo.similarity.base import Product, Sum
from mergebo.spaces import Permutation, SearchSpace

PRIOR_WEIGHT = 0.7
"""Share of the values' standard deviation that all features together are expected to explain."""
PRIOR_STD = 1.0
"""Prior standard deviation of a weight relative to its prior mean: one time in six its sign is wrong."""
BENEFIT = 1.0
"""Loss of log posterior up to which the prior mean is kept: with few observations such differences mean little."""
REFERENCE_ROWS = 1000
"""Random points over which features are standardised."""
MAX_CACHED = 1 << 16
"""Size of the cache of the heuristic's values: searches visit the same points again."""


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
        where, kind = self.prior_mean.space.slices[variable], self.prior_mean.space.variables[variable]
        around = row[where][move_table(kind.n, move)] if isinstance(kind, Permutation) else steps(kind, row[where])
        return self.value(replaced(row, where, around)) - self.value(row[None])


def fit_with_prior_mean(
    similarity: Product | Sum, rows: Rows, values: Floats, prior_mean: PriorMean | None, **settings: Any
) -> GP:
    """A model with the prior mean as its mean function, unless the observations make the plain model more probable."""
    plain = GP(similarity, rows, values, **settings)
    if prior_mean is None:
        return plain
    informed = GP(similarity, rows, values, mean_function=prior_mean.mean_function(rows, values), **settings)
    return informed if informed.neg_log_posterior <= plain.neg_log_posterior + BENEFIT else plain
