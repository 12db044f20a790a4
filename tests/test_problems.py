"""Benchmark problems: cases computed by hand, slow reference implementations, and the conformance suite."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo import errors, problems
from mergebo.permutations import insert, invert, reverse, sample, swap
from mergebo.problems import layout, linear_ordering, registry, scheduling, tsp, ttp
from mergebo.problems.optima import regenerate
from mergebo.problems.optima.exact import brute_force, held_karp
from mergebo.problems.optima.heuristics import anneal, random_neighbours, steepest_descent
from mergebo.problems.optima.linear_orders import order_search
from mergebo.problems.optima.regenerate import solve
from mergebo.problems.optima.tours import tour_search
from mergebo.problems.registry import DATA, FAMILIES, QAPLIB
from mergebo.testing import ProblemSuite


@dataclass(frozen=True, eq=False, repr=False)
class Brew(problems.Problem):
    """A custom problem with all types of variables; minimal in oak, at 40 degrees, three hours, in order."""

    space = mb.Space(
        order=mb.Permutation(4), vessel=mb.Choice(["tin", "oak", "glass"]), celsius=mb.Real(20, 80), hours=mb.Integer(1, 9)
    )

    def _evaluate(self, rows: np.ndarray) -> np.ndarray:
        off = (rows[:, :4] != np.arange(4)).sum(axis=1) + 2 * (rows[:, 4] != 1)
        return off + np.abs(rows[:, 5] - 40) / 10 + np.abs(rows[:, 6] - 3)

    def _describe(self) -> str:
        return "a brew"


class TestBrew(ProblemSuite):
    def make(self) -> problems.Problem:
        return Brew("brew")


def _suite(name: str) -> type[ProblemSuite]:
    title = "".join(part.capitalize() for part in "".join(c if c.isalnum() else " " for c in name).split())
    return type(f"Test{title}", (ProblemSuite,), {"make": lambda self: problems.get(name)})


globals().update({suite.__name__: suite for suite in map(_suite, problems.available())})

SMALL = ["tsp:random(n=1)", "tsp:random(n=2)", "qap:nug-like(n=5)", "floorplan:random(n=2)", "cells:random(n=1)"]
SMALL += ["flowshop:random(n=5,machines=2)", "lop:planted(n=6,noise=0.0)", "addition:random(n=3)", "ttp:random(n=5)"]
globals().update({suite.__name__: suite for suite in map(_suite, SMALL)})


class TestNames:
    @pytest.mark.parametrize("name", [*problems.available(), "tsp:random(n=12,seed=3)~5", "ttp:random(n=9,seed=1)~2"])
    def test_get_by_name(self, name: str) -> None:
        problem = problems.get(name)
        again = problems.get(problem.name)
        assert again.name == problem.name
        rows = problem.space.sample_rows(5, seed=0)
        np.testing.assert_array_equal(again.evaluate_rows(rows), problem.evaluate_rows(rows))

    def test_parameters(self) -> None:
        problem = problems.get("tsp:random", n=12, seed=3)
        assert problem.name == "tsp:random(n=12,seed=3)"
        assert problem.space.width == 12
        other = problems.get("tsp:random", n=12, seed=4)
        assert other.evaluate(np.arange(12)) != problem.evaluate(np.arange(12))
        assert problems.get("flowshop:random(criterion='flowtime')").evaluate(np.arange(20)) > 1000

    def test_every_family_is_listed(self) -> None:
        assert {name.partition(":")[0] for name in problems.available()} == set(FAMILIES)
        assert problems.available("lop") == ["lop:planted(n=30,seed=0,noise=0.5)"]

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("tspp:a280", "did you mean 'tsp'"),
            ("tsp:a28", "did you mean 'a280'"),
            ("a280", "family:instance"),
            ("tsp:random(30)", "every setting needs a name"),
            ("tsp:random(n=)", "must have the form"),
            ("tsp:random(n=__import__('os'))", "must have the form"),
            ("tsp:random(size=3)", "takes n, seed, got size=3"),
            ("tsp:a280(n=3)", "takes no parameters"),
        ],
    )
    def test_unknown(self, name: str, message: str) -> None:
        with pytest.raises(errors.ArgumentError, match=message):
            problems.get(name)

    def test_unknown_family_listed(self) -> None:
        with pytest.raises(errors.ArgumentError, match="problem family"):
            problems.available("nothing")


def test_matrices_are_square_and_metrics_known() -> None:
    with pytest.raises(errors.ShapeError, match=r"distances must be a square matrix, got shape \(2, 3\)"):
        problems.TSP("t", np.ones((2, 3)))
    with pytest.raises(errors.ShapeError, match=r"gains must be a square matrix, got shape \(4,\)"):
        problems.LOP("l", np.ones(4))
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


def reference_packing(widths, heights, floor, order):
    """Skyline bottom-left, module by module and column by column."""
    skyline = [0] * floor
    positions = {}
    for m in order:
        candidates = [(max(skyline[x : x + widths[m]]), x) for x in range(floor - widths[m] + 1)]
        y, x = min(candidates)
        positions[m] = (x, y)
        skyline[x : x + widths[m]] = [y + heights[m]] * widths[m]
    return positions


def changed_by_swaps(problem: problems.OrderProblem) -> float:
    """The fraction of swaps that change the value, over some random orders."""
    orders = sample(problem.n, 8, seed=0)
    pairs = list(itertools.combinations(range(problem.n), 2))
    changed = [
        problem.evaluate(np.array([swap(order, i, j) for i, j in pairs])) != problem.evaluate(order) for order in orders
    ]
    return float(np.mean(changed))


class TestLayout:
    def test_packing_by_hand(self) -> None:
        """A 2x1 module, a 1x3 one beside it, and a 2x2 one on top of the first: a floor 3 wide."""
        plan = problems.FloorPlan("f", np.array([2, 1, 2]), np.array([1, 3, 2]), (np.array([0, 1]),), 3, wire_weight=2.0)
        left, bottom = plan.pack(np.array([[0, 1, 2]]))
        assert left.tolist() == [[0, 2, 0]]
        assert bottom.tolist() == [[0, 0, 1]]
        # Box 3 x 3; the centres (1, 0.5) and (2.5, 1.5) are 1.5 + 1 apart.
        assert plan.evaluate([0, 1, 2]) == 9 + 2 * 2.5

    @pytest.mark.parametrize("name", ["floorplan:fp-1", "floorplan:fp-2", "floorplan:random(n=9,seed=5)"])
    def test_packing_agrees_with_the_reference_without_overlaps(self, name: str) -> None:
        plan = problems.get(name)
        orders = sample(plan.n, 30, seed=1)
        left, bottom = plan.pack(orders)
        for k, order in enumerate(orders):
            positions = reference_packing(plan.widths, plan.heights, plan.floor, order)
            assert [(left[k, m], bottom[k, m]) for m in range(plan.n)] == [positions[m] for m in range(plan.n)]
            covered = np.zeros((plan.floor, int((bottom[k] + plan.heights).max())), int)
            for m, (x, y) in positions.items():
                covered[x : x + plan.widths[m], y : y + plan.heights[m]] += 1
            assert covered.max() == 1

    def test_cells_by_hand(self) -> None:
        """Widths 1, 2, 3 in the order 2, 0, 1: centres 1.5, 3.5 and 5."""
        row = problems.CellPlacement("c", np.array([1.0, 2, 3]), (np.array([0, 1]), np.array([2, 0, 1])))
        assert row.evaluate([2, 0, 1]) == (5 - 3.5) + (5 - 1.5)

    @pytest.mark.parametrize("name", ["floorplan:fp-1", "floorplan:fp-2", "cells:cp-1", "cells:cp-2"])
    def test_almost_every_swap_matters(self, name: str) -> None:
        assert changed_by_swaps(problems.get(name)) > 0.9

    def test_every_module_has_a_wire(self) -> None:
        for n in (1, 2, 5, 30):
            nets = layout.random_nets(n, np.random.default_rng(0))
            assert set(np.concatenate(nets).tolist()) == set(range(n))

    def test_a_module_wider_than_the_floor(self) -> None:
        with pytest.raises(errors.ArgumentError, match=r"widest module \(5\).*floor \(4\)"):
            problems.FloorPlan("f", np.array([5]), np.array([1]), (np.array([0]),), 4)


def reference_ttp(problem: problems.TTP, route: list[int], picks: list[int]) -> float:
    """The objective by its definition, one city after the other, for a feasible plan."""
    start = route.index(0)
    tour = route[start:] + route[:start]
    profit = time = weight = 0.0
    for city, successor in zip(tour, tour[1:] + tour[:1], strict=True):
        for item, location in enumerate(problem.cities):
            if location == city and picks[item]:
                profit += problem.profits[item]
                weight += problem.weights[item]
        speed = problem.max_speed - weight / problem.capacity * (problem.max_speed - problem.min_speed)
        (x, y), (u, v) = problem.coordinates[city], problem.coordinates[successor]
        time += np.ceil(((x - u) ** 2 + (y - v) ** 2) ** 0.5) / speed
    return problem.rent * time - profit


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


def reference_flow_shop(times, order) -> list[float]:
    """Completion time of each job."""
    done: list[list[float]] = []
    for k, job in enumerate(order):
        row: list[float] = []
        for machine in range(len(times)):
            ready = row[-1] if row else 0.0
            free = done[k - 1][machine] if k else 0.0
            row.append(max(ready, free) + times[machine][job])
        done.append(row)
    return [row[-1] for row in done]


class TestFlowShop:
    def test_by_hand(self) -> None:
        """Two jobs on two machines: 3 + 2 and 1 + 4."""
        times = np.array([[3.0, 1], [2, 4]])
        assert problems.FlowShop("f", times).evaluate([[0, 1], [1, 0]]).tolist() == [9, 7]
        assert problems.FlowShop("f", times, "flowtime").evaluate([[0, 1], [1, 0]]).tolist() == [5 + 9, 5 + 7]

    def test_agrees_with_the_reference(self) -> None:
        makespan, flowtime = problems.get("flowshop:ta003"), problems.get("flowshop:ta003-flow")
        for order in sample(20, 10, seed=0):
            ends = reference_flow_shop(makespan.times, order)
            assert makespan.evaluate(order) == ends[-1]
            assert flowtime.evaluate(order) == sum(ends)

    def test_taillard_instances_are_the_published_ones(self) -> None:
        """The first times of ta001 as published, and its proved makespan."""
        problem = problems.get("flowshop:ta001")
        assert problem.times[0, :10].tolist() == [54, 83, 15, 71, 77, 36, 53, 38, 27, 87]
        assert problem.optimum.value == 1278
        assert problem.optimum.proved

    def test_all_optimal_makespans_are_known(self) -> None:
        for first, _, values in scheduling.TAILLARD.values():
            for k, value in enumerate(values):
                assert problems.get(f"flowshop:ta{first + k:03d}").optimum.value == value

    def test_construction(self) -> None:
        with pytest.raises(errors.ArgumentError, match="did you mean 'makespan'"):
            problems.FlowShop("f", np.ones((2, 2)), "makespn")  # type: ignore[arg-type]
        with pytest.raises(errors.ShapeError, match="machines x jobs"):
            problems.FlowShop("f", np.ones(3))


class TestOrdering:
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

    def test_addition_by_hand(self) -> None:
        """Two reagents: adding 0 first costs 3; their optimal moments are first and last."""
        problem = problems.OrderOfAddition("a", np.array([[0.0, 3], [1, 0]]), np.array([0.0, 1]))
        assert problem.evaluate([0, 1]) == 3
        assert problem.evaluate([1, 0]) == 1 + 10 * 2

    def test_heat(self) -> None:
        problem = problems.OrderOfAddition("a", np.array([[0.0, 3], [1, 0]]), np.array([0.0, 1]), heated=True)
        cold, hot = (problem.evaluate({"order": [1, 0], "celsius": t}) for t in (20, 80))
        assert cold == pytest.approx(1 * 1.2 + 20 * 0.5)
        assert hot == pytest.approx(1 * 0.6 + 20 * 2.0)

    def test_quantities_by_hand(self) -> None:
        """Adding 0 first costs 3 at most; the optimal heat grows with the slot of 1; the other optima are central."""
        problem = problems.Synthesis(
            "a",
            np.array([[0.0, 3], [1, 0]]),
            np.array([0.0, 1]),
            wants=np.array([[0, 0.5], [0, 0], [0, 0]]),
            least=np.array([0.25, 0.5, 0.5]),
            losses=np.array([10.0, 20, 30]),
        )
        middle = {"minutes": 60**0.5, "catalyst": 1.0}
        cold = problem.evaluate({"order": [0, 1], "celsius": 20, **middle})
        assert cold == pytest.approx(3 * 1.2 + 10 * 0.75**2)
        slow = problem.evaluate({"order": [1, 0], "celsius": 80, "minutes": 60, "catalyst": 0.1})
        assert slow == pytest.approx(1 * 0.6 + 10 * 2 + 10 * 0.75**2 + 20 * 0.25 + 30 * 0.25)

    def test_best_quantities_are_best(self) -> None:
        problem = problems.get("addition:quantities")
        rows = problem.best_quantities(sample(8, 30, seed=0))
        problem.space.encode(problem.space.decode(rows))
        best = problem.evaluate_rows(rows)
        rng = np.random.default_rng(0)
        for _ in range(50):
            others = problem.space.sample_rows(30, seed=rng)
            others[:, :8] = rows[:, :8]
            near = np.where(rng.random((30, 11)) < 0.5, rows, others)
            assert (problem.evaluate_rows(near) >= best - 1e-9).all()
        assert problem.optimum.proved
        assert problem.optimum.value == pytest.approx(solve(problem)[0])

    def test_noise_on_request_only(self) -> None:
        noisy = problems.get("addition:random(noise=2.0)")
        order = np.arange(8)
        assert noisy.evaluate(order) == problems.get("addition:random").evaluate(order)
        measured = noisy.measure(np.tile(order, (4000, 1)), seed=0)
        assert measured.std() == pytest.approx(2, rel=0.05)
        assert measured.mean() == pytest.approx(noisy.evaluate(order), abs=0.15)
        np.testing.assert_array_equal(noisy.measure(order, seed=1), noisy.measure(order, seed=1))


class TestSolvers:
    @pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
    def test_held_karp_is_exhaustive_search(self, n: int) -> None:
        distances = np.random.default_rng(n).random((n, n))
        np.fill_diagonal(distances, 0)
        problem = problems.TSP("t", distances)
        value, tour = held_karp(distances)
        assert value == pytest.approx(brute_force(problem)[0])
        assert problem.evaluate(tour) == pytest.approx(value)

    def test_tour_search_finds_short_tours(self) -> None:
        problem = problems.get("tsp:pcb15-3")
        value, tour = tour_search(problem.distances, seed=0, kicks=300)
        assert problem.evaluate(tour) == value == problem.optimum.value

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


class TestRegenerate:
    """The command that computes the stored optima."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        (tmp_path / "optima.json").write_text("{}")
        monkeypatch.setattr("mergebo.problems.registry.DATA", tmp_path)
        registry.stored_optima.cache_clear()
        yield
        registry.stored_optima.cache_clear()

    def run(self, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
        monkeypatch.setattr("sys.argv", ["regenerate", *arguments])
        regenerate.main()

    def test_optima_are_stored_and_loaded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        name = "qap:nug-like(n=6,seed=4)"
        assert problems.get(name).optimum is None
        self.run(monkeypatch, name)
        assert json.loads((tmp_path / "optima.json").read_text()) == {}
        self.run(monkeypatch, name, "--write")
        written = (tmp_path / "optima.json").read_bytes()
        problem = problems.get(name)
        assert problem.optimum.proved
        assert problem.optimum.value == brute_force(problem)[0] == problem.evaluate_rows(np.array(problem.optimizers[0]))
        self.run(monkeypatch, name, "--write")
        assert (tmp_path / "optima.json").read_bytes() == written
        assert f"stored {problem.optimum.value:.10g}" in capsys.readouterr().out.splitlines()[-1]

    def test_the_search_for_thieves_starts_from_a_tour_of_their_cities(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(regenerate, "anneal", lambda problem, **settings: anneal(problem, **settings | {"steps": 50}))
        problem = problems.get("ttp:random(n=6,seed=2)")
        value, row, proved, source = solve(problem)
        assert (problem.evaluate_rows(row), proved) == (value, False)
        assert source.startswith("annealed from a short tour")

    def test_published_values(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A published value is stored even if not reached; a value below a proved optimum is an error."""
        name = "lop:planted(n=6,seed=0,noise=0.0)"
        best = solve(problems.get(name))[0]
        monkeypatch.setitem(regenerate.PUBLISHED, name, (best - 1, True, "a book"))
        self.run(monkeypatch, name, "--write")
        stored = json.loads((tmp_path / "optima.json").read_text())[name]
        assert stored == {"value": best - 1, "proved": True, "source": "a book", "rows": []}
        monkeypatch.setitem(regenerate.PUBLISHED, name, (best + 1, True, "a book"))
        with pytest.raises(SystemExit, match="below the proved optimum"):
            self.run(monkeypatch, name)


class TestLoaders:
    def write(self, folder: Path, name: str, text: str) -> str:
        path = folder / name
        path.write_text(text)
        return str(path)

    @pytest.mark.parametrize(
        ("layout_", "numbers"),
        [
            ("FULL_MATRIX", "0 1 2\n1 0 3\n2 3 0"),
            ("UPPER_ROW", "1 2\n3"),
            ("UPPER_DIAG_ROW", "0 1 2\n0 3\n0"),
            ("LOWER_ROW", "1\n2 3"),
            ("LOWER_DIAG_ROW", "0\n1 0\n2 3 0"),
        ],
    )
    def test_explicit_layouts(self, tmp_path: Path, layout_: str, numbers: str) -> None:
        header = f"NAME: x\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: {layout_}\n"
        problem = problems.read_tsplib(self.write(tmp_path, "x.tsp", f"{header}EDGE_WEIGHT_SECTION\n{numbers}\nEOF\n"))
        assert problem.distances.tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
        assert problem.name == "tsp:x"

    def test_qaplib_round_trip(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "two.dat", "2\n\n0 2\n3 0\n\n0 5 7 0\n")
        problem = problems.read_qaplib(path)
        assert problem.name == "qap:two"
        assert problem.evaluate([1, 0]) == 2 * 7 + 3 * 5
        value, order = problems.read_qaplib_solution(self.write(tmp_path, "two.sln", " 2  29\n 2,1\n"))
        assert problem.evaluate(order) == value

    def test_tour(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "x.tour", "NAME: x\nDIMENSION: 3\nTOUR_SECTION\n2\n3 1\n-1\nEOF\n")
        assert problems.read_tour(path).tolist() == [1, 2, 0]

    @pytest.mark.slow
    def test_real_thief_files(self) -> None:
        """The files in the package `ioh`: the values by definition, and the same cities as our a280."""
        import ioh

        folder = Path(ioh.__file__).parent / "static" / "example_pwt"
        read = [problems.read_ttp(str(path)) for path in sorted(folder.glob("a280*.ttp"))]
        assert [len(p.profits) for p in read] == [1395, 2790, 279]
        for problem in read:
            np.testing.assert_array_equal(problem.coordinates, problems.get("tsp:a280").coordinates)
            category = round(11 * problem.capacity / problem.weights.sum())
            assert problem.capacity == int(problem.weights.sum() * category / 11)
            point = problem.space.sample(seed=0)
            picks = problem.repair(point["picks"][None])[0]
            value = problem.evaluate({"route": point["route"], "picks": picks})
            assert value == pytest.approx(reference_ttp(problem, point["route"].tolist(), picks.tolist()))

    TSP = "NAME: x\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\nEOF\n"
    TTP = (
        "PROBLEM NAME: x\nDIMENSION: 2\nNUMBER OF ITEMS: 1\nCAPACITY OF KNAPSACK: 5\nMIN SPEED: 0.1\nMAX SPEED: 1\n"
        "RENTING RATIO: 2\nEDGE_WEIGHT_TYPE: CEIL_2D\nNODE_COORD_SECTION (INDEX, X, Y):\n1 0 0\n2 3 4\n"
        "ITEMS SECTION (INDEX, PROFIT, WEIGHT, ASSIGNED NODE NUMBER):\n1 7 5 2\n"
    )

    def test_the_files_below_are_valid_without_the_errors(self, tmp_path: Path) -> None:
        assert problems.read_tsplib(self.write(tmp_path, "x.tsp", self.TSP)).evaluate([0, 1]) == 10
        small = problems.read_ttp(self.write(tmp_path, "x.ttp", self.TTP), overweight="penalty")
        assert small.evaluate({"route": [0, 1], "picks": [1]}) == pytest.approx(2 * (5 + 5 / 0.1) - 7)
        assert small.overweight == "penalty"

    @pytest.mark.parametrize(
        ("reader", "text", "message"),
        [
            ("tsplib", TSP.replace("2 3 4", "2 3"), r"x, line 6: expected 3 numbers \(city, x, y\), got 2"),
            ("tsplib", TSP.replace("2 3 4", "2 three 4"), "line 6: expected numbers"),
            ("tsplib", TSP.replace("2 3 4", "3 3 4"), "line 6: expected entry 2 of 2, got 3"),
            ("tsplib", TSP.replace("2 3 4", "2 3 nan"), "line 6: expected finite numbers"),
            ("tsplib", TSP.replace("DIMENSION: 2", "DIMENSION: 3"), "line 7: expected numbers"),
            ("tsplib", TSP.replace("DIMENSION: 2", "DIMENSION: -2"), "positive integer, got '-2'"),
            ("tsplib", TSP.replace("DIMENSION: 2\n", ""), "no DIMENSION"),
            ("tsplib", TSP.replace("EUC_2D", "GEO"), "'GEO' is not supported"),
            ("tsplib", TSP.replace("EUC_2D", "EXPLICIT"), "expected EDGE_WEIGHT_SECTION"),
            ("tsplib", TSP.replace("NODE_COORD", "EDGE_WEIGHT"), "expected NODE_COORD_SECTION"),
            (
                "tsplib",
                "DIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_SECTION\n0 1 1 0\n",
                "'' is not supported; use FULL_MATRIX",
            ),
            ("tsplib", TSP[:-10], "line 5: the file ends where entry 2 of 2 should follow"),
            ("tsplib", "", "line 0: the file ends"),
            ("tsplib", "hello\n", "line 1: expected 'KEY: value'"),
            ("qaplib", "2\n0 1 1 0\n0 1 1\n", r"the file ends where matrix B \(3 of 4 numbers so far\)"),
            ("qaplib", "2\n0 1 1 0\n0 1 1 0 5\n", "matrix B should be 4 numbers, got 5"),
            ("qaplib", "2\n0 1 1 0\n0 1 1 0\n5\n", "the file contains more than n"),
            ("qaplib", "2.5\n", "positive integer, got 2.5"),
            ("qaplib_solution", "2 5\n1 1\n", r"not a permutation of 1\.\.2"),
            ("tour", "DIMENSION: 2\nTOUR_SECTION\n1 3\n", "the tour is not a permutation"),
            ("ttp", TTP.replace("CEIL_2D", "EUC_2D"), "must be CEIL_2D, got 'EUC_2D'"),
            ("ttp", TTP.replace("1 7 5 2", "1 7 5 3"), r"cities 1\.\.2, got 3"),
            ("ttp", TTP.replace("ITEMS SECTION", "ITEM SECTION"), "expected ITEMS SECTION"),
            ("ttp", TTP.replace("RENTING RATIO: 2\n", ""), "no RENTING RATIO"),
            (
                "ttp",
                TTP.replace("SPEED: 0.1", "SPEED: 1.1"),
                "MIN SPEED must be above 0 and at most MAX SPEED, got 1.1 and 1",
            ),
            ("ttp", TTP.replace("SPEED: 0.1", "SPEED: 0"), "MIN SPEED must be above 0"),
            ("ttp", TTP.replace("KNAPSACK: 5", "KNAPSACK: 0"), "CAPACITY OF KNAPSACK must be above 0, got 0"),
            ("ttp", TTP.replace("1 7 5 2", "1 7 0 2"), "weights must be above 0; that of item 1 is 0"),
        ],
    )
    def test_malformed_files(self, tmp_path: Path, reader: str, text: str, message: str) -> None:
        path = self.write(tmp_path, "x", text)
        with pytest.raises(errors.InstanceFileError, match=message):
            getattr(problems, f"read_{reader}")(path)

    def test_no_such_file_and_no_text(self, tmp_path: Path) -> None:
        with pytest.raises(errors.InstanceFileError, match=r"nothing\.tsp: cannot be read"):
            problems.read_tsplib(str(tmp_path / "nothing.tsp"))
        (tmp_path / "x.tsp").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(errors.InstanceFileError, match="cannot be read as text"):
            problems.read_tsplib(str(tmp_path / "x.tsp"))

    def test_embedded_files_are_read_by_the_same_readers(self) -> None:
        for entry in DATA.iterdir():
            if entry.name.endswith(".dat"):
                assert problems.read_qaplib(entry).n in (12, 15, 30)


@pytest.mark.slow
def test_optima_are_regenerated_by_their_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command solves a problem and finds what is stored."""
    monkeypatch.setattr("sys.argv", ["regenerate", "tsp:pcb15-1", "addition:demo"])
    regenerate.main()
    output = capsys.readouterr().out
    stored = problems.get("tsp:pcb15-1").optimum.value
    assert f"tsp:pcb15-1: found {stored:g} (dynamic programming); optimum {stored:g} (proved" in output
    assert "[2/2] addition:demo" in output


def test_relabelling_changes_items_not_slots() -> None:
    problem = problems.get("lop:planted(n=6)")
    relabelled = problem.relabelled(3)
    (names,) = relabelled.names
    order = sample(6, seed=0)
    assert relabelled.evaluate(order) == problem.evaluate(names[order])
    assert relabelled.evaluate(invert(names)[order]) == pytest.approx(problem.evaluate(order))
    assert relabelled.name == "lop:planted(n=6,seed=0,noise=0.5)~3"
