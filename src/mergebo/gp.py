"""A Gaussian process on precomputed distances: the same model as BoTorch's `SingleTaskGP`, without torch.

The kernel is `s exp(-sum_f d_f / (2 l_f^2))`, or a sum of such terms, plus noise on the diagonal, with a constant mean. The
noise is learned, or given for all values or for each of them. Distances between the points are computed once; a fit then
costs one Cholesky factorisation per step. `to_botorch` returns the model as a `SingleTaskGP`; tests check that mean,
variance and marginal likelihood agree.
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
from mergebo.similarity.base import Product, Sum, split

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP

logger = logging.getLogger(__name__)

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
MAX_NOISE_STD = 1e6
"""Largest noise standard deviation of a measurement, in standard deviations of the values; larger ones are clipped."""

MIN_VARIANCE = 1e-12
"""Smallest posterior variance: rounding could make variances negative."""

BOUNDS = ((-4.0, 4.0), (-4.0, 4.0), (np.log(MIN_NOISE), 2.0))
"""Bounds of log l, log s and log noise."""


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


def standardize(values: Floats) -> tuple[Floats, float, float]:
    """Values with mean 0 and standard deviation 1, and their original mean and deviation; equal values become zeros."""
    mean = float(values.mean())
    std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if not std > 1e-12 * max(1e-300, abs(mean)):
        std = 1.0
    return (values - mean) / std, mean, std


def negative_log_posterior(
    logs: Floats,
    distances: Floats,
    y: Floats,
    learns_noise: bool = True,
    prior: Prior = LENGTHSCALE_PRIOR,
    terms: Sequence[int] | None = None,
    fixed_noise: Floats | None = None,
    noise_prior: Prior = NOISE_PRIOR,
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
    prior_value, prior_gradient = _negative_log_prior(logs, learns_noise, prior, len(terms), noise_prior)
    return float(value + prior_value), gradient + prior_gradient


def _negative_log_prior(
    logs: Floats, learns_noise: bool, prior: Prior, terms: int, noise_prior: Prior
) -> tuple[float, Floats]:
    """Negative log prior of log hyperparameters, and its gradient."""
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
    """Prior of the outputscale of each term of a kernel: the terms share the variance."""
    mean, deviation = OUTPUTSCALE_PRIOR
    return mean - float(np.log(terms)), deviation


def cholesky_with_jitter(covariance: Floats) -> Floats:
    """The Cholesky factor of a matrix, with as little added to the diagonal as makes it positive definite."""
    jitter = 0.0
    while True:
        try:
            return np.asarray(np.linalg.cholesky(covariance + jitter * np.eye(len(covariance))), np.float64)
        except np.linalg.LinAlgError:
            jitter = max(1e-8, 10 * jitter)
            logger.debug("covariance of %d points is not positive definite; adding jitter %g", len(covariance), jitter)


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
    prior: Prior = LENGTHSCALE_PRIOR,
    terms: Sequence[int] | None = None,
    fixed_noise: Floats | None = None,
    noise_prior: Prior = NOISE_PRIOR,
) -> Hyperparameters:
    """Maximum a posteriori hyperparameters, by L-BFGS from several starts; robust to degenerate data.

    The noise variance is one of them unless it is fixed: for all values by `noise`, or for each by `fixed_noise`, which may
    be nan for some. `terms` as in `negative_log_posterior`.
    """
    check_noise(noise)
    factors = len(distances)
    terms = terms or [factors]
    bounds = [BOUNDS[0]] * factors + [BOUNDS[1]] * len(terms) + [BOUNDS[2]]
    if noise is not None:
        bounds[-1] = (np.log(noise), np.log(noise))
    prior_means = np.array([mean for mean, _ in _priors(factors, prior, len(terms), noise_prior)])
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
            args=(distances, y, noise is None, prior, terms, fixed_noise, noise_prior),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
        return (float(found.fun), found.x) if np.isfinite(found.fun) else (np.inf, logs)

    # A few iterations from each start select the best basin; only that one is optimised to convergence.
    _, best = min((descend(np.clip(each, *box), 3) for each in starts), key=lambda pair: pair[0])
    return Hyperparameters.of_logs(descend(best, 60)[1], len(terms))


class MeanFunction(Protocol):
    """The mean function of standardised values; the Gaussian process models the residual."""

    def value(self, rows: Rows) -> Floats:
        """The mean at rows."""
        ...

    def changes(self, row: Rows, variable: str, move: str) -> Floats:
        """Differences of the mean at all neighbours of a row, by one kind of move of one variable, to that at the row."""
        ...


@dataclass(frozen=True)
class SumMean:
    """The sum of several mean functions."""

    parts: tuple[MeanFunction, ...]

    @staticmethod
    def parts_of(mean_function: MeanFunction | None) -> tuple[MeanFunction, ...]:
        """The summands of a mean function."""
        return (
            () if mean_function is None else mean_function.parts if isinstance(mean_function, SumMean) else (mean_function,)
        )

    def value(self, rows: Rows) -> Floats:
        return sum((part.value(rows) for part in self.parts), np.zeros(len(rows)))

    def changes(self, row: Rows, variable: str, move: str) -> Floats:
        return np.asarray(sum(part.changes(row, variable, move) for part in self.parts))


class GP:
    """A fitted Gaussian process of values at rows; `predict` returns mean and standard deviation anywhere."""

    def __init__(
        self,
        similarity: Product | Sum,
        rows: Rows,
        values: Floats,
        *,
        hyperparameters: Hyperparameters | None = None,
        noise: float | None = None,
        mean_function: MeanFunction | None = None,
        scaling: tuple[float, float] | None = None,
        prior: Prior = LENGTHSCALE_PRIOR,
        noise_std: Floats | None = None,
        noise_prior: Prior = NOISE_PRIOR,
    ) -> None:
        """Fit the hyperparameters unless given. The noise variance (of standardised values) is learned unless given.

        `noise_std` are the standard deviations of single values, in their units, nan where unknown. If all are known, no
        noise is learned, and further values are assumed to have their mean noise variance.

        Values are standardised by their own mean and standard deviation, unless `scaling` gives others. `prior` is that of
        the lengthscales, `noise_prior` that of the learned noise.
        """
        self.similarity = similarity
        self.terms = [term.lengthscales for term in similarity.terms]
        self.rows = rows
        self.noise_std = noise_std
        self.mean_function = mean_function
        self.prior = prior
        self.noise_prior = noise_prior
        values = np.asarray(values, np.float64)
        self.y, self.y_mean, self.y_std = standardize(values)
        if scaling is not None:
            self.y_mean, self.y_std = scaling
            self.y = (values - self.y_mean) / self.y_std
        self.fixed_noise = (
            None if noise_std is None else np.maximum(np.minimum(noise_std / self.y_std, MAX_NOISE_STD) ** 2, MIN_NOISE)
        )
        if noise is None and self.fixed_noise is not None and not np.isnan(self.fixed_noise).any():
            noise = float(self.fixed_noise.mean())
        self.noise = noise
        distances = similarity.distances(rows, rows)
        residuals = self.residuals = self.y - self._prior_mean_at(rows)
        self.hyperparameters = hyperparameters or fit(
            distances,
            residuals,
            noise=noise,
            prior=prior,
            terms=self.terms,
            fixed_noise=self.fixed_noise,
            noise_prior=noise_prior,
        )
        covariance = self._covariance(distances) + np.diag(self.noise_variances)
        factor = cholesky_with_jitter(covariance)
        # W = L^-1 makes the variances of many points one matrix product.
        self.chol_inverse = solve_triangular(factor, np.eye(len(rows)), lower=True, check_finite=False)
        weights = self.chol_inverse.T @ self.chol_inverse.sum(axis=1)
        self.constant_mean = float(weights @ residuals / weights.sum())
        self.alpha = self.chol_inverse.T @ (self.chol_inverse @ (residuals - self.constant_mean))

    @property
    def neg_log_posterior(self) -> float:
        """Negative log evidence and log prior: of two models of the same values the smaller one is more probable."""
        white = self.chol_inverse @ (self.residuals - self.constant_mean)
        value = 0.5 * (white @ white + len(white) * np.log(2 * np.pi)) - np.log(self.chol_inverse.diagonal()).sum()
        logs, learns_noise = self.hyperparameters.logs, self.noise is None
        return float(value + _negative_log_prior(logs, learns_noise, self.prior, len(self.terms), self.noise_prior)[0])

    @property
    def noise_variances(self) -> Floats:
        """Noise variances of all standardised values."""
        return np.full(len(self.y), noise_variances(self.hyperparameters.noise, self.fixed_noise))

    def _prior_mean_at(self, rows: Rows) -> Floats:
        return np.zeros(len(rows)) if self.mean_function is None else self.mean_function.value(rows)

    @property
    def _weights(self) -> Floats:
        """Factors of the distances in the kernel's exponent."""
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
        return self.y_mean + self.y_std * mean, self.y_std * deviation

    def predict_standardised(self, rows: Rows) -> tuple[Floats, Floats]:
        """Posterior mean and standard deviation of the noise-free standardised values, for acquisition functions."""
        cross = self.cross(rows)
        mean = self._prior_mean_at(rows) + self.constant_mean + cross @ self.alpha
        explained = ((cross @ self.chol_inverse.T) ** 2).sum(axis=1)
        return mean, np.sqrt(np.maximum(self.hyperparameters.variance - explained, MIN_VARIANCE))

    def cross(self, rows: Rows) -> Floats:
        """Prior covariances of standardised values at rows with those at the model's rows."""
        return self._covariance(self.similarity.distances(rows, self.rows))

    def scan(self, row: Rows, variable: str, move: str) -> tuple[Floats, Floats]:
        """Standardised means and standard deviations of all neighbours by one kind of move of a variable, in float32."""
        first, *further = np.array(self.hyperparameters.outputscales, np.float32)
        alpha = (first * self.alpha).astype(np.float32)
        chol_inverse = np.asfortranarray(first * self.chol_inverse, np.float32)
        scans = [
            term.scan(row, self.rows, variable, move, own)
            for term, own in zip(self.similarity.terms, split(self._weights, self.terms), strict=True)
        ]
        means, explained = [], []
        for exponent, *others in zip(*scans, strict=False):  # terms without the variable yield forever
            cross = np.exp(exponent, out=exponent)
            for outputscale, other in zip(further, others, strict=True):
                cross = cross + outputscale / first * np.exp(other)
            # Half of the matrix is zeros: a triangular product takes two thirds of the time of a plain one.
            white = strmm(1.0, chol_inverse, cross.T, lower=1).T
            with np.errstate(invalid="ignore"):  # OpenBLAS 0.3.31 reads past vectors of length 5 (AVX-512)
                means.append(cross @ alpha)
            explained.append(np.einsum("ij,ij->i", white, white))
        if not means:
            return np.empty(0), np.empty(0)
        variance = np.float32(self.hyperparameters.variance) - np.concatenate(explained)
        mean = (np.float32(self.constant_mean) + np.concatenate(means)).astype(np.float64)
        if self.mean_function is not None:
            mean += self.mean_function.value(row[None]) + self.mean_function.changes(row, variable, move)
        return mean, np.sqrt(np.maximum(variance, np.float32(1e-9))).astype(np.float64)

    def posterior_along_reals(self, row: Rows) -> Callable[[Floats], tuple[float, float, Floats, Floats]]:
        """The standardised mean and standard deviation, with gradients, as a function of a row's real variables.

        These are scaled to the unit interval; all other variables of the row are fixed.
        """
        space = self.similarity.space
        known = np.concatenate(
            [real.to_unit(self.rows[:, space.slices[name]]) for name, real in space.reals.items()], axis=1
        )
        weights = split(self._weights, self.terms)
        parts = [term.reals(row, self.rows, own) for term, own in zip(self.similarity.terms, weights, strict=True)]
        constant = self.constant_mean + float(self._prior_mean_at(row[None])[0])

        def at(units: Floats) -> tuple[float, float, Floats, Floats]:
            differences = units - known
            cross, by_units = np.zeros(len(known)), np.zeros(known.shape)
            for outputscale, (fixed, rates) in zip(self.hyperparameters.outputscales, parts, strict=True):
                term = outputscale * np.exp(fixed + differences**2 @ rates)
                cross += term
                by_units += term[:, None] * (2 * rates * differences)
            white = self.chol_inverse @ cross
            variance = self.hyperparameters.variance - white @ white
            deviation = np.sqrt(max(variance, MIN_VARIANCE))
            gradient = (
                -(self.chol_inverse.T @ white) @ by_units / deviation if variance > MIN_VARIANCE else np.zeros(len(units))
            )
            return constant + float(cross @ self.alpha), float(deviation), self.alpha @ by_units, gradient

        return at

    def leave_one_out_mean(self) -> Floats:
        """Leave-one-out mean of each standardised value, with fixed hyperparameters."""
        return np.asarray(self.y - self.alpha / (self.chol_inverse**2).sum(axis=0))

    def covariance(self, rows: Rows) -> Floats:
        """Posterior covariance of the noise-free standardised values at all rows together."""
        white = self.chol_inverse @ self.cross(rows).T
        return np.asarray(self._covariance(self.similarity.distances(rows, rows)) - white.T @ white)

    def sample(self, rows: Rows, rng: np.random.Generator) -> Floats:
        """One joint posterior sample of the standardised values at all rows, for Thompson sampling."""
        mean, _ = self.predict_standardised(rows)
        factor = cholesky_with_jitter(self.covariance(rows) + 1e-8 * np.eye(len(rows)))
        sample: Floats = mean + factor @ rng.normal(size=len(rows))
        return sample

    def fantasize(self, rows: Rows) -> GP:
        """The model conditioned on its own predictions at further rows (fantasies), with the same hyperparameters."""
        expected, _ = self.predict(rows)
        return GP(
            self.similarity,
            np.concatenate([self.rows, rows]),
            np.concatenate([self.y_mean + self.y_std * self.y, expected]),
            hyperparameters=self.hyperparameters,
            noise=self.noise,
            mean_function=self.mean_function,
            scaling=(self.y_mean, self.y_std),
            prior=self.prior,
            noise_std=None if self.noise_std is None else np.concatenate([self.noise_std, np.full(len(rows), np.nan)]),
            noise_prior=self.noise_prior,
        )

    def to_botorch(self) -> SingleTaskGP:
        """The same model as a BoTorch `SingleTaskGP`, with these hyperparameters; it predicts standardised values.

        BoTorch's noise is either learned or fixed: if it was given for some values only, the learned noise of the others is
        fixed, too.
        """
        if self.mean_function is not None:
            raise UnsupportedError("a model with a mean function cannot be converted; use a mean module of GPyTorch")
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
        learns_noise = self.noise is None and self.fixed_noise is None
        if learns_noise:
            constraint = GreaterThan(MIN_NOISE)
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
            model.likelihood.noise = max(self.hyperparameters.noise, MIN_NOISE * (1 + 1e-6))
        model.mean_module.constant.data.fill_(self.constant_mean)
        return model
