"""Adjacent pairs of orders: sums of their costs, gradients, 2-opt, and changes along exchanges (see `exchanges`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Ints
from mergebo.compiled.exchanges import Steps, write
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


@jit
def _changed_pairs(n: int, i: np.int64, j: np.int64, cyclic: bool) -> Any:
    """The left slots of the pairs (left, left + 1) that an exchange of slots i < j changes, each once.

    -1 for a pair that does not exist or equals another one.
    """
    before_i = i - 1 if i > 0 else (n - 1 if cyclic and j < n - 1 else -1)
    after_j = j if j < n - 1 or cyclic else -1
    return before_i, i, j - 1 if j > i + 1 else -1, after_j


@jit
def cost_steps(order: Ints, costs: NDArray[np.float64], cyclic: bool, steps: Steps, out: NDArray[np.float64]) -> None:
    """Changes of the sum of `costs[a, b]` over pairs of an item a and its successor b."""
    n = len(order)
    here = order.copy()
    total = 0.0
    for step in range(len(steps)):
        i, j, index = np.int64(min(steps[step, :2])), np.int64(max(steps[step, :2])), steps[step, 2]
        if steps[step, 3]:
            here[:] = order
            total = 0.0
        for sign in (-1, 1):
            for left in _changed_pairs(n, i, j, cyclic):
                if left >= 0:
                    total += sign * costs[here[left], here[left + 1 if left < n - 1 else 0]]
            if sign == -1:
                here[i], here[j] = here[j], here[i]
        if index >= 0:
            out[index] = total


@jit
def edge_steps(
    order: Ints, after: NDArray[np.int32], before: NDArray[np.int32], cyclic: bool, steps: Steps, out: NDArray[Any]
) -> None:
    """Changes of the number of adjacent pairs that are not shared.

    `after[item, k]` and `before[item, k]` are the neighbours of an item in the k-th other order, -1 at an open end; if
    direction matters, `before` is equal to `after`.
    """
    n, others = after.shape
    here = order.copy()
    total = np.zeros(others, out.dtype)
    for step in range(len(steps)):
        i, j, index = np.int64(min(steps[step, :2])), np.int64(max(steps[step, :2])), steps[step, 2]
        if steps[step, 3]:
            here[:] = order
            total[:] = 0
        for sign in (1, -1):  # subtract the old shared pairs, then add the new ones
            for left in _changed_pairs(n, i, j, cyclic):
                if left < 0:
                    continue
                item, successor = here[left], here[left + 1 if left < n - 1 else 0]
                next_to, last_to = after[item], before[item]
                for k in range(others):
                    total[k] += sign * ((next_to[k] == successor) | (last_to[k] == successor))
            if sign == 1:
                here[i], here[j] = here[j], here[i]
        write(total, index, out)
