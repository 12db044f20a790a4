"""Comparator networks: fixed lists of pairs of wires to compare and sort; a bit is 1 if the comparator swapped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from mergebo._typing import Bits, Ints
from mergebo.compiled import comparators
from mergebo.errors import ArgumentError, SlotError, unknown_choice
from mergebo.permutations import check_n
from mergebo.sorting.base import ComparisonMap
from mergebo.sorting.textbook import Algorithm, comparator_network

__all__ = ["NETWORKS", "NetworkMap"]

Comparators = Iterator[tuple[int, int]]


def _wires(n: int) -> int:
    """The number of wires of Batcher's networks, a power of two; extra wires carry a sentinel larger than every entry."""
    return 1 << (n - 1).bit_length()


def bitonic(n: int) -> Comparators:
    """Batcher's bitonic sorter, in the form where all comparators point the same way."""
    wires, block = _wires(n), 2
    while block <= wires:
        for start in range(0, wires, block):  # mirror: the first half against the second one in reverse
            for k in range(block // 2):
                yield start + k, start + block - 1 - k
        stride = block // 4
        while stride:
            for start in range(0, wires, 2 * stride):
                for k in range(stride):
                    yield start + k, start + k + stride
            stride //= 2
        block *= 2


def odd_even_merge(n: int) -> Comparators:
    """Batcher's odd-even merge sort (Knuth 5.2.2, algorithm M)."""
    wires, run = _wires(n), 1
    while run < wires:
        stride = run
        while stride:
            for start in range(stride % run, wires - stride, 2 * stride):
                for k in range(start, start + stride):
                    if k // (2 * run) == (k + stride) // (2 * run):
                        yield k, k + stride
            stride //= 2
        run *= 2


def insertion(n: int) -> Comparators:
    """Insertion sort: each entry moves down through the sorted ones before it."""
    for k in range(1, n):
        for wire in range(k - 1, -1, -1):
            yield wire, wire + 1


NETWORKS: dict[str, Callable[[int], Comparators]] = {
    "bitonic": bitonic,
    "odd-even-merge": odd_even_merge,
    "insertion": insertion,
}
"""Networks by name. All sort, and all comparators put the smaller entry on the lower wire."""

EXHAUSTIVE = 16
"""Maximum number of wires for which a user's network is tested on all inputs of zeros and ones."""


@dataclass(frozen=True)
class NetworkMap(ComparisonMap):
    """The swaps of a comparator network: one of `NETWORKS` by name, or any list of comparators (i, j).

    A network that sorts is lossless: undoing its swaps recovers the input. Whether a list of comparators sorts is
    tested on all inputs of zeros and ones, up to 16 wires; with more, pass `sorts=True`.
    """

    n: int
    network: str | Sequence[tuple[int, int]] = "bitonic"
    sorts: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check_n(self.n))
        if isinstance(self.network, str):
            if self.network not in NETWORKS:
                raise unknown_choice("network", self.network, NETWORKS)
            object.__setattr__(self, "sorts", True)
            return
        try:
            pairs = tuple((int(i), int(j)) for i, j in self.network)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"a network is a list of pairs of wires such as [(0, 1), (1, 2)]: {error}") from error
        for i, j in pairs:
            if not (0 <= i < self.n and 0 <= j < self.n and i != j):
                raise SlotError(f"a comparator joins two different wires of 0..{self.n - 1}, got ({i}, {j})")
        object.__setattr__(self, "network", pairs)

    @cached_property
    def comparators(self) -> comparators.Slots:
        """The comparators (i, j), in order.

        If a named network has more than n wires, the sentinels on the extra ones never move, so comparators that involve
        them never swap and are dropped.
        """
        if isinstance(self.network, str):
            pairs = [(i, j) for i, j in NETWORKS[self.network](self.n) if max(i, j) < self.n]
        else:
            pairs = list(self.network)
        return np.array(pairs, np.uint64).reshape(-1, 2)

    @property
    def length(self) -> int:
        return len(self.comparators)

    @cached_property
    def lossless(self) -> bool:
        if self.sorts is not None:
            return self.sorts
        return self.n <= EXHAUSTIVE and self._sorts_zeros_and_ones()

    def _sorts_zeros_and_ones(self) -> bool:
        """The 0-1 principle: a network that sorts every sequence of zeros and ones sorts everything."""
        wires = [(np.arange(1 << self.n) >> k & 1).astype(bool) for k in range(self.n)]
        for i, j in self.comparators.tolist():
            wires[i], wires[j] = wires[i] & wires[j], wires[i] | wires[j]
        return all(bool((low <= high).all()) for low, high in pairwise(wires))

    def algorithm(self) -> Algorithm:
        return comparator_network(self.n, ((i, j) for i, j in self.comparators.tolist()))

    def _encode(self, rows: Ints) -> Bits:
        out = np.empty((len(rows), self.length), np.uint8)
        comparators.encode_network(rows, self.comparators, out)
        return out

    def _decode(self, rows: Bits) -> Ints:
        out = np.empty((len(rows), self.n), np.int64)
        comparators.unsort(rows, self.comparators, out)
        return self._verified(out, rows)

    def __repr__(self) -> str:
        network = repr(self.network) if isinstance(self.network, str) else f"<{self.length} comparators>"
        return f"NetworkMap({self.n}, {network})"
