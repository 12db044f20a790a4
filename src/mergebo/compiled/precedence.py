"""Incremental changes of Kendall's distance and of its part on given pairs, `(moves, orders)`, for all moves of an order.

Swaps and reversals are in the order of `np.triu_indices`; `exchanges` explains functions of `steps`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints
from mergebo.compiled.exchanges import Steps, flip, write
from mergebo.compiled.jit import jit

Changes = NDArray[np.int16]


@jit
def kendall_swaps(order: Ints, ranks: NDArray[np.int32], out: Changes) -> None:
    """Changes of the number of item pairs in opposite order, for every swap of two slots of `order`.

    `ranks[item, k]` is the slot of an item in the k-th other order. With sign(a, b) = +1 where the k-th order has the
    items of slots a < b in that order and -1 otherwise, a swap of a and b changes sign(a, b) + sum over c between them
    of sign(a, c) + sign(c, b); the sums are updated as b grows and a falls.
    """
    n, others = ranks.shape
    before = np.zeros((n, others), np.int16)  # before[b]: sum of sign(c, b) over a < c < b
    after = np.empty(others, np.int16)  # sum of sign(a, c) over a < c < b
    for a in range(n - 1, -1, -1):
        after[:] = 0
        here = ranks[order[a]]
        offset = a * n - a * (a + 1) // 2 - a - 1
        for b in range(a + 1, n):
            there, into, row = ranks[order[b]], before[b], out[offset + b]
            for k in range(others):
                sign = np.int16(1) if here[k] < there[k] else np.int16(-1)
                total = into[k] + sign
                row[k] = total + after[k]
                after[k] += sign
                into[k] = total


@jit
def kendall_shifts(order: Ints, ranks: NDArray[np.int32], insertions: Changes, reversals: NDArray[np.int32]) -> None:
    """The same for insertions and reversals: `insertions[a, b]` moves the item of slot a to slot b.

    An insertion changes the sums of `kendall_swaps` on one side only; a reversal of a..b changes all pairs in it.
    """
    n, others = ranks.shape
    before = np.zeros((n, others), np.int16)
    after = np.empty(others, np.int16)
    inside = np.empty(others, np.int32)
    for a in range(n - 1, -1, -1):
        after[:] = 0
        inside[:] = 0
        here = ranks[order[a]]
        offset = a * n - a * (a + 1) // 2 - a - 1
        for b in range(a + 1, n):
            there, into = ranks[order[b]], before[b]
            right, left, reversal = insertions[a, b], insertions[b, a], reversals[offset + b]
            for k in range(others):
                sign = np.int16(1) if here[k] < there[k] else np.int16(-1)
                total = into[k] + sign
                after[k] += sign
                into[k] = total
                right[k] = after[k]
                left[k] = total
                inside[k] += total
                reversal[k] = inside[k]


@jit
def pair_steps(row: Ints, rows: NDArray[np.int32], steps: Steps, out: NDArray[Any]) -> None:
    """Changes of the number of pairs of entries in opposite order; `rows[entry, k]` is the k-th other row.

    An exchange of the values p < q inverts the pairs of the two with each entry of a value in between, one addition each.
    """
    n, others = rows.shape
    here, holder = row.copy(), np.empty(n, np.int64)  # holder[value]: the entry that has it
    total = np.zeros(others, out.dtype)
    for step in range(len(steps)):
        i, j, index, restart = steps[step]
        if restart:
            here[:] = row
            total[:] = 0
            for k in range(n):
                holder[row[k]] = k
        low, high = (i, j) if here[i] < here[j] else (j, i)
        at_low, at_high = rows[low], rows[high]
        for k in range(others):
            total[k] += 1 if at_low[k] < at_high[k] else -1
        for value in range(here[low] + 1, here[high]):
            between = rows[holder[value]]
            for k in range(others):
                # 1 for each of the two pairs that agreed, -1 for each that did not
                total[k] += 2 * (np.int32(at_low[k] < between[k]) + np.int32(between[k] < at_high[k])) - 2
        here[i], here[j] = here[j], here[i]
        holder[here[i]], holder[here[j]] = i, j
        write(total, index, out)


@jit
def listed_steps(
    row: Ints, gains: NDArray[Any], pairs: Ints, starts: Ints, incident: Ints, steps: Steps, out: NDArray[Any]
) -> None:
    """`pair_steps` for a subset of pairs, `pairs[p]`; `gains[p, k]` is the change of distance k if that bit flips to 1.

    `incident[starts[i] : starts[i + 1]]` are the pairs with entry i, the only ones that an exchange of it can flip.
    """
    here, code = row.copy(), np.zeros(len(pairs), np.bool_)
    total = np.zeros(gains.shape[1], out.dtype)
    first = np.array([row[i] > row[j] for i, j in pairs])
    for step in range(len(steps)):
        a, b, index, restart = steps[step]
        if restart:
            here[:] = row
            code[:] = first
            total[:] = 0
        here[a], here[b] = here[b], here[a]
        for entry in (a, b):
            for p in incident[starts[entry] : starts[entry + 1]]:
                bit = here[pairs[p, 0]] > here[pairs[p, 1]]
                if bit != code[p]:
                    code[p] = bit
                    flip(bit, gains[p], total)
        write(total, index, out)
