"""Quadratic assignment: cases computed by hand, and published instances."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mergebo import errors, problems
from mergebo.permutations import sample
from mergebo.problems.registry import QAPLIB


class TestQAP:
    def test_chr15a_at_its_published_solution(self) -> None:
        published = np.array([5, 10, 8, 13, 12, 11, 14, 2, 4, 6, 7, 15, 3, 1, 9]) - 1
        assert problems.get("qap:chr15a").evaluate(published) == 9896

    def test_is_the_trace(self) -> None:
        """Tr(A P B P^T), with the permutation matrix written out."""
        problem = problems.get("qap:tai12a")
        for order in sample(12, 5, seed=0):
            p = np.eye(12)[order]
            assert problem.evaluate(order) == np.trace(problem.a @ p @ problem.b.T @ p.T)
            assert problem.evaluate(order) == sum(
                problem.a[i, j] * problem.b[order[i], order[j]] for i, j in itertools.product(range(12), repeat=2)
            )

    def test_by_hand(self) -> None:
        problem = problems.QAP("q", np.array([[0, 2], [3, 0]]), np.array([[0, 5], [7, 0]]))
        assert problem.evaluate([0, 1]) == 2 * 5 + 3 * 7
        assert problem.evaluate([1, 0]) == 2 * 7 + 3 * 5

    def test_published_values_are_known(self) -> None:
        for name, value in QAPLIB.items():
            assert problems.get(f"qap:{name}").optimum == problems.Optimum(value, name != "tai30a", "QAPLIB")

    def test_shapes(self) -> None:
        with pytest.raises(errors.ShapeError, match="square matrices of one size"):
            problems.QAP("q", np.zeros((2, 2)), np.zeros((3, 3)))
