"""Comparator networks: their sizes, that they sort, and the conformance suite for each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebo.permutations import sample
from mergebo.sorting import NETWORKS, ComparisonMap, NetworkMap
from mergebo.sorting.textbook import answers
from mergebo.testing import MapSuite
from mergebo.testing import strategies as our


@pytest.mark.parametrize(("network", "length"), [("bitonic", 80), ("odd-even-merge", 63), ("insertion", 120)])
def test_network_sizes_at_16_wires(network: str, length: int) -> None:
    assert NetworkMap(16, network).length == length


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("n", range(1, 17))
def test_named_networks_sort(network: str, n: int) -> None:
    """Also without the comparators of the padding; on every input, by the 0-1 principle."""
    named = NetworkMap(n, network)
    assert all(i < 1 << (n - 1).bit_length() > j for i, j in NETWORKS[network](n))
    assert NetworkMap(n, named.comparators.tolist()).lossless
    if named.length:
        assert not NetworkMap(n, named.comparators.tolist()[:-1]).lossless


class TestBitonic(MapSuite):
    def make(self, n: int) -> ComparisonMap:
        return NetworkMap(n)


class TestOddEvenMerge(MapSuite):
    def make(self, n: int) -> ComparisonMap:
        return NetworkMap(n, "odd-even-merge")


class TestInsertion(MapSuite):
    def make(self, n: int) -> ComparisonMap:
        return NetworkMap(n, "insertion")


class TestNetworkThatDoesNotSort(MapSuite):
    def make(self, n: int) -> ComparisonMap:
        return NetworkMap(n, [(k + 1, k) for k in range(n - 1)] * 2)


@given(st.data())
def test_any_comparator_list(data: st.DataObject) -> None:
    n = data.draw(our.sizes(2, 9))
    map_ = NetworkMap(n, data.draw(our.comparators(n)))
    orders = data.draw(our.batches(n))
    assert map_.encode(orders).tolist() == [answers(map_.algorithm(), order) for order in orders.tolist()]
    if map_.lossless:
        np.testing.assert_array_equal(map_.decode(map_.encode(orders)), orders)


def test_a_large_network_may_be_declared_sorting() -> None:
    pairs = NetworkMap(20).comparators.tolist()
    assert not NetworkMap(20, pairs).lossless
    orders = sample(20, 3, seed=0)
    declared = NetworkMap(20, pairs, sorts=True)
    np.testing.assert_array_equal(declared.decode(declared.encode(orders)), orders)


def test_repr() -> None:
    assert repr(NetworkMap(3, [(0, 1)] * 3)) == "NetworkMap(3, <3 comparators>)"
    assert repr(NetworkMap(3, "insertion")) == "NetworkMap(3, 'insertion')"
