"""A Gaussian process on precomputed distances: the same model as BoTorch's `SingleTaskGP`, fitted and read without torch.

The kernel is `s exp(-sum_f d_f / (2 l_f^2))` plus noise on the diagonal, with a constant mean. The noise is learned, or
given for all values or for each of them. Distances between the points are computed once; a fit then costs one Cholesky
factorisation a step. `to_botorch` gives the model as a `SingleTaskGP`, to which mean, variance and marginal likelihood are
tested equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize

from mergebo.errors import ArgumentError, UnsupportedError
from mergebo.spaces import Rows
from mergebo.surrogate.similarity import Floats, Product

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP

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

BOUNDS = ((-4.0, 4.0), (-4.0, 4.0), (np.log(LEAST_NOISE), 2.0))
"""Of log l, log s and log noise."""


@dataclass(frozen=True)
class Hyperparameters:
    """What is fitted; the mean is in standardised values."""

    lengthscales: tuple[float, ...]
    outputscale: float
    noise: float

    @property
    def logs(self) -> Floats:
        return np.log([*self.lengthscales, self.outputscale, self.noise])

    @classmethod
    def of_logs(cls, logs: Floats) -> Hyperparameters:
        *lengthscales, outputscale, noise = np.exp(logs).tolist()
        return cls(tuple(lengthscales), outputscale, noise)


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
    given: Floats | None = None,
    noise_prior: Prior = NOISE_PRIOR,
) -> tuple[float, Floats]:
    """Minus the log marginal likelihood and log prior of log hyperparameters, and its gradient; given noise has no prior.

    `given` are noise variances of single values, nan where the common one holds. The constant mean takes its best value
    for the others (generalised least squares), so its derivative is zero.
    """
    count = len(y)
    log_outputscale, log_noise = logs[-2:]
    rates = np.exp(-2 * logs[:-2])
    signal = np.exp(log_outputscale - 0.5 * np.tensordot(rates, distances, axes=1))
    covariance = signal.copy()
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
    triangle *= signal
    gradient[-2] = triangle.sum() - 0.5 * np.trace(triangle) - 0.5 * alpha @ signal @ alpha
    for k, (rate, distance) in enumerate(zip(rates, distances, strict=True)):
        gradient[k] = rate * (np.vdot(triangle, distance) - 0.5 * alpha @ (signal * distance) @ alpha)
    unlikely, slope = _negative_log_prior(logs, learns_noise, prior, noise_prior)
    return float(value + unlikely), gradient + slope


def _negative_log_prior(logs: Floats, learns_noise: bool, prior: Prior, noise_prior: Prior) -> tuple[float, Floats]:
    """Minus the log prior of log hyperparameters, and its gradient."""
    value, gradient = 0.0, np.zeros(len(logs))
    for k, (mean, deviation) in enumerate(_priors(len(logs) - 2, prior, noise_prior)[: None if learns_noise else -1]):
        # Log-normal densities, as GPyTorch writes them: of the parameter, not of its logarithm.
        value += 0.5 * ((logs[k] - mean) / deviation) ** 2 + logs[k] + np.log(deviation * np.sqrt(2 * np.pi))
        gradient[k] = (logs[k] - mean) / deviation**2 + 1
    return value, gradient


def _priors(factors: int, prior: Prior, noise_prior: Prior) -> list[Prior]:
    return [prior] * factors + [OUTPUTSCALE_PRIOR, noise_prior]


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
    given: Floats | None = None,
    noise_prior: Prior = NOISE_PRIOR,
) -> Hyperparameters:
    """The most probable hyperparameters, by L-BFGS from several starts; never fails on degenerate data.

    The noise variance is one of them, unless it is given: for all values as `noise`, or for each as `given`, which may be
    nan for some.
    """
    check_noise(noise)
    factors = len(distances)
    bounds = [BOUNDS[0]] * factors + [*BOUNDS[1:]]
    if noise is not None:
        bounds[-1] = (np.log(noise), np.log(noise))
    typical = np.array([mean for mean, _ in _priors(factors, prior, noise_prior)])
    starts = [typical, np.array([*typical[:factors] - 1, 0.0, -1.0]), np.array([*typical[:factors] + 1, 0.5, -8.0])]
    if start is not None:
        starts.insert(0, start.logs)
    box = np.array(bounds).T

    def descend(logs: Floats, steps: int) -> tuple[float, Floats]:
        options = {"maxiter": steps, "ftol": 1e-8, "gtol": 1e-4}
        found = minimize(
            negative_log_posterior,
            logs,
            args=(distances, y, noise is None, prior, given, noise_prior),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
        return (float(found.fun), found.x) if np.isfinite(found.fun) else (np.inf, logs)

    # A few steps tell which of the starts is in the best valley; only that one is followed to the bottom.
    _, best = min((descend(np.clip(each, *box), 3) for each in starts), key=lambda pair: pair[0])
    return Hyperparameters.of_logs(descend(best, 60)[1])


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
        similarity: Product,
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
        self.given = None if errors is None else np.maximum((errors / self.spread) ** 2, LEAST_NOISE)
        if noise is None and self.given is not None and not np.isnan(self.given).any():
            noise = float(self.given.mean())
        self.noise = noise
        distances = similarity.distances(rows, rows)
        left = self.left = self.y - self._trend(rows)
        self.hyperparameters = hyperparameters or fit(
            distances, left, noise=noise, prior=prior, given=self.given, noise_prior=noise_prior
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
        return float(value + _negative_log_prior(logs, learns_noise, self.prior, self.noise_prior)[0])

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

    def _trend(self, rows: Rows) -> Floats:
        return np.zeros(len(rows)) if self.trend is None else self.trend.value(rows)

    @property
    def _weights(self) -> Floats:
        """What distances are multiplied by in the kernel's exponent."""
        return np.asarray(-0.5 / np.array(self.hyperparameters.lengthscales) ** 2)

    def _covariance(self, distances: Floats) -> Floats:
        return self.hyperparameters.outputscale * np.exp(np.tensordot(self._weights, distances, axes=1))

    def predict(self, rows: Rows) -> tuple[Floats, Floats]:
        """Posterior mean and standard deviation of the noise-free values, in the units of the values."""
        mean, deviation = self.predict_standardised(rows)
        return self.centre + self.spread * mean, self.spread * deviation

    def predict_standardised(self, rows: Rows) -> tuple[Floats, Floats]:
        """The same in standardised values, which is what acquisition functions read."""
        cross = self.cross(rows)
        mean = self._trend(rows) + self.mean + cross @ self.alpha
        explained = ((cross @ self.whitener.T) ** 2).sum(axis=1)
        return mean, np.sqrt(np.maximum(self.hyperparameters.outputscale - explained, 1e-12))

    def cross(self, rows: Rows) -> Floats:
        """Prior covariances of standardised values at rows with those that the model knows."""
        return self._covariance(self.similarity.distances(rows, self.rows))

    def scan(self, row: Rows, variable: str, move: str) -> tuple[Floats, Floats]:
        """Standardised means and deviations of all neighbours by one kind of move of one variable, in single precision."""
        scale = np.float32(self.hyperparameters.outputscale)
        alpha, whitener = ((scale * each).astype(np.float32) for each in (self.alpha, self.whitener.T))
        means, explained = [], []
        for exponent in self.similarity.scan(row, self.rows, variable, move, self._weights):
            cross = np.exp(exponent, out=exponent)
            white = cross @ whitener
            means.append(cross @ alpha)
            explained.append(np.einsum("ij,ij->i", white, white))
        if not means:
            return np.empty(0), np.empty(0)
        variance = scale - np.concatenate(explained)
        mean = (np.float32(self.mean) + np.concatenate(means)).astype(np.float64)
        if self.trend is not None:
            mean += self.trend.value(row[None]) + self.trend.changes(row, variable, move)
        return mean, np.sqrt(np.maximum(variance, np.float32(1e-9))).astype(np.float64)

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
        import torch
        from botorch.models import SingleTaskGP
        from gpytorch.constraints import GreaterThan
        from gpytorch.kernels import ScaleKernel
        from gpytorch.likelihoods import GaussianLikelihood
        from gpytorch.priors import LogNormalPrior

        kernel = ScaleKernel(self.similarity.kernel(), outputscale_prior=LogNormalPrior(*OUTPUTSCALE_PRIOR))
        factors = getattr(kernel.base_kernel, "kernels", [kernel.base_kernel])
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
            covar_module=kernel,
            outcome_transform=None,
            **noise,
        ).double()
        lengthscales = iter(self.hyperparameters.lengthscales)
        for factor in factors:
            factor.register_prior("lengthscale_prior", LogNormalPrior(*self.prior), "lengthscale")
            factor.lengthscale = torch.tensor([next(lengthscales) for _ in range(factor.lengthscale.numel())])
        kernel.outputscale = self.hyperparameters.outputscale
        if learns_noise:
            model.likelihood.noise = max(self.hyperparameters.noise, LEAST_NOISE * (1 + 1e-6))
        model.mean_module.constant.data.fill_(self.mean)
        return model
