"""Permutations as variables: names of items, predicates, subsets and repeated items."""

from __future__ import annotations

import enum
import json
import sys
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo import errors
from mergebo.studies.codec import SpaceCodec


class Shade(enum.Enum):
    LIGHT = 1
    DARK = 2


class Metal(enum.StrEnum):
    """Its members are equal to texts."""

    K = "a"
    NA = "Na"


NAMES = st.one_of(
    st.sampled_from(
        ["a", "b", "", np.str_("a"), 0, 1, 2, True, False, 0.0, 1.0, -0.0, 0.1, 2**53, 2.0**53, 2**53 + 1, None]
    ),
    st.sampled_from([np.float32(0.1), np.int64(1), ("a", 1), ("a", 1.0), ("a", (np.int64(2), None)), Metal.K, Metal.NA]),
    st.text(max_size=2),
)
NO_NAMES = st.sampled_from(
    [np.nan, Fraction(1, 2), Decimal("0.1"), Shade.LIGHT, b"a", 1j, {"a": 1}, {1, 2}, ["a", 1], ("a", [1]), np.arange(2)]
)


def linear_search(items: list[Any], name: Any) -> int | None:
    for number, item in enumerate(items):
        with suppress(TypeError, ValueError):  # an array has no single truth value
            if item is name or item == name:
                return number
    return None


@given(st.lists(NAMES, min_size=1, max_size=8), st.lists(NAMES | NO_NAMES, max_size=8))
def test_items_have_the_number_of_a_linear_search(items: list[Any], points: list[Any]) -> None:
    """Also for equal names of different types, names that are not equal to themselves, and unhashable ones."""
    order = mb.Permutation(items=items)
    for name in [*items, *points]:
        expected = linear_search(items, name)
        if expected is None:
            with pytest.raises(errors.ArgumentError, match="an item must be one of"):
                order.number(name)
        else:
            assert order.number(name) == expected
    permuted = items[::-1]
    numbers = np.array([linear_search(items, name) for name in permuted])
    np.testing.assert_array_equal(order.validate(permuted), order.validate(numbers))
    np.testing.assert_array_equal(order.validate([permuted, permuted]), order.validate([numbers, numbers]))


@given(st.lists(NAMES, min_size=2, max_size=6), st.integers(0, 9))
def test_items_are_what_json_can_carry(items: list[Any], seed: int) -> None:
    """Points and states are the same after a round trip; numbers of NumPy become plain ones."""
    order = mb.Permutation(items)
    assert all(not isinstance(name, np.generic) for name in order.items or ())
    space = mb.PermutationSpace(items)
    rows = space.sample_rows(3, seed=seed)
    points = space.decode(rows)
    np.testing.assert_array_equal(space.encode(points), rows)
    np.testing.assert_array_equal(space.encode(json.loads(json.dumps(points))), rows)
    optimizer = mb.Optimizer(space, "random", beliefs=[mb.beliefs.early(items[0])])
    optimizer.tell(points[0], 1.0)
    optimizer.tell(optimizer.ask(), 2.0) if space.size > 1 else None
    state = json.loads(json.dumps(optimizer.state(), allow_nan=False))
    again = mb.Optimizer.from_state(state)
    assert again.space == space
    assert again.state() == state
    assert [trial.point for trial in again.trials] == [trial.point for trial in optimizer.trials]


@given(st.lists(NAMES, max_size=3), NO_NAMES)
def test_other_items_are_refused_at_once(items: list[Any], other: Any) -> None:
    for given_items in ([other, *items, "b"], ["b", *items, (other, 1)]):
        with pytest.raises(
            errors.ArgumentTypeError, match=r"items are texts, finite numbers or tuples .* look the object up"
        ):
            mb.Permutation(items=given_items)


def test_constraints_of_tuples_and_several_orders() -> None:
    holes = [("A", 1), ("A", 2), ("B", 1), ("B", 2)]
    order = mb.Permutation(
        holes, before=[(holes[0], holes[1])], fixed={holes[2]: 0}, window={holes[3]: (1, 3)}, apart=[(holes[0], holes[3])]
    )
    space = mb.Space(drill=order, heat=mb.Real(0, 1))
    optimizer = mb.Optimizer(space, "random")
    optimizer.tell(optimizer.ask(), 1.0)
    state = json.loads(json.dumps(optimizer.state()))
    again = mb.Optimizer.from_state(state)
    assert again.space == space
    assert again.state() == state


@pytest.mark.parametrize("items", [["b", "a"], ("b", "a"), np.array(["b", "a"]), [np.str_("b"), np.str_("a")]])
def test_names_may_be_the_first_argument(items: Any) -> None:
    assert mb.PermutationSpace(items) == mb.PermutationSpace(items=items) == mb.PermutationSpace(2, items=["b", "a"])
    with pytest.raises(errors.ShapeError, match="give one of the two"):
        mb.PermutationSpace(items, items=["b", "a"])


@pytest.mark.parametrize("bad", ["abc", b"abc", np.array("a")])
def test_items_are_not_a_text(bad: Any) -> None:
    with pytest.raises(errors.ArgumentTypeError, match="items is a list of names such as"):
        mb.PermutationSpace(bad)


def test_numbers_of_items_that_are_too_large() -> None:
    for make in (mb.PermutationSpace, mb.Permutation, mb.Binary):
        for n in (10**9, 2**63, 10**400):
            with pytest.raises(errors.ShapeError, match="n must be at most 10000000, got"):
                make(n)
    state = mb.Optimizer(mb.PermutationSpace(3), "random").state()
    with pytest.raises(errors.ShapeError, match="more than 20 digits"):
        mb.Optimizer.from_state({**state, "space": {**state["space"], "n": 10**400}})
    with pytest.raises(errors.ArgumentError, match="symmetry must be one of 'cycle', 'reversal', got 3"):
        mb.Permutation(4, symmetry=3)  # type: ignore[arg-type]


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


class TestPredicates:
    def test_common_ones(self) -> None:
        space = mb.PermutationSpace(6, where=lambda order: order[0] < order[5])
        rows = space.sample_rows(200, seed=0)
        assert (rows[:, 0] < rows[:, 5]).all()
        assert space.size == 360

    def test_rare_ones(self) -> None:
        """One order in a thousand: random walks take over where rejection fails."""
        calls = []

        def sorted_ends(order: Any) -> bool:
            calls.append(0)
            return list(order[:3]) == sorted(order[:3]) and list(order[-4:]) == sorted(order[-4:]) and order[3] < 5

        space = mb.PermutationSpace(8, where=sorted_ends)
        calls.clear()
        rows = space.sample_rows(20, seed=0)
        assert len(rows) == 20
        assert all(sorted_ends(row) for row in rows)
        assert len(calls) < 5000

    def test_with_names_and_constraints(self) -> None:
        space = mb.PermutationSpace(
            items=["a", "b", "c", "d"], before=[("a", "b")], where=lambda order: order.index("c") != 2
        )
        assert space.size == 9
        with pytest.raises(errors.ConstraintError, match=r"\['a', 'b', 'c', 'd'\] does not satisfy `where`"):
            space.encode(["a", "b", "c", "d"])
        with pytest.raises(errors.ConstraintError, match="violates these constraints: a before b"):
            space.encode(["b", "a", "d", "c"])

    def test_infeasible_ones_are_an_error(self) -> None:
        with pytest.raises(errors.ConstraintError, match="none of 2000 random orders satisfies `where`"):
            mb.PermutationSpace(9, where=lambda order: False)


class TestMistakes:
    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"before": [("a", "x")]}, errors.ArgumentError, "an item of before must be one of 'a', 'b', 'c'"),
            ({"before": [("a", "bb")]}, errors.ArgumentError, "did you mean 'b'"),
            ({"before": [("a", "a")]}, errors.ArgumentError, "has only one item"),
            ({"adjacent": [("a", "a")]}, errors.ArgumentError, "has only one item"),
            ({"apart": [("a", "a")]}, errors.ArgumentError, "has only one item"),
            ({"before": ("a", "b")}, errors.ArgumentError, "a list of pairs"),
            ({"before": "ab"}, errors.ArgumentError, "a list of pairs"),
            ({"before": [("a", "b", "c")]}, errors.ArgumentError, "a list of pairs"),
            ({"fixed": {"a": 3}}, errors.SlotError, "slots of 3 items are 0..2, got 3 for 'a'"),
            ({"fixed": {"a": -1}}, errors.SlotError, "got -1"),
            ({"fixed": {"a": "first"}}, errors.SlotError, "got 'first'"),
            ({"fixed": [("a", 0)]}, errors.ArgumentError, "fixed is a dictionary"),
            ({"window": {"a": (2, 1)}}, errors.ArgumentError, "from its first to its last slot"),
            ({"window": {"a": 1}}, errors.ArgumentError, "a pair of slots, first and last"),
            ({"window": {"a": (0, 3)}}, errors.SlotError, "got 3"),
            ({"choose": 4}, errors.ShapeError, "choose=4 of 3 items"),
            ({"choose": 0}, errors.ShapeError, "at least 1"),
            ({"symmetry": "cyclic"}, errors.ArgumentError, "did you mean 'cycle'"),
            ({"symmetry": "cycle", "fixed": {"a": 0}}, errors.ArgumentError, "before, fixed and window are undefined"),
            ({"symmetry": "reversal", "before": [("a", "b")]}, errors.ArgumentError, "are undefined"),
            ({"where": "a first"}, errors.ArgumentTypeError, "where is a function"),
            ({"choose": 2, "fixed": {"a": 2}}, errors.SlotError, "slots of 2 items are 0..1"),
        ],
    )
    def test_mistakes(self, options: dict[str, Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            mb.PermutationSpace(items=["a", "b", "c"], **options)

    def test_mistakes_with_repeated_items(self) -> None:
        with pytest.raises(errors.ArgumentError, match="not all copies can be in one slot"):
            mb.PermutationSpace(items=["a", "a", "b"], fixed={"a": 0})
        with pytest.raises(errors.ArgumentError, match="ambiguous for an item with several copies"):
            mb.PermutationSpace(items=["a", "a", "b"], adjacent=[("a", "b")])
        space = mb.PermutationSpace(items=["a", "a", "b"])
        with pytest.raises(errors.NotAPermutationError, match="'b' occurs 2 times, at most 1 allowed; missing: a"):
            space.encode(["b", "b", "a"])
        with pytest.raises(errors.ShapeError, match="expected orders of 3 items"):
            space.encode(["a", "b"])
        with pytest.raises(errors.ArgumentError, match="an item must be one of"):
            space.encode(["a", "a", "c"])
        with pytest.raises(errors.NotAPermutationError, match="got 7"):
            mb.PermutationSpace(5, choose=2).encode([1, 7])


def test_constraints_apply_to_every_copy() -> None:
    space = mb.PermutationSpace(items=list("aabbc"), before=[("a", "b")], apart=[("a", "a")], window={"c": (0, 2)})
    points = {"".join(space.decode(row)) for row in space.order.enumerate()}
    assert points == {"acabb"}
