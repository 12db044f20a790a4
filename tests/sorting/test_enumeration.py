"""All pairs and random pairs: facts, and the conformance suite for each map."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mergebo.distances import kendall
from mergebo.permutations import sample
from mergebo.sorting import ComparisonMap, EnumerationMap, MergeMap, RandomComparisons
from mergebo.testing import MapSuite


@pytest.mark.parametrize(("n", "length"), [(1, 0), (15, 105), (30, 435), (280, 39060)])
def test_enumeration_lengths(n: int, length: int) -> None:
    assert EnumerationMap(n).length == length


@pytest.mark.parametrize("n", [2, 7, 280])
def test_hamming_of_enumeration_is_kendall(n: int) -> None:
    a, b = sample(n, 6, seed=1), sample(n, 5, seed=2)
    np.testing.assert_array_equal(EnumerationMap(n).distance(a, b), kendall(a[:, None], b[None]))


def test_merge_is_lossless_where_random_comparisons_are_not() -> None:
    orders = list(itertools.permutations(range(6)))
    codes = RandomComparisons(6).encode(orders)
    assert RandomComparisons(6).length == MergeMap(6).length
    assert len(np.unique(codes, axis=0)) < len(orders)


class TestEnumeration(MapSuite):
    def make(self, n: int) -> ComparisonMap:
        return EnumerationMap(n)


class TestRandom(MapSuite):
    def make(self, n: int) -> ComparisonMap:
        return RandomComparisons(n, n * (n - 1) // 4, seed=3)
