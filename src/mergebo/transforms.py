"""Output transforms: what models are fitted to instead of the observed values, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mergebo._typing import Floats

__all__ = ["Identity", "LogRegret", "OutputTransform", "standardize"]


def standardize(values: Floats) -> tuple[Floats, float, float]:
    """Values with mean 0 and standard deviation 1, and their original mean and deviation; equal values become zeros."""
    mean = float(values.mean())
    std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if not std > 1e-12 * max(1e-300, abs(mean)):
        std = 1.0
    return (values - mean) / std, mean, std


class OutputTransform(Protocol):
    """An increasing function of values, applied before a model is fitted."""

    def forward(self, values: Floats) -> Floats:
        """Transformed values."""
        ...

    def forward_std(self, values: Floats, std: Floats) -> Floats:
        """Standard deviations of transformed values, to first order."""
        ...

    def inverse(self, transformed: Floats) -> Floats:
        """The values that were transformed."""
        ...

    def inverse_std(self, transformed: Floats, std: Floats) -> Floats:
        """Standard deviations of values, given those of transformed values, to first order."""
        ...


@dataclass(frozen=True)
class Identity:
    """Values as they are."""

    def forward(self, values: Floats) -> Floats:
        return values

    def forward_std(self, values: Floats, std: Floats) -> Floats:
        return std

    def inverse(self, transformed: Floats) -> Floats:
        return transformed

    def inverse_std(self, transformed: Floats, std: Floats) -> Floats:
        return std


@dataclass(frozen=True)
class LogRegret:
    """Output warping, `log(1 + regret / scale)`: otherwise large values hide differences between good ones.

    The regret is that to the best value; where it is small, warping is close to a change of scale.
    """

    best: float
    scale: float

    @classmethod
    def of(cls, values: Floats) -> LogRegret:
        """The transform for these values: the scale is their mean regret."""
        best = float(values.min())
        return cls(best, max(float((values - best).mean()), 1e-300))

    def forward(self, values: Floats) -> Floats:
        return np.asarray(np.log1p((values - self.best) / self.scale))

    def forward_std(self, values: Floats, std: Floats) -> Floats:
        return np.asarray(std * (1 / (self.scale + (values - self.best))))

    def inverse(self, transformed: Floats) -> Floats:
        return np.asarray(self.best + self.scale * np.expm1(transformed))

    def inverse_std(self, transformed: Floats, std: Floats) -> Floats:
        return np.asarray(std * self.scale * np.exp(transformed))
