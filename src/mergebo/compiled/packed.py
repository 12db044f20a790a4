"""Hamming distances of bit rows packed into 64-bit words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mergebo.compiled.jit import U64, jit

Words = NDArray[np.uint64]

BLOCK = 1024
"""Words of a row that are compared before the next row, so that five rows fit the L1 cache."""


BLOCK_BYTES = 1 << 22
"""Unpacked bits (one byte each) in memory at once; packed they are an eighth of it and fit the L2 cache."""


@jit
def popcount(word: np.uint64) -> np.uint64:
    """Number of ones in a word. LLVM recognises the idiom and emits the native (vector) instruction."""
    word = word - ((word >> U64(1)) & U64(0x5555555555555555))
    word = (word & U64(0x3333333333333333)) + ((word >> U64(2)) & U64(0x3333333333333333))
    word = (word + (word >> U64(4))) & U64(0x0F0F0F0F0F0F0F0F)
    return (word * U64(0x0101010101010101)) >> U64(56)


@jit
def hamming(a: Words, b: Words, out: NDArray[np.int64]) -> None:
    """`out[i, j]` = number of bits in which row i of `a` and row j of `b` differ.

    Four rows of `b` at a time share each word of `a`, which nearly doubles the speed of this memory-bound loop.
    """
    rows_a, words = a.shape
    rows_b = b.shape[0]
    out[:] = 0
    for start in range(0, words, BLOCK):
        stop = min(start + BLOCK, words)
        multiple = rows_b - rows_b % 4
        for j in range(0, multiple, 4):
            b0, b1, b2, b3 = b[j, start:stop], b[j + 1, start:stop], b[j + 2, start:stop], b[j + 3, start:stop]
            for i in range(rows_a):
                row = a[i, start:stop]
                d0, d1, d2, d3 = U64(0), U64(0), U64(0), U64(0)
                for k in range(stop - start):
                    word = row[k]
                    d0 += popcount(word ^ b0[k])
                    d1 += popcount(word ^ b1[k])
                    d2 += popcount(word ^ b2[k])
                    d3 += popcount(word ^ b3[k])
                out[i, j] += np.int64(d0)
                out[i, j + 1] += np.int64(d1)
                out[i, j + 2] += np.int64(d2)
                out[i, j + 3] += np.int64(d3)
        for j in range(multiple, rows_b):
            b0 = b[j, start:stop]
            for i in range(rows_a):
                row = a[i, start:stop]
                d0 = U64(0)
                for k in range(stop - start):
                    d0 += popcount(row[k] ^ b0[k])
                out[i, j] += np.int64(d0)


@jit
def batch_hamming(a: Words, b: Words, out: NDArray[np.int64]) -> None:
    """`hamming` within each of several batches: `(batch, A, words)` and `(batch, B, words)` -> `(batch, A, B)`."""
    for m in range(a.shape[0]):
        hamming(a[m], b[m], out[m])


def pack(bits: NDArray[np.uint8]) -> Words:
    """Rows of 0/1 bytes -> rows of 64-bit words, zero-padded; the order of bits does not matter for distances."""
    packed = np.packbits(bits, axis=-1)
    words = -(-packed.shape[-1] // 8)
    padded = np.zeros((*packed.shape[:-1], 8 * words), np.uint8)
    padded[..., : packed.shape[-1]] = packed
    return padded.view(np.uint64)


def cross_distances(
    encode: Callable[[NDArray[np.int64]], Words], length: int, a: NDArray[np.int64], b: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Hamming distances of codes within each of several batches: `(batch, A, n)`, `(batch, B, n)` -> `(batch, A, B)`.

    `encode` turns rows into packed codes of `length` bits. It is called on cache-sized blocks of rows; only the words of b
    and those of one block of a are in memory.
    """
    batches, rows_a, n = a.shape
    words = -(-length // 64)
    step = max(1, BLOCK_BYTES // max(1, length))

    def packed_rows(rows: NDArray[np.int64]) -> Words:
        blocks = [encode(rows[k : k + step]) for k in range(0, len(rows), step)]
        return np.concatenate(blocks) if blocks else np.empty((0, words), np.uint64)

    out = np.empty((batches, rows_a, b.shape[1]), np.int64)
    words_b = packed_rows(b.reshape(-1, n)).reshape(*b.shape[:2], words)
    step_a = max(1, step // max(1, batches))
    for start in range(0, rows_a, step_a):
        block = np.ascontiguousarray(a[:, start : start + step_a])
        words_a = packed_rows(block.reshape(-1, n)).reshape(*block.shape[:2], words)
        distances = np.empty((*block.shape[:2], b.shape[1]), np.int64)
        batch_hamming(words_a, words_b, distances)
        out[:, start : start + step_a] = distances
    return out
