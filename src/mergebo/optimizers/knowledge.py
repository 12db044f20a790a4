"""Prior knowledge as a trend: beliefs and a rough guess of the value are features whose weights are learned from results.

Every feature has mean 0 and standard deviation 1 over random points, and its weight a normal prior, in standardised
values: it is expected to help, but may turn out not to, or to do the opposite. The weights are those of a Bayesian linear
regression in which whatever no feature explains counts as noise, so that few results change them little and many decide.
What is left of the values is for the Gaussian process.
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
from mergebo.moves import move_table, replaced, steps
from mergebo.spaces import AnySpace, Permutation
from mergebo.surrogate.gp import GP, standardised
from mergebo.surrogate.similarity import Product, Sum

EXPECTED = 0.7
"""Share of the values' standard deviation that prior knowledge is expected to explain, all of it together."""
DOUBT = 1.0
"""Standard deviation of a weight, in what is expected of it: one time in six it does not even have the right sign."""
BENEFIT = 1.0
"""By how much the log evidence may be against prior knowledge before it is left out: that of few results says little."""
TYPICAL = 1000
"""Random points over which features are standardised."""
REMEMBERED = 1 << 16
"""Guesses that are kept: searches come back to the same points."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Beliefs, and a function that roughly says the value of a point; larger is worse, here as for methods."""

    space: AnySpace
    beliefs: tuple[Belief, ...] = ()
    heuristic: Callable[[Any], float] | None = None
    sign: float = 1.0
    """-1 where the user's values are maximised."""

    @cached_property
    def expected(self) -> Floats:
        """What the weights of all features are expected to be: the heuristic's first."""
        strengths = np.array([1.0] * (self.heuristic is not None) + [-belief.strength for belief in self.beliefs])
        return np.asarray(strengths * EXPECTED / max(1.0, np.sqrt(len(strengths))))

    def features(self, rows: Rows) -> Floats:
        """Standardised, `(rows, features)`."""
        centre, scale = self._typical
        return (self._raw(rows) - centre) / scale

    def weights(self, rows: Rows, values: Floats) -> Floats:
        """The weights after results, in standardised values."""
        features = self.features(rows)
        features = features - features.mean(axis=0)
        doubt = (DOUBT * self.expected) ** -2.0
        y, _, _ = standardised(values)
        return np.asarray(np.linalg.solve(features.T @ features + np.diag(doubt), features.T @ y + doubt * self.expected))

    def trend(self, rows: Rows, values: Floats) -> LinearTrend:
        """What it makes of standardised values after results."""
        return LinearTrend(self, self.weights(rows, values))

    def prior(self, rows: Rows) -> Floats:
        """How bad rows are expected to be before there are results."""
        return np.asarray(self.features(rows) @ self.expected)

    @cached_property
    def _typical(self) -> tuple[Floats, Floats]:
        some = self._raw(self.space.sample_rows(TYPICAL, seed=0))
        scale = some.std(axis=0)
        return some.mean(axis=0), np.where(scale > 0, scale, 1.0)

    @cached_property
    def _guesses(self) -> dict[bytes, float]:
        return {}

    def _raw(self, rows: Rows) -> Floats:
        columns = [] if self.heuristic is None else [np.array([self._guess(row) for row in rows], np.float64)]
        columns += [belief.feature(self.space, rows) for belief in self.beliefs]
        return np.stack(columns, axis=1).reshape(len(rows), len(columns))

    def _guess(self, row: Rows) -> float:
        assert self.heuristic is not None
        key = row.tobytes()
        if key not in self._guesses:
            point = self.space.decode(row)
            guess = self.heuristic(point)
            try:
                number = float(guess)
            except (TypeError, ValueError):
                number = np.nan
            if not np.isfinite(number):
                raise ArgumentError(f"the heuristic must give a finite number for every point, got {guess!r} for {point}")
            if len(self._guesses) >= REMEMBERED:
                self._guesses.clear()
            self._guesses[key] = self.sign * number
        return self._guesses[key]


@dataclass(frozen=True, eq=False)
class LinearTrend:
    """A weighted sum of features, as the trend of a model."""

    knowledge: Knowledge
    weights: Floats

    def value(self, rows: Rows) -> Floats:
        return np.asarray(self.knowledge.features(rows) @ self.weights)

    def changes(self, row: Rows, variable: str, move: str) -> Floats:
        where, kind = self.knowledge.space.slices[variable], self.knowledge.space.variables[variable]
        around = row[where][move_table(kind.n, move)] if isinstance(kind, Permutation) else steps(kind, row[where])
        return self.value(replaced(row, where, around)) - self.value(row[None])


def fitted(similarity: Product | Sum, rows: Rows, values: Floats, knowledge: Knowledge | None, **settings: Any) -> GP:
    """A model with prior knowledge as its trend, unless the results say that it is more likely to be wrong than right."""
    plain = GP(similarity, rows, values, **settings)
    if knowledge is None:
        return plain
    believing = GP(similarity, rows, values, trend=knowledge.trend(rows, values), **settings)
    return believing if believing.loss <= plain.loss + BENEFIT else plain
