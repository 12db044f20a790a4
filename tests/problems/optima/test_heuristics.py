"""Annealing and descent, for problems of any kind."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mergebo import problems
from mergebo.permutations import insert, reverse, sample, swap
from mergebo.problems.optima.exact import brute_force
from mergebo.problems.optima.heuristics import anneal, random_neighbours, steepest_descent
from problem_helpers import Brew


class TestHeuristics:
    def test_neighbours_are_moves(self) -> None:
        problem = problems.get("tsp:random(n=7)")
        order = sample(7, seed=0)
        moves = {tuple(swap(order, i, j)) for i, j in itertools.combinations(range(7), 2)}
        moves |= {tuple(insert(order, i, j)) for i, j in itertools.product(range(7), repeat=2)}
        moves |= {tuple(reverse(order, i, j)) for i, j in itertools.combinations_with_replacement(range(7), 2)}
        drawn = random_neighbours(np.tile(order, (3000, 1)), problem, np.random.default_rng(0))
        assert {tuple(row) for row in drawn} == moves

    def test_steepest_descent_ends_in_a_local_optimum(self) -> None:
        problem = problems.get("ttp:random(n=8)")
        value, row = steepest_descent(problem, problem.space.sample_rows(seed=0))
        assert problem.evaluate_rows(row) == value
        around = random_neighbours(np.tile(row, (3000, 1)), problem, np.random.default_rng(0))
        assert problem.evaluate_rows(around).min() >= value - 1e-9

    def test_annealing_solves_a_small_problem(self) -> None:
        problem = problems.get("qap:nug-like(n=6)")
        assert anneal(problem, seed=0, chains=8, steps=300)[0] == brute_force(problem)[0]

    def test_annealing_from_a_start(self) -> None:
        problem = problems.get("lop:planted(n=7,noise=0.0)")
        value, best = brute_force(problem)
        found, row = anneal(problem, seed=0, chains=4, steps=20, start=best)
        assert (found, row.tolist()) == (value, best.tolist())
        worst = best[::-1].copy()
        assert anneal(problem, seed=0, chains=4, steps=100, start=worst, initial_temperature=0.01)[
            0
        ] < problem.evaluate_rows(worst)

    @pytest.mark.slow
    def test_annealing_of_options_and_numbers(self) -> None:
        problem = Brew("brew")
        value, row = anneal(problem, seed=0, chains=16, steps=3000)
        assert problem.space.decode(row)["vessel"] == "oak"
        assert value == pytest.approx(0, abs=0.05)
        start = np.tile(problem.space.sample_rows(seed=0), (500, 1))
        visited = set()
        for seed in range(20):
            around = random_neighbours(start, problem, np.random.default_rng(seed))
            problem.space.encode([problem.space.decode(each) for each in around])
            changed = [name for name, where in problem.space.slices.items() if (around[:, where] != start[:, where]).any()]
            assert len(changed) <= 1  # a small step of an integer may be zero
            visited.update(changed)
        assert visited == set(problem.space.variables)
