"""Constraints, repeated items, subsets and symmetries against brute force in plain Python."""

from __future__ import annotations

import itertools
import json
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import mergebo as mb
from mergebo import acquisition, errors
from mergebo.gp import GP
from mergebo.methods import METHODS, KernelModel, footrule_kernel, mallows_kernel
from mergebo.neighbours import MOVES, feasible_moves, move_slots, move_table, random_neighbours
from mergebo.testing import SpaceSuite, strategies


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
        listed = order.enumerate_rows()
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
        points = [tuple(space.decode(row)) for row in space.order.enumerate_rows()]
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
        points = order.enumerate_rows()[:, : order.length].tolist()
        assert {frozenset(images(tuple(point), symmetry)) for point in points} == expected
        assert len(points) == len(expected)

    @given(st.data())
    def test_feasible_moves(self, data: st.DataObject) -> None:
        """The mask agrees with checking each neighbour."""
        n = data.draw(st.integers(2, 14))
        cyclic = data.draw(st.booleans())
        constraints = data.draw(strategies.constraint_sets(n, cyclic=cyclic))
        options: dict[str, Any] = {}
        if cyclic:
            constraints = {name: value for name, value in constraints.items() if name in ("adjacent", "apart")}
            options = {"symmetry": "cycle"}
        order = make(n, constraints, **options)
        if order.constraints is None:
            return
        for row in order.sample((3,), np.random.default_rng(data.draw(st.integers(0, 99)))):
            for move in MOVES:
                around = row[move_table(n, move)]
                assert feasible_moves(row, order, move).tolist() == order.constraints.satisfied(around).tolist()

    @given(st.data())
    def test_feasible_moves_of_chosen_items(self, data: st.DataObject) -> None:
        n = data.draw(st.integers(2, 9))
        choose = data.draw(st.integers(1, n - 1))
        order = make(n, {"before": data.draw(strategies.posets(n)), "apart": [(0, 1)]}, choose=choose)
        assert order.constraints is not None
        for row in order.sample((3,), np.random.default_rng(0)):
            for move in MOVES:
                around, near = row[move_table(n, move)], move_slots(n, move).min(axis=1) < choose
                assert feasible_moves(row, order, move).tolist() == (order.constraints.satisfied(around) & near).tolist()

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
        every = [tuple(row) for row in order.enumerate_rows().tolist()]
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


class TestExplanations:
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

    def test_constraints_apply_to_every_copy(self) -> None:
        space = mb.PermutationSpace(items=list("aabbc"), before=[("a", "b")], apart=[("a", "a")], window={"c": (0, 2)})
        points = {"".join(space.decode(row)) for row in space.order.enumerate_rows()}
        assert points == {"acabb"}


SPACES = {
    "before": mb.PermutationSpace(6, before=[(0, 1), (1, 2), (3, 4)]),
    "slots": mb.PermutationSpace(6, fixed={0: 2}, window={1: (0, 3), 2: (3, 5)}),
    "adjacency": mb.PermutationSpace(6, adjacent=[(0, 1)], apart=[(2, 3), (2, 4)]),
    "predicate": mb.PermutationSpace(6, before=[(0, 1)], where=lambda order: order[0] != 3),
    "subset": mb.PermutationSpace(items=list("abcdefg"), choose=3, before=[("a", "b")]),
    "repeated": mb.PermutationSpace(items=list("aabbcd"), apart=[("a", "a")]),
    "cycle": mb.PermutationSpace(7, symmetry="cycle", apart=[(0, 1)]),
    "ring": mb.PermutationSpace(7, symmetry=("cycle", "reversal")),
    "row": mb.PermutationSpace(6, symmetry="reversal"),
    "mixed": mb.Space(route=mb.Permutation(5, before=[(0, 1)], apart=[(2, 3)]), picks=mb.Binary(3)),
}
UNSUPPORTED = {("mergebo", "subset"), ("bops-random", "subset"), ("combo", "subset")}


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


def objective(space: mb.Space | mb.PermutationSpace, point: Any) -> float:
    row = space.encode(point).astype(float)
    return float(np.sin(row * np.arange(1, len(row) + 1)).sum())


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("method", METHODS)
class TestEveryMethod:
    def test_proposes_distinct_feasible_points(self, method: str, kind: str) -> None:
        """Equivalent points count as one; also in batches and after loading a state."""
        space = SPACES[kind]
        optimizer = mb.Optimizer(space, method, seed=1, initial=4)
        if (method, kind) in UNSUPPORTED:
            for trial in optimizer.ask(4):
                optimizer.tell(trial, objective(space, trial.point))
            with pytest.raises(errors.UnsupportedError, match="compares complete orders"):
                optimizer.ask()
            return
        for k in range(8):
            if k == 5:
                where = space.order.where if isinstance(space, mb.PermutationSpace) else None
                optimizer = mb.Optimizer.from_state(json.loads(json.dumps(optimizer.state())), where=where)
                assert optimizer.space == space
            trials = optimizer.ask(2) if k == 6 else [optimizer.ask()]
            for trial in trials:
                optimizer.tell(trial, objective(space, trial.point))
        rows = np.array([space.encode(trial.point) for trial in optimizer.trials])  # raises an error for infeasible points
        np.testing.assert_array_equal(rows, [trial["row"] for trial in optimizer.state()["trials"]])
        assert len(np.unique(rows, axis=0)) == len(rows) == 9


@pytest.mark.parametrize("method", METHODS)
class TestFewPoints:
    def test_a_chain_has_one_order(self, method: str) -> None:
        chain = mb.PermutationSpace(items=list("abcd"), before=[("a", "b"), ("b", "c"), ("c", "d")])
        result = mb.minimize(lambda order: 1.0, chain, budget=5, method=method)
        assert [trial.point for trial in result.trials] == [list("abcd")]
        assert result.ended == "all 1 points of the space were tried"

    @pytest.mark.slow
    def test_all_points_are_tried(self, method: str) -> None:
        for space in (
            mb.PermutationSpace(5, symmetry=("cycle", "reversal")),
            mb.PermutationSpace(5, before=[(0, 1), (2, 3), (3, 4)]),
        ):
            size = int(space.size)
            result = mb.minimize(lambda order: float(order[1]), space, budget=size + 5, method=method, initial=4)
            assert len(result.trials) == size
            assert result.ended == f"all {size} points of the space were tried"


class TestSearch:
    """Searches over acquisition values stay feasible, and agree with explicit enumeration."""

    @pytest.mark.parametrize(
        "kind", ["before", "slots", "adjacency", "predicate", "repeated", "cycle", "ring", "subset", "mixed"]
    )
    @pytest.mark.parametrize("orders", [mallows_kernel, footrule_kernel])
    def test_best_neighbours_agree_with_enumeration(self, kind: str, orders: Any) -> None:
        space = SPACES[kind]
        rows = space.sample_rows(15, seed=0)
        values = np.array([objective(space, space.decode(row)) for row in rows])
        model = GP(KernelModel(orders).similarity(space), rows, values)
        scanned = acquisition.AcquisitionNeighbourhood(
            model, acquisition.LogExpectedImprovement(), float(model.y.min()), tuple(MOVES)
        )
        listed = acquisition.ExhaustiveNeighbourhood(scanned.value, space, tuple(MOVES))
        for row in rows[:5]:
            around = scanned.best_neighbours(row, 5)
            every = {tuple(each) for each in listed.best_neighbours(row, 10**6).tolist()}
            assert {tuple(each) for each in around.tolist()} <= every
            if kind in ("before", "slots", "adjacency", "mixed"):  # canonical forms of others are evaluated at another row
                best = max(scanned.value(np.array(list(every))))
                assert scanned.value(around).max() == pytest.approx(best, abs=1e-6)
            some = random_neighbours(row, space, tuple(MOVES), 20, np.random.default_rng(0))
            assert {tuple(each) for each in some.tolist()} <= every

    @pytest.mark.slow
    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize(
        "options",
        [{"window": {3: (10, 30)}}, {"apart": [(1, 2), (2, 3)], "adjacent": [(4, 5), (5, 6)]}, {"symmetry": "cycle"}],
    )
    def test_large_local_search_with_compound_moves(self, options: dict[str, Any], first: bool) -> None:
        n = 60
        if "symmetry" not in options:
            options = {**options, "before": [(k, k + 7) for k in range(20, 50)]}
        space = mb.PermutationSpace(n, **options)
        rows = space.sample_rows(12, seed=1)
        values = mb.problems.get("tsp:random", n=n).evaluate_rows(rows)
        model = GP(KernelModel(mallows_kernel).similarity(space), rows, values)
        neighbourhood = acquisition.AcquisitionNeighbourhood(
            model, acquisition.LogExpectedImprovement(), float(model.y.min()), tuple(MOVES)
        )
        rng = np.random.default_rng(0) if first else None
        visited, found = acquisition.local_search(neighbourhood, rows[:2], acquisition.SearchLimits(steps=12), rng=rng)
        np.testing.assert_array_equal(space.feasible_rows(visited), visited)
        assert found[0] > neighbourhood.value(rows[:2]).max()


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"search": "relaxation"}, {"acquisition": "thompson"}, {"ascent": "first"}], ids=str)
@pytest.mark.parametrize("kind", ["before", "slots", "adjacency", "predicate", "ring", "mixed"])
def test_other_searches_stay_feasible(kind: str, settings: dict[str, Any]) -> None:
    space = SPACES[kind]
    optimizer = mb.Optimizer(space, "mergebo", initial=4, **settings)
    for _ in range(9):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(space, trial.point))
    rows = np.array([trial["row"] for trial in optimizer.state()["trials"]])
    np.testing.assert_array_equal(space.feasible_rows(rows), rows)
    assert len(np.unique(rows, axis=0)) == 9


class TestChosenItems:
    """Models of k chosen items ignore the others."""

    @pytest.mark.slow
    def test_finds_the_best(self) -> None:
        space = mb.PermutationSpace(items=list("abcdefgh"), choose=3)
        worth = dict(zip("abcdefgh", (3, 1, 4, 1, 5, 9, 2, 6), strict=True))
        for method in ("auto", "bops-h"):
            found = mb.minimize(
                lambda order: -sum(worth[item] / (k + 1) for k, item in enumerate(order)), space, budget=60, method=method
            )
            assert found.best.point == ["f", "h", "e"], method


class TestSpaces:
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

    def test_a_state_does_not_contain_the_predicate(self) -> None:
        state = json.loads(json.dumps(mb.Optimizer(SPACES["predicate"], "random").state()))
        with pytest.raises(errors.ArgumentError, match=r"use from_state\(\.\.\., where=f\)"):
            mb.Optimizer.from_state(state)
        steps = {
            "a": mb.Permutation(3, where=lambda order: order[0] != 1),
            "b": mb.Permutation(3, where=lambda order: order[0] == 1),
        }
        state = json.loads(json.dumps(mb.Optimizer(mb.Space(**steps), "random").state()))
        space = mb.Optimizer.from_state(state, where={name: each.where for name, each in steps.items()}).space
        assert space == mb.Space(**steps)
        with pytest.raises(errors.ArgumentError, match="b had a predicate"):
            mb.Optimizer.from_state(state, where={"a": steps["a"].where})

    def test_numpy_integers(self) -> None:
        one, two = np.array([1, 2])
        space = mb.PermutationSpace(5, before=np.array([[0, 1]]), fixed={one: two}, window={two: np.array([0, 3])})
        assert space == mb.PermutationSpace(5, before=[(0, 1)], fixed={1: 2}, window={2: (0, 3)})
        assert mb.Optimizer.from_state(json.loads(json.dumps(mb.Optimizer(space, "random").state()))).space == space

    def test_old_states_load(self) -> None:
        plain = mb.Optimizer(mb.PermutationSpace(items=["a", "b"]), "random").state()
        assert plain["space"] == {"n": 2, "items": ["a", "b"]}
        mixed = mb.Optimizer(mb.Space(route=mb.Permutation(4), picks=mb.Binary(2)), "random").state()
        assert mixed["space"] == {"route": ["Permutation", 4], "picks": ["Binary", 2]}

    @pytest.mark.slow
    def test_explanations(self) -> None:
        for kind, space in SPACES.items():
            optimizer = mb.Optimizer(space, "random", seed=0)
            for trial in optimizer.ask(30):
                optimizer.tell(trial, objective(space, trial.point))
            assert "results" in str(optimizer.explain()), kind
        bonds = mb.Optimizer(mb.PermutationSpace(7, symmetry="cycle"), "random", seed=0)
        for trial in bonds.ask(60):
            slot = {int(item): k for k, item in enumerate(trial.point)}
            bonds.tell(trial, float(abs(slot[2] - slot[5]) in (1, 6)))
        text = str(bonds.explain())
        assert "2 next to 5  raises the value" in text
        assert "before" not in text


@pytest.mark.slow
@settings(max_examples=10)
@given(st.integers(5, 40), st.data())
def test_searches_over_random_partial_orders_are_feasible(n: int, data: st.DataObject) -> None:
    pairs = data.draw(strategies.posets(n, high=2 * n))
    space = mb.PermutationSpace(n, before=pairs)
    for method in ("local-search", "genetic", "bops-h"):
        optimizer = mb.Optimizer(space, method, initial=4)
        for _ in range(7):
            try:
                trial = optimizer.ask()
            except errors.ExhaustedError:
                break
            optimizer.tell(trial, float(trial.point[0]))
            slot = {int(item): k for k, item in enumerate(trial.point)}
            assert all(slot[a] < slot[b] for a, b in pairs)
