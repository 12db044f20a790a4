"""Chip layout: cases computed by hand, and a slow reference implementation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mergebo import errors, problems
from mergebo.permutations import sample, swap
from mergebo.problems import layout


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
