"""The Gaussian process against BoTorch and definitions, and on degenerate data."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import lognorm

import mergebo as mb
import optimizer_helpers
from against_botorch import check_posterior, evidence, log_evidence
from mergebo import errors
from mergebo.gp import GP, cholesky_with_jitter
from mergebo.hyperparameters import NOISE_PRIOR, negative_log_posterior
from mergebo.methods import KernelModel
from mergebo.similarity import (
    BinaryCountSimilarity,
    Positions,
    Product,
    ProductSimilarity,
    Similarity,
    SlotDistances,
    SpearmanRho,
)
from mergebo.spaces import SearchSpace
from method_helpers import ORDERS as METHOD_ORDERS
from model_helpers import data
from optimizer_helpers import objective

ORDERS = {**METHOD_ORDERS, "slot-distances": SlotDistances}


MIXED = mb.Space(route=mb.Permutation(6), picks=mb.Binary(5))


def product(space: SearchSpace, name: str = "mergebo") -> Product:
    return KernelModel(ORDERS[name]).similarity(space)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("space", [mb.PermutationSpace(7), MIXED], ids=["orders", "mixed"])
class TestAgainstBoTorch:
    def test_posterior(self, name: str, space: SearchSpace) -> None:
        rows, values = data(space)
        model = GP(product(space, name), rows, values)
        test = space.sample_rows(25, seed=5)
        check_posterior(model, model.to_botorch(), test)
        mean, deviation = model.predict_standardised(test)
        values_mean, values_deviation = model.predict(test)
        np.testing.assert_allclose(values_mean, values.mean() + values.std(ddof=1) * mean)
        np.testing.assert_allclose(values_deviation, values.std(ddof=1) * deviation)

    def test_marginal_likelihood(self, name: str, space: SearchSpace) -> None:
        rows, values = data(space)
        model = GP(product(space, name), rows, values)
        found, _ = negative_log_posterior(model.hyperparameters.logs, product(space, name).distances(rows, rows), model.y)
        assert -found == pytest.approx(evidence(model.to_botorch()), rel=1e-6)

    def test_fixed_noise(self, name: str, space: SearchSpace) -> None:
        """Posterior and marginal likelihood with `train_Yvar`; BoTorch's own fit finds nothing better."""
        from gpytorch.likelihoods import FixedNoiseGaussianLikelihood

        rows, values = data(space)
        noise = 1e-2
        model = GP(product(space, name), rows, values, noise=noise)
        assert model.hyperparameters.noise == pytest.approx(noise)
        reference = model.to_botorch()
        assert isinstance(reference.likelihood, FixedNoiseGaussianLikelihood)
        check_posterior(model, reference, space.sample_rows(25, seed=5))
        distances = product(space, name).distances(rows, rows)
        found, _ = negative_log_posterior(model.hyperparameters.logs, distances, model.y, learns_noise=False)
        assert -found == pytest.approx(evidence(reference), rel=1e-6)
        assert -found >= evidence(reference, fitted=True) - 1e-3

    def test_optimum(self, name: str, space: SearchSpace) -> None:
        """BoTorch's own fit, started from the fitted hyperparameters, finds nothing better."""
        rows, values = data(space)
        model = GP(product(space, name), rows, values)
        distances = product(space, name).distances(rows, rows)
        found, _ = negative_log_posterior(model.hyperparameters.logs, distances, model.y)
        assert -found >= evidence(model.to_botorch(), fitted=True) - 1e-3


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    ("orders", "lengthscales"), [(Positions, 3), (lambda n: ProductSimilarity((Positions(n), SpearmanRho(n))), 4)]
)
def test_several_lengthscales_of_a_variable_against_botorch(orders: Callable[[int], Similarity], lengthscales: int) -> None:
    rows, values = MIXED.design_rows(range(18), seed=0), np.random.default_rng(0).normal(size=18)
    model = GP(Product.of(MIXED, orders, BinaryCountSimilarity), rows, values)
    assert len(model.hyperparameters.lengthscales) == lengthscales
    assert -model.neg_log_posterior == pytest.approx(log_evidence(model, MIXED.design_rows(range(25), seed=5)), rel=1e-6)


def test_a_singular_matrix_is_factorised_with_as_little_jitter_as_possible() -> None:
    singular = np.ones((4, 4))
    singular[3, :3] = singular[:3, 3] = 0.5
    factor = cholesky_with_jitter(singular)
    np.testing.assert_allclose(factor @ factor.T, singular, atol=1e-7)
    regular = singular + np.eye(4)
    np.testing.assert_array_equal(cholesky_with_jitter(regular), np.linalg.cholesky(regular))


@pytest.mark.filterwarnings("error")
class TestDegenerateData:
    space = mb.PermutationSpace(6)

    def check(self, rows: np.ndarray, values: np.ndarray) -> GP:
        model = GP(product(self.space), rows, values)
        mean, deviation = model.predict(self.space.sample_rows(10, seed=9))
        assert np.isfinite(mean).all()
        assert np.isfinite(deviation).all()
        assert (deviation >= 0).all()
        assert all(np.isfinite(model.hyperparameters.logs))
        return model

    def test_equal_values(self) -> None:
        rows, _ = data(self.space)
        model = self.check(rows, np.full(len(rows), 7.0))
        np.testing.assert_allclose(model.predict(rows)[0], 7)

    def test_one_point(self) -> None:
        rows, values = data(self.space, 1)
        model = self.check(rows, values)
        np.testing.assert_allclose(model.predict(self.space.sample_rows(3, seed=1))[0], values[0])

    def test_the_same_point_many_times(self) -> None:
        rows, values = data(self.space)
        self.check(np.tile(rows[:1], (12, 1)), values[:12])
        self.check(np.tile(rows[:3], (4, 1)), np.tile(values[:3], 4))

    @pytest.mark.parametrize("scale", [1e-12, 1e12])
    @pytest.mark.parametrize("shift", [0, 1e6])
    def test_scales(self, scale: float, shift: float) -> None:
        rows, values = data(self.space)
        reference = self.check(rows, values)
        model = self.check(rows, scale * (values + shift))
        np.testing.assert_allclose(model.predict(rows)[0] / scale - shift, reference.predict(rows)[0], rtol=1e-4, atol=1e-3)

    def test_one_outlier(self) -> None:
        rows, values = data(self.space)
        values[0] = 1e15
        self.check(rows, values)


def test_noise_is_learned() -> None:
    space = mb.PermutationSpace(8)
    rows = space.sample_rows(60, seed=0)
    clean = mb.distances.kendall(rows, np.arange(8), view="rank").astype(float)
    noisy = clean + np.random.default_rng(0).normal(0, 2 * clean.std(), 60)
    similarity = product(space, "bops-h")
    assert GP(similarity, rows, noisy).hyperparameters.noise > 10 * GP(similarity, rows, clean).hyperparameters.noise


def test_fixed_noise_stays_in_fantasies_and_is_checked() -> None:
    space = mb.PermutationSpace(6)
    rows, values = data(space)
    model = GP(product(space), rows, values, noise=0.1).fantasize(space.sample_rows(2, seed=1))
    assert model.hyperparameters.noise == pytest.approx(0.1)
    assert model.noise == 0.1
    for bad in (0.0, -1.0, 1e-9, float("nan"), float("inf"), "1e-4"):
        with pytest.raises(errors.ArgumentError, match="noise must be a variance"):
            GP(product(space), rows, values, noise=bad)  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="noise must be a variance"):
            mb.Optimizer(space, "mergebo", noise=bad)


def test_fantasies_keep_the_mean_and_lower_the_variance() -> None:
    space = mb.PermutationSpace(7)
    rows, values = data(space)
    model = GP(product(space), rows, values)
    new = space.sample_rows(3, seed=8)
    fantasy = model.fantasize(new)
    np.testing.assert_allclose(fantasy.predict(new)[0], model.predict(new)[0], rtol=1e-3, atol=0.05 * values.std())
    assert (fantasy.predict(new)[1] < model.predict(new)[1]).all()


@pytest.mark.slow
def test_posterior_samples_have_the_posterior_moments() -> None:
    space = mb.PermutationSpace(6)
    rows, values = data(space)
    model = GP(product(space), rows, values)
    test = space.sample_rows(4, seed=3)
    rng = np.random.default_rng(0)
    samples = np.array([model.sample(test, rng) for _ in range(3000)])
    mean, deviation = model.predict_standardised(test)
    np.testing.assert_allclose(samples.mean(axis=0), mean, atol=0.06)
    np.testing.assert_allclose(samples.std(axis=0), deviation, rtol=0.08, atol=0.01)


def test_scans_do_not_warn_of_stale_values_on_the_stack() -> None:
    """OpenBLAS reads past vectors of length five (see `GP.scan`); here signalling NaNs are behind them."""
    array = ctypes.c_uint32 * 20_000

    class Stale(ctypes.Structure):
        _fields_ = [("values", array)]

    fill_stack = ctypes.CDLL(None).abs
    fill_stack.argtypes = [Stale]  # by value: it is copied to the stack, and stays there
    stale = Stale(array(*[0x7FA00001] * 20_000))
    space = mb.PermutationSpace(35)
    model = GP(product(space, "bops-h"), *data(space, 5))
    for _ in range(3):
        fill_stack(stale)
        assert np.isfinite(model.scan(model.rows[0], "order", "swap")).all()


def test_leave_one_out_means_are_those_of_models_without_the_observation() -> None:
    space = mb.PermutationSpace(6)
    rows, values = space.sample_rows(9, seed=0), np.random.default_rng(0).normal(size=9)
    model = GP(Product.of(space, Positions), rows, values)
    # In the units of the full model, with its mean.
    kernel = np.linalg.inv(model.chol_inverse.T @ model.chol_inverse)
    for k in range(9):
        others = np.delete(np.arange(9), k)
        weights = np.linalg.solve(kernel[np.ix_(others, others)], model.y[others] - model.constant_mean)
        assert model.leave_one_out_mean()[k] == pytest.approx(model.constant_mean + kernel[k, others] @ weights)


def test_covariance_has_the_variances_of_predictions() -> None:
    space = mb.PermutationSpace(6)
    model = GP(Product.of(space, Positions), space.sample_rows(9, seed=0), np.random.default_rng(0).normal(size=9))
    new = space.sample_rows(5, seed=1)
    np.testing.assert_allclose(np.sqrt(model.covariance(new).diagonal()), model.predict_standardised(new)[1], rtol=1e-6)


class TestGivenNoise:
    """Known noise of single values in the Gaussian process, against BoTorch and against common noise."""

    @pytest.mark.needs_torch
    @pytest.mark.parametrize("space", [mb.PermutationSpace(7), optimizer_helpers.MIXED], ids=["orders", "mixed"])
    @pytest.mark.parametrize("known", ["all", "some"])
    def test_against_botorch(self, space, known: str) -> None:
        from gpytorch.likelihoods import FixedNoiseGaussianLikelihood

        rng = np.random.default_rng(1)
        rows = space.sample_rows(18, seed=0)
        values = np.array([objective(space.decode(row)) for row in rows]) + rng.normal(size=18)
        deviations = rng.uniform(0.2, 3, 18)
        if known == "some":
            deviations[::3] = np.nan
        model = GP(Product.of(space, Positions), rows, values, noise_std=deviations)
        reference = model.to_botorch()
        assert isinstance(reference.likelihood, FixedNoiseGaussianLikelihood)
        fixed = ~np.isnan(deviations)
        noise = model.noise_variances
        np.testing.assert_allclose(noise[fixed], (deviations[fixed] / values.std(ddof=1)) ** 2)
        np.testing.assert_allclose(noise[~fixed], model.hyperparameters.noise)
        np.testing.assert_allclose(reference.likelihood.noise.detach().numpy(), noise)
        value = log_evidence(model, space.sample_rows(25, seed=5))
        learned = known == "some"  # fixed in the BoTorch model, without a prior
        prior = lognorm.logpdf(model.hyperparameters.noise, NOISE_PRIOR[1], scale=np.exp(NOISE_PRIOR[0])) if learned else 0
        assert -model.neg_log_posterior == pytest.approx(value + prior, rel=1e-6)

    def test_equal_noise_of_single_values_is_common_noise(self) -> None:
        space = mb.PermutationSpace(6)
        rows = space.sample_rows(15, seed=0)
        values = np.random.default_rng(0).normal(3, 2, 15)
        std = values.std(ddof=1)
        each = GP(Product.of(space, Positions), rows, values, noise_std=np.full(15, 0.3 * std))
        every = GP(Product.of(space, Positions), rows, values, noise=0.3**2)
        np.testing.assert_allclose(each.hyperparameters.logs, every.hyperparameters.logs, atol=1e-6)
        assert each.neg_log_posterior == pytest.approx(every.neg_log_posterior)
        test = space.sample_rows(9, seed=1)
        found, expected = (model.fantasize(test[:2]).predict(test) for model in (each, every))
        np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_a_noisy_value_has_less_influence(self) -> None:
        space = mb.PermutationSpace(6)
        rows = space.sample_rows(20, seed=0)
        values = np.array([objective(row) for row in rows])
        values[0] -= 20
        deviations = np.full(20, 0.1)
        precise = GP(Product.of(space, Positions), rows, values, noise_std=deviations).predict(rows[:1])[0][0]
        deviations[0] = 20
        imprecise = GP(Product.of(space, Positions), rows, values, noise_std=deviations).predict(rows[:1])[0][0]
        assert abs(precise - values[0]) < 1
        assert imprecise > values[0] + 10
