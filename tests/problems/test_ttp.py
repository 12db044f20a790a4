"""The travelling thief: cases computed by hand, and a slow reference implementation."""

from __future__ import annotations

import numpy as np
import pytest

from mergebo import errors, problems
from mergebo.permutations import sample
from mergebo.problems import tsp, ttp
from problem_helpers import reference_ttp


class TestThief:
    def test_by_hand(self) -> None:
        """Three cities on a line, 0, 3 and 7 apart; one item of half the capacity in the second city."""
        problem = problems.TTP(
            "t", np.array([[0, 0], [3, 0], [7, 0]]), np.array([50.0]), np.array([5.0]), np.array([1]), 10, 2
        )
        # Empty to city 1 at speed 1, then at 1 - 0.5 * 0.9 = 0.55 for 4 + 7.
        assert problem.evaluate({"route": [0, 1, 2], "picks": [1]}) == pytest.approx(2 * (3 + 11 / 0.55) - 50)
        assert problem.evaluate({"route": [0, 1, 2], "picks": [0]}) == 2 * 14
        # In the other direction the item is picked up late: 7 + 4 empty, 3 with it.
        assert problem.evaluate({"route": [0, 2, 1], "picks": [1]}) == pytest.approx(2 * (11 + 3 / 0.55) - 50)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["ttp:random(n=12,per_city=3,seed=2)", "ttp:a280-n837-bounded"])
    def test_agrees_with_the_reference(self, name: str) -> None:
        problem = problems.get(name)
        rng = np.random.default_rng(0)
        for _ in range(4):
            route = rng.permutation(problem.n)
            picks = problem.repair(rng.integers(0, 2, (1, len(problem.profits))))[0]
            value = problem.evaluate({"route": route, "picks": picks})
            assert value == pytest.approx(reference_ttp(problem, route.tolist(), picks.tolist()), rel=1e-12)

    def test_empty_knapsack_costs_the_rent_of_the_tour(self) -> None:
        problem, tsp = problems.get("ttp:a280-n279-uncorr"), problems.get("tsp:a280-ceil")
        for route in sample(280, 3, seed=0):
            value = problem.evaluate({"route": route, "picks": np.zeros(279, int)})
            assert value == pytest.approx(problem.rent * tsp.evaluate(route))

    def test_where_the_route_starts_does_not_matter(self) -> None:
        problem = problems.get("ttp:random(n=9)")
        point = problem.space.sample(seed=1)
        values = [problem.evaluate({**point, "route": np.roll(point["route"], k)}) for k in range(9)]
        assert values == pytest.approx([values[0]] * 9)

    @pytest.mark.parametrize("name", ["ttp:a280-n279-uncorr", "ttp:a280-n837-bounded", "ttp:a280-n837-uncorr"])
    def test_picking_everything_is_not_rewarded(self, name: str) -> None:
        problem = problems.get(name)
        everything = np.ones(len(problem.profits), int)
        route = np.arange(280)
        assert problem.weights.sum() > problem.capacity
        repaired = problem.repair(everything[None])[0]
        assert problem.weights @ repaired <= problem.capacity
        value = problem.evaluate({"route": route, "picks": everything})
        assert value == problem.evaluate({"route": route, "picks": repaired})
        assert value > problem.evaluate({"route": route, "picks": np.zeros_like(everything)}) - problem.profits.sum()

    def test_repair_drops_the_least_worth(self) -> None:
        problem = problems.TTP(
            "t", np.zeros((2, 2)), np.array([10.0, 1, 6]), np.array([5.0, 1, 2]), np.array([1, 1, 1]), 7, 1
        )
        assert problem.repair(np.array([[1, 1, 1], [0, 1, 1], [1, 0, 1]])).tolist() == [[1, 0, 1], [0, 1, 1], [1, 0, 1]]

    def test_penalty_is_worse_than_every_feasible_plan(self) -> None:
        base = problems.get("ttp:random(n=12,per_city=3,seed=2)")
        fields = (base.coordinates, base.profits, base.weights, base.cities, base.capacity, base.rent)
        problem = problems.TTP("penalty", *fields, overweight="penalty")
        rows = problem.space.sample_rows(3000, seed=0)
        rows[:1500, 12:] = 1
        rows[:50, 12 + 5] = 0
        heavy = rows[:, 12:] @ problem.weights > problem.capacity
        values = problem.evaluate_rows(rows)
        assert heavy.any()
        assert (~heavy).any()
        slowest = problem.rent * problem.n * tsp.euclidean(problem.coordinates, "ceil").max() / problem.min_speed
        assert values[heavy].min() > slowest >= values[~heavy].max()
        np.testing.assert_array_equal(values[~heavy], base.evaluate_rows(rows)[~heavy])

    def test_generator(self) -> None:
        rng = np.random.default_rng(0)
        profits, weights = ttp.knapsack_items("bounded-strongly-correlated", 837, rng)
        bundle = (profits - weights) / 100  # a bundle of k base items has profit k (w + 100)
        assert set(bundle) <= {1, 2, 3, 4}
        assert (weights / bundle <= 1000).all()
        assert np.ptp(ttp.knapsack_items("similar-weights", 500, rng)[1]) <= 10
        problem = problems.get("ttp:a280-n837-uncorr")
        assert problem.capacity == problem.weights.sum() * 8 // 11
        assert np.bincount(problem.cities, minlength=280).tolist() == [0] + [3] * 279
        with pytest.raises(errors.ArgumentError, match="did you mean 'uncorrelated'"):
            ttp.knapsack_items("uncorelated", 3, rng)  # type: ignore[arg-type]

    def test_construction(self) -> None:
        good = {"coordinates": np.zeros((2, 2)), "profits": np.ones(1), "weights": np.ones(1), "cities": np.array([1])}
        good |= {"capacity": 1, "rent": 1}
        for change, error, message in [
            ({"weights": np.ones(2)}, errors.ShapeError, "got 1, 2, 1"),
            ({"cities": np.array([2])}, errors.ArgumentError, r"cities 0\.\.1"),
            ({"weights": np.zeros(1)}, errors.ArgumentError, "that of item 0 is 0"),
            ({"weights": np.array([np.nan])}, errors.ArgumentError, "that of item 0 is nan"),
            ({"capacity": 0}, errors.ArgumentError, "capacity must be above 0, got 0"),
            ({"min_speed": 0}, errors.ArgumentError, "0 < min"),
            ({"overweight": "repairs"}, errors.ArgumentError, "did you mean 'repair'"),
        ]:
            with pytest.raises(error, match=message):
                problems.TTP("t", **{**good, **change})
