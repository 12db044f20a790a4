"""The probability that an evaluation succeeds, and how it weights acquisition values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

import mergebo as mb
from mergebo.acquisition import (
    ACQUISITIONS,
    AcquisitionNeighbourhood,
    ExpectedImprovement,
    Feasibility,
    LogExpectedImprovement,
    neighbours,
)
from mergebo.gp import GP
from mergebo.methods import mallows_kernel
from mergebo.neighbours import MOVES
from mergebo.similarity import Positions, Product
from mixed_space import MIXED, model


def feasibility(space: mb.PermutationSpace | mb.Space, caution: float = 1.0, count: int = 30) -> Feasibility:
    """Two models of random successes and failures: evaluations fail where the first item is in the first half."""
    rows = space.sample_rows(count, seed=3)
    labels = (rows[:, 0] > rows[:, 0].mean()).astype(float)
    models = tuple(GP(Product.of(space, kernel), rows, labels) for kernel in (mallows_kernel, Positions))
    return Feasibility(models, (0.7, 0.3), caution)


def test_probabilities_are_high_at_successes_and_low_at_failures() -> None:
    space = mb.PermutationSpace(7)
    found = feasibility(space)
    rows, labels = found.models[0].rows, found.models[0].y > 0
    probability = np.exp(found.log_probability(rows))
    assert ((probability >= 0) & (probability <= 1 + 1e-12)).all()
    assert probability[labels].min() > 0.5 > probability[~labels].max()
    assert 0.2 < np.exp(found.log_probability(space.sample_rows(200, seed=8))).mean() < 0.8


def test_an_average_of_models_is_that_of_their_probabilities() -> None:
    space = mb.PermutationSpace(6)
    both, rows = feasibility(space), space.sample_rows(10, seed=1)
    single = [np.exp(Feasibility((each,), (1.0,)).log_probability(rows)) for each in both.models]
    np.testing.assert_allclose(np.exp(both.log_probability(rows)), 0.7 * single[0] + 0.3 * single[1])
    cautious = feasibility(space, caution=3.0)
    np.testing.assert_allclose(cautious.log_probability(rows), 3 * both.log_probability(rows))


@pytest.mark.parametrize("space", [mb.PermutationSpace(8), mb.Space(a=mb.Permutation(5), b=mb.Binary(4))])
def test_scans_agree_with_evaluation(space) -> None:
    found, moves = feasibility(space), tuple(MOVES)
    for centre in space.sample_rows(3, seed=5):
        scans = [
            found.scan(centre, name, move)
            for name, variable in space.variables.items()
            for move in (moves if isinstance(variable, mb.Permutation) else ("flip",))
        ]
        expected = found.log_probability(neighbours(centre, space, moves))
        np.testing.assert_allclose(np.concatenate(scans), expected, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("caution", [1.0, 2.5])
def test_gradients_along_real_variables(caution: float) -> None:
    found = feasibility(MIXED, caution)
    at = found.along_reals(MIXED.sample_rows(seed=4))
    for units in np.random.default_rng(0).uniform(0.1, 0.9, (5, 2)):
        assert check_grad(lambda u: at(u)[0], lambda u: at(u)[1], units) < 1e-5


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_values_are_weighted_in_the_same_way_everywhere(name: str) -> None:
    """By a scan, for single rows, and in a continuous step."""
    function, fitted, found = ACQUISITIONS[name], model(), feasibility(MIXED)
    weighted = AcquisitionNeighbourhood(fitted, function, 0.0, tuple(MOVES), feasibility=found)
    row = MIXED.sample_rows(seed=6)
    plain = AcquisitionNeighbourhood(fitted, function, 0.0, tuple(MOVES)).value(row[None])
    expected = function.weighted(plain, found.log_probability(row[None]))
    np.testing.assert_allclose(weighted.value(row[None]), expected)
    swaps = MIXED.replace_part("order", row, MIXED.variables["order"].neighbours(row[:5], "swap"))
    np.testing.assert_allclose(weighted.scan(row, "order", "swap"), weighted.value(swaps), rtol=5e-3, atol=5e-3)
    assert weighted.value(weighted.continuous_step(row)[None])[0] >= weighted.value(row[None])[0] - 1e-9


def test_expected_improvement_is_multiplied_and_its_logarithm_added_to() -> None:
    value, log_probability = np.array([0.3]), np.log([0.25])
    multiplied = ExpectedImprovement().weighted(value, log_probability)
    np.testing.assert_allclose(multiplied, 0.3 * 0.25)
    np.testing.assert_allclose(LogExpectedImprovement().weighted(np.log(value), log_probability), np.log(multiplied))
