"""Constraints on orders: precedence, slots and adjacency of items.

A `ConstraintSet` checks orders and moves, repairs and samples orders, and explains why constraints are infeasible.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from mergebo._typing import Bools, Ints
from mergebo.compiled import constraints as compiled
from mergebo.compiled.random_walk import random_walk
from mergebo.errors import ConstraintError, SearchLimitError

Kind: TypeAlias = Literal["before", "slots", "adjacent", "apart"]

MOVE_CODES = {"swap": compiled.SWAP, "insertion": compiled.INSERTION, "reversal": compiled.REVERSAL}

MAX_ATTEMPTS = 200
"""Number of random constructions before an exact search decides whether the constraints are feasible."""
SEARCH_SECONDS = 20.0
"""Time limit of an exact search."""
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
        for matrix, kind in ((precedes, "before"), (must_adjacent, "adjacent"), (not_adjacent, "apart")):
            pairs = self._pairs(kind)
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
            self._pairs("adjacent"),
            not_adjacent | not_adjacent.T,
            self.cyclic,
            len(direct) > 0,
            any(each.kind == "slots" for each in self.constraints),
            bool(must_adjacent.any() or not_adjacent.any()),
        )

    def _pairs(self, kind: Kind | str) -> Ints:
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
        found = self._decide(SEARCH_SECONDS)
        if found is None:
            raise ConstraintError(self._conflict())
        return found

    def _decide(self, seconds: float) -> Ints | None:
        """A feasible order, or None if there is none; raises an error if the search was not conclusive."""
        if not self.constraints:
            return np.arange(self.n)
        if _cycle(self._pairs("before").tolist()):
            return None
        exact = self.length == self.n and not self.tables.has_adjacency
        rng = np.random.default_rng(0)
        for _ in range(1 if exact else MAX_ATTEMPTS):
            found = self.repair(rng.permutation(self.n))
            if found is not None:
                return found
        return None if exact else _exact(self, seconds)

    def _conflict(self) -> str:
        """A message with a conflicting subset of the constraints, as small as possible."""
        what = f"{self.n} items" if self.length == self.n else f"{self.length} of {self.n} items"
        cycle = _cycle(self._pairs("before").tolist())
        if cycle:
            names = {pair: each.names for each in self.constraints if each.kind == "before" for pair in each.pairs}
            shown = [names[cycle[k], cycle[k + 1]][0] for k in range(len(cycle) - 1)]
            return f"no order satisfies these constraints, which form a cycle: {' before '.join([*shown, shown[0]])}"
        deadline = time.monotonic() + SEARCH_SECONDS
        conflict = [each for each in self.constraints if each.kind in ("before", "slots")]
        if not replace(self, constraints=tuple(conflict))._infeasible(1.0):
            conflict = list(self.constraints)
        for constraint in list(conflict):
            rest = [each for each in conflict if each is not constraint]
            if time.monotonic() < deadline and replace(self, constraints=tuple(rest))._infeasible(1.0):
                conflict = rest
        return f"no order of {what} satisfies all of these constraints: {'; '.join(map(str, conflict))}"

    def _infeasible(self, seconds: float) -> bool:
        """Whether the constraints are proved to be infeasible."""
        try:
            return self._decide(seconds) is None
        except SearchLimitError:
            return False

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


def _cycle(pairs: Iterable[Sequence[int]]) -> list[int]:
    """A cycle in a directed graph given by its edges, with the first item repeated at the end; empty if there is none."""
    successors: dict[int, list[int]] = {}
    for a, b in pairs:
        successors.setdefault(a, []).append(b)
    done: set[int] = set()
    for start in successors:
        path: list[int] = []
        pending: list[Iterator[int]] = []
        if start not in done:
            path, pending = [start], [iter(successors[start])]
        while path:
            step = next(pending[-1], None)
            if step is None:
                done.add(path.pop())
                pending.pop()
            elif step in path:
                return [*path[path.index(step) :], step]
            elif step not in done:
                path.append(step)
                pending.append(iter(successors.get(step, ())))
    return []


def _exact(constraints: ConstraintSet, seconds: float) -> Ints | None:
    """A feasible order, or None if there is none, by integer programming (HiGHS)."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    n, length, t = constraints.n, constraints.length, constraints.tables
    entries: list[tuple[int, int, float]] = []  # of the constraint matrix
    lower: list[float] = []
    upper: list[float] = []

    def constrain(terms: Iterable[tuple[int, int, float]], low: float, high: float) -> None:
        """Add `low <= sum of factor * (item is in slot) <= high`; terms are (item, slot, factor)."""
        entries.extend((len(lower), item * length + slot, factor) for item, slot, factor in terms)
        lower.append(low)
        upper.append(high)

    slots = range(length)
    required = (t.high < length) | t.must_adjacent.any(axis=0)
    for slot in slots:
        constrain(((item, slot, 1.0) for item in range(n)), 1, 1)
    for item in range(n):
        constrain(((item, slot, 1.0) for slot in slots), float(length == n or required[item]), 1)
    for a, b in t.precedence_pairs.tolist():
        if length == n:
            constrain([(b, s, float(s)) for s in slots] + [(a, s, -float(s)) for s in slots], 1, np.inf)
        else:
            for slot in slots:
                constrain([(b, slot, 1.0), *((a, s, 1.0) for s in range(slot + 1, length))], -np.inf, 1)

    def adjacent_slots(slot: int) -> set[int]:
        around = {slot - 1, slot + 1} if not constraints.cyclic else {(slot - 1) % length, (slot + 1) % length}
        return {each for each in around if 0 <= each < length and each != slot}

    for a, b in t.must_adjacent_pairs.tolist():
        for slot in slots:
            constrain([(a, slot, -1.0), *((b, s, 1.0) for s in adjacent_slots(slot))], 0, np.inf)
    for a, b in np.argwhere(np.triu(t.not_adjacent)).tolist():
        for slot in slots:
            constrain([(a, slot, 1.0), *((b, s, 1.0) for s in adjacent_slots(slot))], -np.inf, 1)
    allowed = (np.arange(length) >= t.low[:, None]) & (np.arange(length) <= t.high[:, None])
    row, column, factor = zip(*entries, strict=True)
    matrix = csr_array((factor, (row, column)), shape=(len(lower), n * length))
    found: Any = milp(
        np.zeros(n * length),
        integrality=np.ones(n * length),
        bounds=Bounds(0, allowed.reshape(-1).astype(float)),
        constraints=LinearConstraint(matrix, lower, upper),
        options={"time_limit": seconds},
    )
    if found.x is not None:
        chosen = np.rint(found.x).reshape(n, length).argmax(axis=0)
        return np.concatenate([chosen, np.setdiff1d(np.arange(n), chosen)])
    if found.status == 2:
        return None
    raise SearchLimitError(
        f"could not decide in {seconds:g} s whether the {len(constraints.constraints)} constraints are feasible; remove "
        "some, or restrict the slots of items with fixed or window"
    )
