"""Distances from all neighbours of one order to many orders, computed incrementally without encoding neighbours.

Every function returns changes of distance, `(moves, orders)`, moves in the order of `np.triu_indices` for swaps. The
inner loops run over the other orders, contiguously, and become vector instructions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints
from mergebo.compiled.jit import jit
from mergebo.compiled.merge import Nodes

Changes = NDArray[np.int16]


@jit
def displacements(a: Ints, b: Ints, reach: int, out: NDArray[np.float64]) -> None:
    """Sums of the items' displacements, truncated at `reach`, between all ranks of a and all of b."""
    for i in range(len(a)):
        for j in range(len(b)):
            total = 0
            for k in range(a.shape[1]):
                total += min(abs(a[i, k] - b[j, k]), reach)
            out[i, j] = total


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
def _last_ranks(rights: NDArray[np.bool_], skipped: int, side: bool) -> int:
    """The last rank on this side, ignoring `skipped`; -1 if there is none."""
    k = len(rights) - 1
    while k >= 0 and (k == skipped or rights[k] != side):
        k -= 1
    return k


@jit
def _shifted(rank: int, source: int, target: int) -> int:
    """The rank of an element after another one has moved from rank `source` to rank `target`."""
    if rank < 0:
        return rank
    moved = rank - 1 if rank > source else rank
    return moved + 1 if moved >= target else moved


@jit
def merge_swaps(order: Ints, bits: NDArray[np.uint8], nodes: Nodes, starts: Ints, comparison: bool, out: Changes) -> None:
    """Changes of the Hamming distance of merge codes for every swap of two slots; `bits[bit, k]` is the k-th other code.

    A swap of slots i and j exchanges their halves at their lowest common node and, below it, changes the rank of
    each among the elements of its half. Tables of "element moves to rank" for every node, built bottom-up, give each swap
    in a few additions. `starts` is the start of each node's table; a child that is a single slot has none (-1).
    """
    n, others = len(order), bits.shape[1]
    size_of_tables = 0
    for m in range(1, len(nodes)):
        size_of_tables += int(nodes[m, 2] - nodes[m, 0]) ** 2
    tables = np.zeros((size_of_tables, others), np.int16)
    for m in range(len(nodes) - 1, -1, -1):
        low, middle, high = np.int64(nodes[m, 0]), np.int64(nodes[m, 1]), np.int64(nodes[m, 2])
        offset, width = np.int64(nodes[m, 3]), np.int64(nodes[m, 4])
        size = high - low
        by_rank = np.argsort(order[low:high])
        rank = np.empty(size, np.int64)
        rights = by_rank >= middle - low
        ones = np.zeros(size + 1, np.int64)  # ones[k]: right elements among the first k ranks
        for k in range(size):
            rank[by_rank[k]] = k
            ones[k + 1] = ones[k] + rights[k]
        # gain[k]: change of the distance if the bit at rank k flips from 0 to 1; zero if the bit is implied.
        gain = np.zeros((size + 1, others), np.int16)
        for k in range(width):
            for q in range(others):
                gain[k, q] = 1 - 2 * np.int16(bits[offset + k, q])
        forward = np.zeros((size + 1, others), np.int16)  # cumulative change if the ranks q < k move down by one
        backward = np.zeros((size + 1, others), np.int16)  # and if those up to and including k move up by one
        rest = np.zeros((size + 1, others), np.int16)  # sum of gain from k on: a final run
        for k in range(size - 1):
            step = np.int16(rights[k + 1]) - np.int16(rights[k])
            for q in range(others):
                forward[k + 1, q] = forward[k, q] + step * gain[k, q]
                backward[k + 1, q] = backward[k, q] - step * gain[k + 1, q]
        for k in range(size - 1, -1, -1):
            for q in range(others):
                rest[k, q] = rest[k + 1, q] + gain[k, q]
        last_right, last_left = _last_ranks(rights, -1, True), _last_ranks(rights, -1, False)
        run = min(last_right, last_left) + 1
        run_sign = np.int16(1) if last_left > last_right else np.int16(-1)  # a flipped 0 gains, a flipped 1 loses
        left_table, right_table = starts[m, 1], starts[m, 2]
        left_size, right_size = middle - low, high - middle

        zeros = rest[size]  # for missing terms
        old_run = rest[run if comparison else size]

        # Elements that change their rank in this node; impossible at the root (the first node).
        for element in range(size if m else 0):
            a = rank[element]
            side = rights[a]
            other_right = _last_ranks(rights, a, True)
            other_left = _last_ranks(rights, a, False)
            child = right_table if side else left_table
            child_size = right_size if side else left_size
            child_row = element - (middle - low) if side else element
            for b in range(size):
                if b == a:
                    continue
                flip = np.int16(side) - np.int16(rights[b])
                if b > a:
                    same = ones[b + 1] - 1 if side else b - ones[b + 1]
                    into, out_of = forward[b], forward[a]
                else:
                    same = ones[b] if side else b - ones[b]
                    into, out_of = backward[a], backward[b]
                below = tables[child + child_row * child_size + same] if child >= 0 else zeros
                new_run, new_sign = zeros, np.int16(0)
                if comparison:
                    new_right, new_left = _shifted(other_right, a, b), _shifted(other_left, a, b)
                    if side:
                        new_right = max(new_right, b)
                    else:
                        new_left = max(new_left, b)
                    new_run = rest[min(new_right, new_left) + 1]
                    new_sign = np.int16(1) if new_left > new_right else np.int16(-1)
                row, there = tables[starts[m, 0] + element * size + b], gain[b]
                for q in range(others):
                    change = flip * there[q] + into[q] - out_of[q] + below[q]
                    row[q] = change + new_sign * new_run[q] - run_sign * old_run[q]

        # Swaps across this node's halves.
        for i in range(left_size):
            a = rank[i]
            left_without = _last_ranks(rights, a, False)
            for j in range(left_size, size):
                b = rank[j]
                slot_i, slot_j = low + i, low + j
                left_below = right_below = new_run = zeros
                if left_table >= 0:
                    left_below = tables[left_table + i * left_size + b - ones[b] - (1 if a < b else 0)]
                if right_table >= 0:
                    right_below = tables[right_table + (j - left_size) * right_size + ones[a] - (1 if b < a else 0)]
                new_sign = np.int16(0)
                if comparison:
                    new_left = max(left_without, b)
                    new_right = max(_last_ranks(rights, b, True), a)
                    new_run = rest[min(new_right, new_left) + 1]
                    new_sign = np.int16(1) if new_left > new_right else np.int16(-1)
                row = out[slot_i * n - slot_i * (slot_i + 1) // 2 + slot_j - slot_i - 1]
                here, there = gain[a], gain[b]
                for q in range(others):
                    change = here[q] - there[q] + left_below[q] + right_below[q]
                    row[q] = change + new_sign * new_run[q] - run_sign * old_run[q]


def table_starts(nodes: Nodes) -> Ints:
    """For each node the start of its table and of those of its children; -1 for a child that is one slot."""
    offsets, total = {}, 0
    for low, _, high, *_ in nodes.tolist()[1:]:
        offsets[low, high] = total
        total += (high - low) ** 2
    rows = [
        (offsets.get((low, high), -1), offsets.get((low, middle), -1), offsets.get((middle, high), -1))
        for low, middle, high, *_ in nodes.tolist()
    ]
    return np.array(rows, np.int64).reshape(-1, 3)
