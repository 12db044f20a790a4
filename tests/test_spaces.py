"""Spaces: conversion between points and rows, sampling, validation."""

from __future__ import annotations

import enum
import pickle
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo import errors
from mergebo.integrations.optuna import SpaceCodec

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


def test_samples_are_seeded_and_cover_the_space() -> None:
    rows = MIXED.sample_rows(400, seed=1)
    np.testing.assert_array_equal(rows, MIXED.sample_rows(400, seed=1))
    assert rows[:, 4:7].mean() == pytest.approx(0.5, abs=0.06)
    assert rows[:, 7].min() < 22
    assert rows[:, 7].max() > 78
    assert mb.PermutationSpace(5).sample(3, seed=0).shape == (3, 5)


def test_design_rows_have_every_fraction_of_ones() -> None:
    space = mb.Space(route=mb.Permutation(4), picks=mb.Binary(50), more=mb.Binary(1), heat=mb.Real(20, 80))
    rows = space.design_rows(range(2000), seed=1)
    np.testing.assert_array_equal(rows, space.design_rows(range(2000), seed=1))
    picks = rows[:, 4:54]
    assert picks[0].tolist() == [0] * 50
    assert picks[1].tolist() == [1] * 50
    assert rows[:2, 54].tolist() == [0, 1]
    fractions = np.histogram(picks[2:].mean(axis=1), bins=5, range=(0, 1))[0] / 1998
    np.testing.assert_allclose(fractions, 0.2, atol=0.05)
    assert picks[2:].mean(axis=0) == pytest.approx(np.full(50, 0.5), abs=0.05)
    assert space.design_rows(1, seed=0).shape == (56,)


@pytest.mark.parametrize("space", [mb.PermutationSpace(5), mb.Space(order=mb.Permutation(4), heat=mb.Real(0, 1))])
def test_without_binary_variables_design_rows_are_samples(space) -> None:
    np.testing.assert_array_equal(space.design_rows(range(7), seed=3), space.sample_rows(7, seed=3))
    np.testing.assert_array_equal(space.design_rows(1, seed=3), space.sample_rows(seed=3))


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


class Shade(enum.Enum):
    LIGHT = 1
    DARK = 2


NAMES = st.one_of(
    st.sampled_from(
        ["a", "b", "", np.str_("a"), 0, 1, 2, True, False, 0.0, 1.0, -0.0, 0.1, 2**53, 2.0**53, 2**53 + 1, None]
    ),
    st.sampled_from([np.float32(0.1), np.int64(1), np.nan, Fraction(1, 2), Decimal("0.1"), Shade.LIGHT, b"a"]),
    st.sampled_from([{"a": 1}, {"a": 1.0}, {1, 2}, {True, 2}]),  # not hashable
    st.text(max_size=2),
)


@given(st.lists(NAMES, min_size=1, max_size=8), st.lists(NAMES, max_size=8))
def test_items_have_the_number_of_a_linear_search(items: list[Any], points: list[Any]) -> None:
    """Also for equal names of different types, names that are not equal to themselves, and unhashable ones."""
    order = mb.Permutation(items=items)
    for name in [*items, *points]:
        try:
            expected = items.index(name)
        except (ValueError, TypeError):
            with pytest.raises(errors.ArgumentError, match="an item must be one of"):
                order.number(name)
        else:
            assert order.number(name) == expected
    permuted = items[::-1]
    numbers = np.array([items.index(name) for name in permuted])
    np.testing.assert_array_equal(order.validate(permuted), order.validate(numbers))
    np.testing.assert_array_equal(order.validate([permuted, permuted]), order.validate([numbers, numbers]))


def test_many_names_are_found_by_hash() -> None:
    """By a dictionary; a linear search would take 0.4 s for 300 names of 1000 points."""
    names = [f"item {k}" for k in range(300)]
    space = mb.Space(order=mb.Permutation(items=names), heat=mb.Real(0, 1))
    point = space.sample(seed=0)
    row = space.encode(point)

    def look_up() -> None:
        for many in (point["order"], tuple(point["order"]), np.array(point["order"])):
            np.testing.assert_array_equal(space.encode({**point, "order": many}), row)
        mb.beliefs.before("item 3", "item 299").feature(space, row[None])
        SpaceCodec.of(space.variables)

    look_up()  # compiles and imports what is needed
    called: set[str] = set()
    sys.setprofile(lambda frame, event, function: called.add(function.__name__) if event == "c_call" else None)
    try:
        look_up()
    finally:
        sys.setprofile(None)
    assert "issuperset" in called
    assert not {"index", "count"} & called
