"""Constraints on orders: precedence, slots and adjacency of items.

A `ConstraintSet` checks orders and moves, and repairs and samples orders.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from mergebo._typing import Bools, Ints
from mergebo.compiled import constraints as compiled
from mergebo.compiled.random_walk import random_walk
from mergebo.errors import ConstraintError
from mergebo.spaces.conflicts import describe_conflict, feasible_order

__all__: list[str] = []

Kind: TypeAlias = Literal["before", "slots", "adjacent", "apart"]

MOVE_CODES = {"swap": compiled.SWAP, "insertion": compiled.INSERTION, "reversal": compiled.REVERSAL}

MAX_CHAINS = 64
"""Number of random walks per sample; a larger sample takes several orders from each."""


@dataclass(frozen=True)
class Constraint:
    """One constraint: pairs of items in this order, adjacent or not adjacent, or the slots allowed for items."""

    kind: Kind
    names: tuple[str, ...]
    """The items as the user names them."""
    pairs: tuple[tuple[int, int], ...] = ()
    items: tuple[int, ...] = ()
    slots: tuple[int, int] = (0, 0)
    """The first and the last slot."""

    def __str__(self) -> str:
        first, last = self.slots
        match self.kind:
            case "before":
                return " before ".join(self.names)
            case "adjacent":
                return " next to ".join(self.names)
            case "apart":
                return " not next to ".join(self.names)
        return f"{self.names[0]} in slot {first}" if first == last else f"{self.names[0]} in slots {first} to {last}"


@dataclass(frozen=True)
class ConstraintSet:
    """The constraints on orders of n items of which the first `length` are chosen.

    "Before" and "apart" apply if both items are chosen; slots and "adjacent" imply that their items are chosen. Precedence
    is transitive, even through items that are not chosen.
    """

    n: int
    length: int
    constraints: tuple[Constraint, ...]
    cyclic: bool = False
    """Whether the last item is adjacent to the first."""

    @cached_property
    def tables(self) -> compiled.Tables:
        """The constraints as arrays."""
        n = self.n
        precedes, must_adjacent, not_adjacent = (np.zeros((n, n), bool) for _ in range(3))
        matrices: dict[Kind, Bools] = {"before": precedes, "adjacent": must_adjacent, "apart": not_adjacent}
        for kind, matrix in matrices.items():
            pairs = self.pairs(kind)
            matrix[pairs[:, 0], pairs[:, 1]] = True
        direct = np.argwhere(precedes)
        for item in range(n):
            precedes |= precedes[:, item, None] & precedes[item]
        low, high = np.zeros(n, np.int64), np.full(n, n - 1)
        for each in self.constraints:
            for item in each.items:
                low[item], high[item] = max(low[item], each.slots[0]), min(high[item], each.slots[1])
        return compiled.Tables(
            self.length,
            precedes,
            np.ascontiguousarray(direct if self.length == n else np.argwhere(precedes)),
            np.argsort(precedes.sum(axis=0), kind="stable"),
            low,
            high,
            must_adjacent | must_adjacent.T,
            self.pairs("adjacent"),
            not_adjacent | not_adjacent.T,
            self.cyclic,
            len(direct) > 0,
            any(each.kind == "slots" for each in self.constraints),
            bool(must_adjacent.any() or not_adjacent.any()),
        )

    def pairs(self, kind: Kind) -> Ints:
        """The pairs of all constraints of a kind, `(count, 2)`."""
        found = [pair for each in self.constraints if each.kind == kind for pair in each.pairs]
        return np.array(found, np.int64).reshape(-1, 2)

    # ------------------------------------------------------------------------------------------------------- checking

    def satisfied(self, rows: Ints) -> Bools:
        """Which of the orders satisfy all constraints."""
        out = np.empty(len(rows), np.bool_)
        compiled.satisfied(np.ascontiguousarray(rows, np.int64), self.tables, out)
        return out

    def violated(self, row: Ints) -> list[Constraint]:
        """The constraints that an order violates."""
        single = (replace(self, constraints=(each,)) for each in self.constraints)
        return [each.constraints[0] for each in single if not each.satisfied(row[None])[0]]

    def feasible_moves(self, order: Ints, move: str, slots: Ints) -> Bools:
        """Which moves of a feasible order lead to feasible ones; `slots` are rows of `move_slots`."""
        out = np.ones(len(slots), np.bool_)
        if self.constraints:
            compiled.feasible_moves(np.ascontiguousarray(order, np.int64), slots, MOVE_CODES[move], self.tables, out)
        return out

    # --------------------------------------------------------------------------------------------------- constructing

    @cached_property
    def _blocks(self) -> tuple[Ints, Ints, Ints] | None:
        """Blocks of items that must be adjacent: the start of each block, all items by block, and each item's block.

        None if an item needs more than two neighbours, or adjacent items form a cycle.
        """
        must_adjacent = self.tables.must_adjacent
        degree = must_adjacent.sum(axis=0)
        one_cycle = self.cyclic and bool((degree == 2).all())  # a cycle of all items is possible
        remaining, blocks = set(range(self.n)), list[list[int]]()
        while remaining:
            ends = [item for item in sorted(remaining) if degree[item] < 2]
            if not ends and not (one_cycle and len(remaining) == self.n):
                return None
            block = [ends[0] if ends else 0]
            remaining.discard(block[0])
            while nexts := [item for item in np.flatnonzero(must_adjacent[block[-1]]).tolist() if item in remaining]:
                block.append(nexts[0])
                remaining.discard(nexts[0])
            blocks.append(block)
        if (degree > 2).any():
            return None
        starts, members, which = np.cumsum([0, *map(len, blocks)]), np.concatenate(blocks), np.empty(self.n, np.int64)
        which[members] = np.repeat(np.arange(len(blocks)), np.diff(starts))
        return starts, members, which

    def repair(self, target: Ints) -> Ints | None:
        """A feasible order as near to the target as the constraints allow; None if none was found.

        Without adjacency constraints and with all items chosen, it is found if there is one.
        """
        if self._blocks is None:
            return None
        target, active = np.ascontiguousarray(target, np.int64), np.ones(self.n, np.bool_)
        if self.length < self.n:
            required = (self.tables.high < self.length) | self.tables.must_adjacent.any(axis=0)
            others = target[~required[target]]
            if required.sum() > self.length:
                return None
            active[others[self.length - required.sum() :]] = False
        out = np.empty(self.n, np.int64)
        if compiled.repair(target, active, *self._blocks, self.tables, out) and self.satisfied(out[None])[0]:
            return out
        return None

    @cached_property
    def example(self) -> Ints:
        """One feasible order; raises an error that names the conflicting constraints if there is none."""
        found = feasible_order(self)
        if found is None:
            raise ConstraintError(describe_conflict(self))
        return found

    # ------------------------------------------------------------------------------------------------------- sampling

    def sample(self, count: int, rng: np.random.Generator) -> Ints:
        """Random feasible orders, approximately uniform: the ends of random walks from random starts."""
        if not self.constraints:
            return rng.permuted(np.tile(np.arange(self.n), (count, 1)), axis=1)
        steps = 400 + 2 * self.n**2
        out = np.empty((count, self.n), np.int64)
        for k in range(count):
            if k < MAX_CHAINS:
                out[k] = self._start(rng)
                out[k] = self.random_walk(out[k], steps, rng)
            else:
                out[k] = self.random_walk(out[k - MAX_CHAINS], steps // 8, rng)
        return out

    def _start(self, rng: np.random.Generator) -> Ints:
        for _ in range(5):
            found = self.repair(rng.permutation(self.n))
            if found is not None:
                return found
        return self.example

    def random_walk(self, order: Ints, steps: int, rng: np.random.Generator) -> Ints:
        """The end of a random walk of this many steps over feasible orders."""
        out = np.array(order, np.int64)
        random_walk(out, steps, rng.integers(2**64, dtype=np.uint64), self.tables)
        return out
