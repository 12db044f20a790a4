"""Comparison maps of fixed pairs of slots: all pairs (enumeration sort, the Mallows kernel's map) or a random subset."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mergebo._typing import Bits, Ints
from mergebo.compiled import comparators, packed
from mergebo.distances import kendall
from mergebo.errors import ArgumentError
from mergebo.permutations import check_n
from mergebo.sorting.base import ComparisonMap
from mergebo.sorting.merge import MergeMap
from mergebo.sorting.textbook import Algorithm, compare_pairs

__all__ = ["EnumerationMap", "RandomComparisons"]


@dataclass(frozen=True)
class EnumerationMap(ComparisonMap):
    """Every pair of slots i < j, i first: n(n-1)/2 bits `order[i] > order[j]`. Their Hamming distance is Kendall's.

    >>> EnumerationMap(4).encode([0, 3, 2, 1])
    array([0, 0, 0, 1, 1, 1], dtype=uint8)
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check_n(self.n))

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
        # The numbers of wins are a permutation iff the comparisons are transitive, which encoding them again verifies.
        return self._verified(comparators.wins(rows, self.n), rows)


@dataclass(frozen=True)
class RandomComparisons(ComparisonMap):
    """A fixed random subset of the enumeration: the paper's control. By default it has as many bits as MergeMap."""

    n: int
    size: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check_n(self.n))
        pairs = kendall.maximum(self.n)
        if not 0 <= self.length <= pairs:
            raise ArgumentError(f"{self.n} items have {pairs} pairs; size must be between 0 and {pairs}, got {self.size}")

    @property
    def length(self) -> int:
        return MergeMap(self.n).length if self.size is None else self.size

    @cached_property
    def pairs(self) -> comparators.Slots:
        """The sampled pairs (i, j), i < j, in the order of the enumeration."""
        pairs = np.stack(np.triu_indices(self.n, 1), axis=1)
        sampled = np.random.default_rng(self.seed).choice(len(pairs), self.length, replace=False)
        return pairs[np.sort(sampled)].astype(np.uint64)

    def algorithm(self) -> Algorithm:
        return compare_pairs((int(i), int(j)) for i, j in self.pairs)

    def _encode(self, rows: Ints) -> Bits:
        out = np.empty((len(rows), self.length), np.uint8)
        comparators.encode_pairs(rows, self.pairs, out)
        return out
