"""The paper's continuous relaxation: maximise over real-valued features, then project to the nearest point.

A code is a corner of the unit cube of features. Squared distances, and with them mean, variance and log expected
improvement, extend to the interior, with gradients. The maximiser is projected exactly: to the permutation with the nearest
code, and to the nearest binary vector. Starts are codes of uniform random permutations: decoding uniform random *bits*
would favour orders close to the identity, which depends on the labels of the items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from mergebo._typing import Floats, Rows
from mergebo.acquisition.functions import AcquisitionFunction
from mergebo.errors import UnsupportedError
from mergebo.gp import GP
from mergebo.permutations import invert
from mergebo.similarity import BinarySimilarity, ComparisonSimilarity

__all__ = ["Relaxation"]


@dataclass(frozen=True)
class Relaxation:
    """An acquisition function of a model over real features of points."""

    model: GP
    best: float
    function: AcquisitionFunction

    def __post_init__(self) -> None:
        if len(self.model.terms) > 1:
            raise UnsupportedError("the relaxation needs a product of kernels, not a sum")
        if self.model.mean_function is not None:
            raise UnsupportedError(
                "the relaxation does not support mean functions, such as those of beliefs and heuristics; use search='scan'"
            )
        for name, factor in self.model.similarity.factors.items():
            if not isinstance(factor, BinarySimilarity) and not (
                isinstance(factor, ComparisonSimilarity) and factor.map.lossless and factor.choose is None
            ):
                raise UnsupportedError(f"the relaxation needs codes that can be decoded; {name} has {factor}")

    def features(self, rows: Rows) -> list[Floats]:
        """The codes of each variable, as floats."""
        out = []
        for name, factor in self.model.similarity.factors.items():
            block = rows[:, self.model.similarity.space.slices[name]]
            if isinstance(factor, ComparisonSimilarity):
                block = factor.map._encode(block if factor.view == "order" else invert(block))
            out.append(block.astype(np.float64))
        return out

    def project(self, features: Floats) -> Rows:
        """The row whose code is nearest to a vector of features."""
        parts, start = [], 0
        for factor in self.model.similarity.factors.values():
            if isinstance(factor, ComparisonSimilarity):
                order = factor.map.project(features[start : start + factor.map.length])
                parts.append(order if factor.view == "order" else invert(order))
                start += factor.map.length
            elif isinstance(factor, BinarySimilarity):
                parts.append((features[start : start + factor.choices] > 0.5).astype(np.int64))
                start += factor.choices
        return np.concatenate(parts)

    def value(self, features: Floats, codes: list[Floats]) -> tuple[float, Floats]:
        """The negative acquisition value at a vector of features, and its gradient; `codes` are those of the data."""
        model, hyper = self.model, self.model.hyperparameters
        parts = np.split(features, np.cumsum([code.shape[1] for code in codes])[:-1])
        rates = [1 / (code.shape[1] * each**2) for code, each in zip(codes, hyper.lengthscales, strict=True)]
        exponent = np.zeros(len(model.rows))
        for part, code, rate in zip(parts, codes, rates, strict=True):
            exponent -= 0.5 * rate * ((code - part) ** 2).sum(axis=1)
        cross = hyper.outputscale * np.exp(exponent)
        white = model.chol_inverse @ cross
        mean = model.constant_mean + cross @ model.alpha
        deviation = np.sqrt(max(hyper.outputscale - white @ white, 1e-12))
        here = np.array([mean]), np.array([deviation]), self.best
        value = float(self.function.value(*here)[0])
        by_mean, by_deviation = self.function.gradient(*here)
        by_cross = by_mean * model.alpha - by_deviation * (model.chol_inverse.T @ white) / deviation
        by_exponent = by_cross * cross
        gradient = [
            rate * (by_exponent @ code - by_exponent.sum() * part)
            for part, code, rate in zip(parts, codes, rates, strict=True)
        ]
        return -value, -np.concatenate(gradient)

    def maximise(self, starts: Rows, steps: int) -> Rows:
        """Projected local maxima, by L-BFGS from the codes of `starts`."""
        codes = self.features(self.model.rows)
        ends = []
        for start in np.concatenate(self.features(starts), axis=1):
            found = minimize(
                self.value,
                start,
                args=(codes,),
                jac=True,
                method="L-BFGS-B",
                bounds=[(0, 1)] * len(start),
                options={"maxiter": steps},
            )
            ends.append(self.project(found.x))
        return np.array(ends)
