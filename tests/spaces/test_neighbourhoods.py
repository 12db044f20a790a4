"""Neighbourhoods of the rows of a space: moves of orders and steps of other variables."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo import acquisition
from mergebo.neighbours import MOVES, move_slots, move_table
from mergebo.spaces import Space
from mergebo.testing import strategies as our


def test_neighbours_of_mixed_points() -> None:
    space = mb.Space(route=mb.Permutation(4), picks=mb.Binary(3))
    row = space.sample_rows(seed=0)
    around = acquisition.neighbours(row, space)
    assert len(around) == 6 + 3
    assert len({tuple(r) for r in around}) == 9
    space.encode([space.decode(r) for r in around])
    assert ((around != row).sum(axis=1) == [2] * 6 + [1] * 3).all()


@pytest.mark.parametrize("moves", [(), ("swap",), ("swap", "insertion", "reversal")])
def test_random_neighbours_are_neighbours(moves: tuple[str, ...]) -> None:
    """Each at most once; all of them if at least as many are requested."""
    space = mb.Space(route=mb.Permutation(5), picks=mb.Binary(3))
    row = space.sample_rows(seed=0)
    every = {tuple(each) for each in acquisition.neighbours(row, space, moves)}
    sampled = space.random_neighbours(row, moves, 1000, np.random.default_rng(0))
    assert len(sampled) == sum(len(each) for each in space.neighbourhoods(row, moves))
    assert {tuple(each) for each in sampled} == every
    few = space.random_neighbours(row, moves, 3, np.random.default_rng(1))
    assert 3 <= len(few) <= 3 + len(moves)
    assert {tuple(each) for each in few} <= every
    single = mb.PermutationSpace(1)
    assert single.random_neighbours(np.array([0]), moves, 5, np.random.default_rng(0)).shape == (0, 1)


@given(space=our.spaces(), seed=st.integers(0, 99))
def test_neighbours_are_other_points_of_the_space(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = space.sample_rows(seed=rng)
    for around in [*space.neighbourhoods(row, tuple(MOVES)), space.random_neighbours(row, tuple(MOVES), 9, rng)]:
        assert around.dtype == row.dtype
        assert around.shape[1:] == row.shape
        if len(around):
            np.testing.assert_array_equal(space.encode([space.decode(each) for each in around]), around)
    for name, where in space.slices.items():
        if not isinstance(space.variables[name], mb.Permutation):
            found = space.variables[name].neighbours(row[where])
            assert (found != row[where]).any(axis=1).all()
            assert len(np.unique(found, axis=0)) == len(found) > 0


def test_steps_by_example() -> None:
    assert mb.Integer(-3, 20).neighbours(np.array([2])).ravel().tolist() == [-2, 0, 1, 3, 4, 6, 10, 18]
    assert mb.Choice(["a", "b", "c"]).neighbours(np.array([1.0])).tolist() == [[0.0], [2.0]]
    assert mb.Binary(2).neighbours(np.array([1.0, 0.0])).tolist() == [[0, 0], [1, 1]]
    found = mb.Real(1, 16, log=True).neighbours(np.array([4.0])).ravel()
    assert found[[0, -1]].tolist() == [1, 16]
    assert {2.0, 8.0} <= set(found.round(9))
    at_the_end = mb.Real(0, 8).neighbours(np.array([8.0])).ravel()
    assert at_the_end.max() < 8
    assert {4.0, 6.0, 7.0} <= set(at_the_end)


def test_random_steps_of_a_real_number_are_of_all_sizes() -> None:
    space = mb.Space(heat=mb.Real(0, 1))
    found = space.random_neighbours(np.array([0.5]), (), 4000, np.random.default_rng(0)).ravel()
    sizes = np.abs(found - 0.5)
    for low, high in pairwise((0, 0.01, 0.05, 0.25, 0.51)):
        assert 0.03 < ((sizes >= low) & (sizes < high)).mean() < 0.6


@given(st.data())
def test_feasible_moves_are_those_whose_result_is_feasible(data: st.DataObject) -> None:
    """The mask agrees with checking each neighbour."""
    n = data.draw(st.integers(2, 14))
    cyclic = data.draw(st.booleans())
    constraints = data.draw(our.constraint_sets(n, cyclic=cyclic))
    options: dict[str, Any] = {}
    if cyclic:
        constraints = {name: value for name, value in constraints.items() if name in ("adjacent", "apart")}
        options = {"symmetry": "cycle"}
    order = mb.Permutation(n, **constraints, **options)
    if order.constraints is None:
        return
    for row in order.sample((3,), np.random.default_rng(data.draw(st.integers(0, 99)))):
        for move in MOVES:
            around = row[move_table(n, move)]
            assert order.feasible_moves(row, move).tolist() == order.constraints.satisfied(around).tolist()


@given(st.data())
def test_feasible_moves_of_chosen_items(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 9))
    choose = data.draw(st.integers(1, n - 1))
    order = mb.Permutation(n, before=data.draw(our.posets(n)), apart=[(0, 1)], choose=choose)
    assert order.constraints is not None
    for row in order.sample((3,), np.random.default_rng(0)):
        for move in MOVES:
            around, near = row[move_table(n, move)], move_slots(n, move).min(axis=1) < choose
            assert order.feasible_moves(row, move).tolist() == (order.constraints.satisfied(around) & near).tolist()
