"""A Gaussian process on precomputed distances: the same model as BoTorch's `SingleTaskGP`, fitted and read without torch.

The kernel is `s exp(-sum_f d_f / (2 l_f^2))`, or a sum of such terms, plus noise on the diagonal, with a constant mean. The
noise is learned, or given for all values or for each of them. Distances between the points are computed once; a fit then
costs one Cholesky factorisation a step. `to_botorch` gives the model as a `SingleTaskGP`, to which mean, variance and
marginal likelihood are tested equal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import strmm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize

from mergebo._typing import Floats, Rows
from mergebo.errors import ArgumentError, UnsupportedError, extra
from mergebo.surrogate.similarity import Product, Sum, split

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP

logger = logging.getLogger(__name__)

Prior: TypeAlias = tuple[float, float]
"""Mean and standard deviation of the logarithm of a hyperparameter."""

LENGTHSCALE_PRIOR: Prior = (-0.5, 1.0)
"""Of l, if no other is given. Distances are normalised, so it means the same at every n and for every kernel."""
OUTPUTSCALE_PRIOR = (0.0, 1.0)
"""The same for the kernel's variance s; values are standardised."""
NOISE_PRIOR = (-6.0, 2.0)
"""The same for the noise variance: little noise, but as much as the data ask for."""
NOISY_PRIOR = (-1.5, 1.0)
"""The same where values are known to be noisy: without repeated measurements nothing else tells noise from rough values."""
LEAST_NOISE = 1e-6
"""Noise variance that is always there, as in BoTorch: it keeps matrices invertible when points repeat."""
MOST_NOISE = 1e6
"""Standard deviation of a measurement that says nothing, in standard deviations of the values."""

LEAST_VARIANCE = 1e-12
"""Of what is predicted: variances that rounding would make negative are this."""

BOUNDS = ((-4.0, 4.0), (-4.0, 4.0), (np.log(LEAST_NOISE), 2.0))
"""Of log l, log s and log noise."""


@dataclass(frozen=True)
class Hyperparameters:
    """What is fitted; the mean is in standardised values."""

    lengthscales: tuple[float, ...]
    """Those of all terms, one term after the other."""
    outputscale: float
    noise: float
    further: tuple[float, ...] = ()
    """Outputscales of further terms, if the kernel is a sum."""

    @property
    def outputscales(self) -> tuple[float, ...]:
        """Of all terms."""
        return (self.outputscale, *self.further)

    @property
    def variance(self) -> float:
        """Of a value before any is known."""
        return sum(self.outputscales)

    @property
    def logs(self) -> Floats:
        return np.log([*self.lengthscales, *self.outputscales, self.noise])

    @classmethod
    def of_logs(cls, logs: Floats, terms: int = 1) -> Hyperparameters:
        *others, noise = np.exp(logs).tolist()
        lengthscales, (outputscale, *further) = others[:-terms], others[-terms:]
        return cls(tuple(lengthscales), outputscale, noise, tuple(further))


def standardised(values: Floats) -> tuple[Floats, float, float]:
    """Values with mean 0 and standard deviation 1, and what to undo that with; equal values become zeros."""
    centre = float(values.mean())
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if not spread > 1e-12 * max(1e-300, abs(centre)):
        spread = 1.0
    return (values - centre) / spread, centre, spread


def negative_log_posterior(
    logs: Floats,
    distances: Floats,
    y: Floats,
    learns_noise: bool = True,
    prior: Prior = LENGTHSCALE_PRIOR,
    terms: Sequence[int] | None = None,
    given: Floats | None = None,
    noise_prior: Prior = NOISE_PRIOR,
) -> tuple[float, Floats]:
    """Minus the log marginal likelihood and log prior of log hyperparameters, and its gradient; given noise has no prior.

    The constant mean takes its best value for the others (generalised least squares), so its derivative is zero. `terms`
    are the numbers of distances of each term of a sum; a product has one. `given` are noise variances of single values, nan
    where the common one holds.
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
    covariance.flat[:: count + 1] += noise_variances(np.exp(log_noise), given)
    # LAPACK reads columns: the transpose of a symmetric matrix is handed over without a copy.
    factor, failed = dpotrf(covariance.T, lower=1, overwrite_a=1)
    if failed:
        return np.inf, np.zeros_like(logs)
    log_determinant = 2 * np.log(factor.diagonal()).sum()
    by_ones, by_y = dpotrs(factor, np.stack([np.ones(count), y]).T, lower=1)[0].T
    constant = by_ones @ y / by_ones.sum()
    alpha = by_y - constant * by_ones
    value = 0.5 * ((y - constant) @ alpha + log_determinant + count * np.log(2 * np.pi))
    # With G = K^-1 - alpha alpha^T, the derivative along dK is half the sum of all entries of G * dK. K^-1 comes as one
    # triangle, so sums over it count twice, the diagonal once.
    triangle = dpotri(factor, lower=1, overwrite_c=1)[0].T
    gradient = np.empty(len(logs))
    common = slice(None) if given is None else np.isnan(given)
    gradient[-1] = 0.5 * np.exp(log_noise) * (triangle.diagonal()[common].sum() - alpha[common] @ alpha[common])
    first = 0
    for term, (signal, own) in enumerate(zip(signals, terms, strict=True)):
        weighted = triangle * signal
        gradient[factors + term] = weighted.sum() - 0.5 * np.trace(weighted) - 0.5 * alpha @ signal @ alpha
        for k in range(first, first + own):
            gradient[k] = rates[k] * (np.vdot(weighted, distances[k]) - 0.5 * alpha @ (signal * distances[k]) @ alpha)
        first += own
    unlikely, slope = _negative_log_prior(logs, learns_noise, prior, len(terms), noise_prior)
    return float(value + unlikely), gradient + slope


def _negative_log_prior(
    logs: Floats, learns_noise: bool, prior: Prior, terms: int, noise_prior: Prior
) -> tuple[float, Floats]:
    """Minus the log prior of log hyperparameters, and its gradient."""
    value, gradient = 0.0, np.zeros(len(logs))
    priors = _priors(len(logs) - terms - 1, prior, terms, noise_prior)
    for k, (mean, deviation) in enumerate(priors[: None if learns_noise else -1]):
        # Log-normal densities, as GPyTorch writes them: of the parameter, not of its logarithm.
        value += 0.5 * ((logs[k] - mean) / deviation) ** 2 + logs[k] + np.log(deviation * np.sqrt(2 * np.pi))
        gradient[k] = (logs[k] - mean) / deviation**2 + 1
    return value, gradient


def _priors(factors: int, prior: Prior, terms: int, noise_prior: Prior) -> list[Prior]:
    return [prior] * factors + [outputscale_prior(terms)] * terms + [noise_prior]


def outputscale_prior(terms: int) -> Prior:
    """Of each of the terms of a kernel, which share the variance."""
    mean, deviation = OUTPUTSCALE_PRIOR
    return mean - float(np.log(terms)), deviation


def noise_variances(common: float, given: Floats | None) -> Any:
    """The noise variance of every value: the common one, or its own where that is given."""
    return common if given is None else np.where(np.isnan(given), common, given)


def check_noise(noise: float | None) -> None:
    """None, or a variance that keeps matrices invertible."""
    if noise is not None and not (isinstance(noise, int | float) and LEAST_NOISE <= noise < np.inf):
        raise ArgumentError(
            f"noise is a variance of standardised values, at least {LEAST_NOISE:g}, or None to learn it, got {noise!r}"
        )


def fit(
    distances: Floats,
    y: Floats,
    start: Hyperparameters | None = None,
    *,
    noise: float | None = None,
    prior: Prior = LENGTHSCALE_PRIOR,
    terms: Sequence[int] | None = None,
    given: Floats | None = None,
    noise_prior: Prior = NOISE_PRIOR,
) -> Hyperparameters:
    """The most probable hyperparameters, by L-BFGS from several starts; never fails on degenerate data.

    The noise variance is one of them, unless it is given: for all values as `noise`, or for each as `given`, which may be
    nan for some. `terms` as in `negative_log_posterior`.
    """
    check_noise(noise)
    factors = len(distances)
    terms = terms or [factors]
    bounds = [BOUNDS[0]] * factors + [BOUNDS[1]] * len(terms) + [BOUNDS[2]]
    if noise is not None:
        bounds[-1] = (np.log(noise), np.log(noise))
    typical = np.array([mean for mean, _ in _priors(factors, prior, len(terms), noise_prior)])
    lengths, scales = typical[:factors], typical[factors:-1]
    starts = [typical, np.array([*lengths - 1, *scales, -1.0]), np.array([*lengths + 1, *scales + 0.5, -8.0])]
    if start is not None:
        starts.insert(0, start.logs)
    box = np.array(bounds).T

    def descend(logs: Floats, steps: int) -> tuple[float, Floats]:
        options = {"maxiter": steps, "ftol": 1e-8, "gtol": 1e-4}
        found = minimize(
            negative_log_posterior,
            logs,
            args=(distances, y, noise is None, prior, terms, given, noise_prior),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
        return (float(found.fun), found.x) if np.isfinite(found.fun) else (np.inf, logs)

    # A few steps tell which of the starts is in the best valley; only that one is followed to the bottom.
    _, best = min((descend(np.clip(each, *box), 3) for each in starts), key=lambda pair: pair[0])
    return Hyperparameters.of_logs(descend(best, 60)[1], len(terms))


class Trend(Protocol):
    """A known part of standardised values; a model with one learns what is left."""

    def value(self, rows: Rows) -> Floats:
        """At rows."""
        ...

    def changes(self, row: Rows, variable: str, move: str) -> Floats:
        """By how much it is more at all neighbours of a row by one kind of move of one variable."""
        ...


@dataclass(frozen=True)
class Trends:
    """The sum of several trends."""

    parts: tuple[Trend, ...]

    @staticmethod
    def parts_of(trend: Trend | None) -> tuple[Trend, ...]:
        """The trends that a trend is the sum of."""
        return () if trend is None else trend.parts if isinstance(trend, Trends) else (trend,)

    def value(self, rows: Rows) -> Floats:
        return sum((part.value(rows) for part in self.parts), np.zeros(len(rows)))

    def changes(self, row: Rows, variable: str, move: str) -> Floats:
        return np.asarray(sum(part.changes(row, variable, move) for part in self.parts))


class GP:
    """A fitted model of values at rows: `predict` gives mean and standard deviation anywhere."""

    def __init__(
        self,
        similarity: Product | Sum,
        rows: Rows,
        values: Floats,
        *,
        hyperparameters: Hyperparameters | None = None,
        noise: float | None = None,
        trend: Trend | None = None,
        scaling: tuple[float, float] | None = None,
        prior: Prior = LENGTHSCALE_PRIOR,
        errors: Floats | None = None,
        noise_prior: Prior = NOISE_PRIOR,
    ) -> None:
        """Fit, with the noise learned or of a given variance (of standardised values), unless hyperparameters are given.

        `errors` are the standard deviations of single values, in their units, nan where they are not known. Where all are,
        nothing about the noise is learned, and a further value is expected to be as noisy as these are on average.

        Values are standardised by their own mean and deviation, unless `scaling` gives others. `prior` is that of the
        lengthscales, `noise_prior` that of the learned noise.
        """
        self.similarity = similarity
        self.terms = [term.lengthscales for term in similarity.terms]
        self.rows = rows
        self.errors = errors
        self.trend = trend
        self.prior = prior
        self.noise_prior = noise_prior
        values = np.asarray(values, np.float64)
        self.y, self.centre, self.spread = standardised(values)
        if scaling is not None:
            self.centre, self.spread = scaling
            self.y = (values - self.centre) / self.spread
        self.given = None if errors is None else np.maximum(np.minimum(errors / self.spread, MOST_NOISE) ** 2, LEAST_NOISE)
        if noise is None and self.given is not None and not np.isnan(self.given).any():
            noise = float(self.given.mean())
        self.noise = noise
        distances = similarity.distances(rows, rows)
        left = self.left = self.y - self._trend(rows)
        self.hyperparameters = hyperparameters or fit(
            distances, left, noise=noise, prior=prior, terms=self.terms, given=self.given, noise_prior=noise_prior
        )
        covariance = self._covariance(distances) + np.diag(self.noise_variances)
        # W = L^-1: with it variances of many points are one matrix product.
        self.whitener = solve_triangular(self._factorise(covariance), np.eye(len(rows)), lower=True, check_finite=False)
        weights = self.whitener.T @ self.whitener.sum(axis=1)
        self.mean = float(weights @ left / weights.sum())
        self.alpha = self.whitener.T @ (self.whitener @ (left - self.mean))

    @property
    def loss(self) -> float:
        """Minus the log evidence and log prior: of two models of the same values the one with less is the likelier."""
        white = self.whitener @ (self.left - self.mean)
        value = 0.5 * (white @ white + len(white) * np.log(2 * np.pi)) - np.log(self.whitener.diagonal()).sum()
        logs, learns_noise = self.hyperparameters.logs, self.noise is None
        return float(value + _negative_log_prior(logs, learns_noise, self.prior, len(self.terms), self.noise_prior)[0])

    @property
    def noise_variances(self) -> Floats:
        """Of every standardised value."""
        return np.full(len(self.y), noise_variances(self.hyperparameters.noise, self.given))

    @staticmethod
    def _factorise(covariance: Floats) -> Floats:
        jitter = 0.0
        while True:
            try:
                return np.asarray(np.linalg.cholesky(covariance + jitter * np.eye(len(covariance))), np.float64)
            except np.linalg.LinAlgError:
                jitter = max(1e-8, 10 * jitter)
                logger.debug("covariance of %d points is not positive definite; adding jitter %g", len(covariance), jitter)

    def _trend(self, rows: Rows) -> Floats:
        return np.zeros(len(rows)) if self.trend is None else self.trend.value(rows)

    @property
    def _weights(self) -> Floats:
        """What distances are multiplied by in the kernel's exponent."""
        return np.asarray(-0.5 / np.array(self.hyperparameters.lengthscales) ** 2)

    def _covariance(self, distances: Floats) -> Floats:
        first, *further = (
            outputscale * np.exp(np.tensordot(own, each, axes=1))
            for outputscale, own, each in zip(
                self.hyperparameters.outputscales,
                split(self._weights, self.terms),
                split(distances, self.terms),
                strict=True,
            )
        )
        return np.asarray(sum(further, first))

    def predict(self, rows: Rows) -> tuple[Floats, Floats]:
        """Posterior mean and standard deviation of the noise-free values, in the units of the values."""
        mean, deviation = self.predict_standardised(rows)
        return self.centre + self.spread * mean, self.spread * deviation

    def predict_standardised(self, rows: Rows) -> tuple[Floats, Floats]:
        """The same in standardised values, which is what acquisition functions read."""
        cross = self.cross(rows)
        mean = self._trend(rows) + self.mean + cross @ self.alpha
        explained = ((cross @ self.whitener.T) ** 2).sum(axis=1)
        return mean, np.sqrt(np.maximum(self.hyperparameters.variance - explained, LEAST_VARIANCE))

    def cross(self, rows: Rows) -> Floats:
        """Prior covariances of standardised values at rows with those that the model knows."""
        return self._covariance(self.similarity.distances(rows, self.rows))

    def scan(self, row: Rows, variable: str, move: str) -> tuple[Floats, Floats]:
        """Standardised means and deviations of all neighbours by one kind of move of one variable, in single precision."""
        first, *further = np.array(self.hyperparameters.outputscales, np.float32)
        alpha = (first * self.alpha).astype(np.float32)
        whitener = np.asfortranarray(first * self.whitener, np.float32)
        scans = [
            term.scan(row, self.rows, variable, move, own)
            for term, own in zip(self.similarity.terms, split(self._weights, self.terms), strict=True)
        ]
        means, explained = [], []
        for exponent, *others in zip(*scans, strict=False):  # terms without the variable have no end
            cross = np.exp(exponent, out=exponent)
            for outputscale, other in zip(further, others, strict=True):
                cross = cross + outputscale / first * np.exp(other)
            # Half of the whitener is zeros: a triangular product takes two thirds of the time of a plain one.
            white = strmm(1.0, whitener, cross.T, lower=1).T
            with np.errstate(invalid="ignore"):  # OpenBLAS 0.3.31 flags what it reads beside vectors of length 5 (AVX-512)
                means.append(cross @ alpha)
            explained.append(np.einsum("ij,ij->i", white, white))
        if not means:
            return np.empty(0), np.empty(0)
        variance = np.float32(self.hyperparameters.variance) - np.concatenate(explained)
        mean = (np.float32(self.mean) + np.concatenate(means)).astype(np.float64)
        if self.trend is not None:
            mean += self.trend.value(row[None]) + self.trend.changes(row, variable, move)
        return mean, np.sqrt(np.maximum(variance, np.float32(1e-9))).astype(np.float64)

    def along_reals(self, row: Rows) -> Callable[[Floats], tuple[float, float, Floats, Floats]]:
        """The standardised mean and deviation, and the gradients of both, as a function of a row's real numbers.

        These are given and derived by in units of their ranges, 0 to 1; all else in the row stays.
        """
        space = self.similarity.space
        known = np.concatenate(
            [real.to_unit(self.rows[:, space.slices[name]]) for name, real in space.reals.items()], axis=1
        )
        weights = split(self._weights, self.terms)
        parts = [term.reals(row, self.rows, own) for term, own in zip(self.similarity.terms, weights, strict=True)]
        constant = self.mean + float(self._trend(row[None])[0])

        def at(units: Floats) -> tuple[float, float, Floats, Floats]:
            gaps = units - known
            cross, by_units = np.zeros(len(known)), np.zeros(known.shape)
            for outputscale, (fixed, rates) in zip(self.hyperparameters.outputscales, parts, strict=True):
                term = outputscale * np.exp(fixed + gaps**2 @ rates)
                cross += term
                by_units += term[:, None] * (2 * rates * gaps)
            white = self.whitener @ cross
            variance = self.hyperparameters.variance - white @ white
            deviation = np.sqrt(max(variance, LEAST_VARIANCE))
            slope = -(self.whitener.T @ white) @ by_units / deviation if variance > LEAST_VARIANCE else np.zeros(len(units))
            return constant + float(cross @ self.alpha), float(deviation), self.alpha @ by_units, slope

        return at

    def left_out(self) -> Floats:
        """What the model expects each standardised value to be from all the others; hyperparameters stay."""
        return np.asarray(self.y - self.alpha / (self.whitener**2).sum(axis=0))

    def covariance(self, rows: Rows) -> Floats:
        """Posterior covariance of the noise-free standardised values at all rows together."""
        white = self.whitener @ self.cross(rows).T
        return np.asarray(self._covariance(self.similarity.distances(rows, rows)) - white.T @ white)

    def sample(self, rows: Rows, rng: np.random.Generator) -> Floats:
        """One draw of the standardised values at all rows together, for Thompson sampling."""
        mean, _ = self.predict_standardised(rows)
        factor = self._factorise(self.covariance(rows) + 1e-8 * np.eye(len(rows)))
        draw: Floats = mean + factor @ rng.normal(size=len(rows))
        return draw

    def with_points(self, rows: Rows) -> GP:
        """The model after it has seen what it expects at further rows (fantasies); all else stays."""
        expected, _ = self.predict(rows)
        return GP(
            self.similarity,
            np.concatenate([self.rows, rows]),
            np.concatenate([self.centre + self.spread * self.y, expected]),
            hyperparameters=self.hyperparameters,
            noise=self.noise,
            trend=self.trend,
            scaling=(self.centre, self.spread),
            prior=self.prior,
            errors=None if self.errors is None else np.concatenate([self.errors, np.full(len(rows), np.nan)]),
            noise_prior=self.noise_prior,
        )

    def to_botorch(self) -> SingleTaskGP:
        """The same model as BoTorch's, with these hyperparameters; it predicts standardised values.

        BoTorch learns the noise or is given it: where it was given for some values only, what was learned for the others is
        given, too.
        """
        if self.trend is not None:
            raise UnsupportedError("a model with a trend is not one of BoTorch's; give the rows' trend to it as a mean")
        with extra("torch"):
            import torch
            from botorch.models import SingleTaskGP
            from gpytorch.constraints import GreaterThan
            from gpytorch.kernels import AdditiveKernel, ScaleKernel
            from gpytorch.likelihoods import GaussianLikelihood
            from gpytorch.priors import LogNormalPrior

        scale_prior = LogNormalPrior(*outputscale_prior(len(self.terms)))
        scaled = [ScaleKernel(term.kernel(), outputscale_prior=scale_prior) for term in self.similarity.terms]
        targets = torch.from_numpy(self.y).unsqueeze(-1)
        learns_noise = self.noise is None and self.given is None
        if learns_noise:
            constraint = GreaterThan(LEAST_NOISE)
            noise = {"likelihood": GaussianLikelihood(LogNormalPrior(*self.noise_prior), noise_constraint=constraint)}
        else:
            noise = {"train_Yvar": torch.from_numpy(self.noise_variances).unsqueeze(-1)}
        model = SingleTaskGP(
            torch.from_numpy(np.asarray(self.rows, np.float64)),
            targets,
            covar_module=scaled[0] if len(scaled) == 1 else AdditiveKernel(*scaled),
            outcome_transform=None,
            **noise,
        ).double()
        lengthscales = iter(self.hyperparameters.lengthscales)
        for kernel, outputscale in zip(scaled, self.hyperparameters.outputscales, strict=True):
            kernel.outputscale = outputscale
            for factor in getattr(kernel.base_kernel, "kernels", [kernel.base_kernel]):
                factor.register_prior("lengthscale_prior", LogNormalPrior(*self.prior), "lengthscale")
                factor.lengthscale = torch.tensor([next(lengthscales) for _ in range(factor.lengthscale.numel())])
        if learns_noise:
            model.likelihood.noise = max(self.hyperparameters.noise, LEAST_NOISE * (1 + 1e-6))
        model.mean_module.constant.data.fill_(self.mean)
        return model
