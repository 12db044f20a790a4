"""Neighbours of an order: every swap, insertion or reversal, listed."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mergebo.errors import unknown_choice
from mergebo.permutations import Ints, insert, reverse, swap

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
