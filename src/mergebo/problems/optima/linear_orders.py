"""Good linear orders by iterated local search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints
from mergebo.compiled.jit import jit

__all__: list[str] = []


def order_search(gains: NDArray[np.float64], *, seed: int, kicks: int) -> tuple[float, Ints]:
    """A good linear order by iterated local search: best insertions, and kicks that are accepted if not worse."""
    n = len(gains)
    net = gains - gains.T
    order = np.argsort(-net.sum(axis=1), kind="stable")
    _kick_and_insert(net, order, np.random.default_rng(seed).integers(0, n, (kicks, 3, 2)))
    return -float(gains[order[:, None], order][np.triu_indices(n, 1)].sum()), order


@jit
def _insert(order: Ints, start: int, end: int) -> None:
    """Move the item at position `start` to position `end`."""
    item = order[start]
    step = 1 if end > start else -1
    for k in range(start, end, step):
        order[k] = order[k + step]
    order[end] = item


@jit
def _improve_order(net: NDArray[np.float64], order: Ints) -> float:
    """Best insertions until none gains; returns the total gain. `net[a, b]`: gain of a before b minus b before a."""
    gained, before = 0.0, -1.0
    while gained > before:
        before = gained
        for start in range(len(order)):
            row, best, end = net[order[start]], 1e-9, start
            gain = 0.0
            for k in range(start + 1, len(order)):
                gain -= row[order[k]]
                if gain > best:
                    best, end = gain, k
            gain = 0.0
            for k in range(start - 1, -1, -1):
                gain += row[order[k]]
                if gain > best:
                    best, end = gain, k
            if end != start:
                _insert(order, start, end)
                gained += best
    return gained


@jit
def _kick_and_insert(net: NDArray[np.float64], order: Ints, draws: Ints) -> None:
    _improve_order(net, order)
    for draw in draws:
        incumbent = order.copy()
        change = 0.0
        for start, end in draw:
            row = net[order[start]]
            for k in range(start + 1, end + 1):
                change -= row[order[k]]
            for k in range(end, start):
                change += row[order[k]]
            _insert(order, start, end)
        if change + _improve_order(net, order) < 0:
            order[:] = incumbent
