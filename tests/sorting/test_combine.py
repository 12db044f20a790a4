"""Sums and relabellings of maps, and the conformance suite for each."""

from __future__ import annotations

import numpy as np
import pytest

from mergebo import errors
from mergebo.distances import kendall
from mergebo.permutations import sample
from mergebo.sorting import ComparisonMap, Concatenation, EnumerationMap, MergeMap, NetworkMap, RandomComparisons
from mergebo.testing import MapSuite


def test_distance_of_a_sum() -> None:
    """Buying back invariance: the distance of a sum of maps is the sum of their distances."""
    a, b = sample(12, 6, seed=0), sample(12, 6, seed=1)
    both = MergeMap(12) + EnumerationMap(12)
    np.testing.assert_array_equal(both.distance(a, b), MergeMap(12).distance(a, b) + kendall.cross(a, b))


def test_concatenation_is_flat() -> None:
    joined = MergeMap(5) + (EnumerationMap(5) + NetworkMap(5))
    assert isinstance(joined, Concatenation)
    assert len(joined.parts) == 3
    assert joined == (MergeMap(5) + EnumerationMap(5)) + NetworkMap(5)


def test_relabelling_of_items_and_slots() -> None:
    items, slots, order = [2, 0, 1, 3], [1, 3, 0, 2], [3, 1, 0, 2]
    relabelled = [items[order[slots[k]]] for k in range(4)]
    np.testing.assert_array_equal(
        MergeMap(4).relabelled(items=items, slots=slots).encode(order), MergeMap(4).encode(relabelled)
    )
    assert MergeMap(4).relabelled().encode(order).tolist() == MergeMap(4).encode(order).tolist()


class TestSum(MapSuite):
    largest = 20
    exact_up_to = 6

    def make(self, n: int) -> ComparisonMap:
        return RandomComparisons(n, n // 2) + RandomComparisons(n, n // 3, seed=1) + MergeMap(n) + NetworkMap(n)


class TestRelabelled(MapSuite):
    def make(self, n: int) -> ComparisonMap:
        return MergeMap(n).relabelled(items=sample(n, seed=1), slots=sample(n, seed=2))


class TestSumOfSlots(MapSuite):
    largest = 20
    exact_up_to = 6

    def make(self, n: int) -> ComparisonMap:
        return MergeMap(n) + MergeMap(n).relabelled(slots=sample(n, seed=2))


def test_sum_over_relabelled_items_cannot_project() -> None:
    mixed = MergeMap(5) + MergeMap(5).relabelled(items=[1, 0, 2, 3, 4])
    orders = sample(5, 4, seed=0)
    np.testing.assert_array_equal(mixed.decode(mixed.encode(orders)), orders)
    with pytest.raises(errors.UnsupportedError, match="relabel slots instead"):
        mixed.project(np.zeros(mixed.length))
