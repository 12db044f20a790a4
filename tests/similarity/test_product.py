"""Products and sums of similarities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, check_grad

import mergebo as mb
from against_botorch import log_evidence
from mergebo.gp import GP
from mergebo.hyperparameters import Priors, negative_log_posterior
from mergebo.methods import mallows_kernel
from mergebo.neighbours import move_table
from mergebo.similarity import ComparisonSimilarity, Product, ProductSimilarity, Similarity, SpearmanRho
from mergebo.sorting import EnumerationMap
from mergebo.transforms import standardize
from mixed_space import MIXED, loss, model
from similarity_suite import ScanSuite


class TestKendallAndRanks(ScanSuite):
    def make(self, n: int) -> Similarity:
        return ProductSimilarity((ComparisonSimilarity(EnumerationMap(n), "rank"), SpearmanRho(n)))


@pytest.mark.parametrize("how", ["product", "sum", "both"])
class TestCombinations:
    @pytest.mark.needs_torch
    def test_against_botorch(self, how: str) -> None:
        """Posterior and marginal likelihood, priors included."""
        fitted = model(how)
        value = log_evidence(fitted, MIXED.sample_rows(25, seed=5))
        assert -fitted.neg_log_posterior == pytest.approx(value, rel=1e-6)

    def test_the_gradient_of_the_fit_is_right_and_vanishes_at_the_optimum(self, how: str) -> None:
        rows = MIXED.sample_rows(18, seed=0)
        similarity = Product.of(MIXED, mallows_kernel).combined(how)  # type: ignore[arg-type]
        distances, terms = similarity.distances(rows, rows), [term.lengthscales for term in similarity.terms]
        y, _, _ = standardize(np.array([loss(MIXED.decode(row)) for row in rows]))
        args = (distances, y, True, Priors(), terms)
        logs = np.random.default_rng(1).normal(-0.5, 0.5, len(distances) + len(terms) + 1)
        error = check_grad(
            lambda at: negative_log_posterior(at, *args)[0], lambda at: negative_log_posterior(at, *args)[1], logs
        )
        assert error < 1e-4
        fitted = GP(similarity, rows, y)
        value, gradient = negative_log_posterior(fitted.hyperparameters.logs, distances, y, terms=terms)
        assert value == pytest.approx(fitted.neg_log_posterior)
        assert np.abs(gradient).max() < 0.05

    @pytest.mark.parametrize(("variable", "move"), [("order", "swap"), ("order", "reversal"), ("picks", "flip")])
    def test_scans_are_predictions(self, how: str, variable: str, move: str) -> None:
        fitted, row = model(how), MIXED.sample_rows(seed=3)
        mean, deviation = fitted.scan(row, variable, move)
        around = np.tile(row, (len(mean), 1))
        where = MIXED.slices[variable]
        around[:, where] = (
            MIXED.variables[variable].neighbours(row[where]) if move == "flip" else row[where][move_table(5, move)]
        )
        expected, expected_deviation = fitted.predict_standardised(around)
        np.testing.assert_allclose(mean, expected, atol=1e-4)
        np.testing.assert_allclose(deviation, expected_deviation, atol=1e-3)

    @pytest.mark.slow
    @settings(max_examples=15)
    @given(seed=st.integers(0, 999))
    def test_gradients_along_real_variables(self, how: str, seed: int) -> None:
        fitted, row = _MODELS.setdefault(how, model(how)), MIXED.sample_rows(seed=seed)
        at = fitted.posterior_along_reals(row)
        units = np.array([float(real.to_unit(row[MIXED.slices[name].start])) for name, real in MIXED.reals.items()])
        mean, deviation, by_mean, by_deviation = at(units)
        np.testing.assert_allclose([[mean], [deviation]], fitted.predict_standardised(row[None]), rtol=1e-6)
        np.testing.assert_allclose(by_mean, approx_fprime(units, lambda u: at(u)[0], 1e-6), atol=1e-4)
        np.testing.assert_allclose(by_deviation, approx_fprime(units, lambda u: at(u)[1], 1e-6), atol=1e-4)


_MODELS: dict[str, GP] = {}


def test_a_sum_learns_additive_effects_from_few_observations() -> None:
    """A sum extrapolates additive effects to combinations that were not observed; a product does not."""
    space = mb.Space(order=mb.Permutation(5), heat=mb.Real(0, 1), cold=mb.Real(0, 1))

    def value(rows: np.ndarray) -> np.ndarray:
        kendall = mb.distances.kendall(rows[:, :5].astype(int), np.arange(5), view="rank")
        return kendall + 4 * np.sin(5 * rows[:, 5]) + 3 * rows[:, 6] ** 2

    rows, test = space.sample_rows(25, seed=0), space.sample_rows(300, seed=1)
    error = {}
    for how in ("product", "sum", "both"):
        fitted = GP(Product.of(space, mallows_kernel).combined(how), rows, value(rows))  # type: ignore[arg-type]
        error[how] = np.mean((fitted.predict(test)[0] - value(test)) ** 2)
    assert error["sum"] < error["product"]
    assert error["both"] < error["product"]


def test_combinations_of_a_single_variable_are_the_same() -> None:
    product = Product.of(mb.PermutationSpace(5), mallows_kernel)
    assert all(product.combined(how) is product for how in ("product", "sum", "both"))  # type: ignore[arg-type]
