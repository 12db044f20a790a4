"""The order of addition: cases computed by hand, and its quantities."""

from __future__ import annotations

import numpy as np
import pytest

from mergebo import problems
from mergebo.permutations import sample
from mergebo.problems.optima.regenerate import solve


class TestOrderOfAddition:
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
