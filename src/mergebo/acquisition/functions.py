"""Acquisition functions for minimisation, of posterior mean and standard deviation, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from mergebo._typing import Floats

AcquisitionFunction: TypeAlias = Callable[[Floats, Floats, float], Floats]
Gradient: TypeAlias = Callable[[Floats, Floats, float], tuple[Floats, Floats]]


def expected_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """The expected improvement on `best`: `E max(best - f, 0)`."""
    u = (best - mean) / deviation
    value: Floats = deviation * (np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi) + u * ndtr(u))
    return value


def log_expected_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """The logarithm of the expected improvement, accurate where the latter underflows (Ament et al. 2023)."""
    u = (best - mean) / deviation
    out = np.empty_like(u)
    near = u > -1
    un = u[near]
    out[near] = np.log(np.exp(-0.5 * un * un) / np.sqrt(2 * np.pi) + un * ndtr(un))
    far = u[~near]
    # phi(u) + u Phi(u) = phi(u) (1 + u m(u)), m(u) = Phi/phi by erfcx; far out, 1 + u m(u) cancels and is about 1/u^2.
    mills = np.sqrt(np.pi / 2) * erfcx(-far / np.sqrt(2))
    series = np.where(far < -1e4, 1 / far**2, 1 + far * mills)
    out[~near] = -0.5 * far * far - 0.5 * np.log(2 * np.pi) + np.log(np.maximum(series, 1e-300))
    value: Floats = out + np.log(deviation)
    return value


def log_probability_of_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """The logarithm of the probability of being below `best`."""
    value: Floats = log_ndtr((best - mean) / deviation)
    return value


def lower_confidence_bound(mean: Floats, deviation: Floats, best: float, beta: float = 4.0) -> Floats:
    """The negative lower confidence bound, `-(mean - sqrt(beta) deviation)`; `best` is ignored."""
    value: Floats = np.sqrt(beta) * deviation - mean
    return value


ACQUISITIONS: dict[str, AcquisitionFunction] = {
    "ei": expected_improvement,
    "logei": log_expected_improvement,
    "pi": log_probability_of_improvement,
    "ucb": lower_confidence_bound,
}
"""Acquisition functions by name; all are maximised."""


def _improvement_gradient(mean: Floats, deviation: Floats, best: float) -> tuple[Floats, Floats]:
    """Gradient of the expected improvement: minus the probability of improvement, and the density."""
    u = (best - mean) / deviation
    return -ndtr(u), np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi)


def log_improvement_gradient(mean: Floats, deviation: Floats, best: float) -> tuple[Floats, Floats]:
    """Gradient of the log expected improvement, computed from logarithms to avoid underflow."""
    value = log_expected_improvement(mean, deviation, best)
    u = (best - mean) / deviation
    return -np.exp(log_ndtr(u) - value), np.exp(-0.5 * u * u - 0.5 * np.log(2 * np.pi) - value)


def _probability_gradient(mean: Floats, deviation: Floats, best: float) -> tuple[Floats, Floats]:
    u = (best - mean) / deviation
    by_u = np.exp(-0.5 * u * u - 0.5 * np.log(2 * np.pi) - log_ndtr(u))
    return -by_u / deviation, -by_u * u / deviation


def _bound_gradient(mean: Floats, deviation: Floats, best: float, beta: float = 4.0) -> tuple[Floats, Floats]:
    return np.full_like(mean, -1.0), np.full_like(deviation, np.sqrt(beta))


GRADIENTS: dict[AcquisitionFunction, Gradient] = {
    expected_improvement: _improvement_gradient,
    log_expected_improvement: log_improvement_gradient,
    log_probability_of_improvement: _probability_gradient,
    lower_confidence_bound: _bound_gradient,
}
"""Gradients of the acquisition functions by mean and standard deviation."""


@dataclass(frozen=True)
class NoisyAcquisition:
    """An acquisition function of the posterior mean after a noisy measurement, instead of the value itself.

    With noise variance v, the standard deviation of that mean is `s^2 / sqrt(s^2 + v)`. The better a point is known, the
    smaller this is relative to s, so measuring it again and again does not pay.
    """

    function: AcquisitionFunction
    noise_variance: float

    def __call__(self, mean: Floats, deviation: Floats, best: float) -> Floats:
        return self.function(mean, self._mean_std(deviation), best)

    def _mean_std(self, deviation: Floats) -> Floats:
        return np.asarray(deviation**2 / np.sqrt(deviation**2 + self.noise_variance))

    def gradient(self, mean: Floats, deviation: Floats, best: float) -> tuple[Floats, Floats]:
        """As in `GRADIENTS`."""
        by_mean, by_mean_std = GRADIENTS[self.function](mean, self._mean_std(deviation), best)
        variance = deviation**2
        total = variance + self.noise_variance
        return by_mean, by_mean_std * deviation * (variance + 2 * self.noise_variance) / total**1.5


def gradient_of(function: AcquisitionFunction) -> Gradient:
    """Gradient of an acquisition function by mean and standard deviation."""
    return function.gradient if isinstance(function, NoisyAcquisition) else GRADIENTS[function]
