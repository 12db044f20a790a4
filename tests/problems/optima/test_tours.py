"""The search for short tours."""

from __future__ import annotations

from mergebo import problems
from mergebo.problems.optima.tours import tour_search


class TestTourSearch:
    def test_tour_search_finds_short_tours(self) -> None:
        problem = problems.get("tsp:pcb15-3")
        value, tour = tour_search(problem.distances, seed=0, kicks=300)
        assert problem.evaluate(tour) == value == problem.optimum.value
