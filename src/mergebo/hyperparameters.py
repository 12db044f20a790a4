"""Hyperparameters of a Gaussian process: their priors, the marginal likelihood of given distances, and the fit.

The kernel is `s exp(-sum_f d_f / (2 l_f^2))`, or a sum of such terms, plus noise on the diagonal, with a constant mean.
Distances between the points are computed once; a step of the fit then costs one Cholesky factorisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize

from mergebo._typing import Floats
from mergebo.errors import ArgumentError
from mergebo.similarity.product import split

__all__ = [
    "LENGTHSCALE_PRIOR",
    "MIN_NOISE",
    "NOISE_PRIOR",
    "NOISY_PRIOR",
    "OUTPUTSCALE_PRIOR",
    "Hyperparameters",
    "Prior",
    "Priors",
    "VariancePriors",
    "fit",
    "negative_log_posterior",
    "outputscale_prior",
]

Prior: TypeAlias = tuple[float, float]
"""Mean and standard deviation of the logarithm of a hyperparameter."""

LENGTHSCALE_PRIOR: Prior = (-0.5, 1.0)
"""Default prior of l. Distances are normalised, so it means the same for every n and every kernel."""
OUTPUTSCALE_PRIOR = (0.0, 1.0)
"""Prior of the kernel's variance s, for standardised values."""
NOISE_PRIOR = (-6.0, 2.0)
"""Prior of the noise variance: small, but wide enough for the data to override it."""
NOISY_PRIOR = (-1.5, 1.0)
"""Prior of the noise variance of noisy values: without repeated measurements, nothing else tells noise from roughness."""
MIN_NOISE = 1e-6
"""Smallest noise variance, as in BoTorch: it keeps matrices invertible when points repeat."""

MIN_TYPICAL_DISTANCE = 1e-6
"""Distances of points that are all equal are 0."""

_BOUNDS = ((-4.0, 4.0), (-4.0, 4.0), (np.log(MIN_NOISE), 2.0))
"""Bounds of log l, log s and log noise."""


@dataclass(frozen=True)
class Priors:
    """Log-normal priors of the hyperparameters; that of the outputscale is `OUTPUTSCALE_PRIOR`."""

    lengthscale: Prior = LENGTHSCALE_PRIOR
    noise: Prior = NOISE_PRIOR
    noisy: Prior = NOISY_PRIOR
    """The prior of the noise where values are known to be noisy."""

    def for_distances(self, distances: Floats, terms: Sequence[int]) -> Priors:
        """The priors of models of points with these distances, `(factors, N, N)`; `terms` as in `negative_log_posterior`."""
        return self

    def of_all(self, factors: int, terms: int) -> list[Prior]:
        """The priors of all lengthscales, all outputscales and the noise."""
        return [self.lengthscale] * factors + [outputscale_prior(terms)] * terms + [self.noise]

    def log_normal(self, factors: int, terms: int) -> list[Prior]:
        """The same priors, or the nearest log-normal ones, as densities of the hyperparameters."""
        return self.of_all(factors, terms)

    def negative_log(self, logs: Floats, terms: int, learns_noise: bool) -> tuple[float, Floats]:
        """Negative log prior of log hyperparameters, and its gradient; fixed noise has no prior."""
        value, gradient = 0.0, np.zeros(len(logs))
        priors = self.of_all(len(logs) - terms - 1, terms)
        for k, (mean, deviation) in enumerate(priors[: None if learns_noise else -1]):
            # Log-normal densities, as GPyTorch writes them: of the parameter, not of its logarithm.
            value += 0.5 * ((logs[k] - mean) / deviation) ** 2 + logs[k] + np.log(deviation * np.sqrt(2 * np.pi))
            gradient[k] = (logs[k] - mean) / deviation**2 + 1
        return value, gradient


@dataclass(frozen=True)
class VariancePriors(Priors):
    """Normal priors of log lengthscales and log noise, and of the log variance that the kernel gives the observed values.

    At their mean distance d, this variance is `s (1 - exp(-d / 2 l^2))`. Values are standardised, so it is about 1, whatever
    the lengthscale. A prior of s itself makes long lengthscales unlikely, with which the kernel becomes linear in its
    features, since s has to grow with them; and it lets the evidence of few observations choose too small a variance.
    """

    lengthscale: Prior = (1.0, 1.0)
    noise: Prior = (-4.0, 2.0)
    noisy: Prior = (-2.5, 1.0)
    variance: Prior = (0.0, 0.5)
    terms: tuple[int, ...] = ()
    """Number of distances of each term of the kernel."""
    typical: tuple[float, ...] = ()
    """Mean of each distance between two observed points."""

    def for_distances(self, distances: Floats, terms: Sequence[int]) -> Priors:
        pairs = max(1, distances.shape[1] * (distances.shape[1] - 1))
        typical = np.maximum(distances.sum(axis=(1, 2)) / pairs, MIN_TYPICAL_DISTANCE)
        return replace(self, terms=tuple(terms), typical=tuple(typical.tolist()))

    def of_all(self, factors: int, terms: int) -> list[Prior]:
        mean, deviation = self.variance
        shares = self._log_shares(np.full(factors, self.lengthscale[0]))[0]
        scales = [(mean - float(np.log(terms)) - share, deviation) for share in shares.tolist()]
        return [self.lengthscale] * factors + scales + [self.noise]

    def log_normal(self, factors: int, terms: int) -> list[Prior]:
        return [(mean + deviation**2, deviation) for mean, deviation in self.of_all(factors, terms)]

    def negative_log(self, logs: Floats, terms: int, learns_noise: bool) -> tuple[float, Floats]:
        factors = len(self.typical)
        shares, by_lengthscales = self._log_shares(logs[:factors])
        groups = (
            (logs[:factors], self.lengthscale),
            (logs[factors:-1] + shares, (self.variance[0] - np.log(terms), self.variance[1])),
            (logs[-1:] if learns_noise else logs[:0], self.noise),
        )
        value, gradients = 0.0, []
        for each, (mean, deviation) in groups:
            standard = (each - mean) / deviation
            value += float(0.5 * standard @ standard + len(each) * np.log(deviation * np.sqrt(2 * np.pi)))
            gradients.append(standard / deviation)
        gradient = np.concatenate([gradients[0], gradients[1], np.zeros(1)])
        gradient[:factors] += by_lengthscales * np.repeat(gradients[1], self.terms)
        gradient[len(logs) - 1 :] = gradients[2] if learns_noise else 0.0
        return value, gradient

    def _log_shares(self, log_lengthscales: Floats) -> tuple[Floats, Floats]:
        """For each term `log(1 - exp(-d / 2 l^2))`, and for each factor the derivative by its log lengthscale."""
        rates = np.array(self.typical) * np.exp(-2 * log_lengthscales)
        exponents = np.array([0.5 * own.sum() for own in split(rates, self.terms)])
        shares = -np.expm1(-exponents)
        return np.log(shares), -rates * np.repeat(np.exp(-exponents) / shares, self.terms)


def outputscale_prior(terms: int) -> Prior:
    """Prior of the outputscale of each term of a kernel: the terms share the variance."""
    mean, deviation = OUTPUTSCALE_PRIOR
    return mean - float(np.log(terms)), deviation


@dataclass(frozen=True)
class Hyperparameters:
    """The fitted hyperparameters, for standardised values."""

    lengthscales: tuple[float, ...]
    """Lengthscales of all terms, one term after the other."""
    outputscale: float
    noise: float
    extra_outputscales: tuple[float, ...] = ()
    """Outputscales of further terms, if the kernel is a sum."""

    @property
    def outputscales(self) -> tuple[float, ...]:
        """Outputscales of all terms."""
        return (self.outputscale, *self.extra_outputscales)

    @property
    def variance(self) -> float:
        """Prior variance of a value."""
        return sum(self.outputscales)

    @property
    def logs(self) -> Floats:
        return np.log([*self.lengthscales, *self.outputscales, self.noise])

    @classmethod
    def of_logs(cls, logs: Floats, terms: int = 1) -> Hyperparameters:
        *others, noise = np.exp(logs).tolist()
        lengthscales, (outputscale, *further) = others[:-terms], others[-terms:]
        return cls(tuple(lengthscales), outputscale, noise, tuple(further))


def negative_log_posterior(
    logs: Floats,
    distances: Floats,
    y: Floats,
    learns_noise: bool = True,
    priors: Priors = Priors(),
    terms: Sequence[int] | None = None,
    fixed_noise: Floats | None = None,
) -> tuple[float, Floats]:
    """Negative log marginal likelihood and log prior of log hyperparameters, and the gradient; fixed noise has no prior.

    The constant mean takes its best value given the others (generalised least squares), so its derivative is zero. `terms`
    are the numbers of distances of each term of a sum; a product has one. `fixed_noise` are noise variances of single
    values, nan where the common one applies.
    """
    count, factors = len(y), len(distances)
    terms = terms or [factors]
    log_outputscales, log_noise = logs[factors:-1], logs[-1]
    rates = np.exp(-2 * logs[:factors])
    signals = [
        np.exp(log_outputscale - 0.5 * np.tensordot(own, each, axes=1))
        for log_outputscale, own, each in zip(log_outputscales, split(rates, terms), split(distances, terms), strict=True)
    ]
    covariance = sum(signals[1:], signals[0].copy())
    covariance.flat[:: count + 1] += noise_variances(np.exp(log_noise), fixed_noise)
    # LAPACK is column-major: the transpose of a symmetric matrix is passed without a copy.
    factor, failed = dpotrf(covariance.T, lower=1, overwrite_a=1)
    if failed:
        return np.inf, np.zeros_like(logs)
    log_determinant = 2 * np.log(factor.diagonal()).sum()
    by_ones, by_y = dpotrs(factor, np.stack([np.ones(count), y]).T, lower=1)[0].T
    constant = by_ones @ y / by_ones.sum()
    alpha = by_y - constant * by_ones
    value = 0.5 * ((y - constant) @ alpha + log_determinant + count * np.log(2 * np.pi))
    # With G = K^-1 - alpha alpha^T, the derivative along dK is half the sum of all entries of G * dK. K^-1 is returned as
    # one triangle, so sums over it count twice, the diagonal once.
    triangle = dpotri(factor, lower=1, overwrite_c=1)[0].T
    gradient = np.empty(len(logs))
    common = slice(None) if fixed_noise is None else np.isnan(fixed_noise)
    gradient[-1] = 0.5 * np.exp(log_noise) * (triangle.diagonal()[common].sum() - alpha[common] @ alpha[common])
    first = 0
    for term, (signal, own) in enumerate(zip(signals, terms, strict=True)):
        weighted = triangle * signal
        gradient[factors + term] = weighted.sum() - 0.5 * np.trace(weighted) - 0.5 * alpha @ signal @ alpha
        for k in range(first, first + own):
            gradient[k] = rates[k] * (np.vdot(weighted, distances[k]) - 0.5 * alpha @ (signal * distances[k]) @ alpha)
        first += own
    prior_value, prior_gradient = priors.negative_log(logs, len(terms), learns_noise)
    return float(value + prior_value), gradient + prior_gradient


def noise_variances(common: float, fixed_noise: Floats | None) -> Any:
    """Noise variance of each value: its own where known, else the common one."""
    return common if fixed_noise is None else np.where(np.isnan(fixed_noise), common, fixed_noise)


def check_noise(noise: float | None) -> None:
    """Raise an error unless `noise` is None or a variance that keeps matrices invertible."""
    if noise is not None and not (isinstance(noise, int | float) and MIN_NOISE <= noise < np.inf):
        raise ArgumentError(
            f"noise must be a variance of standardised values, at least {MIN_NOISE:g}, or None to learn it, got {noise!r}"
        )


def fit(
    distances: Floats,
    y: Floats,
    start: Hyperparameters | None = None,
    *,
    noise: float | None = None,
    priors: Priors = Priors(),
    terms: Sequence[int] | None = None,
    fixed_noise: Floats | None = None,
) -> Hyperparameters:
    """Maximum a posteriori hyperparameters, by L-BFGS from several starts; robust to degenerate data.

    The noise variance is one of them unless it is fixed: for all values by `noise`, or for each by `fixed_noise`, which may
    be nan for some. `terms` as in `negative_log_posterior`.
    """
    check_noise(noise)
    factors = len(distances)
    terms = terms or [factors]
    priors = priors.for_distances(distances, terms)
    bounds = [_BOUNDS[0]] * factors + [_BOUNDS[1]] * len(terms) + [_BOUNDS[2]]
    if noise is not None:
        bounds[-1] = (np.log(noise), np.log(noise))
    prior_means = np.array([mean for mean, _ in priors.of_all(factors, len(terms))])
    lengths, scales = prior_means[:factors], prior_means[factors:-1]
    starts = [prior_means, np.array([*lengths - 1, *scales, -1.0]), np.array([*lengths + 1, *scales + 0.5, -8.0])]
    if start is not None:
        starts.insert(0, start.logs)
    box = np.array(bounds).T

    def descend(logs: Floats, steps: int) -> tuple[float, Floats]:
        options = {"maxiter": steps, "ftol": 1e-8, "gtol": 1e-4}
        found = minimize(
            negative_log_posterior,
            logs,
            args=(distances, y, noise is None, priors, terms, fixed_noise),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
        return (float(found.fun), found.x) if np.isfinite(found.fun) else (np.inf, logs)

    # A few iterations from each start select the best basin; only that one is optimised to convergence.
    _, best = min((descend(np.clip(each, *box), 3) for each in starts), key=lambda pair: pair[0])
    return Hyperparameters.of_logs(descend(best, 60)[1], len(terms))
