"""A random walk over the orders that satisfy constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints
from mergebo.compiled.constraints import REVERSAL, SWAP, Tables, joint, pair_moves, satisfies
from mergebo.compiled.jit import U64, jit

_STEP, _MIX, _MIX_AGAIN = U64(0x9E3779B97F4A7C15), U64(0xBF58476D1CE4E5B9), U64(0x94D049BB133111EB)


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
            balance -= joint(order, left, right, t)[0]
        for left, right in ((a - 1, b), (c - 1, a), (b - 1, c)):
            must, banned = joint(order, left, right, t)
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
    return not t.has_adjacency or pair_moves(order, a, b, SWAP, t)


@jit
def _reversal_fits(order: Ints, a: int, b: int, t: Tables) -> bool:
    """Whether the segment a..b may be reversed."""
    if t.has_adjacency and not pair_moves(order, a, b, REVERSAL, t):
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
                if not satisfies(moved, rank, t):
                    continue
        if not plain:
            moved[:first] = order[:first]
            moved[last:] = order[last:]
            if not satisfies(moved, rank, t):
                continue
        order[first:last] = moved[first:last]
