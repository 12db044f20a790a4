"""Equivalent orders: canonical forms, and the enumeration of all orders that satisfy constraints."""

from __future__ import annotations

import numpy as np

from mergebo._typing import Ints
from mergebo.compiled.constraints import Tables, satisfies, schedulable, tightened
from mergebo.compiled.jit import jit


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
    low, high = tightened(everyone, t) if length == n else (t.low, t.high)
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
                feasible = schedulable(left, by_low, low, high, depth + 1, n)
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
        if is_canonical and satisfies(representative, rank, t):
            if count == limit:
                return -1
            out[count] = representative
            count += 1
    return count
