"""The marginal likelihood, its gradient, and fits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad

import mergebo as mb
from mergebo.gp import GP
from mergebo.hyperparameters import Hyperparameters, Priors, VariancePriors, fit, negative_log_posterior
from mergebo.methods import KernelModel, mallows_kernel, merge_kernel
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


@pytest.mark.parametrize("terms", [[1], [2], [2, 1], [1, 1, 1]])
@pytest.mark.parametrize("learns_noise", [True, False])
@pytest.mark.parametrize("priors", [Priors(), VariancePriors()])
def test_the_gradient_of_priors(terms: list[int], learns_noise: bool, priors: Priors) -> None:
    rng = np.random.default_rng(0)
    distances = rng.random((sum(terms), 6, 6))
    priors = priors.for_distances(distances + distances.transpose(0, 2, 1), terms)
    for _ in range(5):
        logs = rng.normal(size=sum(terms) + len(terms) + 1)
        error = check_grad(
            lambda at: priors.negative_log(at, len(terms), learns_noise)[0],
            lambda at: priors.negative_log(at, len(terms), learns_noise)[1],
            logs,
        )
        assert error < 1e-5


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(0.1, 2))
def test_a_prior_of_the_variance_is_the_same_for_all_kernels_that_give_the_same_variance(
    one: float, other: float, distance: float
) -> None:
    """At the mean distance; only the lengthscales' own prior differs."""
    priors = VariancePriors().for_distances(np.array([[[0, distance], [distance, 0]]]), [1])
    variance = 0.8

    def logs(log_lengthscale: float) -> np.ndarray:
        outputscale = variance / -np.expm1(-0.5 * distance * np.exp(-2 * log_lengthscale))
        return np.array([log_lengthscale, np.log(outputscale), -3.0])

    mean, deviation = priors.lengthscale
    own = [0.5 * ((each - mean) / deviation) ** 2 for each in (one, other)]
    found = [priors.negative_log(logs(each), 1, True)[0] for each in (one, other)]
    assert found[0] - found[1] == pytest.approx(own[0] - own[1], abs=1e-6)


def test_a_sum_of_costs_is_fitted_with_a_long_lengthscale() -> None:
    """Then the kernel is linear in its features, as the values are."""
    problem = mb.problems.get("lop:planted(n=10,seed=1)")
    rows = problem.space.sample_rows(40, seed=0)
    similarity = Product.of(problem.space, mallows_kernel)
    models = [GP(similarity, rows, problem.evaluate(rows), priors=each) for each in (Priors(), VariancePriors())]
    assert models[1].hyperparameters.lengthscales[0] > 2 * models[0].hyperparameters.lengthscales[0]
    test = problem.space.sample_rows(200, seed=1)
    errors = [np.mean((model.predict(test)[0] - problem.evaluate(test)) ** 2) for model in models]
    assert errors[1] < 0.9 * errors[0]


def test_priors_of_points_that_are_all_equal() -> None:
    found = fit(np.zeros((1, 4, 4)), np.array([1.0, -1.0, 0.5, -0.5]), priors=VariancePriors())
    assert np.isfinite(found.logs).all()


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
