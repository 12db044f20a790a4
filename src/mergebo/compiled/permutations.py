"""Statistics of permutations, row by row: validity, inversions, cycles, increasing subsequences, Lehmer codes."""

from __future__ import annotations

import numpy as np

from mergebo._typing import Ints
from mergebo.compiled.jit import U64, jit


@jit
def first_invalid(rows: Ints) -> int:
    """Index of the first row that is not a permutation of 0..n-1, or -1."""
    n = U64(rows.shape[1])
    seen_in = np.full(rows.shape[1], -1, np.int64)
    for b in range(rows.shape[0]):
        for k in range(n):
            value = U64(rows[b, k])  # negative values become huge
            if value >= n or seen_in[value] == b:
                return b
            seen_in[value] = b
    return -1


@jit
def inversions(rows: Ints) -> Ints:
    """Number of pairs i < j with row[i] > row[j]: O(n log n) by a Fenwick tree."""
    count, n = rows.shape
    out = np.empty(count, np.int64)
    tree = np.empty(n + 1, np.int64)
    for b in range(count):
        tree[:] = 0
        total = 0
        for k in range(n):
            # `before` = entries to the left that are <= row[k]; the other k - before are larger.
            before = 0
            i = rows[b, k] + 1
            while i > 0:
                before += tree[i]
                i -= i & -i
            total += k - before
            i = rows[b, k] + 1
            while i <= n:
                tree[i] += 1
                i += i & -i
        out[b] = total
    return out


@jit
def cycles(rows: Ints) -> Ints:
    """Number of cycles, fixed points included."""
    count, n = rows.shape
    out = np.empty(count, np.int64)
    seen_in = np.full(n, -1, np.int64)
    for b in range(count):
        total = 0
        for start in range(n):
            if seen_in[start] == b:
                continue
            total += 1
            k = start
            while seen_in[k] != b:
                seen_in[k] = b
                k = rows[b, k]
        out[b] = total
    return out


@jit
def longest_increasing(rows: Ints) -> Ints:
    """Length of the longest increasing subsequence, by patience sorting."""
    count, n = rows.shape
    out = np.empty(count, np.int64)
    tops = np.empty(n, np.int64)
    for b in range(count):
        piles = 0
        for k in range(n):
            value = rows[b, k]
            low, high = 0, piles
            while low < high:
                middle = (low + high) // 2
                if tops[middle] < value:
                    low = middle + 1
                else:
                    high = middle
            tops[low] = value
            if low == piles:
                piles += 1
        out[b] = piles
    return out


@jit
def lehmer_encode(rows: Ints) -> Ints:
    """digit[k] = number of later entries that are smaller than row[k]."""
    count, n = rows.shape
    out = np.empty((count, n), np.int64)
    for b in range(count):
        for k in range(n):
            smaller = 0
            for j in range(k + 1, n):
                smaller += rows[b, j] < rows[b, k]
            out[b, k] = smaller
    return out


@jit
def lehmer_decode(digits: Ints) -> Ints:
    """The permutation with these Lehmer digits: the k-th entry is the digit[k]-th smallest unused value."""
    count, n = digits.shape
    out = np.empty((count, n), np.int64)
    unused = np.empty(n, np.int64)
    for b in range(count):
        for value in range(n):
            unused[value] = value
        for k in range(n):
            digit = digits[b, k]
            out[b, k] = unused[digit]
            for j in range(digit, n - k - 1):
                unused[j] = unused[j + 1]
    return out


@jit
def invert(rows: Ints) -> Ints:
    """out[row[k]] = k."""
    count, n = rows.shape
    out = np.empty((count, n), np.int64)
    for b in range(count):
        for k in range(n):
            out[b, U64(rows[b, k])] = k
    return out
