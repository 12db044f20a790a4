"""The moves of an order, and the sequences of exchanges that visit them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebo import errors
from mergebo import permutations as pm
from mergebo.neighbours import MOVES, exchange_sequence, move_slots, move_table
from mergebo.testing import strategies as our


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_move_tables_are_the_moves(n: int) -> None:
    order = pm.sample(n, seed=n)
    around = {move: {tuple(order[row]) for row in move_table(n, move)} for move in MOVES}
    pairs = list(itertools.combinations(range(n), 2))
    assert around["swap"] == {tuple(pm.swap(order, i, j)) for i, j in pairs}
    assert len(move_table(n, "swap")) == len(pairs)
    insertions = {tuple(pm.insert(order, i, j)) for i, j in itertools.permutations(range(n), 2) if abs(i - j) > 1}
    assert around["insertion"] == insertions
    assert around["reversal"] == {tuple(pm.reverse(order, i, j)) for i, j in pairs if j - i > 1}
    with pytest.raises(errors.ArgumentError, match="did you mean 'swap'"):
        move_table(n, "swaps")


@pytest.mark.parametrize("move", MOVES)
@given(data=st.data())
def test_exchange_sequences_visit_all_moves(move: str, data: st.DataObject) -> None:
    n = data.draw(our.sizes(1, 12))
    centre = data.draw(our.permutations(n))
    slots, visited = move_slots(n, move), set()
    current = centre.copy()
    for (i, j, index, restart), items in zip(*exchange_sequence(n, move), strict=True):
        if restart:
            current = centre.copy()
        assert {current[i], current[j]} == set(centre[items])
        current[[i, j]] = current[[j, i]]
        if index >= 0:
            visited.add(int(index))
            np.testing.assert_array_equal(current, MOVES[move](centre, *slots[index].tolist()))
    assert visited == set(range(len(slots)))
