"""Constraints, repeated items, subsets and symmetries against brute force in plain Python."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import mergebo as mb
from mergebo import errors
from mergebo.testing import strategies


def is_feasible(point: list[Any], constraints: dict[str, Any], cyclic: bool = False) -> bool:
    """Whether the order of chosen items satisfies the constraints, by their definition."""
    slots = {item: [k for k, each in enumerate(point) if each == item] for item in point}

    def pairs(a: Any, b: Any) -> list[tuple[int, int]]:
        return [(i, j) for i in slots.get(a, []) for j in slots.get(b, []) if i != j]

    def adjacent(i: int, j: int) -> bool:
        return abs(i - j) == 1 or (cyclic and abs(i - j) == len(point) - 1)

    before = set(constraints.get("before", []))
    while more := {(a, d) for a, b in before for c, d in before if b == c} - before:
        before |= more
    if any(a == b for a, b in before):
        return False  # a cycle is infeasible, whether its items are chosen or not
    windows = {
        **{item: (slot, slot) for item, slot in constraints.get("fixed", {}).items()},
        **constraints.get("window", {}),
    }
    return (
        all(i < j for a, b in before for i, j in pairs(a, b))
        and all(item in slots and all(low <= k <= high for k in slots[item]) for item, (low, high) in windows.items())
        and all(any(adjacent(i, j) for i, j in pairs(a, b)) for a, b in constraints.get("adjacent", []))
        and not any(adjacent(i, j) for a, b in constraints.get("apart", []) for i, j in pairs(a, b))
    )


def images(point: tuple[Any, ...], symmetry: Any) -> set[tuple[Any, ...]]:
    """All points equivalent to this one."""
    symmetries = (symmetry,) if isinstance(symmetry, str) else symmetry
    found = {point[k:] + point[:k] for k in range(len(point))} if "cycle" in symmetries else {point}
    return found | {each[::-1] for each in found} if "reversal" in symmetries else found


def brute_force(
    items: list[Any], constraints: dict[str, Any], choose: int | None = None, symmetry: Any = ()
) -> set[frozenset]:
    """All equivalence classes of feasible points."""
    cyclic = "cycle" in ((symmetry,) if isinstance(symmetry, str) else symmetry)
    points = itertools.permutations(items, choose or len(items))
    return {frozenset(images(point, symmetry)) for point in points if is_feasible(list(point), constraints, cyclic)}


def make(n: int, constraints: dict[str, Any], **options: Any) -> mb.Permutation:
    return mb.Permutation(n, **constraints, **options)


class TestAgainstBruteForce:
    @given(st.data())
    def test_constraints(self, data: st.DataObject) -> None:
        """Feasibility, enumeration, samples and errors agree with checking every order."""
        n = data.draw(st.integers(1, 6))
        choose = data.draw(st.sampled_from([None, *range(1, n)])) if n > 1 else None
        constraints = data.draw(strategies.constraint_sets(n, feasible=data.draw(st.booleans())))
        if choose is not None:
            constraints = {name: value for name, value in constraints.items() if name not in ("fixed", "window")}
        expected = brute_force(list(range(n)), constraints, choose)
        if not expected:
            with pytest.raises(errors.ConstraintError, match="no order"):
                make(n, constraints, choose=choose)
            return
        order = make(n, constraints, choose=choose)
        if order.constraints is None:
            return
        listed = order.enumerate()
        assert {frozenset([tuple(row)]) for row in listed[:, : order.length].tolist()} == expected
        assert len(listed) == len(expected) == order.size
        every = np.array(list(itertools.permutations(range(n))))
        feasible = [is_feasible(row[: order.length], constraints) for row in every.tolist()]
        assert order.constraints.satisfied(every).tolist() == feasible
        drawn = order.sample((20,), np.random.default_rng(0))
        assert {tuple(row) for row in drawn.tolist()} <= {tuple(row) for row in listed.tolist()}

    @given(strategies.order_options())
    def test_equivalent_points(self, options: dict[str, Any]) -> None:
        """Equivalent points have the same row, and there is one row per equivalence class."""
        space = mb.PermutationSpace(**options)
        expected = brute_force(**{"constraints": {}, **options})
        assert space.size == len(expected)
        if not space.is_constrained:
            return
        points = [tuple(space.decode(row)) for row in space.order.enumerate()]
        assert {frozenset(images(point, options["symmetry"])) for point in points} == expected
        assert len(set(points)) == len(expected)
        for equivalent in itertools.islice(expected, 20):
            rows = space.encode([list(point) for point in equivalent])
            assert (rows == rows[0]).all()
            assert tuple(space.decode(rows[0])) in equivalent
        drawn = space.sample_rows(20, seed=0)
        np.testing.assert_array_equal(space.encode(space.decode(drawn)), drawn)
        np.testing.assert_array_equal(space.feasible_rows(drawn), drawn)

    @given(st.data())
    def test_adjacency_in_cyclic_orders(self, data: st.DataObject) -> None:
        n = data.draw(st.integers(1, 6))
        constraints = data.draw(strategies.constraint_sets(n, feasible=data.draw(st.booleans())))
        constraints = {name: value for name, value in constraints.items() if name in ("adjacent", "apart")}
        symmetry = data.draw(st.sampled_from(["cycle", "reversal", ("cycle", "reversal")]))
        choose = data.draw(st.sampled_from([None, *range(1, n)])) if n > 1 else None
        expected = brute_force(list(range(n)), constraints, choose, symmetry)
        if not expected:
            with pytest.raises(errors.ConstraintError, match="no order"):
                make(n, constraints, symmetry=symmetry, choose=choose)
            return
        order = make(n, constraints, symmetry=symmetry, choose=choose)
        points = order.enumerate()[:, : order.length].tolist()
        assert {frozenset(images(tuple(point), symmetry)) for point in points} == expected
        assert len(points) == len(expected)

    @given(st.data())
    def test_repair(self, data: st.DataObject) -> None:
        """Without adjacency constraints an order is always found, and a feasible order is not changed."""
        n = data.draw(st.integers(1, 20))
        constraints = data.draw(strategies.constraint_sets(n))
        constraints = {name: value for name, value in constraints.items() if name not in ("adjacent", "apart")}
        order = make(n, constraints)
        if order.constraints is None:
            return
        target = np.array(data.draw(st.permutations(range(n))))
        found = order.constraints.repair(target)
        assert found is not None
        assert order.constraints.satisfied(found[None]).all()
        again = order.constraints.repair(found)
        assert again is not None
        assert again.tolist() == found.tolist()


POSETS = {
    "chain and two": (5, [(0, 1), (1, 2)]),
    "fence": (6, [(0, 1), (2, 1), (2, 3), (4, 3), (4, 5)]),
    "tree": (6, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]),
    "two chains": (6, [(0, 1), (1, 2), (3, 4), (4, 5)]),
}


class TestSampling:
    @pytest.mark.slow
    @pytest.mark.parametrize("poset", POSETS)
    def test_linear_extensions_are_uniform(self, poset: str) -> None:
        n, pairs = POSETS[poset]
        self.check(mb.Permutation(n, before=pairs))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "options",
        [
            {"n": 5, "adjacent": [(0, 1), (1, 2)]},
            {"n": 6, "adjacent": [(0, 1)], "apart": [(2, 3)], "window": {4: (1, 4)}},
            {"n": 6, "window": {0: (0, 2), 1: (0, 3)}, "fixed": {2: 3}},
            {"n": 6, "adjacent": [(0, 1), (2, 3)], "symmetry": "cycle"},
            {"n": 5, "choose": 3, "before": [(0, 1), (1, 2)]},
            {"items": ["a", "a", "b", "c", "c"]},
            {"n": 5, "symmetry": ("cycle", "reversal")},
        ],
        ids=str,
    )
    def test_other_orders_are_uniform(self, options: dict[str, Any]) -> None:
        self.check(mb.Permutation(**options))

    @staticmethod
    def check(order: mb.Permutation) -> None:
        """Chi-square against enumeration: the first samples of chains, and several of each."""
        every = [tuple(row) for row in order.enumerate().tolist()]
        rng = np.random.default_rng(1)
        for parts in ([order.sample((50,), rng) for _ in range(len(every))], [order.sample((50 * len(every),), rng)]):
            counts = Counter(map(tuple, np.concatenate(parts).tolist()))
            assert set(counts) <= set(every)
            assert chisquare([counts[each] for each in every]).pvalue > 1e-4

    @pytest.mark.slow
    @pytest.mark.parametrize("n", [5, 20, 60, 200])
    def test_of_random_partial_orders(self, n: int) -> None:
        """All samples are feasible, and repeats are rare."""
        rng = np.random.default_rng(n)
        for density in (0.5, 2.0):
            order = rng.permutation(n)
            slots = np.sort(rng.integers(0, n, (int(density * n), 2)), axis=1)
            pairs = [(int(order[a]), int(order[b])) for a, b in slots if a < b]
            space = mb.PermutationSpace(n, before=pairs)
            rows = space.sample_rows(100, seed=rng)
            ranks = mb.permutations.invert(rows)
            assert all((ranks[:, a] < ranks[:, b]).all() for a, b in pairs)
            if n >= 20:
                assert len(np.unique(rows, axis=0)) == 100

    def test_seeded(self) -> None:
        space = mb.PermutationSpace(8, before=[(0, 1)], apart=[(2, 3)])
        np.testing.assert_array_equal(space.sample_rows(9, seed=4), space.sample_rows(9, seed=4))
        assert (space.sample_rows(9, seed=4) != space.sample_rows(9, seed=5)).any()
        assert space.sample_rows((2, 3), seed=4).shape == (2, 3, 8)
        assert space.sample_rows(seed=4).shape == (8,)


class TestConflicts:
    @pytest.mark.parametrize(
        ("constraints", "message"),
        [
            ({"before": [("a", "b"), ("d", "e"), ("b", "c"), ("c", "a")]}, "a before b before c before a"),
            ({"fixed": {"a": 1, "b": 1, "c": 0}}, "5 items satisfies all of these constraints: a in slot 1; b in slot 1$"),
            ({"before": [("a", "b"), ("c", "d")], "fixed": {"b": 0}}, "constraints: a before b; b in slot 0$"),
            (
                {"window": {"a": (0, 1), "b": (0, 1), "c": (0, 1), "d": (0, 4)}},
                "constraints: a in slots 0 to 1; b in slots 0 to 1; c in slots 0 to 1$",
            ),
            (
                {"adjacent": [("a", "b"), ("a", "c"), ("a", "d")], "apart": [("b", "c")]},
                "constraints: a next to b; a next to c",
            ),
            ({"adjacent": [("a", "b")], "apart": [("b", "a"), ("c", "d")]}, "a next to b; b not next to a$"),
            ({"adjacent": [("a", "b")], "fixed": {"a": 0, "b": 2}}, "a in slot 0; b in slot 2|b in slot 2; a in slot 0"),
            ({"before": [("a", "c"), ("c", "b")], "adjacent": [("a", "b")]}, "a before c; c before b; a next to b$"),
            (
                {"apart": [("a", each) for each in "bcde"]},
                "a not next to b; a not next to c; a not next to d; a not next to e",
            ),
        ],
    )
    def test_messages_name_only_the_conflict(self, constraints: dict[str, Any], message: str) -> None:
        with pytest.raises(errors.ConstraintError, match=message):
            mb.PermutationSpace(items=list("abcde"), **constraints)

    @pytest.mark.slow
    @given(st.data())
    def test_conflicts_are_minimal(self, data: st.DataObject) -> None:
        """Removing any of the named constraints resolves the conflict."""
        n = data.draw(st.integers(2, 5))
        constraints = data.draw(strategies.constraint_sets(n, feasible=False))
        if brute_force(list(range(n)), constraints):
            return
        with pytest.raises(errors.ConstraintError) as caught:
            make(n, constraints)
        message = str(caught.value)
        if "cycle" in message:
            return
        named = message.split("constraints: ")[1].split("; ")
        single = [
            *((f"{a} before {b}", {"before": [(a, b)]}) for a, b in constraints.get("before", [])),
            *((f"{a} next to {b}", {"adjacent": [(a, b)]}) for a, b in constraints.get("adjacent", [])),
            *((f"{a} not next to {b}", {"apart": [(a, b)]}) for a, b in constraints.get("apart", [])),
            *((f"{item} in slot {slot}", {"fixed": {item: slot}}) for item, slot in constraints.get("fixed", {}).items()),
            *((f"{i} in slots {w[0]} to {w[1]}", {"window": {i: w}}) for i, w in constraints.get("window", {}).items()),
        ]
        conflict = [next(options for text, options in single if text == each) for each in named]
        for removed in range(-1, len(conflict)):
            joined: dict[str, Any] = {}
            for options in (options for k, options in enumerate(conflict) if k != removed):
                for name, value in options.items():
                    joined[name] = (
                        {**joined.get(name, {}), **value} if name in ("fixed", "window") else joined.get(name, []) + value
                    )
            assert bool(brute_force(list(range(n)), joined)) == (removed >= 0)

    def test_a_hard_case_is_decided_exactly(self) -> None:
        """Random constructions do not find an order: only i and i + 5 (mod 16) may be adjacent."""
        apart = [(a, b) for a in range(16) for b in range(a) if (a - b) % 16 not in (5, 11)]
        space = mb.PermutationSpace(16, apart=apart)
        steps = np.diff(space.sample_rows(5, seed=0), axis=1) % 16
        assert ((steps == 5) | (steps == 11)).all()
