"""Neighbourhoods: all swaps, insertions and reversals of an order, flips of binary variables, steps of other variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints, Rows
from mergebo.errors import UnsupportedError, unknown_choice
from mergebo.permutations import insert, reverse, swap
from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, SearchSpace, Variable

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


def feasible_moves(order: Rows, variable: Permutation, move: str) -> NDArray[np.bool_]:
    """Which moves of an order are feasible and change it; predicates are not evaluated."""
    slots, constraints = move_slots(variable.n, move), variable.constraints
    if constraints is None:
        return np.ones(len(slots), bool)
    return np.asarray(constraints.feasible_moves(order, move, slots) & (slots.min(axis=1) < variable.length))


FINEST_STEP = 7
"""Steps of a real number are 1/2, 1/4, ... 2^-FINEST_STEP of its range."""


def steps(variable: Variable, value: Rows) -> Rows:
    """The values one step away from `value`, for any variable but a permutation, `(count, width)`.

    One flipped bit; any other option; an integer plus or minus 1, 2, 4, 8 ...; a real number plus or minus a half, a
    quarter, an eighth ... of its range, or at its end.
    """
    match variable:
        case Binary(count):
            return np.where(np.eye(count, dtype=bool), 1 - value, value)
        case Choice(options):
            return np.delete(np.arange(len(options)), int(value[0]))[:, None].astype(value.dtype)
        case Integer(low, high):
            sizes = 2 ** np.arange(int(high - low).bit_length())
            around = int(value[0]) + np.concatenate([-sizes[::-1], sizes])
            return around[(around >= low) & (around <= high), None].astype(value.dtype)
        case Real():
            fractions = 0.5 ** np.arange(1, FINEST_STEP + 1)
            found = np.unique(variable.from_unit(variable.to_unit(value) + np.concatenate([-fractions, fractions])))
            return found[found != value, None]
    raise UnsupportedError(f"steps are not defined for {variable}")


def random_steps(variable: Variable, value: Rows, count: int, rng: np.random.Generator) -> Rows:
    """A random subset of `steps`; for a real number, normal steps of all sizes to any value."""
    match variable:
        case Binary(choices):  # if there are many bits, only the sampled flips are written out
            which = rng.choice(choices, min(choices, count), replace=False)
            flipped = np.tile(value, (len(which), 1))
            flipped[np.arange(len(which)), which] = 1 - value[which]
            return flipped
        case Real():
            sizes = 0.5 ** rng.uniform(1, FINEST_STEP + 1, count)
            return variable.from_unit(variable.to_unit(value) + sizes * rng.normal(size=count))[:, None]
    every = steps(variable, value)
    return every[rng.choice(len(every), min(len(every), count), replace=False)]


def replaced(row: Rows, where: slice, values: Rows) -> Rows:
    """Copies of the row, with one variable set to each of the values."""
    changed = np.tile(row, (len(values), 1))
    changed[:, where] = values
    return changed


def neighbourhoods(row: Rows, space: SearchSpace, moves: Iterable[str]) -> Iterator[Rows]:
    """All rows that differ from `row` by a move of one order or a step of another variable: an array for each kind.

    In a constrained space they are feasible and in canonical form.
    """
    for name, where in space.slices.items():
        match space.variables[name]:
            case Permutation(n):
                for move in moves:
                    yield other_rows(row, replaced(row, where, row[where][move_table(n, move)]), space)
            case variable:
                yield other_rows(row, replaced(row, where, steps(variable, row[where])), space)


def other_rows(row: Rows, changed: Rows, space: SearchSpace) -> Rows:
    """The feasible ones of the changed rows, in canonical form and without those equivalent to `row`."""
    if not space.is_constrained:
        return changed
    feasible = space.feasible_rows(changed)
    return np.asarray(feasible[(feasible != row).any(axis=1)])


def random_neighbours(row: Rows, space: SearchSpace, moves: Iterable[str], count: int, rng: np.random.Generator) -> Rows:
    """About `count` different rows of those in `neighbourhoods`, equally many of each kind, without listing the others.

    Steps of real numbers are of any size.
    """
    kinds: list[tuple[str, str]] = []  # variables, and moves of orders
    for name, variable in space.variables.items():
        kinds += [(name, move) for move in moves] if isinstance(variable, Permutation) else [(name, "step")]
    found = [np.empty((0, len(row)), row.dtype)]
    for name, move in kinds:
        where, variable, per_kind = space.slices[name], space.variables[name], -(-count // len(kinds))
        if isinstance(variable, Permutation):
            which = _random_moves(row[where], variable, move, per_kind, rng)
            values = row[where][move_table(variable.n, move, which)]
        else:
            values = random_steps(variable, row[where], per_kind, rng)
        found.append(replaced(row, where, values))
    return other_rows(row, np.concatenate(found), space)


def _random_moves(order: Rows, variable: Permutation, move: str, count: int, rng: np.random.Generator) -> Ints:
    """Indices of random feasible moves of an order, without repeats."""
    if not variable.is_constrained:
        total = len(move_slots(variable.n, move))
        return rng.choice(total, min(total, count), replace=False) if total else np.empty(0, np.int64)
    feasible = np.flatnonzero(feasible_moves(order.astype(np.int64), variable, move))
    return rng.choice(feasible, min(len(feasible), count), replace=False) if len(feasible) else np.empty(0, np.int64)
