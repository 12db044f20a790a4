"""Sign tests, standard errors and bootstrap intervals. All are deterministic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mergebo._typing import Floats
from mergebo.errors import ShapeError
from mergebo.experiments.metrics import TOLERANCE

__all__ = ["Estimate", "SignTest", "bootstrap_interval", "estimate", "paired_difference", "sign_test"]

RESAMPLES = 9999
"""Number of bootstrap resamples."""


@dataclass(frozen=True)
class SignTest:
    """An exact two-sided sign test."""

    wins: int
    ties: int
    losses: int
    p: float
    """p-value of the exact two-sided binomial test that wins and losses are equally likely, ties dropped."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error and confidence interval."""

    mean: float
    error: float | None
    """Standard error; None for a single value."""
    interval: tuple[float, float] | None
    """95 % bootstrap interval; None for a single value."""
    count: int


def sign_test(a: ArrayLike, b: ArrayLike) -> SignTest:
    """Wins of `a` over `b` in pairs. Smaller is better; values that differ only by rounding are ties.

    >>> sign_test([1, 2, 3, 4], [2, 3, 3, 5])
    SignTest(wins=3, ties=1, losses=0, p=0.25)
    """
    x, y = _pairs(a, b)
    tie = np.abs(x - y) <= TOLERANCE * np.maximum(1.0, np.maximum(np.abs(x), np.abs(y)))
    wins, losses = int(np.sum((x < y) & ~tie)), int(np.sum((x > y) & ~tie))
    p = float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return SignTest(wins, int(np.sum(tie)), losses, p)


def estimate(values: ArrayLike) -> Estimate:
    """The mean of independent values, its standard error and its bootstrap interval."""
    x = np.asarray(values, np.float64)
    if x.ndim != 1 or not len(x):
        raise ShapeError(f"expected a list of at least one value, got the shape {x.shape}")
    if len(x) == 1:
        return Estimate(float(x[0]), None, None, 1)
    return Estimate(float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))), bootstrap_interval(x), len(x))


def paired_difference(a: ArrayLike, b: ArrayLike) -> Estimate:
    """The mean of `a - b` over pairs."""
    x, y = _pairs(a, b)
    return estimate(x - y)


def bootstrap_interval(values: ArrayLike, *, confidence: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean."""
    x = np.asarray(values, np.float64)
    if np.ptp(x) == 0:
        return float(x[0]), float(x[0])
    result = stats.bootstrap(
        (x,),
        np.mean,
        confidence_level=confidence,
        n_resamples=RESAMPLES,
        method="percentile",
        random_state=np.random.default_rng(seed),
    )
    low, high = result.confidence_interval
    return float(low), float(high)


def _pairs(a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats]:
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise ShapeError(f"expected two lists of equal length, got the shapes {x.shape} and {y.shape}")
    return x, y
