"""The moves of an order: all its swaps, insertions and reversals."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints
from mergebo.errors import unknown_choice
from mergebo.permutations import insert, reverse, swap

__all__ = ["MOVES", "exchange_sequence", "move_slots", "move_table"]

MOVES = {"swap": swap, "insertion": insert, "reversal": reverse}
"""Each move by name, as a function of an order and two slots."""


@lru_cache(maxsize=32)
def move_slots(n: int, move: str) -> Ints:
    """The two slots of every move, `(moves, 2)`; moves that equal one of another kind are left out.

    Swaps of slots a < b; insertions of slot a's item at slot b, except next to it (a swap); reversals of a..b, three or
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


def move_table(n: int, move: str, part: slice | Ints = slice(None)) -> Ints:
    """For every move, or those in `part`, the source slot of the item in each slot.

    `order[move_table(n, move)]` is the whole neighbourhood of an order.
    """
    a, b = move_slots(n, move)[part].T[:, :, None]
    slot = np.arange(n)
    if move == "swap":
        return np.where(slot == a, b, np.where(slot == b, a, slot))
    if move == "reversal":
        return np.where((slot >= a) & (slot <= b), a + b - slot, slot)
    right = np.where((slot >= a) & (slot < b), slot + 1, slot)
    left = np.where((slot <= a) & (slot > b), slot - 1, slot)
    return np.where(slot == b, a, np.where(a < b, right, left))


@lru_cache(maxsize=8)
def exchange_sequence(n: int, move: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """All moves of a kind as sequences of exchanges: rows `(i, j, index, restart)`, and the two items' initial slots.

    Exchange the items in slots i and j, after going back to the initial order if `restart`: the result is the move
    `move_slots(n, move)[index]`, or not a move of this kind if `index` is negative.
    """
    slots = move_slots(n, move)
    index = np.full((n, n), -1, np.int32)
    index[slots[:, 0], slots[:, 1]] = np.arange(len(slots))
    a, b = np.stack(np.nonzero(np.arange(n)[:, None] != np.arange(n)))
    if move == "insertion":
        # The item of slot a goes to a + 1, a + 2 ..., then from a again to a - 1, a - 2 ...
        by_sequence = np.lexsort([np.abs(a - b), a > b, a])
        a, b = a[by_sequence], b[by_sequence]
        i, restart = b - np.sign(b - a), np.abs(a - b) == 1
        steps, items = np.stack([i, b, index[a, b], restart], axis=1), np.stack([a, b], axis=1)
    elif move == "reversal":
        # From each centre outwards.
        a, b = a[a < b], b[a < b]
        by_sequence = np.lexsort([b - a, a + b])
        a, b = a[by_sequence], b[by_sequence]
        steps, items = np.stack([a, b, index[a, b], b - a <= 2], axis=1), np.stack([a, b], axis=1)
    else:
        # Swap and swap back.
        steps = np.repeat(np.stack([slots[:, 0], slots[:, 1], np.arange(len(slots)), 0 * slots[:, 0]], axis=1), 2, axis=0)
        steps[1::2, 2] = -1
        steps[:1, 3] = 1
        items = steps[:, :2].copy()
    steps, items = steps.astype(np.int32), items.astype(np.int32)
    steps.setflags(write=False)
    items.setflags(write=False)
    return steps, items
