"""Spaces: conversion between points and rows, sampling, validation, and the conformance suite."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from constrained_spaces import SPACES
from mergebo import errors
from mergebo.spaces import Space
from mergebo.testing import SpaceSuite
from mergebo.testing import strategies as our

MIXED = mb.Space(route=mb.Permutation(4), picks=mb.Binary(3), heat=mb.Real(20, 80))


def test_point_round_trip() -> None:
    point = {"route": [2, 0, 3, 1], "picks": [1, 0, 1], "heat": 37.5}
    row = MIXED.encode(point)
    assert row.tolist() == [2, 0, 3, 1, 1, 0, 1, 37.5]
    back = MIXED.decode(row)
    assert back["route"].tolist() == point["route"]
    assert back["picks"].tolist() == point["picks"]
    assert back["heat"] == 37.5
    assert MIXED.width == 8


def test_many_points_as_a_list_or_as_arrays() -> None:
    points = MIXED.sample((5,), seed=0)
    rows = MIXED.encode(points)
    assert rows.shape == (5, 8)
    each = [{name: values[k] for name, values in points.items()} for k in range(5)]
    np.testing.assert_array_equal(MIXED.encode(each), rows)
    assert MIXED.encode([]).shape == (0, 8)


def test_variables_are_matched_by_name() -> None:
    reordered = {"heat": 20.0, "picks": [True, False, True], "route": (0, 1, 2, 3)}
    assert MIXED.encode(reordered).tolist() == [0, 1, 2, 3, 1, 0, 1, 20]


@given(space=our.spaces(), seed=st.integers(0, 99))
def test_points_and_rows_correspond_one_to_one(space: Space, seed: int) -> None:
    rows = space.sample_rows(4, seed=seed)
    assert rows.dtype == space.dtype
    np.testing.assert_array_equal(space.encode(space.decode(rows)), rows)
    np.testing.assert_array_equal(space.encode([space.decode(row) for row in rows]), rows)
    assert pickle.loads(pickle.dumps(space)) == space
    assert hash(pickle.loads(pickle.dumps(space))) == hash(space)


def test_samples_are_seeded_and_cover_the_space() -> None:
    rows = MIXED.sample_rows(400, seed=1)
    np.testing.assert_array_equal(rows, MIXED.sample_rows(400, seed=1))
    assert rows[:, 4:7].mean() == pytest.approx(0.5, abs=0.06)
    assert rows[:, 7].min() < 22
    assert rows[:, 7].max() > 78
    assert mb.PermutationSpace(5).sample(3, seed=0).shape == (3, 5)


def test_spaces_compare_by_value() -> None:
    same = mb.Space(route=mb.Permutation(4), picks=mb.Binary(3), heat=mb.Real(20, 80))
    assert same == MIXED
    assert hash(same) == hash(MIXED)
    assert mb.Space(picks=mb.Binary(3), route=mb.Permutation(4), heat=mb.Real(20, 80)) != MIXED
    assert pickle.loads(pickle.dumps(MIXED)) == MIXED
    assert repr(MIXED) == "Space(route=Permutation(n=4), picks=Binary(count=3), heat=Real(low=20, high=80, log=False))"
    assert mb.PermutationSpace(4) == mb.PermutationSpace(4)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"route": [0, 0, 1, 2]}, errors.NotAPermutationError, "3 missing, 0 twice"),
        ({"route": [0, 1, 2]}, errors.ShapeError, "4 items, got 3"),
        ({"picks": [0, 1, 2]}, errors.ArgumentError, "0 or 1, got 2"),
        ({"picks": [0, 1]}, errors.ShapeError, "3 values of 0 or 1"),
        ({"picks": ["a", "b", "c"]}, errors.ArgumentTypeError, "must hold integers"),
        ({"heat": 80.5}, errors.ArgumentError, "between 20 and 80, got 80.5"),
        ({"heat": float("nan")}, errors.ArgumentError, "got nan"),
        ({"heat": "hot"}, errors.ArgumentTypeError, "number between"),
        ({"heats": 30}, errors.ArgumentError, "did you mean 'heat'"),
        ({"picks": [[0, 1, 0]]}, errors.ShapeError, "same batch shape"),
    ],
)
def test_bad_points(change: dict[str, object], error: type[Exception], message: str) -> None:
    good = {"route": [2, 0, 3, 1], "picks": [1, 0, 1], "heat": 37.5}
    with pytest.raises(error, match=message):
        MIXED.encode({**good, **change})  # type: ignore[dict-item]


def test_bad_calls() -> None:
    with pytest.raises(errors.ArgumentError, match="no value for picks, heat"):
        MIXED.encode({"route": [2, 0, 3, 1]})
    with pytest.raises(errors.ArgumentTypeError, match="a point is a dictionary"):
        MIXED.encode("0123")  # type: ignore[arg-type]
    with pytest.raises(errors.ArgumentError, match="at least one variable"):
        mb.Space()
    with pytest.raises(errors.ArgumentTypeError, match="route must be a variable"):
        mb.Space(route=5)  # type: ignore[arg-type]
    with pytest.raises(errors.ArgumentError, match="larger finite high"):
        mb.Real(3, 3)
    with pytest.raises(errors.ShapeError, match="at least 1"):
        mb.Binary(0)


class TestConstrainedSpaces:
    def test_compare_by_value(self) -> None:
        for kind, space in SPACES.items():
            if kind != "predicate":
                again = pickle.loads(pickle.dumps(space))
                assert again == space
                assert hash(again) == hash(space)
        assert mb.PermutationSpace(5, before=[(0, 1)]) != mb.PermutationSpace(5)
        expected = "PermutationSpace(items=['a', 'b', 'c'], before=[('a', 'b')], fixed={'c': 0})"
        assert repr(mb.PermutationSpace(items=list("abc"), before=[("a", "b")], fixed={"c": 0})) == expected
        assert mb.PermutationSpace(4, choose=4) == mb.PermutationSpace(4)
        assert not mb.PermutationSpace(items=list("abc")).is_constrained

    def test_names_in_a_mixed_space(self) -> None:
        space = mb.Space(steps=mb.Permutation(items=["mill", "cut", "weld"], before=[("cut", "weld")]), heat=mb.Real(0, 1))
        point = space.sample(seed=0)
        assert sorted(point["steps"]) == ["cut", "mill", "weld"]
        np.testing.assert_array_equal(space.encode(point), space.sample_rows(seed=0))
        with pytest.raises(errors.ConstraintError, match="cut before weld"):
            space.encode({"steps": ["weld", "cut", "mill"], "heat": 0.5})
        state = mb.Optimizer(space, "random").state()
        assert mb.Optimizer.from_state(json.loads(json.dumps(state))).space == space

    def test_numpy_integers(self) -> None:
        one, two = np.array([1, 2])
        space = mb.PermutationSpace(5, before=np.array([[0, 1]]), fixed={one: two}, window={two: np.array([0, 3])})
        assert space == mb.PermutationSpace(5, before=[(0, 1)], fixed={1: 2}, window={2: (0, 3)})
        assert mb.Optimizer.from_state(json.loads(json.dumps(mb.Optimizer(space, "random").state()))).space == space


class TestSpace(SpaceSuite):
    space: mb.PermutationSpace | mb.Space

    @pytest.fixture(autouse=True, params=[*SPACES, "plain", "choices", "reals"])
    def choose(self, request: pytest.FixtureRequest) -> None:
        plain = {
            "plain": mb.PermutationSpace(5),
            "choices": mb.Space(a=mb.Permutation(3), b=mb.Binary(2)),
            "reals": mb.Space(a=mb.Permutation(items=list("abcd"), apart=[("a", "b")]), b=mb.Real(0, 1)),
        }
        self.space = {**SPACES, **plain}[request.param]

    def make(self) -> mb.PermutationSpace | mb.Space:
        return self.space


@pytest.mark.parametrize(
    "order",
    [
        mb.Permutation(7),
        mb.Permutation(7, before=[(0, 1), (2, 3)]),
        mb.Permutation(7, fixed={0: 3}, window={1: (0, 1)}),
        mb.Permutation(7, choose=4),
        mb.Permutation(7, symmetry=["cycle", "reversal"]),
        mb.Permutation(items=list("aabbcde")),
    ],
    ids=str,
)
def test_the_logarithm_of_the_size(order: mb.Permutation) -> None:
    """Exact for few orders; the estimate, for many, is near it."""
    assert order.log_size == pytest.approx(math.log(order.size))
    assert order._estimated_log_size == pytest.approx(math.log(order.size), abs=0.5)


def test_the_logarithm_of_the_size_of_other_variables() -> None:
    space = mb.Space(
        a=mb.Binary(2000), b=mb.Choice(["K", "Na"]), c=mb.Real(0, 1), d=mb.Integer(1, 3), e=mb.Integer(1, 10**6)
    )
    logs = {name: variable.log_size for name, variable in space.variables.items()}
    assert logs == pytest.approx(
        {"a": 2000 * math.log(2), "b": math.log(2), "c": math.log(10), "d": math.log(3), "e": math.log(10)}
    )
    assert space.log_size == pytest.approx(sum(logs.values()))
    assert mb.PermutationSpace(1000).log_size == pytest.approx(math.lgamma(1001))
