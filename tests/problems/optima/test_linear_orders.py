"""The search for good linear orders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mergebo import problems
from mergebo.permutations import insert
from mergebo.problems.optima.exact import brute_force
from mergebo.problems.optima.linear_orders import order_search


class TestOrderSearch:
    @pytest.mark.parametrize("seed", range(3))
    def test_order_search_finds_the_best_order(self, seed: int) -> None:
        problem = problems.get("lop:planted", n=7, seed=seed, noise=2.0)
        value, order = order_search(problem.gains, seed=0, kicks=50)
        assert problem.evaluate(order) == pytest.approx(value)
        assert value == pytest.approx(brute_force(problem)[0])

    def test_order_search_ends_in_a_local_optimum(self) -> None:
        problem = problems.get("lop:planted(n=25,noise=2.0)")
        kicked, plain = (order_search(problem.gains, seed=1, kicks=kicks) for kicks in (200, 0))
        assert kicked[0] <= plain[0]
        for value, order in (kicked, plain):
            around = np.array([insert(order, i, j) for i, j in itertools.product(range(25), repeat=2)])
            assert problem.evaluate(around).min() >= value - 1e-6
