"""Mean functions: path lengths, prior means, and models with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo import beliefs
from mergebo.gp import GP
from mergebo.mean import PathLengthMean, PriorMean
from mergebo.neighbours import MOVES, move_table
from mergebo.similarity import Adjacency, Positions, Product
from model_helpers import path_lengths


@given(n=st.integers(2, 9), seed=st.integers(0, 99), cyclic=st.booleans(), ends=st.sampled_from([1, 2]))
def test_path_lengths_are_sums_over_steps(n: int, seed: int, cyclic: bool, ends: int) -> None:
    coordinates = np.random.default_rng(seed).normal(size=(ends, n, 2))
    mean, orders = PathLengthMean(coordinates, cyclic), mb.permutations.sample(n, 5, seed=seed)
    np.testing.assert_allclose(mean.costs, np.linalg.norm(coordinates[0][:, None] - coordinates[-1], axis=2), atol=1e-3)
    np.testing.assert_allclose(mean.value(orders), path_lengths(orders, mean.costs, cyclic))
    for move in MOVES:
        around = orders[0][move_table(n, move)]
        expected = path_lengths(around, mean.costs, cyclic) - path_lengths(orders[:1], mean.costs, cyclic)
        np.testing.assert_allclose(mean.changes(orders[0], "order", move), expected, atol=1e-9)


def test_a_model_with_a_mean_function_models_the_residual() -> None:
    n = 9
    coordinates, orders = np.random.default_rng(0).normal(size=(1, n, 2)), mb.permutations.sample(n, 40, seed=0)
    known, new = orders[:30], orders[30:]
    similarity = Product.of(mb.PermutationSpace(n), lambda n: Adjacency(n, cyclic=True))
    values = np.random.default_rng(1).normal(size=30)
    mean_function = PathLengthMean(coordinates, True)
    plain = GP(similarity, known, values)
    hyperparameters, scaling = plain.hyperparameters, (plain.y_mean, plain.y_std)
    model = GP(similarity, known, values, hyperparameters=hyperparameters, mean_function=mean_function)
    residual = plain.y_mean + plain.y_std * (plain.y - mean_function.value(known))
    other = GP(similarity, known, residual, hyperparameters=hyperparameters, scaling=scaling)
    mean, deviation = other.predict_standardised(new)
    np.testing.assert_allclose(model.predict_standardised(new)[0], mean + mean_function.value(new))
    np.testing.assert_allclose(model.predict_standardised(new)[1], deviation)
    for move in MOVES:
        around = new[0][move_table(n, move)]
        np.testing.assert_allclose(model.scan(new[0], "order", move)[0], model.predict_standardised(around)[0], atol=1e-4)
    fantasy = model.fantasize(new[:3])
    assert (fantasy.y_mean, fantasy.y_std) == scaling
    np.testing.assert_allclose(fantasy.predict(new)[0], model.predict(new)[0], atol=1e-6)
    assert (fantasy.predict(new[:3])[1] < model.predict(new[:3])[1]).all()


class TestPriorMean:
    space = mb.PermutationSpace(items=["a", "b", "c", "d", "e"])

    @given(seed=st.integers(0, 99), move=st.sampled_from(tuple(MOVES)))
    def test_changes_of_mean_functions_along_moves_are_differences_between_rows(self, seed: int, move: str) -> None:
        found = (beliefs.before("a", "c"), beliefs.early("d", strength=2), beliefs.late("e"))
        prior = PriorMean(self.space, found, lambda order: order.index("b") ** 2)
        rows = self.space.sample_rows(9, seed=seed)
        mean_function = prior.mean_function(rows, np.random.default_rng(seed).normal(size=9))
        around = rows[0][move_table(5, move)]
        slow = [float(mean_function.value(each[None])[0] - mean_function.value(rows[:1])[0]) for each in around]
        np.testing.assert_allclose(mean_function.changes(rows[0], "order", move), slow, atol=1e-12)
        model = GP(Product.of(self.space, Positions), rows, np.arange(9.0), mean_function=mean_function)
        for scanned, expected in zip(model.scan(rows[0], "order", move), model.predict_standardised(around), strict=True):
            np.testing.assert_allclose(scanned, expected, atol=2e-3)

    @pytest.mark.parametrize("truth", [1.0, -1.0])
    def test_weights_follow_the_data(self, truth: float) -> None:
        """The weight of a correct belief keeps its sign; that of a wrong one changes it after some tens of observations."""
        prior = PriorMean(self.space, (beliefs.early("a"),))
        rows = self.space.sample_rows(60, seed=0)
        noise = np.random.default_rng(0).normal(size=60)
        values = truth * np.array([self.space.decode(row).index("a") for row in rows]) + 0.5 * noise
        expected = prior.expected[0]
        assert expected < 0
        few, many = (prior.weights(rows[:k], values[:k])[0] for k in (2, 60))
        assert abs(few - expected) < abs(many - expected) if truth < 0 else few < 0
        assert np.sign(many) == -truth * 1.0
        assert abs(abs(many) - 1) < 0.15
