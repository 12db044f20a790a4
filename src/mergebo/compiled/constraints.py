"""Compiled code for constraints: feasibility of orders and moves, repair, random walks, canonical forms, enumeration.

An order has n slots; the items in the first `length` are chosen, the others are not. `Tables` holds the constraints.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Bools, Ints
from mergebo.compiled.jit import U64, jit

SWAP, INSERTION, REVERSAL = 0, 1, 2
"""Kinds of moves."""

_STEP, _MIX, _MIX_AGAIN = U64(0x9E3779B97F4A7C15), U64(0xBF58476D1CE4E5B9), U64(0x94D049BB133111EB)


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


# ----------------------------------------------------------------------------------------------------------- checking


@jit
def _satisfies(order: Ints, rank: Ints, t: Tables) -> bool:
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
        out[k] = _satisfies(orders[k], rank, t)


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
def _joint(order: Ints, left: int, right: int, t: Tables) -> Any:
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
def _pair_moves(order: Ints, a: int, b: int, kind: int, t: Tables) -> bool:
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
            balance -= _joint(order, left, right, t)[0]
    for left, right in joined:
        if right >= 0:
            must, banned = _joint(order, left, right, t)
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
            out[m] = _satisfies(moved, rank, t)
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
            feasible = _pair_moves(order, a, b, kind, t)
        out[m] = feasible


# ------------------------------------------------------------------------------------------------------- constructing


@jit
def _tightened(active: Bools, t: Tables) -> Any:
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
def _schedulable(left: Bools, by_low: Ints, low: Ints, high: Ints, slot: int, length: int) -> bool:
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
    low, high = _tightened(active, t)
    by_low = np.argsort(low)
    left = active.copy()
    if t.has_windows and not _schedulable(left, by_low, low, high, 0, length):
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
                if t.has_windows and not _schedulable(left, by_low, low, high, slot + size, length):
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


# -------------------------------------------------------------------------------------------------------- random walk


@jit
def _draw(state: NDArray[np.uint64]) -> Any:
    """The next number of a generator (splitmix64)."""
    state[0] += _STEP
    z = state[0]
    z = (z ^ (z >> U64(30))) * _MIX
    z = (z ^ (z >> U64(27))) * _MIX_AGAIN
    return z ^ (z >> U64(31))


@jit
def _below(state: NDArray[np.uint64], limit: int) -> Any:
    """A random number from 0 to limit - 1."""
    return np.int64(_draw(state) >> U64(33)) % limit


@jit
def _exchange_fits(order: Ints, a: int, b: int, c: int, t: Tables) -> bool:
    """Whether the segments a..b-1 and b..c-1 may be exchanged."""
    if t.has_adjacency and not (t.cyclic and a == 0 and c == t.length):  # otherwise a rotation
        balance = 0
        for left, right in ((a - 1, a), (b - 1, b), (c - 1, c)):
            balance -= _joint(order, left, right, t)[0]
        for left, right in ((a - 1, b), (c - 1, a), (b - 1, c)):
            must, banned = _joint(order, left, right, t)
            if banned:
                return False
            balance += must
        if balance != 0:
            return False
    if t.has_windows:
        for k in range(a, b):
            if k + c - b > t.high[order[k]]:
                return False
        for k in range(b, c):
            if k - (b - a) < t.low[order[k]]:
                return False
    if t.has_precedence:
        # From the middle outwards, where violations are most likely.
        for i in range(b - 1, a - 1, -1):
            for j in range(b, c):
                if t.precedes[order[i], order[j]]:
                    return False
    return True


@jit
def _swap_fits(order: Ints, a: int, b: int, t: Tables) -> bool:
    """Whether the items in slots a < b may be swapped."""
    x, y = order[a], order[b]
    if t.has_windows and (t.low[x] > b or t.high[x] < b or t.low[y] > a or t.high[y] < a):
        return False
    if t.has_precedence:
        if t.precedes[x, y]:
            return False
        for k in range(a + 1, b):
            if t.precedes[x, order[k]] or t.precedes[order[k], y]:
                return False
    return not t.has_adjacency or _pair_moves(order, a, b, SWAP, t)


@jit
def _reversal_fits(order: Ints, a: int, b: int, t: Tables) -> bool:
    """Whether the segment a..b may be reversed."""
    if t.has_adjacency and not _pair_moves(order, a, b, REVERSAL, t):
        return False
    if t.has_windows:
        for k in range(a, b + 1):
            if a + b - k < t.low[order[k]] or a + b - k > t.high[order[k]]:
                return False
    if t.has_precedence:
        for i in range(a, b):
            for j in range(i + 1, b + 1):
                if t.precedes[order[i], order[j]]:
                    return False
    return True


@jit
def random_walk(order: Ints, steps: int, seed: np.uint64, t: Tables) -> None:
    """A random walk over feasible orders, in place.

    Each step proposes one of four moves: exchange two adjacent items, exchange two adjacent segments, swap any two items, or
    reverse a segment. It is accepted if feasible. The probability of a proposal depends on the slots only and equals that of
    its inverse, so the stationary distribution is uniform over the orders that can be reached.
    """
    n = len(order)
    if n < 2:
        return
    state = np.array([seed], np.uint64)
    moved, rank = np.empty(n, np.int64), np.empty(n, np.int64)
    plain = t.length == n and not (t.has_adjacency and n < 5)
    for _ in range(steps):
        drawn = _draw(state)
        kind: Any = np.int64(drawn >> U64(62))
        a: Any = np.int64((drawn & U64(0xFFFFFFFF)) % U64(n))
        if kind == 0 and plain:
            if a < n - 1 and _exchange_fits(order, a, a + 1, a + 2, t):
                order[a], order[a + 1] = order[a + 1], order[a]
            continue
        if kind <= 1:
            one, other = 1, 1
            if kind == 1:
                one, other = 1 + _below(state, n), 1 + _below(state, min(n, 4))  # two long ones are rarely feasible
                if _below(state, 2):
                    one, other = other, one
            b, c = a + one, a + one + other
            if c > n or (plain and not _exchange_fits(order, a, b, c, t)):
                continue
            moved[a : a + other] = order[b:c]
            moved[a + other : c] = order[a:b]
            first, last = a, c
        else:
            b = a + 1 + _below(state, min(16, n)) if kind == 3 else _below(state, n)
            if a >= b or b >= n:
                continue
            wide = t.cyclic and t.has_adjacency and a == 0 and b >= n - 2  # rare, and special at the ends: checked in full
            if kind == 2:
                if plain and not wide and not _swap_fits(order, a, b, t):
                    continue
                moved[a : b + 1] = order[a : b + 1]
                moved[a], moved[b] = order[b], order[a]
            else:
                if plain and not wide and not _reversal_fits(order, a, b, t):
                    continue
                moved[a : b + 1] = order[a : b + 1][::-1]
            first, last = a, b + 1
            if plain and wide:
                moved[last:] = order[last:]
                if not _satisfies(moved, rank, t):
                    continue
        if not plain:
            moved[:first] = order[:first]
            moved[last:] = order[last:]
            if not _satisfies(moved, rank, t):
                continue
        order[first:last] = moved[first:last]


# ------------------------------------------------------------------------------------ canonical forms and enumeration


@jit
def _smaller(kinds: Ints, a: int, a_step: int, b: int, b_step: int) -> bool:
    """Whether the cyclic sequence of kinds read from slot a is lexicographically smaller than read from slot b."""
    n = len(kinds)
    for k in range(n):
        x, y = kinds[(a + a_step * k) % n], kinds[(b + b_step * k) % n]
        if x != y:
            return bool(x < y)
    return False


@jit
def _canonical(order: Ints, length: int, kind: Ints, copies: Ints, cycle: bool, reversal: bool, out: Ints) -> None:
    n = len(kind)
    kinds = np.empty(length, np.int64)
    for k in range(length):
        kinds[k] = kind[order[k]]
    best, step = 0, 1
    for start in range(length if cycle else 1):
        if _smaller(kinds, start, 1, best, step):
            best, step = start, 1
        if reversal:
            end = start if cycle else length - 1
            if _smaller(kinds, end, -1, best, step):
                best, step = end, -1
    used = np.zeros(n, np.int64)
    for k in range(length):
        one = kinds[(best + step * k) % length]
        out[k] = copies[one, used[one]]
        used[one] += 1
    slot = length
    for one in range(n):
        while used[one] < copies.shape[1] and copies[one, used[one]] >= 0:
            out[slot] = copies[one, used[one]]
            used[one] += 1
            slot += 1


@jit
def canonical(orders: Ints, length: int, kind: Ints, copies: Ints, cycle: bool, reversal: bool, out: Ints) -> None:
    """The canonical form of each order: the equivalent one whose sequence of kinds is lexicographically smallest.

    `kind[item]` is the first copy of the item, `copies[kind]` are all of them, padded with -1. Copies appear in increasing
    order, items that are not chosen come last, sorted; only the first `length` entries of `orders` are read.
    """
    for k in range(len(orders)):
        _canonical(orders[k], length, kind, copies, cycle, reversal, out[k])


@jit
def every_order(t: Tables, kind: Ints, copies: Ints, cycle: bool, reversal: bool, limit: int, steps: int, out: Ints) -> int:
    """Write all feasible orders in canonical form, in lexicographic order; returns their number.

    -1 if there are more than `limit`, or if that is not decided after this many `steps`.
    """
    n, length = len(kind), t.length
    everyone = np.ones(n, np.bool_)
    low, high = _tightened(everyone, t) if length == n else (t.low, t.high)
    by_low = np.argsort(low)
    order, representative, rank = np.full(n, -1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    left = np.ones(n, np.bool_)
    count, depth, step = 0, 0, 0
    exact = length == n and t.has_windows
    while depth >= 0:
        item = order[depth] + 1
        if item > 0:
            left[item - 1] = True
        while item < n:
            step += 1
            feasible = left[item] and low[item] <= depth <= high[item]
            if feasible:  # copies in increasing order
                for j in range(copies.shape[1]):
                    twin = copies[kind[item], j]
                    if twin == item:
                        break
                    if left[twin]:
                        feasible = False
            if feasible and t.has_precedence:
                for other in range(n):
                    if t.precedes[other, item] and left[other] and length == n:
                        feasible = False
                    if t.precedes[item, other] and not left[other]:
                        feasible = False
            if feasible and depth > 0:
                last = order[depth - 1]
                feasible = not t.not_adjacent[last, item] and not (cycle and kind[item] < kind[order[0]])
                if feasible and t.has_adjacency and not t.cyclic and not t.must_adjacent[last, item]:
                    for p in range(len(t.must_adjacent_pairs)):
                        a, b = t.must_adjacent_pairs[p]
                        if (a == last and left[b]) or (b == last and left[a]):
                            feasible = False
            if feasible and exact:
                left[item] = False
                feasible = _schedulable(left, by_low, low, high, depth + 1, n)
                left[item] = True
            if feasible:
                break
            item += 1
        if step > steps:
            return -1
        if item == n:
            order[depth] = -1
            depth -= 1
            continue
        order[depth] = item
        left[item] = False
        if depth + 1 < length:
            depth += 1
            order[depth] = -1
            continue
        _canonical(order, length, kind, copies, cycle, reversal, representative)
        is_canonical = True
        for k in range(length):
            is_canonical = is_canonical and representative[k] == order[k]
        if is_canonical and _satisfies(representative, rank, t):
            if count == limit:
                return -1
            out[count] = representative
            count += 1
    return count
