"""Rules that orders keep: what comes before what, where items may be, and what is next to what.

`Rules` say which orders and which moves keep them, make and draw orders that do, and explain why there are none.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from mergebo._typing import Bools, Ints
from mergebo.compiled import rules as compiled
from mergebo.errors import RuleError, SearchLimitError

Kind: TypeAlias = Literal["before", "slots", "adjacent", "apart"]

KINDS = {"swap": compiled.SWAP, "insertion": compiled.INSERTION, "reversal": compiled.REVERSAL}

TRIES = 200
"""Random constructions before an exact search is asked whether there is an order at all."""
SECONDS = 20.0
"""That an exact search may take."""
CHAINS = 64
"""Random walks of a sample; a larger sample takes several orders from each."""


@dataclass(frozen=True)
class Rule:
    """One rule: pairs of items in order, next to each other or not, or the slots in which items may be."""

    kind: Kind
    names: tuple[str, ...]
    """Of what it is about, in the user's words."""
    pairs: tuple[tuple[int, int], ...] = ()
    items: tuple[int, ...] = ()
    slots: tuple[int, int] = (0, 0)
    """The first and the last one."""

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
class Rules:
    """Rules of orders of n items of which the first `length` are chosen.

    "Before" and "apart" speak of items that are both chosen; slots and "adjacent" say that theirs are. What comes before
    an item that comes before another comes before that one, too, chosen or not the one between.
    """

    n: int
    length: int
    rules: tuple[Rule, ...]
    cyclic: bool = False
    """Whether the last item is next to the first."""

    @cached_property
    def tables(self) -> compiled.Tables:
        """The rules as arrays."""
        n = self.n
        after, need, ban = (np.zeros((n, n), bool) for _ in range(3))
        for matrix, kind in ((after, "before"), (need, "adjacent"), (ban, "apart")):
            pairs = self._pairs(kind)
            matrix[pairs[:, 0], pairs[:, 1]] = True
        direct = np.argwhere(after)
        for item in range(n):
            after |= after[:, item, None] & after[item]
        low, high = np.zeros(n, np.int64), np.full(n, n - 1)
        for rule in self.rules:
            for item in rule.items:
                low[item], high[item] = max(low[item], rule.slots[0]), min(high[item], rule.slots[1])
        return compiled.Tables(
            self.length,
            after,
            np.ascontiguousarray(direct if self.length == n else np.argwhere(after)),
            np.argsort(after.sum(axis=0), kind="stable"),
            low,
            high,
            need | need.T,
            self._pairs("adjacent"),
            ban | ban.T,
            self.cyclic,
            len(direct) > 0,
            any(rule.kind == "slots" for rule in self.rules),
            bool(need.any() or ban.any()),
        )

    def _pairs(self, kind: Kind | str) -> Ints:
        found = [pair for rule in self.rules if rule.kind == kind for pair in rule.pairs]
        return np.array(found, np.int64).reshape(-1, 2)

    # -------------------------------------------------------------------------------------------------------- keeping

    def holds(self, rows: Ints) -> Bools:
        """Which of the orders keep all rules."""
        out = np.empty(len(rows), np.bool_)
        compiled.keeping(np.ascontiguousarray(rows, np.int64), self.tables, out)
        return out

    def broken(self, row: Ints) -> list[Rule]:
        """The rules that an order breaks."""
        alone = (replace(self, rules=(rule,)) for rule in self.rules)
        return [each.rules[0] for each in alone if not each.holds(row[None])[0]]

    def feasible_moves(self, order: Ints, move: str, slots: Ints) -> Bools:
        """Which moves of an order that keeps the rules keep them, too; `slots` are two for each, as of `move_slots`."""
        out = np.ones(len(slots), np.bool_)
        if self.rules:
            compiled.feasible_moves(np.ascontiguousarray(order, np.int64), slots, KINDS[move], self.tables, out)
        return out

    # --------------------------------------------------------------------------------------------------------- making

    @cached_property
    def _blocks(self) -> tuple[Ints, Ints, Ints] | None:
        """Items that must be neighbours, in a row: where each block starts, all items by block, each item's block.

        None if no row has so many neighbours of an item, or goes round.
        """
        need = self.tables.need
        degree = need.sum(axis=0)
        whole = self.cyclic and bool((degree == 2).all())  # it may, if that is the whole order
        left, blocks = set(range(self.n)), list[list[int]]()
        while left:
            ends = [item for item in sorted(left) if degree[item] < 2]
            if not ends and not (whole and len(left) == self.n):
                return None
            block = [ends[0] if ends else 0]
            left.discard(block[0])
            while nexts := [item for item in np.flatnonzero(need[block[-1]]).tolist() if item in left]:
                block.append(nexts[0])
                left.discard(nexts[0])
            blocks.append(block)
        if (degree > 2).any():
            return None
        starts, members, which = np.cumsum([0, *map(len, blocks)]), np.concatenate(blocks), np.empty(self.n, np.int64)
        which[members] = np.repeat(np.arange(len(blocks)), np.diff(starts))
        return starts, members, which

    def follow(self, wanted: Ints) -> Ints | None:
        """An order that keeps the rules and follows a wanted one as far as they allow; None if it was not found.

        Where there are no rules about neighbours and all items are chosen, it is found if there is one.
        """
        if self._blocks is None:
            return None
        wanted, active = np.ascontiguousarray(wanted, np.int64), np.ones(self.n, np.bool_)
        if self.length < self.n:
            must = (self.tables.high < self.length) | self.tables.need.any(axis=0)
            others = wanted[~must[wanted]]
            if must.sum() > self.length:
                return None
            active[others[self.length - must.sum() :]] = False
        out = np.empty(self.n, np.int64)
        if compiled.follow(wanted, active, *self._blocks, self.tables, out) and self.holds(out[None])[0]:
            return out
        return None

    @cached_property
    def known(self) -> Ints:
        """One order that keeps the rules, or an error that says which of them contradict each other."""
        found = self._decide(SECONDS)
        if found is None:
            raise RuleError(self._conflict())
        return found

    def _decide(self, seconds: float) -> Ints | None:
        """An order that keeps the rules, or None if there is none; an error if that was not found out."""
        if not self.rules:
            return np.arange(self.n)
        if _cycle(self._pairs("before").tolist()):
            return None
        exact = self.length == self.n and not self.tables.beside
        rng = np.random.default_rng(0)
        for _ in range(1 if exact else TRIES):
            found = self.follow(rng.permutation(self.n))
            if found is not None:
                return found
        return None if exact else _exact(self, seconds)

    def _conflict(self) -> str:
        """Why no order keeps the rules: of those that contradict each other as few as possible, in words."""
        what = f"{self.n} items" if self.length == self.n else f"{self.length} of {self.n} items"
        circle = _cycle(self._pairs("before").tolist())
        if circle:
            names = {pair: rule.names for rule in self.rules if rule.kind == "before" for pair in rule.pairs}
            said = [names[circle[k], circle[k + 1]][0] for k in range(len(circle) - 1)]
            return f"no order keeps these rules, which go round in a circle: {' before '.join([*said, said[0]])}"
        deadline = time.monotonic() + SECONDS
        kept = [rule for rule in self.rules if rule.kind in ("before", "slots")]
        if not replace(self, rules=tuple(kept))._infeasible(1.0):
            kept = list(self.rules)
        for rule in list(kept):
            rest = [each for each in kept if each is not rule]
            if time.monotonic() < deadline and replace(self, rules=tuple(rest))._infeasible(1.0):
                kept = rest
        return f"no order of {what} keeps all of these rules: {'; '.join(map(str, kept))}"

    def _infeasible(self, seconds: float) -> bool:
        """Whether it is certain that no order keeps the rules."""
        try:
            return self._decide(seconds) is None
        except SearchLimitError:
            return False

    # -------------------------------------------------------------------------------------------------------- drawing

    def sample(self, count: int, rng: np.random.Generator) -> Ints:
        """Random orders that keep the rules, about equally likely: random walks from random starts."""
        if not self.rules:
            return rng.permuted(np.tile(np.arange(self.n), (count, 1)), axis=1)
        steps = 400 + 2 * self.n**2
        out = np.empty((count, self.n), np.int64)
        for k in range(count):
            if k < CHAINS:
                out[k] = self._start(rng)
                out[k] = self.wander(out[k], steps, rng)
            else:
                out[k] = self.wander(out[k - CHAINS], steps // 8, rng)
        return out

    def _start(self, rng: np.random.Generator) -> Ints:
        for _ in range(5):
            found = self.follow(rng.permutation(self.n))
            if found is not None:
                return found
        return self.known

    def wander(self, order: Ints, steps: int, rng: np.random.Generator) -> Ints:
        """Where so many steps of a random walk lead that keeps the rules."""
        out = np.array(order, np.int64)
        compiled.wander(out, steps, rng.integers(2**64, dtype=np.uint64), self.tables)
        return out


def _cycle(pairs: Iterable[Sequence[int]]) -> list[int]:
    """Items on a way along pairs that comes back to where it began, which is there twice; empty if there is none."""
    following: dict[int, list[int]] = {}
    for a, b in pairs:
        following.setdefault(a, []).append(b)
    done: set[int] = set()
    for start in following:
        path: list[int] = []
        ways: list[Iterator[int]] = []
        if start not in done:
            path, ways = [start], [iter(following[start])]
        while path:
            step = next(ways[-1], None)
            if step is None:
                done.add(path.pop())
                ways.pop()
            elif step in path:
                return [*path[path.index(step) :], step]
            elif step not in done:
                path.append(step)
                ways.append(iter(following.get(step, ())))
    return []


def _exact(rules: Rules, seconds: float) -> Ints | None:
    """An order that keeps the rules, or None if there is none, by integer programming (HiGHS)."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    n, length, t = rules.n, rules.length, rules.tables
    entries: list[tuple[int, int, float]] = []  # of the constraints' matrix
    least: list[float] = []
    most: list[float] = []

    def constrain(terms: Iterable[tuple[int, int, float]], low: float, high: float) -> None:
        """`low <= sum of factor * (item is in slot) <= high`, terms are (item, slot, factor)."""
        entries.extend((len(least), item * length + slot, factor) for item, slot, factor in terms)
        least.append(low)
        most.append(high)

    slots = range(length)
    must = (t.high < length) | t.need.any(axis=0)
    for slot in slots:
        constrain(((item, slot, 1.0) for item in range(n)), 1, 1)
    for item in range(n):
        constrain(((item, slot, 1.0) for slot in slots), float(length == n or must[item]), 1)
    for a, b in t.pairs.tolist():
        if length == n:
            constrain([(b, s, float(s)) for s in slots] + [(a, s, -float(s)) for s in slots], 1, np.inf)
        else:
            for slot in slots:
                constrain([(b, slot, 1.0), *((a, s, 1.0) for s in range(slot + 1, length))], -np.inf, 1)

    def beside(slot: int) -> set[int]:
        around = {slot - 1, slot + 1} if not rules.cyclic else {(slot - 1) % length, (slot + 1) % length}
        return {each for each in around if 0 <= each < length and each != slot}

    for a, b in t.needed.tolist():
        for slot in slots:
            constrain([(a, slot, -1.0), *((b, s, 1.0) for s in beside(slot))], 0, np.inf)
    for a, b in np.argwhere(np.triu(t.ban)).tolist():
        for slot in slots:
            constrain([(a, slot, 1.0), *((b, s, 1.0) for s in beside(slot))], -np.inf, 1)
    allowed = (np.arange(length) >= t.low[:, None]) & (np.arange(length) <= t.high[:, None])
    row, column, factor = zip(*entries, strict=True)
    matrix = csr_array((factor, (row, column)), shape=(len(least), n * length))
    found: Any = milp(
        np.zeros(n * length),
        integrality=np.ones(n * length),
        bounds=Bounds(0, allowed.reshape(-1).astype(float)),
        constraints=LinearConstraint(matrix, least, most),
        options={"time_limit": seconds},
    )
    if found.x is not None:
        chosen = np.rint(found.x).reshape(n, length).argmax(axis=0)
        return np.concatenate([chosen, np.setdiff1d(np.arange(n), chosen)])
    if found.status == 2:
        return None
    raise SearchLimitError(
        f"whether any order keeps these {len(rules.rules)} rules was not found out in {seconds:g} s; "
        "leave some out, or say where items are with fixed or window"
    )
