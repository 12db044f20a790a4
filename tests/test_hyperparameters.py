"""The marginal likelihood, its gradient, and fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

import mergebo as mb
from mergebo.hyperparameters import Hyperparameters, fit, negative_log_posterior
from mergebo.methods import KernelModel, merge_kernel
from mergebo.similarity import Positions, Product
from mergebo.transforms import standardize
from model_helpers import data

MIXED = mb.Space(route=mb.Permutation(6), picks=mb.Binary(5))


def test_the_gradient_of_the_marginal_likelihood() -> None:
    rows, values = data(MIXED)
    distances = KernelModel(merge_kernel).similarity(MIXED).distances(rows, rows)
    y, _, _ = standardize(values)
    for learns_noise in (True, False):
        for logs in ([0.0, 0.3, 0.1, -3], [-1.0, 1, -0.5, -1]):
            error = check_grad(
                lambda at, learns=learns_noise: negative_log_posterior(at, distances, y, learns)[0],
                lambda at, learns=learns_noise: negative_log_posterior(at, distances, y, learns)[1],
                np.array(logs),
            )
            assert error < 1e-4


def test_hyperparameters_without_a_cholesky_factor_have_an_infinite_loss_and_no_gradient() -> None:
    negative = np.array([[[0.0, -1.0], [-1.0, 0.0]]])  # negative distances: no kernel has them
    value, gradient = negative_log_posterior(np.array([0.0, 0.0, -20.0]), negative, np.array([1.0, -1.0]))
    assert value == np.inf
    assert not gradient.any()


def test_fit_is_not_worse_from_a_bad_start() -> None:
    space = mb.PermutationSpace(7)
    rows, values = data(space)
    distances = KernelModel(merge_kernel).similarity(space).distances(rows, rows)
    y, _, _ = standardize(values)
    bad = fit(distances, y, Hyperparameters((50.0,), 0.02, 5.0))
    good = fit(distances, y)
    assert negative_log_posterior(bad.logs, distances, y)[0] == pytest.approx(
        negative_log_posterior(good.logs, distances, y)[0], abs=1e-3
    )


@pytest.mark.parametrize("known", ["all", "some", "none"])
def test_the_gradient_with_given_noise(known: str) -> None:
    space = mb.PermutationSpace(6)
    rng = np.random.default_rng(2)
    rows = space.sample_rows(15, seed=0)
    distances = Product.of(space, Positions).distances(rows, rows)
    y = rng.normal(size=15)
    share = {"all": 1.0, "some": 0.5, "none": 0.0}[known]
    noise = np.where(rng.random(15) < share, rng.uniform(0.1, 1, 15), np.nan)
    learns = known != "all"

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        return negative_log_posterior(logs, distances, y, learns, fixed_noise=noise)

    for logs in ([0.0, 0.3, -3.0], [-1.0, -0.5, -1.0]):
        assert check_grad(lambda at: loss(at)[0], lambda at: loss(at)[1], np.array(logs)) < 1e-4
    if known == "none":
        assert loss(np.array([0.0, 0.3, -3]))[0] == negative_log_posterior(np.array([0.0, 0.3, -3]), distances, y)[0]
