"""Acquisition functions for minimisation, of posterior mean and standard deviation, with gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from mergebo._typing import Floats
from mergebo.errors import ArgumentTypeError, unknown_choice

__all__ = [
    "ACQUISITIONS",
    "AcquisitionFunction",
    "AfterMeasurement",
    "ExpectedImprovement",
    "Exploring",
    "LogExpectedImprovement",
    "LogProbabilityOfImprovement",
    "LowerConfidenceBound",
    "acquisition_function",
]


class AcquisitionFunction(ABC):
    """What a point is worth, given the posterior mean and standard deviation of its value; to be maximised."""

    @abstractmethod
    def value(self, mean: Floats, std: Floats, best: float) -> Floats:
        """The values for arrays of means and standard deviations, and the best value so far."""

    @abstractmethod
    def gradient(self, mean: Floats, std: Floats, best: float) -> tuple[Floats, Floats]:
        """The derivatives of `value` by mean and by standard deviation."""

    def weighted(self, value: Floats, log_probability: Floats) -> Floats:
        """Values of points whose evaluation succeeds with a probability."""
        return value + log_probability

    def weighted_gradient(self, value: float, log_probability: float) -> tuple[float, float]:
        """The derivatives of `weighted` by value and by log probability."""
        return 1.0, 1.0


@dataclass(frozen=True)
class ExpectedImprovement(AcquisitionFunction):
    """The expected improvement on the best value: `E max(best - f, 0)`."""

    def value(self, mean: Floats, std: Floats, best: float) -> Floats:
        u = (best - mean) / std
        return np.asarray(std * (np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi) + u * ndtr(u)))

    def gradient(self, mean: Floats, std: Floats, best: float) -> tuple[Floats, Floats]:
        u = (best - mean) / std
        return -ndtr(u), np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi)

    def weighted(self, value: Floats, log_probability: Floats) -> Floats:
        return value * np.exp(log_probability)

    def weighted_gradient(self, value: float, log_probability: float) -> tuple[float, float]:
        probability = float(np.exp(log_probability))
        return probability, value * probability


@dataclass(frozen=True)
class LogExpectedImprovement(AcquisitionFunction):
    """The logarithm of the expected improvement, accurate where the latter underflows (Ament et al. 2023)."""

    def value(self, mean: Floats, std: Floats, best: float) -> Floats:
        u = (best - mean) / std
        out = np.empty_like(u)
        near = u > -1
        un = u[near]
        out[near] = np.log(np.exp(-0.5 * un * un) / np.sqrt(2 * np.pi) + un * ndtr(un))
        far = u[~near]
        # phi(u) + u Phi(u) = phi(u) (1 + u m(u)), m(u) = Phi/phi by erfcx; far out, 1 + u m(u) cancels and is about 1/u^2.
        mills = np.sqrt(np.pi / 2) * erfcx(-far / np.sqrt(2))
        series = np.where(far < -1e4, 1 / far**2, 1 + far * mills)
        out[~near] = -0.5 * far * far - 0.5 * np.log(2 * np.pi) + np.log(np.maximum(series, 1e-300))
        return np.asarray(out + np.log(std))

    def gradient(self, mean: Floats, std: Floats, best: float) -> tuple[Floats, Floats]:
        value = self.value(mean, std, best)  # from logarithms, to avoid underflow
        u = (best - mean) / std
        return -np.exp(log_ndtr(u) - value), np.exp(-0.5 * u * u - 0.5 * np.log(2 * np.pi) - value)


@dataclass(frozen=True)
class LogProbabilityOfImprovement(AcquisitionFunction):
    """The logarithm of the probability of being below the best value."""

    def value(self, mean: Floats, std: Floats, best: float) -> Floats:
        return np.asarray(log_ndtr((best - mean) / std))

    def gradient(self, mean: Floats, std: Floats, best: float) -> tuple[Floats, Floats]:
        u = (best - mean) / std
        by_u = np.exp(-0.5 * u * u - 0.5 * np.log(2 * np.pi) - log_ndtr(u))
        return -by_u / std, -by_u * u / std


@dataclass(frozen=True)
class LowerConfidenceBound(AcquisitionFunction):
    """The negative lower confidence bound, `-(mean - sqrt(beta) std)`; the best value is ignored."""

    beta: float = 4.0

    def value(self, mean: Floats, std: Floats, best: float) -> Floats:
        return np.asarray(np.sqrt(self.beta) * std - mean)

    def gradient(self, mean: Floats, std: Floats, best: float) -> tuple[Floats, Floats]:
        return np.full_like(mean, -1.0), np.full_like(std, np.sqrt(self.beta))


@dataclass(frozen=True)
class AfterMeasurement(AcquisitionFunction):
    """An acquisition function of the posterior mean after a noisy measurement, instead of the value itself.

    With noise variance v, the standard deviation of that mean is `s^2 / sqrt(s^2 + v)`. The better a point is known, the
    smaller this is relative to s, so measuring it again and again does not pay.
    """

    function: AcquisitionFunction
    noise_variance: float

    def value(self, mean: Floats, std: Floats, best: float) -> Floats:
        return self.function.value(mean, self._mean_std(std), best)

    def gradient(self, mean: Floats, std: Floats, best: float) -> tuple[Floats, Floats]:
        by_mean, by_mean_std = self.function.gradient(mean, self._mean_std(std), best)
        variance = std**2
        total = variance + self.noise_variance
        return by_mean, by_mean_std * std * (variance + 2 * self.noise_variance) / total**1.5

    def weighted(self, value: Floats, log_probability: Floats) -> Floats:
        return self.function.weighted(value, log_probability)

    def weighted_gradient(self, value: float, log_probability: float) -> tuple[float, float]:
        return self.function.weighted_gradient(value, log_probability)

    def _mean_std(self, std: Floats) -> Floats:
        return np.asarray(std**2 / np.sqrt(std**2 + self.noise_variance))


@dataclass(frozen=True)
class Exploring(AcquisitionFunction):
    """An acquisition function of the posterior with its standard deviations multiplied by a factor."""

    function: AcquisitionFunction
    factor: float

    def value(self, mean: Floats, std: Floats, best: float) -> Floats:
        return self.function.value(mean, self.factor * std, best)

    def gradient(self, mean: Floats, std: Floats, best: float) -> tuple[Floats, Floats]:
        by_mean, by_std = self.function.gradient(mean, self.factor * std, best)
        return by_mean, self.factor * by_std

    def weighted(self, value: Floats, log_probability: Floats) -> Floats:
        return self.function.weighted(value, log_probability)

    def weighted_gradient(self, value: float, log_probability: float) -> tuple[float, float]:
        return self.function.weighted_gradient(value, log_probability)


ACQUISITIONS: dict[str, AcquisitionFunction] = {
    "ei": ExpectedImprovement(),
    "logei": LogExpectedImprovement(),
    "pi": LogProbabilityOfImprovement(),
    "ucb": LowerConfidenceBound(),
}
"""Acquisition functions by name."""


def acquisition_function(given: str | AcquisitionFunction) -> AcquisitionFunction:
    """The acquisition function with this name, or the one given."""
    if isinstance(given, AcquisitionFunction):
        return given
    if not isinstance(given, str):
        raise ArgumentTypeError(f"an acquisition function is a name such as 'logei' or an object, got {given!r}")
    if given not in ACQUISITIONS:
        raise unknown_choice("acquisition", given, ACQUISITIONS)
    return ACQUISITIONS[given]
