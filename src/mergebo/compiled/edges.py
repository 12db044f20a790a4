"""Sums over the neighbouring pairs of orders: what it costs to go from each item to the next one."""

from __future__ import annotations

import numpy as np

from mergebo._typing import Floats, Ints
from mergebo.compiled.jit import jit

SMOOTH = 1e-8
"""Added to squared distances: two items at one place have a distance with a derivative."""


@jit
def edge_sums(orders: Ints, costs: Floats, cyclic: bool, out: Floats) -> None:
    """For each order, the sum of `costs[a, b]` over its pairs of an item a and its follower b."""
    count, n = orders.shape
    for t in range(count):
        total = 0.0
        for k in range(n if cyclic else n - 1):
            total += costs[orders[t, k], orders[t, k + 1 if k < n - 1 else 0]]
        out[t] = total


@jit
def edge_pulls(orders: Ints, weights: Floats, leaving: Floats, arriving: Floats, cyclic: bool, out: Floats) -> None:
    """Derivatives of the weighted sum of the orders' lengths, added to `out`: by places of leaving, then of arriving.

    An order's length is the sum of the distances from `leaving[a]` to `arriving[b]` over its pairs (a, b).
    """
    count, n = orders.shape
    for t in range(count):
        for k in range(n if cyclic else n - 1):
            a, b = orders[t, k], orders[t, k + 1 if k < n - 1 else 0]
            x, y = leaving[a, 0] - arriving[b, 0], leaving[a, 1] - arriving[b, 1]
            pull = weights[t] / np.sqrt(x * x + y * y + SMOOTH)
            out[0, a, 0] += pull * x
            out[0, a, 1] += pull * y
            out[-1, b, 0] -= pull * x
            out[-1, b, 1] -= pull * y


@jit
def shorten(order: Ints, costs: Floats, directed: bool, cyclic: bool) -> None:
    """Reversals and insertions that make an order cheaper, as long as there are any (2-opt and 1-opt), in place.

    Costs need not be symmetric if `directed`: then there are no reversals.
    """
    n = len(order)
    better = n > 3
    while better:
        better = False
        for a in range(n):
            for b in range(n):
                # The pairs before a and after b are cut; -1 where there is none.
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
                        better = True
                if a != b and not (cyclic and abs(a - b) == n - 1):  # that would turn a round
                    item, gain = order[a], 0.0
                    before = order[a - 1] if a > 0 else (order[n - 1] if cyclic else -1)
                    behind = order[a + 1] if a < n - 1 else (order[0] if cyclic else -1)
                    # It goes between the item of slot b and the next one on its way.
                    left = b if a < b else b - 1
                    first = order[left] if left >= 0 else (order[n - 1] if cyclic else -1)
                    last = order[left + 1] if left < n - 1 else (order[0] if cyclic else -1)
                    if before >= 0:
                        gain += costs[before, item]
                    if behind >= 0:
                        gain += costs[item, behind]
                    if before >= 0 and behind >= 0:
                        gain -= costs[before, behind]
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
                        better = True
