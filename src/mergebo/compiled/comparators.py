"""Codes of fixed pairs and of comparator networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo.compiled.jit import U64, jit

Bits = NDArray[np.uint8]
Ints = NDArray[np.int64]
Slots = NDArray[np.uint64]


@jit
def encode_all_pairs(rows: NDArray[Any], out: Bits) -> None:
    """row[i] > row[j] for every i < j, i first: contiguous in j, so the comparisons become vector instructions."""
    count, n = rows.shape
    for b in range(count):
        row = rows[b]
        offset = U64(0)
        for i in range(n - 1):
            value = row[i]
            first, length = U64(i + 1), U64(n - i - 1)
            for k in range(length):
                out[b, offset + k] = value > row[first + k]
            offset += length


def all_pairs(rows: Ints) -> Bits:
    """The comparison of every pair i < j, for each row."""
    count, n = rows.shape
    out = np.empty((count, n * (n - 1) // 2), np.uint8)
    # Narrow entries make the vectors four times as wide.
    encode_all_pairs(rows.astype(np.uint16) if n <= 1 << 16 else rows, out)
    return out


@jit
def wins(bits: Bits, n: int) -> Ints:
    """From all-pairs bits, the number of entries that each entry is larger than."""
    out = np.zeros((bits.shape[0], n), np.int64)
    for b in range(bits.shape[0]):
        k = 0
        for i in range(n):
            for j in range(i + 1, n):
                out[b, i] += bits[b, k]
                out[b, j] += 1 - bits[b, k]
                k += 1
    return out


@jit
def encode_pairs(rows: Ints, pairs: Slots, out: Bits) -> None:
    """row[i] > row[j] for each listed pair (i, j)."""
    for b in range(rows.shape[0]):
        for k in range(pairs.shape[0]):
            out[b, k] = rows[b, pairs[k, 0]] > rows[b, pairs[k, 1]]


@jit
def encode_network(rows: Ints, comparators: Slots, out: Bits) -> None:
    """Send each row through the comparators; a bit says whether that comparator swapped."""
    wires = np.empty(rows.shape[1], np.int64)
    for b in range(rows.shape[0]):
        wires[:] = rows[b]
        for k in range(comparators.shape[0]):
            i, j = comparators[k]
            first, second = wires[i], wires[j]
            out[b, k] = first > second
            wires[i] = min(first, second)
            wires[j] = max(first, second)


@jit
def unsort(bits: Bits, comparators: Slots, out: Ints) -> None:
    """Undo a sorting network from its sorted end: swap back, last comparator first, wherever a bit says that it swapped."""
    n = out.shape[1]
    for b in range(bits.shape[0]):
        for k in range(n):
            out[b, k] = k
        for k in range(comparators.shape[0] - 1, -1, -1):
            if bits[b, k]:
                i, j = comparators[k]
                out[b, i], out[b, j] = out[b, j], out[b, i]
