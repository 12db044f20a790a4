"""Metrics of a run, by hand and by their invariances."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmark_records import one, record
from mergebo.errors import ArgumentError
from mergebo.experiments.metrics import (
    RANDOM_SEARCHES,
    area_under_curve,
    best_so_far,
    evaluations_to_match,
    feature_length,
    median_evaluations,
    normalised_score,
    random_search,
    simple_regret,
)
from mergebo.problems import get

numbers = st.floats(-1e6, 1e6)


lists = st.lists(numbers, min_size=1, max_size=30)


def test_regret_and_auc_by_hand() -> None:
    best = best_so_far([7, 9, 5, 6, 4], 5)
    assert best.tolist() == [7, 7, 5, 5, 4]
    regret = simple_regret(best, 3.0)
    assert regret.tolist() == [4, 4, 2, 2, 1]
    assert area_under_curve(regret) == 13


def test_a_run_that_ended_early_keeps_its_best() -> None:
    regret = simple_regret(best_so_far([7, 5], 4), 4.0)
    assert regret.tolist() == [3, 1, 1, 1]
    assert area_under_curve(regret) == 6


@pytest.mark.parametrize("values", [[], [1.0, 2.0, 3.0]])
def test_values_must_fit_the_budget(values: list[float]) -> None:
    with pytest.raises(ArgumentError, match=f"between 1 and 2 values, got {len(values)}"):
        best_so_far(values, 2)


def test_regret_ignores_rounding_and_is_negative_for_better_values() -> None:
    assert simple_regret([1e6 + 1e-5, 1e6 - 1.0], 1e6).tolist() == [0, -1]


@given(lists)
def test_the_best_value_never_increases(values: list[float]) -> None:
    best = best_so_far(values, len(values) + 3)
    assert (np.diff(best) <= 0).all()
    assert best[-1] == min(values)
    assert best[0] == values[0]


@given(arrays(np.float64, 5, elements=st.floats(-100, 100)), st.floats(0.1, 100), st.floats(-100, 100), st.floats(0.1, 10))
def test_score_does_not_depend_on_the_units(best: np.ndarray, random: float, shift: float, scale: float) -> None:
    score = normalised_score(best, random, 0.0)
    moved = normalised_score(best * scale + shift, random * scale + shift, shift)
    np.testing.assert_allclose(moved, score, rtol=1e-6, atol=1e-6)
    order = np.argsort(best)
    assert (np.diff(score[order]) <= 0).all()


def test_score_by_hand() -> None:
    assert normalised_score([10.0, 4.0, 7.0, 13.0], 10.0, 4.0).tolist() == [0, 1, 0.5, -0.5]
    assert np.isnan(normalised_score([4.0], 4.0, 4.0)).all()


def test_random_search_agrees_with_exact_values() -> None:
    name, budget = "tsp:random(n=5,seed=1)", 6
    values = np.sort(get(name).evaluate(np.array(list(permutations(range(5))))))
    for k in (1, budget):
        above = 1 - np.arange(len(values) + 1) / len(values)  # chance that one draw is beyond the i-th value
        expected = float(values @ (above[:-1] ** k - above[1:] ** k))
        assert abs(random_search(name, budget)[k - 1] - expected) < 4 * values.std() / np.sqrt(RANDOM_SEARCHES)
    assert (np.diff(random_search(name, budget)) <= 0).all()


def test_random_search_draws_as_the_design_does() -> None:
    """Without binary choices the designs are equal; runs are compared with random search in their own design."""
    np.testing.assert_array_equal(random_search("qap:chr15a", 9), random_search("qap:chr15a", 9, "uniform"))
    name = "ttp:a280-n279-uncorr"
    stratified, uniform = (random_search(name, 9, design) for design in ("stratified", "uniform"))
    assert (stratified < uniform).all()  # taking nothing is better than taking half
    values = list(range(9))
    for protocol, expected in (("", stratified), ("paper-high", uniform)):
        runs = one(record("random", 0, values, problem=name, budget=9, initial=3, protocol=protocol)).runs[0]
        np.testing.assert_array_equal(runs.random, expected)


def test_evaluations_to_match() -> None:
    best = [9.0, 6.0, 6.0, 2.0]
    assert evaluations_to_match(best, 9.0) == 1
    assert evaluations_to_match(best, 6.0 - 1e-12) == 2
    assert evaluations_to_match(best, 3.0) == 4
    assert evaluations_to_match(best, 1.0) is None
    assert median_evaluations([4, None, 2, 6]) == 5
    assert median_evaluations([4, None]) is None


def test_feature_lengths() -> None:
    def length(method: str, problem: str = "qap:chr15a") -> int | None:
        return feature_length(record(method, 0, [1.0], problem).job)

    assert [length(method) for method in ("mergebo", "bops-h", "bops-random")] == [45, 105, 45]
    assert [length(method) for method in ("random", "turbo", "pymoo-ga")] == [None, None, None]
    assert length("mergebo", "ttp:a280-n279-uncorr") == 2009
