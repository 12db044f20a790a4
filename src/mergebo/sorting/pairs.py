"""Fixed pairs of slots: all of them (enumeration sort, the Mallows kernel's map) or a random subset."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mergebo._typing import Bits, Ints
from mergebo.compiled import comparators, packed
from mergebo.errors import ArgumentError
from mergebo.permutations import item_count, kendall
from mergebo.sorting.base import ComparisonMap
from mergebo.sorting.merge import MergeMap
from mergebo.sorting.reference import Algorithm, compare_pairs


@dataclass(frozen=True)
class EnumerationMap(ComparisonMap):
    """Every pair of slots i < j, i first: n(n-1)/2 bits `order[i] > order[j]`. Their Hamming distance is Kendall's.

    >>> EnumerationMap(4).encode([0, 3, 2, 1])
    array([0, 0, 0, 1, 1, 1], dtype=uint8)
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", item_count(self.n))

    @property
    def length(self) -> int:
        return kendall.maximum(self.n)

    @property
    def lossless(self) -> bool:
        return True

    def algorithm(self) -> Algorithm:
        return compare_pairs(zip(*(slots.tolist() for slots in np.triu_indices(self.n, 1)), strict=True))

    def _encode(self, rows: Ints) -> Bits:
        return comparators.encode_all_pairs(rows)

    def _pack(self, rows: Ints) -> packed.Words:
        return comparators.pack_all_pairs(rows)

    def _decode(self, rows: Bits) -> Ints:
        # Counts of wins are a permutation exactly if the comparisons are transitive; encoding them again finds out.
        return self._verified(comparators.wins(rows, self.n), rows)


@dataclass(frozen=True)
class RandomComparisons(ComparisonMap):
    """A fixed random subset of the enumeration: the paper's control. By default as many bits as MergeMap has."""

    n: int
    size: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", item_count(self.n))
        most = kendall.maximum(self.n)
        if not 0 <= self.length <= most:
            raise ArgumentError(f"{self.n} items have {most} pairs; size must be between 0 and that, got {self.size}")

    @property
    def length(self) -> int:
        return MergeMap(self.n).length if self.size is None else self.size

    @cached_property
    def pairs(self) -> comparators.Slots:
        """The chosen pairs (i, j), i < j, in the enumeration's order."""
        every = np.stack(np.triu_indices(self.n, 1), axis=1)
        chosen = np.random.default_rng(self.seed).choice(len(every), self.length, replace=False)
        return every[np.sort(chosen)].astype(np.uint64)

    def algorithm(self) -> Algorithm:
        return compare_pairs((int(i), int(j)) for i, j in self.pairs)

    def _encode(self, rows: Ints) -> Bits:
        out = np.empty((len(rows), self.length), np.uint8)
        comparators.encode_pairs(rows, self.pairs, out)
        return out
