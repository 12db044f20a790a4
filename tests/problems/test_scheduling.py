"""Flow shops: cases computed by hand, a slow reference implementation, and published instances."""

from __future__ import annotations

import numpy as np
import pytest

from mergebo import errors, problems
from mergebo.permutations import sample
from mergebo.problems import scheduling


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
