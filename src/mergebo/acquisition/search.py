"""Searching for the row with the largest acquisition value: ascent through whole neighbourhoods, many starts at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mergebo.acquisition.values import Floats
from mergebo.errors import unknown_choice
from mergebo.permutations import Ints
from mergebo.spaces import AnySpace, Binary, Permutation, Rows

MOVES = ("swap", "insertion", "reversal")


@lru_cache(maxsize=32)
def move_table(n: int, move: str) -> Ints:
    """For every move, which slot each slot's item comes from: `order[move_table(n, move)]` are all neighbours of an order.

    Swaps of two slots; insertions of slot a's item at slot b; reversals of three or more slots (two would be a swap).
    """
    if move not in MOVES:
        raise unknown_choice("move", move, MOVES)
    slot = np.arange(n)
    if move == "insertion":
        a, b = np.nonzero(np.abs(slot[:, None] - slot[None]) > 1)  # next-door insertions are swaps
        a, b = a[:, None], b[:, None]
        right = np.where((slot >= a) & (slot < b), slot + 1, slot)
        left = np.where((slot <= a) & (slot > b), slot - 1, slot)
        table = np.where(slot == b, a, np.where(a < b, right, left))
    else:
        a, b = np.triu_indices(n, 1 if move == "swap" else 2)
        a, b = a[:, None], b[:, None]
        if move == "swap":
            table = np.where(slot == a, b, np.where(slot == b, a, slot))
        else:
            table = np.where((slot >= a) & (slot <= b), a + b - slot, slot)
    table.setflags(write=False)
    return table


def neighbours(row: Rows, space: AnySpace, moves: tuple[str, ...] = ("swap",)) -> Rows:
    """All rows that differ from `row` by one move of one order, or by one flipped choice."""
    out = []
    for name, where in space.slices.items():
        match space.variables[name]:
            case Permutation(n):
                blocks = [row[where][move_table(n, move)] for move in moves]
            case Binary(count):
                blocks = [row[where] ^ np.eye(count, dtype=row.dtype)]
            case _:
                continue
        for block in blocks:
            changed = np.tile(row, (len(block), 1))
            changed[:, where] = block
            out.append(changed)
    return np.concatenate(out) if out else np.empty((0, len(row)), row.dtype)


def ascend(
    value: Callable[[Rows], Floats],
    starts: Rows,
    space: AnySpace,
    *,
    moves: tuple[str, ...] = ("swap",),
    steps: int = 100,
    forbidden: Callable[[Rows], NDArray[np.bool_]] | None = None,
) -> tuple[Rows, Floats]:
    """Steepest ascent from every start: the end points and their values, best first.

    Each step evaluates the whole neighbourhoods of all starts that still move, in one call. `forbidden` rows (already
    tried) may be passed through but not returned, unless nothing else was met.
    """
    here = starts.copy()
    here_value = value(here)
    met: list[tuple[Rows, Floats]] = [(here.copy(), here_value.copy())]
    moving = np.arange(len(here))
    for _ in range(steps):
        around = [neighbours(here[k], space, moves) for k in moving]
        if not around or not len(around[0]):
            break
        every = np.concatenate(around)
        values = value(every)
        size = len(around[0])
        best = values.reshape(len(moving), size).argmax(axis=1) + size * np.arange(len(moving))
        met.append((every[best], values[best]))
        better = values[best] > here_value[moving]
        here[moving[better]] = every[best[better]]
        here_value[moving[better]] = values[best[better]]
        moving = moving[better]
        if not len(moving):
            break
    rows, values = (np.concatenate(parts) for parts in zip(*met, strict=True))
    if forbidden is not None:
        allowed = ~forbidden(rows)
        if allowed.any():
            rows, values = rows[allowed], values[allowed]
    order = np.argsort(-values, kind="stable")
    return rows[order], values[order]
