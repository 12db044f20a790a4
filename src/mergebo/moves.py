"""Neighbours: every swap, insertion or reversal of an order, every flip of a choice, steps of numbers, listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints, Rows
from mergebo.errors import UnsupportedError, unknown_choice
from mergebo.permutations import insert, reverse, swap
from mergebo.spaces import AnySpace, Binary, Choice, Integer, Permutation, Real, Variable

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


def move_table(n: int, move: str, part: slice | Ints = slice(None)) -> Ints:
    """For every move, or for a part of `move_slots`, which slot each slot's item comes from.

    `order[move_table(n, move)]` are all neighbours of an order.
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
def walk(n: int, move: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """All moves of a kind as walks of exchanges: rows `(i, j, place, fresh)`, and the slots where the two items began.

    Exchange what is in slots i and j, starting anew if `fresh`: that makes the move `move_slots(n, move)[place]`, or none
    of this kind if `place` is negative.
    """
    slots = move_slots(n, move)
    place = np.full((n, n), -1, np.int32)
    place[slots[:, 0], slots[:, 1]] = np.arange(len(slots))
    a, b = np.stack(np.nonzero(np.arange(n)[:, None] != np.arange(n)))
    if move == "insertion":
        # The item of slot a goes to a + 1, a + 2 ..., and then anew to a - 1, a - 2 ...
        by_walk = np.lexsort([np.abs(a - b), a > b, a])
        a, b = a[by_walk], b[by_walk]
        i, fresh = b - np.sign(b - a), np.abs(a - b) == 1
        steps, items = np.stack([i, b, place[a, b], fresh], axis=1), np.stack([a, b], axis=1)
    elif move == "reversal":
        # Around each middle outwards.
        a, b = a[a < b], b[a < b]
        by_walk = np.lexsort([b - a, a + b])
        a, b = a[by_walk], b[by_walk]
        steps, items = np.stack([a, b, place[a, b], b - a <= 2], axis=1), np.stack([a, b], axis=1)
    else:
        # There and back.
        steps = np.repeat(np.stack([slots[:, 0], slots[:, 1], np.arange(len(slots)), 0 * slots[:, 0]], axis=1), 2, axis=0)
        steps[1::2, 2] = -1
        steps[:1, 3] = 1
        items = steps[:, :2].copy()
    steps, items = steps.astype(np.int32), items.astype(np.int32)
    steps.setflags(write=False)
    items.setflags(write=False)
    return steps, items


def feasible_moves(order: Rows, variable: Permutation, move: str) -> NDArray[np.bool_]:
    """Which moves of an order keep the variable's rules and change it, as far as can be said without a predicate."""
    slots, rules = move_slots(variable.n, move), variable.rules
    if rules is None:
        return np.ones(len(slots), bool)
    return np.asarray(rules.feasible_moves(order, move, slots) & (slots.min(axis=1) < variable.length))


FINEST = 7
"""Steps of a real number are the half, quarter, ... and 2^-FINEST of its range."""


def steps(variable: Variable, value: Rows) -> Rows:
    """What a variable that is no order is after one step, `(count, width)`.

    One flipped choice; any other option; a whole number 1, 2, 4, 8 ... further up or down; a real one by a half, a quarter,
    an eighth ... of its range, or to its end.
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
            shares = 0.5 ** np.arange(1, FINEST + 1)
            found = np.unique(variable.from_unit(variable.to_unit(value) + np.concatenate([-shares, shares])))
            return found[found != value, None]
    raise UnsupportedError(f"there are no steps of {variable}")


def random_steps(variable: Variable, value: Rows, count: int, rng: np.random.Generator) -> Rows:
    """Some of `steps`, none twice; of a real number, normal steps of all sizes, which may end anywhere."""
    match variable:
        case Binary(choices):  # of many choices only those that are flipped are written out
            which = rng.choice(choices, min(choices, count), replace=False)
            flipped = np.tile(value, (len(which), 1))
            flipped[np.arange(len(which)), which] = 1 - value[which]
            return flipped
        case Real():
            sizes = 0.5 ** rng.uniform(1, FINEST + 1, count)
            return variable.from_unit(variable.to_unit(value) + sizes * rng.normal(size=count))[:, None]
    every = steps(variable, value)
    return every[rng.choice(len(every), min(len(every), count), replace=False)]


def replaced(row: Rows, where: slice, values: Rows) -> Rows:
    """The row with one variable as in each of the values."""
    changed = np.tile(row, (len(values), 1))
    changed[:, where] = values
    return changed


def neighbourhoods(row: Rows, space: AnySpace, moves: Iterable[str]) -> Iterator[Rows]:
    """All rows that differ from `row` by a move of one order or a step of another variable: an array for each kind.

    In a space with rules these are in canonical form, and keep the rules.
    """
    for name, where in space.slices.items():
        match space.variables[name]:
            case Permutation(n):
                for move in moves:
                    yield other_rows(row, replaced(row, where, row[where][move_table(n, move)]), space)
            case variable:
                yield other_rows(row, replaced(row, where, steps(variable, row[where])), space)


def other_rows(row: Rows, changed: Rows, space: AnySpace) -> Rows:
    """Changed rows as the space has them, without those that break its rules or mean the same as `row`."""
    if not space.ruled:
        return changed
    kept = space.kept(changed)
    return np.asarray(kept[(kept != row).any(axis=1)])


def random_neighbours(row: Rows, space: AnySpace, moves: Iterable[str], count: int, rng: np.random.Generator) -> Rows:
    """About `count` different rows of those that `neighbourhoods` lists, of every kind alike; only they are written out.

    Steps of real numbers are of any size.
    """
    kinds: list[tuple[str, str]] = []  # variables, and moves of orders
    for name, variable in space.variables.items():
        kinds += [(name, move) for move in moves] if isinstance(variable, Permutation) else [(name, "step")]
    found = [np.empty((0, len(row)), row.dtype)]
    for name, move in kinds:
        where, variable, some = space.slices[name], space.variables[name], -(-count // len(kinds))
        if isinstance(variable, Permutation):
            which = _random_moves(row[where], variable, move, some, rng)
            values = row[where][move_table(variable.n, move, which)]
        else:
            values = random_steps(variable, row[where], some, rng)
        found.append(replaced(row, where, values))
    return other_rows(row, np.concatenate(found), space)


def _random_moves(order: Rows, variable: Permutation, move: str, count: int, rng: np.random.Generator) -> Ints:
    """Which of the moves of an order: some that keep its rules, none twice."""
    if not variable.ruled:
        every = len(move_slots(variable.n, move))
        return rng.choice(every, min(every, count), replace=False) if every else np.empty(0, np.int64)
    kept = np.flatnonzero(feasible_moves(order.astype(np.int64), variable, move))
    return rng.choice(kept, min(len(kept), count), replace=False) if len(kept) else np.empty(0, np.int64)
