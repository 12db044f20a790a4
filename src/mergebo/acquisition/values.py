"""Acquisition values for minimisation: how promising a point is, given its posterior mean and standard deviation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from mergebo._typing import Floats

Score: TypeAlias = Callable[[Floats, Floats, float], Floats]
Slopes: TypeAlias = Callable[[Floats, Floats, float], tuple[Floats, Floats]]


def expected_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """By how much a point is expected to be below `best`: `E max(best - f, 0)`."""
    u = (best - mean) / deviation
    value: Floats = deviation * (np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi) + u * ndtr(u))
    return value


def log_expected_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """The logarithm of the expected improvement, exact where that itself underflows (Ament et al. 2023)."""
    u = (best - mean) / deviation
    out = np.empty_like(u)
    near = u > -1
    un = u[near]
    out[near] = np.log(np.exp(-0.5 * un * un) / np.sqrt(2 * np.pi) + un * ndtr(un))
    far = u[~near]
    # phi(u) + u Phi(u) = phi(u) (1 + u m(u)), m(u) = Phi/phi by erfcx; 1 + u m(u) tends to 1/u^2 and needs care far out.
    mills = np.sqrt(np.pi / 2) * erfcx(-far / np.sqrt(2))
    series = np.where(far < -1e4, 1 / far**2, 1 + far * mills)
    out[~near] = -0.5 * far * far - 0.5 * np.log(2 * np.pi) + np.log(np.maximum(series, 1e-300))
    value: Floats = out + np.log(deviation)
    return value


def probability_of_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """The logarithm of the probability that a point is below `best`."""
    value: Floats = log_ndtr((best - mean) / deviation)
    return value


def confidence_bound(mean: Floats, deviation: Floats, best: float, beta: float = 4.0) -> Floats:
    """Minus the lower confidence bound, `-(mean - sqrt(beta) deviation)`; `best` plays no part."""
    value: Floats = np.sqrt(beta) * deviation - mean
    return value


ACQUISITIONS: dict[str, Score] = {
    "ei": expected_improvement,
    "logei": log_expected_improvement,
    "pi": probability_of_improvement,
    "ucb": confidence_bound,
}
"""By name; all are to be maximised."""


def _improvement_slopes(mean: Floats, deviation: Floats, best: float) -> tuple[Floats, Floats]:
    """Of the expected improvement: the probability of an improvement, and its density."""
    u = (best - mean) / deviation
    return -ndtr(u), np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi)


def log_improvement_slopes(mean: Floats, deviation: Floats, best: float) -> tuple[Floats, Floats]:
    """The same divided by the expected improvement, in logarithms, which do not underflow."""
    value = log_expected_improvement(mean, deviation, best)
    u = (best - mean) / deviation
    return -np.exp(log_ndtr(u) - value), np.exp(-0.5 * u * u - 0.5 * np.log(2 * np.pi) - value)


def _probability_slopes(mean: Floats, deviation: Floats, best: float) -> tuple[Floats, Floats]:
    u = (best - mean) / deviation
    by_u = np.exp(-0.5 * u * u - 0.5 * np.log(2 * np.pi) - log_ndtr(u))
    return -by_u / deviation, -by_u * u / deviation


def _bound_slopes(mean: Floats, deviation: Floats, best: float, beta: float = 4.0) -> tuple[Floats, Floats]:
    return np.full_like(mean, -1.0), np.full_like(deviation, np.sqrt(beta))


SLOPES: dict[Score, Slopes] = {
    expected_improvement: _improvement_slopes,
    log_expected_improvement: log_improvement_slopes,
    probability_of_improvement: _probability_slopes,
    confidence_bound: _bound_slopes,
}
"""Derivatives of each acquisition value by mean and by deviation."""


@dataclass(frozen=True)
class NoisyScore:
    """An acquisition function of where a noisy measurement would move the expected value, instead of the value itself.

    The mean after a measurement with noise variance v moves by `s^2 / sqrt(s^2 + v)`, one standard deviation. That is less
    than s the better a point is known already: measuring it again and again does not pay.
    """

    score: Score
    noise: float

    def __call__(self, mean: Floats, deviation: Floats, best: float) -> Floats:
        return self.score(mean, self._moves(deviation), best)

    def _moves(self, deviation: Floats) -> Floats:
        return np.asarray(deviation**2 / np.sqrt(deviation**2 + self.noise))

    def slopes(self, mean: Floats, deviation: Floats, best: float) -> tuple[Floats, Floats]:
        """As in `SLOPES`."""
        by_mean, by_move = SLOPES[self.score](mean, self._moves(deviation), best)
        variance = deviation**2
        return by_mean, by_move * deviation * (variance + 2 * self.noise) / (variance + self.noise) ** 1.5


def slopes_of(score: Score) -> Slopes:
    """Derivatives of an acquisition value by mean and by deviation."""
    return score.slopes if isinstance(score, NoisyScore) else SLOPES[score]
