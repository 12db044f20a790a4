"""Linear ordering: cases computed by hand, and planted orders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebo import errors, problems
from mergebo.problems import linear_ordering
from mergebo.problems.optima.exact import brute_force


def test_gains_are_a_square_matrix() -> None:
    with pytest.raises(errors.ShapeError, match=r"gains must be a square matrix, got shape \(4,\)"):
        problems.LOP("l", np.ones(4))


class TestLinearOrdering:
    def test_linear_ordering_by_hand(self) -> None:
        gains = np.array([[0, 1, 2], [10, 0, 3], [20, 30, 0]])
        problem = problems.LOP("l", gains)
        assert problem.evaluate([0, 1, 2]) == -(1 + 2 + 3)
        assert problem.evaluate([2, 1, 0]) == -(30 + 20 + 10)

    @given(st.integers(2, 40), st.integers(0, 99))
    def test_linear_ordering_is_the_sum_over_pairs(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        problem = problems.LOP("l", rng.normal(size=(n, n)))
        rows = problem.space.sample_rows(3, seed=rng)
        expected = [-sum(problem.gains[a, b] for a, b in itertools.combinations(row, 2)) for row in rows]
        np.testing.assert_allclose(problem.evaluate_rows(rows), expected, atol=1e-9)

    def test_without_noise_the_planted_order_is_proved(self) -> None:
        problem = problems.get("lop:planted(n=6,noise=0.0)")
        assert problem.optimum.proved
        assert brute_force(problem)[0] == pytest.approx(problem.optimum.value)

    def test_noise_is_not_negative(self) -> None:
        with pytest.raises(errors.ArgumentError, match="not be negative"):
            linear_ordering.planted_lop("l", 5, 0, noise=-1)
