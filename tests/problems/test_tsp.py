"""Tours: cases computed by hand, and published instances."""

from __future__ import annotations

import numpy as np
import pytest

from mergebo import errors, problems
from mergebo.problems import tsp
from mergebo.problems.optima.exact import held_karp


def test_matrices_are_square_and_metrics_known() -> None:
    with pytest.raises(errors.ShapeError, match=r"distances must be a square matrix, got shape \(2, 3\)"):
        problems.TSP("t", np.ones((2, 3)))
    with pytest.raises(errors.ArgumentError, match="did you mean 'ceil'"):
        tsp.euclidean(np.zeros((3, 2)), "ceiling")  # type: ignore[arg-type]


class TestTSP:
    def test_by_hand(self) -> None:
        """A 3-4-5 triangle and a square."""
        triangle = problems.TSP("t", tsp.euclidean(np.array([[0, 0], [3, 0], [0, 4]])))
        assert triangle.evaluate([0, 1, 2]) == 12
        square = problems.TSP("s", tsp.euclidean(np.array([[0, 0], [1, 0], [1, 1], [0, 1]]), "ceil"))
        assert square.evaluate([[0, 1, 2, 3], [0, 2, 1, 3]]).tolist() == [4, 6]

    def test_direction_counts_where_distances_are_asymmetric(self) -> None:
        one_way = problems.TSP("o", np.array([[0, 1, 10], [10, 0, 1], [1, 10, 0]]))
        assert one_way.evaluate([0, 1, 2]) == 3
        assert one_way.evaluate([2, 1, 0]) == 30

    def test_a280(self) -> None:
        rounded, ceiled = problems.get("tsp:a280"), problems.get("tsp:a280-ceil")
        assert rounded.optimum == problems.Optimum(2579, True, "TSPLIB")
        assert rounded.evaluate(np.array(rounded.optimizers[0], int)) == 2579
        assert ceiled.evaluate(np.arange(280)) == 2851
        assert ceiled.evaluate_rows(ceiled.space.sample_rows(2000, seed=0)).mean() == pytest.approx(34_250, rel=0.02)

    def test_relabelled_a280_has_uninformative_numbers(self) -> None:
        """The identity is a near-optimal tour of a280 as published, and a random tour after relabelling."""
        original = problems.get("tsp:a280")
        random = original.evaluate_rows(original.space.sample_rows(500, seed=0))
        assert original.evaluate(np.arange(280)) < 0.1 * random.mean()
        identities = [original.relabelled(seed).evaluate(np.arange(280)) for seed in range(20)]
        assert np.mean(identities) == pytest.approx(random.mean(), rel=0.03)

    def test_pcb442_optimal_tour(self) -> None:
        board = problems.get("tsp:pcb442")
        assert board.evaluate(np.array(board.optimizers[0], int)) == 50778

    @pytest.mark.slow
    @pytest.mark.parametrize("k", [0, 7])
    def test_drill_tours_are_proved(self, k: int) -> None:
        problem = problems.get(f"tsp:pcb15-{k}")
        assert problem.optimum.proved
        value, tour = held_karp(problem.distances)
        assert value == problem.optimum.value == problem.evaluate(tour)
