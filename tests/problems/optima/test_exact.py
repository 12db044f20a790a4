"""Exact solvers."""

from __future__ import annotations

import numpy as np
import pytest

from mergebo import problems
from mergebo.problems.optima.exact import brute_force, held_karp


class TestHeldKarp:
    @pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
    def test_held_karp_is_exhaustive_search(self, n: int) -> None:
        distances = np.random.default_rng(n).random((n, n))
        np.fill_diagonal(distances, 0)
        problem = problems.TSP("t", distances)
        value, tour = held_karp(distances)
        assert value == pytest.approx(brute_force(problem)[0])
        assert problem.evaluate(tour) == pytest.approx(value)
