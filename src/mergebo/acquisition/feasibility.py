"""The probability that an evaluation succeeds, learned from the points that succeeded and those that failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp

from mergebo._typing import Floats, Rows
from mergebo.gp import GP

__all__ = ["Feasibility"]


@dataclass(frozen=True)
class Feasibility:
    """The probability that an evaluation succeeds, averaged over Gaussian processes of past successes (1) and failures (0).

    Each process is a regression of these labels. The probability of success is that of a label above one half: least-squares
    classification (Rasmussen & Williams 2006, section 6.5). It multiplies the acquisition function (Gelbart et al. 2014).
    """

    models: tuple[GP, ...]
    weights: tuple[float, ...]
    """The probability of each model."""
    caution: float = 1.0
    """Power to which the probability is raised."""

    def log_probability(self, rows: Rows) -> Floats:
        """Log probabilities of success at rows."""
        return self._mixed([model.predict_standardised(rows) for model in self.models])

    def scan(self, row: Rows, variable: str, move: str) -> Floats:
        """Log probabilities of success at all neighbours of a row by one kind of move of a variable, in single precision."""
        return self._mixed([model.scan(row, variable, move) for model in self.models])

    def along_reals(self, row: Rows) -> Callable[[Floats], tuple[float, Floats]]:
        """The log probability of success, with its gradient, as a function of a row's real variables, scaled to 0 to 1."""
        functions = [model.posterior_along_reals(row) for model in self.models]

        def at(units: Floats) -> tuple[float, Floats]:
            found = [function(units) for function in functions]
            value = float(self._mixed([(np.array([mean]), np.array([std])) for mean, std, *_ in found])[0])
            gradient = np.zeros(len(units))
            for model, weight, (mean, std, by_mean, by_std) in zip(self.models, self.weights, found, strict=True):
                total = np.hypot(std, np.sqrt(model.hyperparameters.noise))
                z = (mean - _threshold(model)) / total
                by_z = np.exp(np.log(weight) - 0.5 * z * z - 0.5 * np.log(2 * np.pi) - value / self.caution)
                gradient += self.caution * by_z * (by_mean / total - z * std * by_std / total**2)
            return value, gradient

        return at

    def _mixed(self, posteriors: list[tuple[Floats, Floats]]) -> Floats:
        """Log probabilities of success, from the posterior mean and standard deviation of each model's label."""
        logs = [
            np.log(weight) + log_ndtr((mean - _threshold(model)) / np.sqrt(np.square(std) + model.hyperparameters.noise))
            for model, weight, (mean, std) in zip(self.models, self.weights, posteriors, strict=True)
        ]
        return np.asarray(self.caution * logsumexp(logs, axis=0))


def _threshold(model: GP) -> float:
    """One half as a standardised label."""
    return (0.5 - model.y_mean) / model.y_std
