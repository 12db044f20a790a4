"""Sums of costs over the adjacent pairs of orders, their gradients, and 2-opt."""

from __future__ import annotations

import numpy as np

from mergebo._typing import Floats, Ints
from mergebo.compiled.jit import jit

SMOOTH = 1e-8
"""Added to squared distances, so that the distance of two items with equal coordinates is differentiable."""


@jit
def edge_sums(orders: Ints, costs: Floats, cyclic: bool, out: Floats) -> None:
    """For each order, the sum of `costs[a, b]` over the pairs of an item a and its successor b."""
    count, n = orders.shape
    for t in range(count):
        total = 0.0
        for k in range(n if cyclic else n - 1):
            total += costs[orders[t, k], orders[t, k + 1 if k < n - 1 else 0]]
        out[t] = total


@jit
def edge_gradients(orders: Ints, weights: Floats, leaving: Floats, arriving: Floats, cyclic: bool, out: Floats) -> None:
    """Gradients of the weighted sum of the lengths of orders, added to `out`: by `leaving`, then by `arriving`.

    The length of an order is the sum of the distances from `leaving[a]` to `arriving[b]` over its pairs (a, b).
    """
    count, n = orders.shape
    for t in range(count):
        for k in range(n if cyclic else n - 1):
            a, b = orders[t, k], orders[t, k + 1 if k < n - 1 else 0]
            x, y = leaving[a, 0] - arriving[b, 0], leaving[a, 1] - arriving[b, 1]
            scale = weights[t] / np.sqrt(x * x + y * y + SMOOTH)
            out[0, a, 0] += scale * x
            out[0, a, 1] += scale * y
            out[-1, b, 0] -= scale * x
            out[-1, b, 1] -= scale * y


@jit
def two_opt(order: Ints, costs: Floats, directed: bool, cyclic: bool) -> None:
    """Improve an order by reversals and insertions (2-opt and Or-opt of one item) to a local optimum, in place.

    With `directed`, costs need not be symmetric and reversals are not used.
    """
    n = len(order)
    improved = n > 3
    while improved:
        improved = False
        for a in range(n):
            for b in range(n):
                # The pairs before a and after b are cut; -1 if there is none.
                before = order[a - 1] if a > 0 else (order[n - 1] if cyclic else -1)
                after = order[b + 1] if b < n - 1 else (order[0] if cyclic else -1)
                if not directed and a < b and b - a < n - 1:
                    gain = 0.0
                    if before >= 0:
                        gain += costs[before, order[a]] - costs[before, order[b]]
                    if after >= 0:
                        gain += costs[order[b], after] - costs[order[a], after]
                    if gain > 1e-9:
                        order[a : b + 1] = order[a : b + 1][::-1].copy()
                        improved = True
                if a != b and not (cyclic and abs(a - b) == n - 1):  # otherwise a rotation
                    item, gain = order[a], 0.0
                    before = order[a - 1] if a > 0 else (order[n - 1] if cyclic else -1)
                    successor = order[a + 1] if a < n - 1 else (order[0] if cyclic else -1)
                    # It is inserted between the item in slot b and the next one in its direction.
                    left = b if a < b else b - 1
                    first = order[left] if left >= 0 else (order[n - 1] if cyclic else -1)
                    last = order[left + 1] if left < n - 1 else (order[0] if cyclic else -1)
                    if before >= 0:
                        gain += costs[before, item]
                    if successor >= 0:
                        gain += costs[item, successor]
                    if before >= 0 and successor >= 0:
                        gain -= costs[before, successor]
                    if first >= 0:
                        gain -= costs[first, item]
                    if last >= 0:
                        gain -= costs[item, last]
                    if first >= 0 and last >= 0:
                        gain += costs[first, last]
                    if gain > 1e-9:
                        if a < b:
                            order[a:b] = order[a + 1 : b + 1].copy()
                        else:
                            order[b + 1 : a + 1] = order[b:a].copy()
                        order[b] = item
                        improved = True
