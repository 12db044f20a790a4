"""The Gaussian process against BoTorch, and on data that break naive ones."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import check_grad

import mergebo as mb
from against_botorch import check_posterior, evidence, log_evidence
from mergebo import errors
from mergebo.optimizers.methods import METHODS
from mergebo.optimizers.models import ModelBased
from mergebo.spaces import AnySpace
from mergebo.surrogate import (
    GP,
    Adjacency,
    Hyperparameters,
    Joint,
    Positions,
    Product,
    Ranks,
    SameShare,
    Similarity,
    Spacings,
    fit,
)
from mergebo.surrogate.gp import negative_log_posterior, standardised

ORDERS = {
    **{name: settings["orders"] for name, (kind, settings) in METHODS.items() if kind is ModelBased},
    "position": Positions,
    "spacings": Spacings,
    "adjacency": Adjacency,
}
MIXED = mb.Space(route=mb.Permutation(6), picks=mb.Binary(5))


def product(space: AnySpace, name: str = "mergebo") -> Product:
    return ModelBased(ORDERS[name]).similarity(space)


def data(space: AnySpace, count: int = 18, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rows = space.sample_rows(count, seed=seed)
    return rows, (rows * np.arange(1, rows.shape[1] + 1)).sum(axis=1) + np.random.default_rng(seed).normal(0, 3, count)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("space", [mb.PermutationSpace(7), MIXED], ids=["orders", "mixed"])
class TestAgainstBoTorch:
    def test_posterior(self, name: str, space: AnySpace) -> None:
        rows, values = data(space)
        model = GP(product(space, name), rows, values)
        test = space.sample_rows(25, seed=5)
        check_posterior(model, model.to_botorch(), test)
        mean, deviation = model.predict_standardised(test)
        values_mean, values_deviation = model.predict(test)
        np.testing.assert_allclose(values_mean, values.mean() + values.std(ddof=1) * mean)
        np.testing.assert_allclose(values_deviation, values.std(ddof=1) * deviation)

    def test_marginal_likelihood(self, name: str, space: AnySpace) -> None:
        rows, values = data(space)
        model = GP(product(space, name), rows, values)
        ours, _ = negative_log_posterior(model.hyperparameters.logs, product(space, name).distances(rows, rows), model.y)
        assert -ours == pytest.approx(evidence(model.to_botorch()), rel=1e-6)

    def test_fixed_noise(self, name: str, space: AnySpace) -> None:
        """Posterior and marginal likelihood with `train_Yvar`, and nothing better for BoTorch's own fit to find."""
        from gpytorch.likelihoods import FixedNoiseGaussianLikelihood

        rows, values = data(space)
        noise = 1e-2
        model = GP(product(space, name), rows, values, noise=noise)
        assert model.hyperparameters.noise == pytest.approx(noise)
        theirs = model.to_botorch()
        assert isinstance(theirs.likelihood, FixedNoiseGaussianLikelihood)
        check_posterior(model, theirs, space.sample_rows(25, seed=5))
        distances = product(space, name).distances(rows, rows)
        ours, _ = negative_log_posterior(model.hyperparameters.logs, distances, model.y, learns_noise=False)
        assert -ours == pytest.approx(evidence(theirs), rel=1e-6)
        assert -ours >= evidence(theirs, fitted=True) - 1e-3

    def test_optimum(self, name: str, space: AnySpace) -> None:
        """BoTorch's own fit, started where ours ended, finds nothing better."""
        rows, values = data(space)
        model = GP(product(space, name), rows, values)
        distances = product(space, name).distances(rows, rows)
        ours, _ = negative_log_posterior(model.hyperparameters.logs, distances, model.y)
        assert -ours >= evidence(model.to_botorch(), fitted=True) - 1e-3


@pytest.mark.needs_torch
@pytest.mark.parametrize(("orders", "lengthscales"), [(Positions, 3), (lambda n: Joint((Positions(n), Ranks(n))), 4)])
def test_several_lengthscales_of_a_variable_against_botorch(orders: Callable[[int], Similarity], lengthscales: int) -> None:
    rows, values = MIXED.spread_rows(range(18), seed=0), np.random.default_rng(0).normal(size=18)
    model = GP(Product.of(MIXED, orders, SameShare), rows, values)
    assert len(model.hyperparameters.lengthscales) == lengthscales
    assert -model.loss == pytest.approx(log_evidence(model, MIXED.spread_rows(range(25), seed=5)), rel=1e-6)


def test_a_singular_matrix_is_factorised_with_as_little_more_on_its_diagonal_as_it_takes() -> None:
    singular = np.ones((4, 4))
    singular[3, :3] = singular[:3, 3] = 0.5
    factor = GP._factorise(singular)
    np.testing.assert_allclose(factor @ factor.T, singular, atol=1e-7)
    regular = singular + np.eye(4)
    np.testing.assert_array_equal(GP._factorise(regular), np.linalg.cholesky(regular))


def test_hyperparameters_with_a_matrix_that_has_no_factor_are_out_of_the_question() -> None:
    """For the search over them: infinitely bad, and no slope to follow from there."""
    opposite = np.array([[[0.0, -1.0], [-1.0, 0.0]]])  # negative distances: no kernel has them
    value, slope = negative_log_posterior(np.array([0.0, 0.0, -20.0]), opposite, np.array([1.0, -1.0]))
    assert value == np.inf
    assert not slope.any()


def test_gradient() -> None:
    rows, values = data(MIXED)
    distances = product(MIXED).distances(rows, rows)
    y, _, _ = standardised(values)
    for learns_noise in (True, False):
        for logs in ([0.0, 0.3, 0.1, -3], [-1.0, 1, -0.5, -1]):
            error = check_grad(
                lambda at, learns=learns_noise: negative_log_posterior(at, distances, y, learns)[0],
                lambda at, learns=learns_noise: negative_log_posterior(at, distances, y, learns)[1],
                np.array(logs),
            )
            assert error < 1e-4


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

    def test_one_wild_value(self) -> None:
        rows, values = data(self.space)
        values[0] = 1e15
        self.check(rows, values)


def test_noise_is_learned() -> None:
    space = mb.PermutationSpace(8)
    rows = space.sample_rows(60, seed=0)
    clean = mb.permutations.kendall(rows, np.arange(8), view="rank").astype(float)
    noisy = clean + np.random.default_rng(0).normal(0, 2 * clean.std(), 60)
    similarity = product(space, "bops-h")
    assert GP(similarity, rows, noisy).hyperparameters.noise > 10 * GP(similarity, rows, clean).hyperparameters.noise


def test_fixed_noise_stays_in_fantasies_and_is_checked() -> None:
    space = mb.PermutationSpace(6)
    rows, values = data(space)
    model = GP(product(space), rows, values, noise=0.1).with_points(space.sample_rows(2, seed=1))
    assert model.hyperparameters.noise == pytest.approx(0.1)
    assert model.noise == 0.1
    for bad in (0.0, -1.0, 1e-9, float("nan"), float("inf"), "1e-4"):
        with pytest.raises(errors.ArgumentError, match="noise is a variance"):
            GP(product(space), rows, values, noise=bad)  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="noise is a variance"):
            mb.Optimizer(space, "mergebo", noise=bad)


def test_fit_is_not_worse_from_a_bad_start() -> None:
    space = mb.PermutationSpace(7)
    rows, values = data(space)
    distances = product(space).distances(rows, rows)
    y, _, _ = standardised(values)
    bad = fit(distances, y, Hyperparameters((50.0,), 0.02, 5.0))
    good = fit(distances, y)
    assert negative_log_posterior(bad.logs, distances, y)[0] == pytest.approx(
        negative_log_posterior(good.logs, distances, y)[0], abs=1e-3
    )


def test_fantasies_keep_the_mean_and_lower_the_variance() -> None:
    space = mb.PermutationSpace(7)
    rows, values = data(space)
    model = GP(product(space), rows, values)
    new = space.sample_rows(3, seed=8)
    fantasy = model.with_points(new)
    np.testing.assert_allclose(fantasy.predict(new)[0], model.predict(new)[0], rtol=1e-3, atol=0.05 * values.std())
    assert (fantasy.predict(new)[1] < model.predict(new)[1]).all()


def test_thompson_draws_have_the_posterior_moments() -> None:
    space = mb.PermutationSpace(6)
    rows, values = data(space)
    model = GP(product(space), rows, values)
    test = space.sample_rows(4, seed=3)
    rng = np.random.default_rng(0)
    draws = np.array([model.sample(test, rng) for _ in range(3000)])
    mean, deviation = model.predict_standardised(test)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.06)
    np.testing.assert_allclose(draws.std(axis=0), deviation, rtol=0.08, atol=0.01)


def test_scans_do_not_warn_of_what_lay_on_the_stack() -> None:
    """OpenBLAS reads stale words beside a product with five rows (see `GP.scan`); here these are signalling NaNs."""
    words = ctypes.c_uint32 * 20_000

    class Stale(ctypes.Structure):
        _fields_ = [("words", words)]

    leave = ctypes.CDLL(None).abs
    leave.argtypes = [Stale]  # by value: it lies on the stack, and stays there
    stale = Stale(words(*[0x7FA00001] * 20_000))
    space = mb.PermutationSpace(35)
    model = GP(product(space, "bops-h"), *data(space, 5))
    for _ in range(3):
        leave(stale)
        assert np.isfinite(model.scan(model.rows[0], "order", "swap")).all()
