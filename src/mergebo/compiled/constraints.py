"""Constraints on orders: feasibility of orders and moves, and repair.

An order has n slots; the items in the first `length` are chosen, the others are not. `Tables` holds the constraints.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np

from mergebo._typing import Bools, Ints
from mergebo.compiled.jit import jit

SWAP, INSERTION, REVERSAL = 0, 1, 2
"""Kinds of moves."""


class Tables(NamedTuple):
    """A set of constraints as arrays."""

    length: int
    precedes: Bools
    """`precedes[a, b]`: a must come before b if both are chosen; the transitive closure."""
    precedence_pairs: Ints
    """The pairs (a, b) of it that must be checked, `(count, 2)`."""
    topological_order: Ints
    """All items, each after its predecessors."""
    low: Ints
    high: Ints
    """The first and the last slot allowed for an item; a last slot below `length` implies that it is chosen."""
    must_adjacent: Bools
    """`must_adjacent[a, b]`: a and b must be chosen, and adjacent."""
    must_adjacent_pairs: Ints
    """The same as a list of pairs."""
    not_adjacent: Bools
    """`not_adjacent[a, b]`: a and b must not be adjacent."""
    cyclic: bool
    """Whether the last chosen slot is next to the first."""
    has_precedence: bool
    has_windows: bool
    has_adjacency: bool
    """Whether there are constraints on precedence, on slots, and on adjacency."""


@jit
def satisfies(order: Ints, rank: Ints, t: Tables) -> bool:
    """Whether an order satisfies all constraints."""
    for k in range(len(order)):
        rank[order[k]] = k
    if t.has_windows:
        for item in range(len(order)):
            if rank[item] < t.low[item] or rank[item] > t.high[item]:
                return False
    for p in range(len(t.precedence_pairs)):
        first, second = rank[t.precedence_pairs[p, 0]], rank[t.precedence_pairs[p, 1]]
        if first > second and first < t.length:
            return False
    if t.has_adjacency:
        for p in range(len(t.must_adjacent_pairs)):
            first, second = rank[t.must_adjacent_pairs[p, 0]], rank[t.must_adjacent_pairs[p, 1]]
            distance = abs(first - second)
            if max(first, second) >= t.length or (distance != 1 and not (t.cyclic and distance == t.length - 1)):
                return False
        for k in range(t.length - 1):
            if t.not_adjacent[order[k], order[k + 1]]:
                return False
        if t.cyclic and t.length > 2 and t.not_adjacent[order[t.length - 1], order[0]]:
            return False
    return True


@jit
def satisfied(orders: Ints, t: Tables, out: Bools) -> None:
    """Which orders satisfy all constraints."""
    rank = np.empty(orders.shape[1], np.int64)
    for k in range(len(orders)):
        out[k] = satisfies(orders[k], rank, t)


@jit
def _moved(order: Ints, a: int, b: int, kind: int, out: Ints) -> None:
    """The order after a move."""
    out[:] = order
    if kind == SWAP:
        out[a], out[b] = order[b], order[a]
    elif kind == REVERSAL:
        for k in range(a, b + 1):
            out[k] = order[a + b - k]
    elif a < b:
        for k in range(a, b):
            out[k] = order[k + 1]
        out[b] = order[a]
    else:
        for k in range(b + 1, a + 1):
            out[k] = order[k - 1]
        out[b] = order[a]


@jit
def joint(order: Ints, left: int, right: int, t: Tables) -> Any:
    """Whether the items in these two slots must be adjacent, and whether they must not be.

    Slots -1 and n are the other end of a cyclic order, otherwise no slot.
    """
    n = t.length
    if left < 0 or right >= n:
        if not t.cyclic:
            return 0, False
        left, right = left % n, right % n
    a, b = order[left], order[right]
    return np.int64(t.must_adjacent[a, b]), t.not_adjacent[a, b]


@jit
def pair_moves(order: Ints, a: int, b: int, kind: int, t: Tables) -> bool:
    """Whether a move satisfies the adjacency constraints, from the few pairs that it separates and joins.

    Not for moves of a cyclic order that involve both ends.
    """
    none: Any = (np.int64(-1), np.int64(-1))
    if kind == SWAP:
        separated = ((a - 1, a), (a, a + 1), (b - 1, b), (b, b + 1))
        # Swapped neighbours stay adjacent: the two pairs between them are then equal and cancel out.
        joined = ((a - 1, b), (b, a + 1 if b > a + 1 else a), (b - 1 if b > a + 1 else b, a), (a, b + 1))
    elif kind == REVERSAL:
        separated = ((a - 1, a), (b, b + 1), none, none)
        joined = ((a - 1, b), (a, b + 1), none, none)
    elif a < b:
        separated = ((a - 1, a), (a, a + 1), (b, b + 1), none)
        joined = ((a - 1, a + 1), (b, a), (a, b + 1), none)
    else:
        separated = ((a - 1, a), (a, a + 1), (b - 1, b), none)
        joined = ((a - 1, a + 1), (b - 1, a), (a, b), none)
    balance = 0
    for left, right in separated:
        if right >= 0:
            balance -= joint(order, left, right, t)[0]
    for left, right in joined:
        if right >= 0:
            must, banned = joint(order, left, right, t)
            if banned:
                return False
            balance += must
    return balance == 0


@jit
def feasible_moves(order: Ints, slots: Ints, kind: int, t: Tables, out: Bools) -> None:
    """Which moves of a feasible order lead to feasible orders.

    Precedence costs O(1) per move: for each item, the slots of the next successor and of the last predecessor are computed
    once. If not all items are chosen, each neighbour is built and checked in full.
    """
    n = len(order)
    moved, rank = np.empty(n, np.int64), np.empty(n, np.int64)
    build_all = t.length < n
    right, left, far = np.full(n, n, np.int64), np.full(n, -1, np.int64), np.full(n + 1, n, np.int64)
    stuck_left, stuck_right = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    if t.has_precedence and not build_all:
        for a in range(n):
            for b in range(a + 1, n):
                if t.precedes[order[a], order[b]]:
                    right[a] = min(right[a], b)
                    left[b] = a
        for a in range(n - 1, -1, -1):
            far[a] = min(far[a + 1], right[a])
    for k in range(n):
        stuck_left[k + 1] = stuck_left[k] + (t.low[order[k]] >= k)
        stuck_right[k + 1] = stuck_right[k] + (t.high[order[k]] <= k)
    for m in range(len(slots)):
        a, b = slots[m, 0], slots[m, 1]
        low, high = min(a, b), max(a, b)
        if build_all or (t.has_adjacency and t.cyclic and low == 0 and high >= n - 2) or (t.has_adjacency and n < 5):
            _moved(order, a, b, kind, moved)
            out[m] = satisfies(moved, rank, t)
            continue
        feasible = True
        if t.has_precedence:
            if kind == SWAP:
                feasible = right[a] > b and left[b] < a
            elif kind == REVERSAL:
                feasible = far[a] > b
            else:
                feasible = right[a] > b if a < b else left[a] < b
        if feasible and t.has_windows:
            if kind == REVERSAL:
                for k in range(a, b + 1):
                    item = order[k]
                    if a + b - k < t.low[item] or a + b - k > t.high[item]:
                        feasible = False
                        break
            else:
                feasible = t.low[order[a]] <= b <= t.high[order[a]]
                if kind == SWAP:
                    feasible = feasible and t.low[order[b]] <= a <= t.high[order[b]]
                elif a < b:
                    feasible = feasible and stuck_left[b + 1] == stuck_left[a + 1]
                else:
                    feasible = feasible and stuck_right[a] == stuck_right[b]
        if feasible and t.has_adjacency:
            feasible = pair_moves(order, a, b, kind, t)
        out[m] = feasible


@jit
def tightened(active: Bools, t: Tables) -> Any:
    """First and last slots after propagating the precedence constraints."""
    low, high = t.low.copy(), np.minimum(t.high, t.length - 1)
    if t.has_precedence:
        n = len(low)
        for k in range(n):
            b = t.topological_order[k]
            for j in range(k if active[b] else 0):
                a = t.topological_order[j]
                if active[a] and t.precedes[a, b]:
                    low[b] = max(low[b], low[a] + 1)
        for k in range(n - 1, -1, -1):
            a = t.topological_order[k]
            for j in range(k + 1 if active[a] else n, n):
                b = t.topological_order[j]
                if active[b] and t.precedes[a, b]:
                    high[a] = min(high[a], high[b] - 1)
    return low, high


@jit
def schedulable(left: Bools, by_low: Ints, low: Ints, high: Ints, slot: int, length: int) -> bool:
    """Whether the remaining items fit into the slots from `slot` on, by earliest deadline first.

    Exact for slots tightened by precedence.
    """
    n = len(left)
    waiting = [np.int64(0)]
    waiting.pop()
    k = 0
    for here in range(slot, length):
        while k < n and low[by_low[k]] <= here:
            if left[by_low[k]]:
                heapq.heappush(waiting, high[by_low[k]])
            k += 1
        if len(waiting) == 0 or heapq.heappop(waiting) < here:
            return False
    return True


@jit
def repair(target: Ints, active: Bools, starts: Ints, members: Ints, block: Ints, t: Tables, out: Ints) -> bool:
    """Write an order of the active items as near to `target` as the constraints allow; returns whether it was completed.

    Greedy, slot by slot: take the first item of `target` that may come next and leaves the others schedulable. Items that
    must be adjacent are placed as blocks: block k is `members[starts[k] : starts[k + 1]]`, in either direction. Without
    adjacency constraints an order is found if there is one.
    """
    n, length = len(target), t.length
    low, high = tightened(active, t)
    by_low = np.argsort(low)
    left = active.copy()
    if t.has_windows and not schedulable(left, by_low, low, high, 0, length):
        return False
    before = np.zeros(n, np.int64)  # number of remaining predecessors
    if t.has_precedence:
        for a in range(n):
            if active[a]:
                for b in range(n):
                    before[b] += t.precedes[a, b]
    slot, first = 0, 0
    while slot < length:
        found = False
        while first < n and not left[target[first]]:
            first += 1
        for k in range(first, n):
            if not left[target[k]]:
                continue
            one = block[target[k]]
            size = starts[one + 1] - starts[one]
            if slot + size > length:
                continue
            for attempt in range(2 if size > 1 else 1):
                # The end that comes first in the target goes first if possible.
                forward = target[k] != members[starts[one + 1] - 1] or size == 1
                if attempt:
                    forward = not forward
                feasible = True
                for j in range(size):
                    item = members[starts[one] + j] if forward else members[starts[one + 1] - 1 - j]
                    inside = 0
                    for i in range(j):
                        inside += t.precedes[out[slot + i], item]
                    out[slot + j] = item
                    ahead = slot + j - 1
                    if (
                        not left[item]
                        or before[item] > inside
                        or slot + j < low[item]
                        or slot + j > high[item]
                        or (ahead >= 0 and t.not_adjacent[out[ahead], item])
                    ):
                        feasible = False
                        break
                if not feasible:
                    continue
                for j in range(size):
                    left[out[slot + j]] = False
                if t.has_windows and not schedulable(left, by_low, low, high, slot + size, length):
                    for j in range(size):
                        left[out[slot + j]] = True
                    continue
                found = True
                break
            if found:
                break
        if not found:
            return False
        if t.has_precedence:
            for j in range(size):
                for b in range(n):
                    before[b] -= t.precedes[out[slot + j], b]
        slot += size
    for k in range(n):
        if not active[target[k]]:
            out[slot] = target[k]
            slot += 1
    return True
