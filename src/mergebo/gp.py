"""A Gaussian process on precomputed distances: the same model as BoTorch's `SingleTaskGP`, without torch.

`mergebo.hyperparameters` has the kernel, the priors and the fit. The noise is learned, or given for all values or for each
of them. `to_botorch` returns the model as a `SingleTaskGP`; tests check that mean, variance and marginal likelihood agree.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import strmm

from mergebo._typing import Floats, Rows
from mergebo.errors import UnsupportedError
from mergebo.hyperparameters import (
    MIN_NOISE,
    Hyperparameters,
    Priors,
    fit,
    noise_variances,
)
from mergebo.mean import MeanFunction
from mergebo.similarity.product import Product, Sum, split
from mergebo.transforms import standardize

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP

__all__ = ["GP", "cholesky_with_jitter"]

logger = logging.getLogger(__name__)

MAX_NOISE_STD = 1e6
"""Largest noise standard deviation of a measurement, in standard deviations of the values; larger ones are clipped."""

MIN_VARIANCE = 1e-12
"""Smallest posterior variance: rounding could make variances negative."""


def cholesky_with_jitter(covariance: Floats) -> Floats:
    """The Cholesky factor of a matrix, with as little added to the diagonal as makes it positive definite."""
    jitter = 0.0
    while True:
        try:
            return np.asarray(np.linalg.cholesky(covariance + jitter * np.eye(len(covariance))), np.float64)
        except np.linalg.LinAlgError:
            jitter = max(1e-8, 10 * jitter)
            logger.debug("covariance of %d points is not positive definite; adding jitter %g", len(covariance), jitter)


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
        priors: Priors = Priors(),
        noise_std: Floats | None = None,
    ) -> None:
        """Fit the hyperparameters unless given. The noise variance (of standardised values) is learned unless given.

        `noise_std` are the standard deviations of single values, in their units, nan where unknown. If all are known, no
        noise is learned, and further values are assumed to have their mean noise variance.

        Values are standardised by their own mean and standard deviation, unless `scaling` gives others.
        """
        self.similarity = similarity
        self.terms = [term.lengthscales for term in similarity.terms]
        self.rows = rows
        self.noise_std = noise_std
        self.mean_function = mean_function
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
        self.priors = priors.for_distances(distances, self.terms)
        residuals = self.residuals = self.y - self._prior_mean_at(rows)
        self.hyperparameters = hyperparameters or fit(
            distances,
            residuals,
            noise=noise,
            priors=priors,
            terms=self.terms,
            fixed_noise=self.fixed_noise,
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
        return float(value + self.priors.negative_log(logs, len(self.terms), learns_noise)[0])

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
            priors=self.priors,
            noise_std=None if self.noise_std is None else np.concatenate([self.noise_std, np.full(len(rows), np.nan)]),
        )

    def to_botorch(self) -> SingleTaskGP:
        """The same model as a BoTorch `SingleTaskGP`, with these hyperparameters; it predicts standardised values.

        BoTorch's noise is either learned or fixed: if it was given for some values only, the learned noise of the others is
        fixed, too.
        """
        if self.mean_function is not None:
            raise UnsupportedError("a model with a mean function cannot be converted; use a mean module of GPyTorch")
        from mergebo.kernels.botorch import to_botorch

        return to_botorch(self)
