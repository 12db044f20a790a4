"""Rules of orders: which orders and which moves keep them, orders that do, random walks among these, and canonical forms.

An order has n slots, of which the first `length` count; what is in the others is not chosen. `Tables` hold the rules.
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
    """Rules as arrays."""

    length: int
    after: Bools
    """`after[a, b]`: item b comes after item a if both are chosen, in so many words or by way of others."""
    pairs: Ints
    """Pairs (a, b) that are to be checked for that, `(count, 2)`."""
    rising: Ints
    """All items, each after those that come before it."""
    low: Ints
    high: Ints
    """The first and the last slot in which an item may be; a last slot below `length` says that it is chosen."""
    need: Bools
    """`need[a, b]`: a and b are chosen, and neighbours."""
    needed: Ints
    """The same as pairs."""
    ban: Bools
    """`ban[a, b]`: a and b are not neighbours."""
    cyclic: bool
    """Whether the last slot that counts is next to the first."""
    ordered: bool
    bounded: bool
    beside: bool
    """Whether there are rules about pairs in order, about slots, and about neighbours."""


# ------------------------------------------------------------------------------------------------------------ keeping


@jit
def _keeps(order: Ints, rank: Ints, t: Tables) -> bool:
    """Whether an order keeps all rules."""
    for k in range(len(order)):
        rank[order[k]] = k
    if t.bounded:
        for item in range(len(order)):
            if rank[item] < t.low[item] or rank[item] > t.high[item]:
                return False
    for p in range(len(t.pairs)):
        first, second = rank[t.pairs[p, 0]], rank[t.pairs[p, 1]]
        if first > second and first < t.length:
            return False
    if t.beside:
        for p in range(len(t.needed)):
            first, second = rank[t.needed[p, 0]], rank[t.needed[p, 1]]
            gap = abs(first - second)
            if max(first, second) >= t.length or (gap != 1 and not (t.cyclic and gap == t.length - 1)):
                return False
        for k in range(t.length - 1):
            if t.ban[order[k], order[k + 1]]:
                return False
        if t.cyclic and t.length > 2 and t.ban[order[t.length - 1], order[0]]:
            return False
    return True


@jit
def keeping(orders: Ints, t: Tables, out: Bools) -> None:
    """Which orders keep all rules."""
    rank = np.empty(orders.shape[1], np.int64)
    for k in range(len(orders)):
        out[k] = _keeps(orders[k], rank, t)


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
    """What neighbours in these slots of an order mean: whether they are to be neighbours, and whether they must not be.

    A slot of -1 or n is none, or the one at the other end.
    """
    n = t.length
    if left < 0 or right >= n:
        if not t.cyclic:
            return 0, False
        left, right = left % n, right % n
    a, b = order[left], order[right]
    return np.int64(t.need[a, b]), t.ban[a, b]


@jit
def _pair_moves(order: Ints, a: int, b: int, kind: int, t: Tables) -> bool:
    """Whether a move keeps the rules about neighbours, from the few pairs that it parts and joins; not one of all slots."""
    none: Any = (np.int64(-1), np.int64(-1))
    if kind == SWAP:
        parted = ((a - 1, a), (a, a + 1), (b - 1, b), (b, b + 1))
        # Next-door neighbours stay so: the two pairs within are then the same, and cancel out.
        joined = ((a - 1, b), (b, a + 1 if b > a + 1 else a), (b - 1 if b > a + 1 else b, a), (a, b + 1))
    elif kind == REVERSAL:
        parted = ((a - 1, a), (b, b + 1), none, none)
        joined = ((a - 1, b), (a, b + 1), none, none)
    elif a < b:
        parted = ((a - 1, a), (a, a + 1), (b, b + 1), none)
        joined = ((a - 1, a + 1), (b, a), (a, b + 1), none)
    else:
        parted = ((a - 1, a), (a, a + 1), (b - 1, b), none)
        joined = ((a - 1, a + 1), (b - 1, a), (a, b), none)
    balance = 0
    for left, right in parted:
        if right >= 0:
            balance -= _joint(order, left, right, t)[0]
    for left, right in joined:
        if right >= 0:
            wanted, banned = _joint(order, left, right, t)
            if banned:
                return False
            balance += wanted
    return balance == 0


@jit
def feasible_moves(order: Ints, slots: Ints, kind: int, t: Tables, out: Bools) -> None:
    """Which moves of an order that keeps all rules keep them, too.

    Pairs in order cost O(1) a move: of each item it is known how far it is to the next one that must come after it, and to
    the last one that must come before it. Where not all items are chosen, moves are written out.
    """
    n = len(order)
    made, rank = np.empty(n, np.int64), np.empty(n, np.int64)
    written = t.length < n
    right, left, far = np.full(n, n, np.int64), np.full(n, -1, np.int64), np.full(n + 1, n, np.int64)
    stuck_left, stuck_right = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    if t.ordered and not written:
        for a in range(n):
            for b in range(a + 1, n):
                if t.after[order[a], order[b]]:
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
        if written or (t.beside and t.cyclic and low == 0 and high >= n - 2) or (t.beside and n < 5):
            _moved(order, a, b, kind, made)
            out[m] = _keeps(made, rank, t)
            continue
        fine = True
        if t.ordered:
            if kind == SWAP:
                fine = right[a] > b and left[b] < a
            elif kind == REVERSAL:
                fine = far[a] > b
            else:
                fine = right[a] > b if a < b else left[a] < b
        if fine and t.bounded:
            if kind == REVERSAL:
                for k in range(a, b + 1):
                    item = order[k]
                    if a + b - k < t.low[item] or a + b - k > t.high[item]:
                        fine = False
                        break
            else:
                fine = t.low[order[a]] <= b <= t.high[order[a]]
                if kind == SWAP:
                    fine = fine and t.low[order[b]] <= a <= t.high[order[b]]
                elif a < b:
                    fine = fine and stuck_left[b + 1] == stuck_left[a + 1]
                else:
                    fine = fine and stuck_right[a] == stuck_right[b]
        if fine and t.beside:
            fine = _pair_moves(order, a, b, kind, t)
        out[m] = fine


# ------------------------------------------------------------------------------------------------------------- making


@jit
def _tightened(active: Bools, t: Tables) -> Any:
    """First and last slots such that those of items in order are in order, too."""
    low, high = t.low.copy(), np.minimum(t.high, t.length - 1)
    if t.ordered:
        n = len(low)
        for k in range(n):
            b = t.rising[k]
            for j in range(k if active[b] else 0):
                a = t.rising[j]
                if active[a] and t.after[a, b]:
                    low[b] = max(low[b], low[a] + 1)
        for k in range(n - 1, -1, -1):
            a = t.rising[k]
            for j in range(k + 1 if active[a] else n, n):
                b = t.rising[j]
                if active[b] and t.after[a, b]:
                    high[a] = min(high[a], high[b] - 1)
    return low, high


@jit
def _schedulable(left: Bools, by_low: Ints, low: Ints, high: Ints, slot: int, length: int) -> bool:
    """Whether the items that are left fit into the slots from `slot` on: whoever must be done first goes first.

    That is exact for first and last slots that are in order where items are.
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
def follow(wanted: Ints, active: Bools, starts: Ints, members: Ints, block: Ints, t: Tables, out: Ints) -> bool:
    """An order of the active items that follows a wanted one as far as the rules allow, and whether it could be finished.

    Slot by slot the first wanted item is taken that may come next and leaves the others a chance. Items that must be
    neighbours come as blocks: block k is `members[starts[k] : starts[k + 1]]`, either way round. Without rules about
    neighbours an order is found if there is one.
    """
    n, length = len(wanted), t.length
    low, high = _tightened(active, t)
    by_low = np.argsort(low)
    left = active.copy()
    if t.bounded and not _schedulable(left, by_low, low, high, 0, length):
        return False
    before = np.zeros(n, np.int64)  # items that are left and must come before this one
    if t.ordered:
        for a in range(n):
            if active[a]:
                for b in range(n):
                    before[b] += t.after[a, b]
    slot, first = 0, 0
    while slot < length:
        found = False
        while first < n and not left[wanted[first]]:
            first += 1
        for k in range(first, n):
            if not left[wanted[k]]:
                continue
            one = block[wanted[k]]
            size = starts[one + 1] - starts[one]
            if slot + size > length:
                continue
            for turned in range(2 if size > 1 else 1):
                # The end that is wanted first goes first, if it may.
                forward = wanted[k] != members[starts[one + 1] - 1] or size == 1
                if turned:
                    forward = not forward
                fine = True
                for j in range(size):
                    item = members[starts[one] + j] if forward else members[starts[one + 1] - 1 - j]
                    inside = 0
                    for i in range(j):
                        inside += t.after[out[slot + i], item]
                    out[slot + j] = item
                    ahead = slot + j - 1
                    if (
                        not left[item]
                        or before[item] > inside
                        or slot + j < low[item]
                        or slot + j > high[item]
                        or (ahead >= 0 and t.ban[out[ahead], item])
                    ):
                        fine = False
                        break
                if not fine:
                    continue
                for j in range(size):
                    left[out[slot + j]] = False
                if t.bounded and not _schedulable(left, by_low, low, high, slot + size, length):
                    for j in range(size):
                        left[out[slot + j]] = True
                    continue
                found = True
                break
            if found:
                break
        if not found:
            return False
        if t.ordered:
            for j in range(size):
                for b in range(n):
                    before[b] -= t.after[out[slot + j], b]
        slot += size
    for k in range(n):
        if not active[wanted[k]]:
            out[slot] = wanted[k]
            slot += 1
    return True


# ------------------------------------------------------------------------------------------------------------ walking


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
    """Whether the segments a..b-1 and b..c-1 may change places."""
    if t.beside and not (t.cyclic and a == 0 and c == t.length):  # that turns a round
        balance = 0
        for left, right in ((a - 1, a), (b - 1, b), (c - 1, c)):
            balance -= _joint(order, left, right, t)[0]
        for left, right in ((a - 1, b), (c - 1, a), (b - 1, c)):
            wanted, banned = _joint(order, left, right, t)
            if banned:
                return False
            balance += wanted
        if balance != 0:
            return False
    if t.bounded:
        for k in range(a, b):
            if k + c - b > t.high[order[k]]:
                return False
        for k in range(b, c):
            if k - (b - a) < t.low[order[k]]:
                return False
    if t.ordered:
        # From the middle outwards, where items in order are most often.
        for i in range(b - 1, a - 1, -1):
            for j in range(b, c):
                if t.after[order[i], order[j]]:
                    return False
    return True


@jit
def _swap_fits(order: Ints, a: int, b: int, t: Tables) -> bool:
    """Whether the items of slots a < b may change places."""
    x, y = order[a], order[b]
    if t.bounded and (t.low[x] > b or t.high[x] < b or t.low[y] > a or t.high[y] < a):
        return False
    if t.ordered:
        if t.after[x, y]:
            return False
        for k in range(a + 1, b):
            if t.after[x, order[k]] or t.after[order[k], y]:
                return False
    return not t.beside or _pair_moves(order, a, b, SWAP, t)


@jit
def _reversal_fits(order: Ints, a: int, b: int, t: Tables) -> bool:
    """Whether the segment a..b may be turned round."""
    if t.beside and not _pair_moves(order, a, b, REVERSAL, t):
        return False
    if t.bounded:
        for k in range(a, b + 1):
            if a + b - k < t.low[order[k]] or a + b - k > t.high[order[k]]:
                return False
    if t.ordered:
        for i in range(a, b):
            for j in range(i + 1, b + 1):
                if t.after[order[i], order[j]]:
                    return False
    return True


@jit
def wander(order: Ints, steps: int, seed: np.uint64, t: Tables) -> None:
    """A random walk among orders that keep the rules, in place.

    At each step one of four moves is drawn: neighbours change places, neighbouring segments do, any two items do, a segment
    is turned round. It is made if the rules allow. How likely a move is drawn depends on slots only, and is the same for
    the move that undoes it: in the long run all orders that can be reached are equally likely.
    """
    n = len(order)
    if n < 2:
        return
    state = np.array([seed], np.uint64)
    made, rank = np.empty(n, np.int64), np.empty(n, np.int64)
    plain = t.length == n and not (t.beside and n < 5)
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
                one, other = 1 + _below(state, n), 1 + _below(state, min(n, 4))  # two long ones seldom fit
                if _below(state, 2):
                    one, other = other, one
            b, c = a + one, a + one + other
            if c > n or (plain and not _exchange_fits(order, a, b, c, t)):
                continue
            made[a : a + other] = order[b:c]
            made[a + other : c] = order[a:b]
            first, last = a, c
        else:
            b = a + 1 + _below(state, min(16, n)) if kind == 3 else _below(state, n)
            if a >= b or b >= n:
                continue
            wide = t.cyclic and t.beside and a == 0 and b >= n - 2  # few, and odd at the ends: written out
            if kind == 2:
                if plain and not wide and not _swap_fits(order, a, b, t):
                    continue
                made[a : b + 1] = order[a : b + 1]
                made[a], made[b] = order[b], order[a]
            else:
                if plain and not wide and not _reversal_fits(order, a, b, t):
                    continue
                made[a : b + 1] = order[a : b + 1][::-1]
            first, last = a, b + 1
            if plain and wide:
                made[last:] = order[last:]
                if not _keeps(made, rank, t):
                    continue
        if not plain:
            made[:first] = order[:first]
            made[last:] = order[last:]
            if not _keeps(made, rank, t):
                continue
        order[first:last] = made[first:last]


# ------------------------------------------------------------------------------------------------------------ shaping


@jit
def _smaller(kinds: Ints, a: int, a_step: int, b: int, b_step: int) -> bool:
    """Whether a round of kinds read from slot a is smaller than read from slot b, each in its direction."""
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
    """Of all orders that mean the same the one whose chosen kinds of items are first in the alphabet.

    `kind[item]` is the first item that is the same, `copies[kind]` are all of them, and then -1. Copies are numbered as they
    come, and what is not chosen comes last, sorted; only the first `length` entries of `orders` are read.
    """
    for k in range(len(orders)):
        _canonical(orders[k], length, kind, copies, cycle, reversal, out[k])


@jit
def every_order(t: Tables, kind: Ints, copies: Ints, cycle: bool, reversal: bool, most: int, tries: int, out: Ints) -> int:
    """All orders in canonical form that keep the rules, in order; how many, or -1 if they are more than `most`.

    -1 also if that is not decided after so many tries.
    """
    n, length = len(kind), t.length
    everyone = np.ones(n, np.bool_)
    low, high = _tightened(everyone, t) if length == n else (t.low, t.high)
    by_low = np.argsort(low)
    order, shaped, rank = np.full(n, -1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    left = np.ones(n, np.bool_)
    count, depth, tried = 0, 0, 0
    exact = length == n and t.bounded
    while depth >= 0:
        here = order[depth] + 1
        if here > 0:
            left[here - 1] = True
        while here < n:
            tried += 1
            fine = left[here] and low[here] <= depth <= high[here]
            if fine:  # copies in turn
                for j in range(copies.shape[1]):
                    twin = copies[kind[here], j]
                    if twin == here:
                        break
                    if left[twin]:
                        fine = False
            if fine and t.ordered:
                for other in range(n):
                    if t.after[other, here] and left[other] and length == n:
                        fine = False
                    if t.after[here, other] and not left[other]:
                        fine = False
            if fine and depth > 0:
                last = order[depth - 1]
                fine = not t.ban[last, here] and not (cycle and kind[here] < kind[order[0]])
                if fine and t.beside and not t.cyclic and not t.need[last, here]:
                    for p in range(len(t.needed)):
                        a, b = t.needed[p]
                        if (a == last and left[b]) or (b == last and left[a]):
                            fine = False
            if fine and exact:
                left[here] = False
                fine = _schedulable(left, by_low, low, high, depth + 1, n)
                left[here] = True
            if fine:
                break
            here += 1
        if tried > tries:
            return -1
        if here == n:
            order[depth] = -1
            depth -= 1
            continue
        order[depth] = here
        left[here] = False
        if depth + 1 < length:
            depth += 1
            order[depth] = -1
            continue
        _canonical(order, length, kind, copies, cycle, reversal, shaped)
        same = True
        for k in range(length):
            same = same and shaped[k] == order[k]
        if same and _keeps(shaped, rank, t):
            if count == most:
                return -1
            out[count] = shaped
            count += 1
    return count
