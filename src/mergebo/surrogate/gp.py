"""A Gaussian process on precomputed distances: the same model as BoTorch's `SingleTaskGP`, fitted and read without torch.

The kernel is `s exp(-sum_f d_f / (2 l_f^2))` plus noise on the diagonal, with a constant mean. Distances between the points
are computed once; a fit then costs one Cholesky factorisation a step. `to_botorch` gives the model as a `SingleTaskGP`, to
which mean, variance and marginal likelihood are tested equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from mergebo.spaces import Rows
from mergebo.surrogate.similarity import Floats, Product

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP

LENGTHSCALE_PRIOR = (-0.5, 1.0)
"""Mean and standard deviation of log l. Distances are normalised, so it means the same at every n and for every kernel."""
OUTPUTSCALE_PRIOR = (0.0, 1.0)
"""The same for the kernel's variance s; values are standardised."""
NOISE_PRIOR = (-6.0, 2.0)
"""The same for the noise variance: little noise, but as much as the data ask for."""
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


def negative_log_posterior(logs: Floats, distances: Floats, y: Floats) -> tuple[float, Floats]:
    """Minus the log marginal likelihood and log prior of log hyperparameters, and its gradient.

    The constant mean takes its best value for the others (generalised least squares), so its derivative is zero.
    """
    count = len(y)
    *log_lengthscales, log_outputscale, log_noise = logs
    scaled = distances * np.exp(-2 * np.array(log_lengthscales))[:, None, None]
    signal = np.exp(log_outputscale - scaled.sum(axis=0) / 2)
    covariance = signal + np.exp(log_noise) * np.eye(count)
    try:
        factor = cho_factor(covariance, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return np.inf, np.zeros_like(logs)
    inverse = cho_solve(factor, np.eye(count), check_finite=False)
    weights = inverse.sum(axis=0)
    residual = y - (weights @ y) / weights.sum()
    alpha = inverse @ residual
    value = 0.5 * residual @ alpha + np.log(np.diag(factor[0])).sum() + 0.5 * count * np.log(2 * np.pi)
    sensitivity = 0.5 * (inverse - np.outer(alpha, alpha))
    weighted = sensitivity * signal
    gradient = np.array([*(weighted * scaled).sum(axis=(1, 2)), weighted.sum(), np.exp(log_noise) * np.trace(sensitivity)])
    for k, (mean, deviation) in enumerate(_priors(len(distances))):
        # Log-normal densities, as GPyTorch writes them: of the parameter, not of its logarithm.
        value += 0.5 * ((logs[k] - mean) / deviation) ** 2 + logs[k] + np.log(deviation * np.sqrt(2 * np.pi))
        gradient[k] += (logs[k] - mean) / deviation**2 + 1
    return float(value), gradient


def _priors(factors: int) -> list[tuple[float, float]]:
    return [LENGTHSCALE_PRIOR] * factors + [OUTPUTSCALE_PRIOR, NOISE_PRIOR]


def fit(distances: Floats, y: Floats, start: Hyperparameters | None = None) -> Hyperparameters:
    """The most probable hyperparameters, by L-BFGS from several starts; never fails on degenerate data."""
    factors = len(distances)
    bounds = [BOUNDS[0]] * factors + [*BOUNDS[1:]]
    typical = np.array([mean for mean, _ in _priors(factors)])
    starts = [typical, np.array([*typical[:factors] - 1, 0.0, -1.0]), np.array([*typical[:factors] + 1, 0.5, -8.0])]
    if start is not None:
        starts.insert(0, start.logs)
    best, best_value = typical, np.inf
    for each in starts:
        clipped = np.clip(each, *np.array(bounds).T)
        found = minimize(
            negative_log_posterior,
            clipped,
            args=(distances, y),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 60},
        )
        if np.isfinite(found.fun) and found.fun < best_value:
            best, best_value = found.x, found.fun
    return Hyperparameters.of_logs(best)


class GP:
    """A fitted model of values at rows: `predict` gives mean and standard deviation anywhere."""

    def __init__(
        self,
        similarity: Product,
        rows: Rows,
        values: Floats,
        *,
        hyperparameters: Hyperparameters | None = None,
        start: Any = None,
    ) -> None:
        self.similarity = similarity
        self.rows = rows
        self.y, self.centre, self.spread = standardised(np.asarray(values, np.float64))
        distances = similarity.distances(rows, rows)
        self.hyperparameters = hyperparameters or fit(distances, self.y, start)
        covariance = self._covariance(distances) + self.hyperparameters.noise * np.eye(len(rows))
        self._cholesky = self._factorise(covariance)
        # W = L^-1: with it variances of many points are one matrix product.
        self._whitener = solve_triangular(self._cholesky, np.eye(len(rows)), lower=True, check_finite=False)
        weights = self._whitener.T @ self._whitener.sum(axis=1)
        self.mean = float(weights @ self.y / weights.sum())
        self._alpha = self._whitener.T @ (self._whitener @ (self.y - self.mean))

    @staticmethod
    def _factorise(covariance: Floats) -> Floats:
        jitter = 0.0
        while True:
            try:
                return np.asarray(np.linalg.cholesky(covariance + jitter * np.eye(len(covariance))), np.float64)
            except np.linalg.LinAlgError:
                jitter = max(1e-8, 10 * jitter)

    def _covariance(self, distances: Floats) -> Floats:
        lengthscales = np.array(self.hyperparameters.lengthscales)
        exponent = np.tensordot(-0.5 / lengthscales**2, distances, axes=1)
        return self.hyperparameters.outputscale * np.exp(exponent)

    def predict(self, rows: Rows) -> tuple[Floats, Floats]:
        """Posterior mean and standard deviation of the noise-free values, in the units of the values."""
        mean, deviation = self.predict_standardised(rows)
        return self.centre + self.spread * mean, self.spread * deviation

    def predict_standardised(self, rows: Rows) -> tuple[Floats, Floats]:
        """The same in standardised values, which is what acquisition functions read."""
        cross = self._covariance(self.similarity.distances(rows, self.rows))
        mean = self.mean + cross @ self._alpha
        explained = ((cross @ self._whitener.T) ** 2).sum(axis=1)
        return mean, np.sqrt(np.maximum(self.hyperparameters.outputscale - explained, 1e-12))

    def predict_at(self, distances: Floats) -> tuple[Floats, Floats]:
        """Standardised mean and deviation at given distances `(factors, points, rows)`, in single precision: for scans."""
        scale = np.float32(self.hyperparameters.outputscale)
        exponent = np.zeros(distances.shape[1:], np.float32)
        for lengthscale, each in zip(self.hyperparameters.lengthscales, distances, strict=True):
            exponent += np.float32(-0.5 / lengthscale**2) * each.astype(np.float32, copy=False)
        cross = np.exp(exponent, out=exponent)
        mean = np.float32(self.mean) + cross @ (scale * self._alpha).astype(np.float32)
        white = cross @ (scale * self._whitener.T).astype(np.float32)
        explained = np.einsum("ij,ij->i", white, white)
        return mean, np.sqrt(np.maximum(scale - explained, np.float32(1e-9)))

    def sample(self, rows: Rows, rng: np.random.Generator) -> Floats:
        """One draw of the standardised values at all rows together, for Thompson sampling."""
        distances = self.similarity.distances(rows, self.rows)
        white = self._whitener @ self._covariance(distances).T
        covariance = self._covariance(self.similarity.distances(rows, rows)) - white.T @ white
        mean = self.mean + white.T @ (self._whitener @ (self.y - self.mean))
        draw: Floats = mean + self._factorise(covariance + 1e-8 * np.eye(len(rows))) @ rng.normal(size=len(rows))
        return draw

    def with_points(self, rows: Rows) -> GP:
        """The model after it has seen what it expects at further rows (fantasies); hyperparameters stay."""
        expected, _ = self.predict(rows)
        values = np.concatenate([self.centre + self.spread * self.y, expected])
        return GP(self.similarity, np.concatenate([self.rows, rows]), values, hyperparameters=self.hyperparameters)

    def to_botorch(self) -> SingleTaskGP:
        """The same model as BoTorch's, with these hyperparameters; it maximises nothing by itself and predicts `values`."""
        import torch
        from botorch.models import SingleTaskGP
        from gpytorch.constraints import GreaterThan
        from gpytorch.kernels import ScaleKernel
        from gpytorch.likelihoods import GaussianLikelihood
        from gpytorch.priors import LogNormalPrior

        kernel = ScaleKernel(self.similarity.kernel(), outputscale_prior=LogNormalPrior(*OUTPUTSCALE_PRIOR))
        factors = getattr(kernel.base_kernel, "kernels", [kernel.base_kernel])
        likelihood = GaussianLikelihood(noise_prior=LogNormalPrior(*NOISE_PRIOR), noise_constraint=GreaterThan(LEAST_NOISE))
        model = SingleTaskGP(
            torch.from_numpy(np.asarray(self.rows, np.float64)),
            torch.from_numpy(self.y).unsqueeze(-1),
            covar_module=kernel,
            likelihood=likelihood,
            outcome_transform=None,
        ).double()
        lengthscales = iter(self.hyperparameters.lengthscales)
        for factor in factors:
            factor.register_prior("lengthscale_prior", LogNormalPrior(*LENGTHSCALE_PRIOR), "lengthscale")
            factor.lengthscale = torch.tensor([next(lengthscales) for _ in range(factor.lengthscale.numel())])
        kernel.outputscale = self.hyperparameters.outputscale
        model.likelihood.noise = max(self.hyperparameters.noise, LEAST_NOISE * (1 + 1e-6))
        model.mean_module.constant.data.fill_(self.mean)
        return model
