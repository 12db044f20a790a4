"""Compound moves: several disjoint moves of a long order, made at once, so that a search takes far fewer steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Rows
from mergebo.spaces import SearchSpace

__all__: list[str] = []

COMPOUND_MOVE_SIZE = 51
"""Width of a row from which on several moves are made at a time."""


def best_first(values: Floats, count: int) -> NDArray[np.int64]:
    """Indices of the `count` largest values, largest first, equal ones in ascending order."""
    least = np.partition(values, -count)[-count] if count < len(values) else -np.inf
    among = np.flatnonzero((values >= least) & (values > -np.inf))
    return among[np.argsort(-values[among], kind="stable")][:count]


def changed_slots(move: str, a: int, b: int) -> int:
    """The slots that a move may change, as bits."""
    return 1 << a | 1 << b if move == "swap" else (2 << max(a, b)) - (1 << min(a, b))


def entry_bits(entries: NDArray[np.bool_]) -> int:
    """The entries that are true, as bits."""
    return int.from_bytes(np.packbits(entries, bitorder="little").tobytes(), "little")


def compound_moves(row: Rows, changes: Iterable[tuple[int, Callable[[], Rows]]], space: SearchSpace) -> list[Rows]:
    """Compound moves of a row: the first two, four, eight ... disjoint changes, made at once.

    A change is a bit mask of the entries that it uses, to find overlaps fast (most changes overlap), and the changed row,
    computed only if the change is made. Changes that are feasible one by one need not be so together; a change that makes
    the row infeasible is left out.
    """
    made, out = row.copy(), []
    used = count = 0
    for entries, changed in changes:
        if used & entries:
            continue
        single = changed()
        together = np.where(single != row, single, made)
        if space.is_constrained and not len(space.feasible_rows(together[None], check_predicate=False)):
            continue
        made = together
        used |= entries
        count += 1
        if count > 1 and count & (count - 1) == 0:
            out.append(made)
    return out
