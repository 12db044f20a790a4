"""Compiled encoders for fixed pairs of slots and comparator networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Bits, Ints
from mergebo.compiled.jit import U64, jit

Slots = NDArray[np.uint64]


VECTOR = 32
"""Entries per vector; loops run to a multiple of it, into padding at the end of the arrays."""


@jit
def _compare_all(row: Ints, entries: NDArray[Any], answers: Bits) -> None:
    """row[i] > row[j] for every i < j, i first, into `answers`, which ends with padding.

    For each i the comparisons are contiguous in j. They run past the last j to a multiple of the vector size, since a scalar
    remainder loop would take longer than the rest; the excess is overwritten by the next i.
    """
    n = row.shape[0]
    for k in range(n):
        entries[k] = row[k]
    start = U64(0)
    for i in range(n - 1):
        entry, first, length = entries[i], U64(i + 1), U64(n - i - 1)
        for k in range((length + U64(VECTOR - 1)) & ~U64(VECTOR - 1)):
            answers[start + k] = entry > entries[first + k]
        start += length
    for k in range(VECTOR):
        answers[start + U64(k)] = 0


@jit
def _encode_all(rows: Ints, entries: NDArray[Any], answers: Bits, out: Bits) -> None:
    for b in range(rows.shape[0]):
        _compare_all(rows[b], entries, answers)
        out[b] = answers[: out.shape[1]]


@jit
def _pack_all(rows: Ints, entries: NDArray[Any], answers: Bits, out: Bits) -> None:
    words = answers.view(np.uint64)
    for b in range(rows.shape[0]):
        _compare_all(rows[b], entries, answers)
        for k in range(out.shape[1]):
            # The product gathers the lowest bits of eight bytes in the top byte.
            out[b, k] = (words[k] * U64(0x0102040810204080)) >> U64(56)


def _scratch(n: int) -> tuple[NDArray[Any], Bits]:
    """Padded buffers for entries and answers; the entries have the smallest type possible, for wide vectors."""
    words = -(-(n * (n - 1) // 2) // 64)
    return np.zeros(n + VECTOR, np.uint16 if n <= 1 << 16 else np.int64), np.zeros(64 * words + VECTOR, np.uint8)


def encode_all_pairs(rows: Ints) -> Bits:
    """The comparison of every pair i < j, for each row."""
    count, n = rows.shape
    out = np.empty((count, n * (n - 1) // 2), np.uint8)
    _encode_all(rows, *_scratch(n), out)
    return out


def pack_all_pairs(rows: Ints) -> NDArray[np.uint64]:
    """The same, packed in 64-bit words."""
    entries, answers = _scratch(rows.shape[1])
    out = np.empty((len(rows), (len(answers) - VECTOR) // 8), np.uint8)
    _pack_all(rows, entries, answers, out)
    return out.view(np.uint64)


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
    """row[i] > row[j] for each given pair (i, j)."""
    for b in range(rows.shape[0]):
        for k in range(pairs.shape[0]):
            out[b, k] = rows[b, pairs[k, 0]] > rows[b, pairs[k, 1]]


@jit
def encode_network(rows: Ints, comparators: Slots, out: Bits) -> None:
    """Run each row through the comparators; a bit is 1 if the comparator swapped."""
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
    """Invert a sorting network: undo the swaps given by the bits, last comparator first, from the sorted entries."""
    n = out.shape[1]
    for b in range(bits.shape[0]):
        for k in range(n):
            out[b, k] = k
        for k in range(comparators.shape[0] - 1, -1, -1):
            if bits[b, k]:
                i, j = comparators[k]
                out[b, i], out[b, j] = out[b, j], out[b, i]
