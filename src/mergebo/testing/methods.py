"""Conformance tests for optimization methods."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mergebo._minimize import minimize
from mergebo.errors import ExhaustedError, UnsupportedError
from mergebo.methods import METHODS, Method, MethodInfo
from mergebo.optimizer import Optimizer
from mergebo.spaces import Binary, Choice, Integer, Permutation, PermutationSpace, Real, SearchSpace, Space

__all__ = ["MethodSuite"]

NAME = "the method under test"
ORDERS = PermutationSpace(6)
BINARY = Space(route=Permutation(5), picks=Binary(4))
MIXED = Space(
    route=Permutation(5), heat=Real(0, 1), dose=Real(0.01, 10, log=True), count=Integer(1, 9), salt=Choice(["K", "Na"])
)
SPACES: dict[str, SearchSpace] = {"orders": ORDERS, "binary": BINARY, "mixed": MIXED}
CONSTRAINED: dict[str, SearchSpace] = {
    "before": PermutationSpace(items=list("abcdef"), before=[("a", "b"), ("b", "c")], window={"f": (1, 3)}),
    "adjacency": PermutationSpace(items=list("abcdef"), adjacent=[("a", "b")], apart=[("c", "d")], fixed={"f": 5}),
    "predicate": PermutationSpace(6, where=lambda order: order[0] != 3),
    "symmetry": PermutationSpace(6, symmetry=("cycle", "reversal")),
    "repeated": PermutationSpace(items=["a", "a", "a", "b", "b", "c"]),
    "subset": PermutationSpace(6, choose=4),
}


class MethodSuite:
    """Inherit from this class and implement `make`, which creates the method to test."""

    def make(self) -> Method:
        """The method to test."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _registered(self) -> Iterator[None]:
        METHODS[NAME] = MethodInfo(NAME, "", lambda: self.make())
        yield
        del METHODS[NAME]

    @pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
    def test_the_same_seed_gives_the_same_trials(self, space: SearchSpace) -> None:
        """And another seed gives others."""
        first = _drive(_optimizer(space, seed=3), 14)
        assert _drive(_optimizer(space, seed=3), 14) == first
        assert _drive(_optimizer(space, seed=4), 14) != first

    @pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
    def test_a_saved_state_continues_identically(self, space: SearchSpace) -> None:
        """Through JSON, with a pending and a failed trial in it."""
        optimizer = _optimizer(space, seed=1)
        _drive(optimizer, 8)
        optimizer.fail(optimizer.ask())
        pending = optimizer.ask()
        loaded = _loaded(optimizer)
        for each in (optimizer, loaded):
            each.tell(pending.id, 3.5)
        assert _drive(loaded, 5) == _drive(optimizer, 5)

    def test_every_point_is_tried_once(self) -> None:
        """Then the space is exhausted."""
        optimizer = _optimizer(PermutationSpace(4))
        rows = _drive(optimizer, 24)
        assert len({tuple(row) for row in rows}) == 24
        with pytest.raises(ExhaustedError, match="all 24 points"):
            optimizer.ask()
        assert optimizer.best is not None
        assert optimizer.best.value == min(trial.value for trial in optimizer.trials)

    def test_batches_are_distinct_and_results_come_in_any_order(self) -> None:
        """Batches also exclude pending points."""
        optimizer = _optimizer(ORDERS)
        _drive(optimizer, 6)
        first, second = optimizer.ask(5), optimizer.ask(2)
        assert len({tuple(trial.point) for trial in optimizer.trials}) == 13
        for trial in [*second, *first[::-1]]:
            optimizer.tell(trial, _objective(ORDERS, trial.point))
        _drive(optimizer, 3)
        assert all(trial.state == "done" for trial in optimizer.trials)

    def test_failures_and_invalid_values_are_recorded(self) -> None:
        """Exceptions, nan and infinity do not stop the optimization, and those points are not tried again."""
        calls = iter(range(100))

        def fragile(order: Any) -> float:
            k = next(calls)
            if k % 5 == 1:
                raise ZeroDivisionError("broken apparatus")
            return {2: float("nan"), 3: float("inf")}.get(k % 5, _objective(ORDERS, order))

        with pytest.warns(RuntimeWarning, match="broken apparatus"):
            result = minimize(fragile, ORDERS, budget=25, method=NAME, initial=5)
        assert sum(trial.state == "failed" for trial in result.trials) == 15
        assert len({tuple(trial.point) for trial in result.trials}) == 25
        assert result.best is not None
        assert np.isfinite(result.best.value)

    def test_all_values_may_be_equal(self) -> None:
        """A constant objective does not stop the optimization."""
        assert len(minimize(lambda order: 1.0, ORDERS, budget=15, method=NAME, initial=5).trials) == 15

    def test_to_maximize_is_to_minimize_the_negative(self) -> None:
        """Methods always minimise."""
        up, down = _optimizer(ORDERS, direction="maximize"), _optimizer(ORDERS)
        for _ in range(12):
            a, b = up.ask(), down.ask()
            assert a.point.tolist() == b.point.tolist()
            up.tell(a, -_objective(ORDERS, a.point))
            down.tell(b, _objective(ORDERS, b.point))

    @pytest.mark.parametrize("space", CONSTRAINED.values(), ids=CONSTRAINED)
    def test_points_are_feasible_and_not_equivalent(self, space: SearchSpace) -> None:
        """Or the method does not support constraints."""
        optimizer = _optimizer(space)
        _drive(optimizer, 5)
        try:
            rows = _drive(optimizer, 4)  # raises an error for infeasible points
        except UnsupportedError:
            return
        assert len({tuple(row) for row in rows}) == 9

    def test_noise(self) -> None:
        """The recommended point has a standard deviation, and a state reproduces it."""
        optimizer = _optimizer(ORDERS, noisy=True)
        rng = np.random.default_rng(5)
        for _ in range(12):
            trial = optimizer.ask()
            optimizer.tell(trial, _objective(ORDERS, trial.point) + rng.normal())
        best: Any = optimizer.best
        assert best.std > 0
        assert best.point.tolist() == optimizer.trials[best.id].point.tolist()
        loaded: Any = _loaded(optimizer).best
        assert loaded.value == best.value

    def test_two_objectives(self) -> None:
        """No point is tried twice, in batches and after loading a state."""
        optimizer = _optimizer(ORDERS, objectives=2)
        for _ in range(10):
            trial = optimizer.ask()
            optimizer.tell(trial, [float(trial.point[0]), _objective(ORDERS, trial.point)])
        loaded = _loaded(optimizer)
        assert [t.point.tolist() for t in loaded.ask(3)] == [t.point.tolist() for t in optimizer.ask(3)]
        assert len({tuple(trial.point) for trial in optimizer.trials}) == 13


def _optimizer(space: SearchSpace, seed: int = 0, **settings: Any) -> Optimizer:
    return Optimizer(space, NAME, seed=seed, initial=5, **settings)


def _loaded(optimizer: Optimizer) -> Optimizer:
    """The optimizer after saving and loading its state."""
    loaded = Optimizer.from_state(json.loads(json.dumps(optimizer.state())))
    assert loaded.state() == optimizer.state()
    return loaded


def _objective(space: SearchSpace, point: Any) -> float:
    """An objective that depends on all entries of the point."""
    row = space.encode(point).astype(float)
    return float(np.sin(row * np.arange(1, len(row) + 1)).sum())


def _drive(optimizer: Optimizer, count: int) -> list[list[float]]:
    """Ask and tell `count` times; returns all rows so far."""
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, _objective(optimizer.space, trial.point))
    return [optimizer.space.encode(trial.point).tolist() for trial in optimizer.trials]
