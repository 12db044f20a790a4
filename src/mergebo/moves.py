"""Neighbours: every swap, insertion or reversal of an order, every flip of a choice, listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np

from mergebo.errors import unknown_choice
from mergebo.permutations import Ints, insert, reverse, swap
from mergebo.spaces import AnySpace, Binary, Permutation, Rows

MOVES = {"swap": swap, "insertion": insert, "reversal": reverse}
"""Each move by name, as a function of an order and two slots."""


@lru_cache(maxsize=32)
def move_slots(n: int, move: str) -> Ints:
    """The two slots of every move, `(moves, 2)`; what would be a move of another kind is left out.

    Swaps of slots a < b; insertions of slot a's item at slot b, not next door (a swap); reversals of a..b, three or
    more slots.
    """
    if move not in MOVES:
        raise unknown_choice("move", move, MOVES)
    slot = np.arange(n)
    if move == "insertion":
        slots = np.argwhere(np.abs(slot[:, None] - slot[None]) > 1)
    else:
        slots = np.stack(np.triu_indices(n, 1 if move == "swap" else 2), axis=1)
    slots.setflags(write=False)
    return slots


@lru_cache(maxsize=8)
def move_table(n: int, move: str) -> Ints:
    """For every move, which slot each slot's item comes from: `order[move_table(n, move)]` are all its neighbours."""
    a, b = move_slots(n, move).T[:, :, None]
    slot = np.arange(n)
    if move == "swap":
        table = np.where(slot == a, b, np.where(slot == b, a, slot))
    elif move == "reversal":
        table = np.where((slot >= a) & (slot <= b), a + b - slot, slot)
    else:
        right = np.where((slot >= a) & (slot < b), slot + 1, slot)
        left = np.where((slot <= a) & (slot > b), slot - 1, slot)
        table = np.where(slot == b, a, np.where(a < b, right, left))
    table.setflags(write=False)
    return table


def neighbourhoods(row: Rows, space: AnySpace, moves: Iterable[str]) -> Iterator[Rows]:
    """All rows that differ from `row` by one move of one order, or by one flipped choice: an array for each kind of move."""
    for name, where in space.slices.items():
        match space.variables[name]:
            case Permutation(n):
                blocks = (row[where][move_table(n, move)] for move in moves)
            case Binary(count):
                blocks = (block for block in [row[where] ^ np.eye(count, dtype=row.dtype)])
            case _:
                continue
        for block in blocks:
            changed = np.tile(row, (len(block), 1))
            changed[:, where] = block
            yield changed
