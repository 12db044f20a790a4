"""Sums over the neighbouring pairs of orders."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo.compiled.jit import jit

Ints = NDArray[np.int64]


@jit
def edge_sums(orders: Ints, tables: NDArray[np.float32], cyclic: bool, out: NDArray[np.float32]) -> None:
    """For each order, the sum of `tables[a, b]`, a vector, over its pairs of an item a and its follower b."""
    count, n = orders.shape
    for m in range(count):
        row = out[m]
        for k in range(n if cyclic else n - 1):
            table = tables[orders[m, k], orders[m, k + 1 if k < n - 1 else 0]]
            for t in range(len(row)):
                row[t] += table[t]


@jit
def edge_norms(orders: Ints, alike: NDArray[np.float64], directed: bool, cyclic: bool, out: NDArray[Any]) -> None:
    """For each order, the sum of `alike[a, c] * alike[b, d]` over all pairs of its edges (a, b) and (c, d).

    An edge without direction is two: (a, b) and (b, a).
    """
    count, n = orders.shape
    edges = n if cyclic else n - 1
    for m in range(count):
        total = 0.0
        for k in range(edges):
            a, b = orders[m, k], orders[m, k + 1 if k < n - 1 else 0]
            of_a, of_b = alike[a], alike[b]
            for j in range(edges):
                c, d = orders[m, j], orders[m, j + 1 if j < n - 1 else 0]
                total += of_a[c] * of_b[d]
                if not directed:
                    total += of_a[d] * of_b[c]
        out[m] = total if directed else 2 * total
