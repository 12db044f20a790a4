"""The merge map: facts from the paper, and the conformance suite for each kind of code."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebo.permutations import sample
from mergebo.sorting import ComparisonMap, MergeMap
from mergebo.testing import MapSuite
from mergebo.testing import strategies as our


@pytest.mark.parametrize(
    ("n", "length"), [(1, 0), (2, 1), (3, 3), (4, 5), (15, 45), (30, 119), (279, 2000), (280, 2009), (1000, 8977)]
)
@pytest.mark.parametrize("padding", ["comparison", "source"])
def test_merge_lengths(n: int, length: int, padding) -> None:
    assert MergeMap(n, padding).length == length
    assert MergeMap(n, padding).encode(np.arange(n)).shape == (length,)


def test_worked_example() -> None:
    """The paper's (1, 4, 3, 2), numbered from 0."""
    assert MergeMap(4).encode([0, 3, 2, 1]).tolist() == [0, 1, 0, 1, 1]
    assert MergeMap(4, padded=True).encode([0, 3, 2, 1]).tolist() == [0, 1, 0, 1, 1, 1]
    assert MergeMap(4, "source").encode([0, 3, 2, 1]).tolist() == [0, 1, 0, 1, 1]
    assert MergeMap(4, "source", padded=True).encode([0, 3, 2, 1]).tolist() == [0, 1, 0, 1, 1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("padding", ["comparison", "source"])
@pytest.mark.parametrize("padded", [False, True])
def test_40320_distinct_merge_codes_of_8_items(padding, padded: bool) -> None:
    codes = MergeMap(8, padding, padded).encode(list(itertools.permutations(range(8))))
    assert len(np.unique(codes, axis=0)) == 40320


@given(st.data())
def test_comparison_code_is_source_code_with_final_runs_flipped(data: st.DataObject) -> None:
    order = data.draw(our.permutations(low=2))
    source = MergeMap(order.size, "source", padded=True)
    comparison = MergeMap(order.size, "comparison", padded=True).encode(order)
    expected = source.encode(order)
    for *_, offset, width, _ in source.nodes.tolist():
        node = expected[offset : offset + width]
        k = width
        while width > 1 and k and node[k - 1] == node[-1]:
            k -= 1
        if width > 1:
            node[k:] = 1 - node[k:]
    np.testing.assert_array_equal(comparison, expected)


class TestMerge(MapSuite):
    def make(self, n: int) -> ComparisonMap:
        return MergeMap(n)


class TestMergeSource(MapSuite):
    def make(self, n: int) -> ComparisonMap:
        return MergeMap(n, "source")


class TestMergePadded(MapSuite):
    def make(self, n: int) -> ComparisonMap:
        return MergeMap(n, padded=True)


class TestMergeSourcePadded(MapSuite):
    def make(self, n: int) -> ComparisonMap:
        return MergeMap(n, "source", padded=True)


@given(st.data())
def test_large_merge_projection_is_nearest(data: st.DataObject) -> None:
    """Neither the original order nor random orders nor neighbours are nearer than the projection, for any n."""
    n = data.draw(our.sizes(2, 130))
    map_ = MergeMap(n, data.draw(st.sampled_from(["comparison", "source"])))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    order = sample(n, seed=rng)
    features = map_.encode(order) + rng.normal(0, rng.uniform(0.1, 2), map_.length)
    nearest = map_.project(features)
    neighbours = np.tile(nearest, (60, 1))
    for row in neighbours:
        i, j = rng.integers(0, n, 2)
        row[[i, j]] = row[[j, i]]
    others = np.concatenate([order[None], sample(n, 20, seed=rng), neighbours])
    cost = ((map_.encode(others) - features) ** 2).sum(axis=-1)
    assert ((map_.encode(nearest) - features) ** 2).sum() <= cost.min() + 1e-9


def test_read_only_and_noncontiguous_codes() -> None:
    map_ = MergeMap(9)
    orders = sample(9, 8, seed=0)
    wide = np.repeat(map_.encode(orders), 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(map_.decode(wide), orders)
    np.testing.assert_array_equal(map_.encode(np.asfortranarray(orders)), map_.encode(orders))


def test_threads_get_the_same_codes() -> None:
    from concurrent.futures import ThreadPoolExecutor

    map_, orders = MergeMap(50), sample(50, (8, 200), seed=0)
    with ThreadPoolExecutor(4) as pool:
        np.testing.assert_array_equal(np.stack(list(pool.map(map_.encode, orders))), map_.encode(orders))


def test_encoding_needs_little_more_memory_than_its_output() -> None:
    import tracemalloc

    map_, orders = MergeMap(280), sample(280, 4000, seed=0)
    map_.encode(orders[:2])
    tracemalloc.start()
    bits = map_.encode(orders)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * bits.nbytes
