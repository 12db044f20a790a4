"""Conformance tests for benchmark problems."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np
import pytest

from mergebo.errors import MergeboError
from mergebo.problems import Problem
from mergebo.problems.optima.heuristics import random_neighbours
from mergebo.spaces import Binary, Numeric, Permutation, Variable
from mergebo.spaces.variable import MAX_ENUMERATED

__all__ = ["ProblemSuite", "invalid_value"]


class ProblemSuite:
    """Inherit from this class and implement `make`, which creates the problem to test."""

    def make(self) -> Problem:
        """The problem to test."""
        raise NotImplementedError

    def test_batch_is_a_loop(self) -> None:
        """A batch of any shape has the values of its points one by one, as floats; a single point has a scalar value."""
        problem = self.make()
        rows = problem.space.sample_rows((3, 4), seed=1)
        values = problem.evaluate(problem.space.decode(rows))
        assert values.shape == (3, 4)
        assert values.dtype == np.float64
        assert np.isfinite(values).all()
        for index in np.ndindex(3, 4):
            value = problem.evaluate(problem.space.decode(rows[index]))
            assert np.ndim(value) == 0
            # Sums may be computed in another order for a batch than for a single row.
            assert value == pytest.approx(values[index], rel=1e-12, abs=1e-9)

    def test_same_point_same_value(self) -> None:
        """Values do not depend on the batch, and equal those of a copy of the problem."""
        problem = self.make()
        rows = problem.space.sample_rows(20, seed=2)
        first = problem.evaluate_rows(rows)
        np.testing.assert_array_equal(problem.evaluate_rows(rows), first)
        np.testing.assert_allclose(problem.evaluate_rows(rows[::-1])[::-1], first, rtol=1e-12)
        for other in (self.make(), copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
            np.testing.assert_array_equal(other.evaluate_rows(rows), first)

    def test_order_matters(self) -> None:
        """Random points have different values: the objective is not constant."""
        problem = self.make()
        if problem.space.width > 3:
            assert len(np.unique(problem.evaluate_rows(problem.space.sample_rows(50, seed=3)))) > 5

    def test_optimum_is_reached_and_not_beaten(self) -> None:
        """Known optimizers have the optimal value; no random point or neighbour of an optimizer has a lower one."""
        problem = self.make()
        if problem.optimum is None:
            assert problem.optimizers == ()
            return
        assert problem.optimum.source
        slack = 1e-9 * max(1.0, abs(problem.optimum.value))
        rng = np.random.default_rng(4)
        tried = [problem.space.sample_rows(500, seed=rng)]
        for row in problem.optimizers:
            best = np.array(row, tried[0].dtype)
            assert problem.evaluate(problem.space.decode(best)) == pytest.approx(problem.optimum.value, rel=1e-9)
            tried += [random_neighbours(np.tile(best, (200, 1)), problem, rng) for _ in range(3)]
        if problem.optimum.proved and problem.space.size <= MAX_ENUMERATED:
            tried.append(problem.space.enumerate_rows())
        assert problem.evaluate_rows(np.concatenate(tried)).min() >= problem.optimum.value - slack

    def test_bad_points_are_refused(self) -> None:
        """Invalid points raise a `MergeboError`."""
        problem = self.make()
        good = problem.space.decode(problem.space.sample_rows(seed=5))
        for bad in _broken(problem, good):
            with pytest.raises(MergeboError):
                problem.evaluate(bad)

    def test_frozen(self) -> None:
        """Neither the problem nor the arrays inside it can be changed, and evaluating changes no input."""
        problem = self.make()
        with pytest.raises(dataclasses.FrozenInstanceError):
            problem.name = "other"  # type: ignore[misc]
        for each in dataclasses.fields(problem):
            value = getattr(problem, each.name)
            for array in value if isinstance(value, tuple) else (value,):
                assert not isinstance(array, np.ndarray) or not array.flags.writeable
        rows = problem.space.sample_rows(5, seed=6)
        before = rows.copy()
        rows.setflags(write=False)
        problem.evaluate(problem.space.decode(rows))
        np.testing.assert_array_equal(rows, before)

    def test_relabelling_changes_nothing_but_the_labels(self) -> None:
        """The same values under the mapped points, the same optimum, and an optimizer that reaches it."""
        problem = self.make()
        relabelled = problem.relabelled(seed=7)
        rows = problem.space.sample_rows(40, seed=8)
        np.testing.assert_array_equal(relabelled.to_original(relabelled.from_original(rows)), rows)
        np.testing.assert_allclose(
            relabelled.evaluate_rows(relabelled.from_original(rows)), problem.evaluate_rows(rows), rtol=1e-12
        )
        assert relabelled.optimum == problem.optimum
        for row in relabelled.optimizers:
            assert relabelled.evaluate_rows(np.array(row, rows.dtype)) == pytest.approx(problem.optimum.value)  # type: ignore[union-attr]
        again = problem.relabelled(seed=7)
        np.testing.assert_array_equal(again.evaluate_rows(rows), relabelled.evaluate_rows(rows))

    def test_describes_itself(self) -> None:
        """In a line that starts with its name."""
        problem = self.make()
        assert problem.describe().startswith(f"{problem.name}: ")
        assert "optimum" in problem.describe()


def _broken(problem: Problem, good: Any) -> list[Any]:
    if not isinstance(good, Mapping):
        out: list[Any] = [good + 1, good[:-1], good + 0.5, ["a"] * len(good), None, []]
        return [*out, np.zeros_like(good)] if len(good) > 1 else out
    out = [None, {}, {**good, "other": 1}, dict(list(good.items())[1:])]
    variables = problem.space.variables
    return out + [{**good, name: invalid_value(variables[name], value)} for name, value in good.items()]


@singledispatch
def invalid_value(variable: Variable, good: Any) -> Any:
    """A value that the variable must reject, made from a valid one."""
    return object()


@invalid_value.register
def _(variable: Permutation, good: Any) -> Any:
    return np.concatenate([good, good])  # every item twice


@invalid_value.register
def _(variable: Binary, good: Any) -> Any:
    return good + 2


@invalid_value.register
def _(variable: Numeric, good: Any) -> Any:
    return variable.high + 1
