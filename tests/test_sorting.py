"""Comparison maps: facts from the paper, and the conformance suite for each map."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebo import errors
from mergebo.distances import kendall
from mergebo.permutations import sample
from mergebo.sorting import (
    NETWORKS,
    ComparisonMap,
    Concatenation,
    EnumerationMap,
    MergeMap,
    NetworkMap,
    RandomComparisons,
)
from mergebo.sorting.projection import replay
from mergebo.sorting.textbook import Algorithm, merge_sort
from mergebo.testing import MapSuite
from mergebo.testing import strategies as our


class TestFacts:
    @pytest.mark.parametrize(
        ("n", "length"), [(1, 0), (2, 1), (3, 3), (4, 5), (15, 45), (30, 119), (279, 2000), (280, 2009), (1000, 8977)]
    )
    @pytest.mark.parametrize("padding", ["comparison", "source"])
    def test_merge_lengths(self, n: int, length: int, padding) -> None:
        assert MergeMap(n, padding).length == length
        assert MergeMap(n, padding).encode(np.arange(n)).shape == (length,)

    @pytest.mark.parametrize(("n", "length"), [(1, 0), (15, 105), (30, 435), (280, 39060)])
    def test_enumeration_lengths(self, n: int, length: int) -> None:
        assert EnumerationMap(n).length == length

    def test_worked_example(self) -> None:
        """The paper's (1, 4, 3, 2), numbered from 0."""
        assert MergeMap(4).encode([0, 3, 2, 1]).tolist() == [0, 1, 0, 1, 1]
        assert MergeMap(4, padded=True).encode([0, 3, 2, 1]).tolist() == [0, 1, 0, 1, 1, 1]
        assert MergeMap(4, "source").encode([0, 3, 2, 1]).tolist() == [0, 1, 0, 1, 1]
        assert MergeMap(4, "source", padded=True).encode([0, 3, 2, 1]).tolist() == [0, 1, 0, 1, 1, 0]

    @pytest.mark.slow
    @pytest.mark.parametrize("padding", ["comparison", "source"])
    @pytest.mark.parametrize("padded", [False, True])
    def test_40320_distinct_merge_codes_of_8_items(self, padding, padded: bool) -> None:
        codes = MergeMap(8, padding, padded).encode(list(itertools.permutations(range(8))))
        assert len(np.unique(codes, axis=0)) == 40320

    @given(st.data())
    def test_comparison_code_is_source_code_with_final_runs_flipped(self, data: st.DataObject) -> None:
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

    @pytest.mark.parametrize("n", [2, 7, 280])
    def test_hamming_of_enumeration_is_kendall(self, n: int) -> None:
        a, b = sample(n, 6, seed=1), sample(n, 5, seed=2)
        np.testing.assert_array_equal(EnumerationMap(n).distance(a, b), kendall(a[:, None], b[None]))

    @pytest.mark.parametrize(("network", "length"), [("bitonic", 80), ("odd-even-merge", 63), ("insertion", 120)])
    def test_network_sizes_at_16_wires(self, network: str, length: int) -> None:
        assert NetworkMap(16, network).length == length

    @pytest.mark.parametrize("network", NETWORKS)
    @pytest.mark.parametrize("n", range(1, 17))
    def test_named_networks_sort(self, network: str, n: int) -> None:
        """Also without the comparators of the padding; on every input, by the 0-1 principle."""
        named = NetworkMap(n, network)
        assert all(i < 1 << (n - 1).bit_length() > j for i, j in NETWORKS[network](n))
        assert NetworkMap(n, named.comparators.tolist()).lossless
        if named.length:
            assert not NetworkMap(n, named.comparators.tolist()[:-1]).lossless

    def test_merge_is_lossless_where_random_comparisons_are_not(self) -> None:
        orders = list(itertools.permutations(range(6)))
        codes = RandomComparisons(6).encode(orders)
        assert RandomComparisons(6).length == MergeMap(6).length
        assert len(np.unique(codes, axis=0)) < len(orders)

    def test_distance_of_a_sum(self) -> None:
        """Buying back invariance: the distance of a sum of maps is the sum of their distances."""
        a, b = sample(12, 6, seed=0), sample(12, 6, seed=1)
        both = MergeMap(12) + EnumerationMap(12)
        np.testing.assert_array_equal(both.distance(a, b), MergeMap(12).distance(a, b) + kendall.cross(a, b))


class Textbook(ComparisonMap):
    """A custom map that defines only the algorithm: selection of the minimum by n-1 comparisons, then merge sort."""

    def __init__(self, n: int) -> None:
        self.n = n

    @property
    def length(self) -> int:
        return self.n - 1 + MergeMap(self.n).length

    @property
    def lossless(self) -> bool:
        return True

    def algorithm(self) -> Algorithm:
        smallest = 0
        for k in range(1, self.n):
            if (yield smallest, k):
                smallest = k
        yield from merge_sort(self.n)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Textbook) and other.n == self.n

    def __hash__(self) -> int:
        return hash(self.n)


MAPS = {
    "textbook": (Textbook, {"largest": 12, "exact_up_to": 5}),
    "merge": (MergeMap, {}),
    "merge source": (lambda n: MergeMap(n, "source"), {}),
    "merge padded": (lambda n: MergeMap(n, padded=True), {}),
    "merge source padded": (lambda n: MergeMap(n, "source", padded=True), {}),
    "enumeration": (EnumerationMap, {}),
    "bitonic": (NetworkMap, {}),
    "odd-even merge": (lambda n: NetworkMap(n, "odd-even-merge"), {}),
    "insertion": (lambda n: NetworkMap(n, "insertion"), {}),
    "network that does not sort": (lambda n: NetworkMap(n, [(k + 1, k) for k in range(n - 1)] * 2), {}),
    "random": (lambda n: RandomComparisons(n, n * (n - 1) // 4, seed=3), {}),
    "sum": (
        lambda n: RandomComparisons(n, n // 2) + RandomComparisons(n, n // 3, seed=1) + MergeMap(n) + NetworkMap(n),
        {"largest": 20, "exact_up_to": 6},
    ),
    "relabelled": (lambda n: MergeMap(n).relabelled(items=sample(n, seed=1), slots=sample(n, seed=2)), {}),
    "sum of slots": (
        lambda n: MergeMap(n) + MergeMap(n).relabelled(slots=sample(n, seed=2)),
        {"largest": 20, "exact_up_to": 6},
    ),
}


def _suite(name: str) -> type[MapSuite]:
    make, settings = MAPS[name]
    title = "".join(filter(str.isalnum, name.title()))
    return type(f"Test{title}", (MapSuite,), {"make": lambda self, n: make(n), **settings})


globals().update({suite.__name__: suite for suite in map(_suite, MAPS)})


class TestDetails:
    @given(st.data())
    def test_slow_decoding_agrees(self, data: st.DataObject) -> None:
        order = data.draw(our.permutations(high=20))
        for map_ in (
            MergeMap(order.size),
            MergeMap(order.size, "source"),
            EnumerationMap(order.size),
            NetworkMap(order.size),
        ):
            assert replay(map_.algorithm(), map_.n, map_.encode(order).tolist()) == order.tolist()

    @given(st.data())
    def test_large_merge_projection_is_nearest(self, data: st.DataObject) -> None:
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

    def test_relabelling_of_items_and_slots(self) -> None:
        items, slots, order = [2, 0, 1, 3], [1, 3, 0, 2], [3, 1, 0, 2]
        relabelled = [items[order[slots[k]]] for k in range(4)]
        np.testing.assert_array_equal(
            MergeMap(4).relabelled(items=items, slots=slots).encode(order), MergeMap(4).encode(relabelled)
        )
        assert MergeMap(4).relabelled().encode(order).tolist() == MergeMap(4).encode(order).tolist()

    def test_concatenation_is_flat(self) -> None:
        joined = MergeMap(5) + (EnumerationMap(5) + NetworkMap(5))
        assert isinstance(joined, Concatenation)
        assert len(joined.parts) == 3
        assert joined == (MergeMap(5) + EnumerationMap(5)) + NetworkMap(5)

    @given(st.data())
    def test_any_comparator_list(self, data: st.DataObject) -> None:
        n = data.draw(our.sizes(2, 9))
        map_ = NetworkMap(n, data.draw(our.comparators(n)))
        orders = data.draw(our.batches(n))
        np.testing.assert_array_equal(map_.encode(orders), ComparisonMap._encode(map_, orders))
        if map_.lossless:
            np.testing.assert_array_equal(map_.decode(map_.encode(orders)), orders)

    def test_a_large_network_may_be_declared_sorting(self) -> None:
        pairs = NetworkMap(20).comparators.tolist()
        assert not NetworkMap(20, pairs).lossless
        orders = sample(20, 3, seed=0)
        declared = NetworkMap(20, pairs, sorts=True)
        np.testing.assert_array_equal(declared.decode(declared.encode(orders)), orders)

    def test_read_only_and_noncontiguous_codes(self) -> None:
        map_ = MergeMap(9)
        orders = sample(9, 8, seed=0)
        wide = np.repeat(map_.encode(orders), 2, axis=1)[:, ::2]
        np.testing.assert_array_equal(map_.decode(wide), orders)
        np.testing.assert_array_equal(map_.encode(np.asfortranarray(orders)), map_.encode(orders))

    def test_threads_get_the_same_codes(self) -> None:
        from concurrent.futures import ThreadPoolExecutor

        map_, orders = MergeMap(50), sample(50, (8, 200), seed=0)
        with ThreadPoolExecutor(4) as pool:
            np.testing.assert_array_equal(np.stack(list(pool.map(map_.encode, orders))), map_.encode(orders))


class TestErrors:
    def test_codes(self) -> None:
        map_ = MergeMap(4)
        with pytest.raises(errors.ShapeError, match=r"a code of MergeMap\(n=4.*has 5 entries.*\(4,\)"):
            map_.decode([0, 1, 0, 1])
        with pytest.raises(errors.InvalidCodeError, match="zeros and ones, got 2"):
            map_.decode([0, 1, 0, 2, 1])
        with pytest.raises(errors.InvalidCodeError, match="bit 4 of row 1 is 0"):
            map_.decode([[0, 1, 0, 1, 1], [0, 0, 1, 1, 0]])
        with pytest.raises(errors.InvalidCodeError, match="bit 2 is 1, the bits before it imply 0"):
            replay(EnumerationMap(3).algorithm(), 3, [1, 0, 1])

    def test_features(self) -> None:
        with pytest.raises(errors.ArgumentError, match="finite, got nan"):
            MergeMap(3).project([0, float("nan"), 1])
        with pytest.raises(errors.ShapeError, match="a feature vector"):
            MergeMap(3).project([0.0, 1.0])
        with pytest.raises(errors.ArgumentTypeError, match="real numbers"):
            MergeMap(3).project(["a", "b", "c"])

    def test_hard_projection_stops_at_its_limit(self) -> None:
        features = np.random.default_rng(0).normal(0.5, 2, EnumerationMap(14).length)
        with pytest.raises(errors.SearchLimitError, match=r"within 50 dives.*use MergeMap"):
            EnumerationMap(14).project(features, limit=50)

    def test_sum_over_relabelled_items_cannot_project(self) -> None:
        mixed = MergeMap(5) + MergeMap(5).relabelled(items=[1, 0, 2, 3, 4])
        orders = sample(5, 4, seed=0)
        np.testing.assert_array_equal(mixed.decode(mixed.encode(orders)), orders)
        with pytest.raises(errors.UnsupportedError, match="relabel slots instead"):
            mixed.project(np.zeros(mixed.length))

    def test_construction(self) -> None:
        for make in (MergeMap, EnumerationMap, NetworkMap, RandomComparisons):
            with pytest.raises(errors.ShapeError, match="at least 1"):
                make(0)
            with pytest.raises(errors.ArgumentTypeError, match="number of items"):
                make("15")  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="did you mean 'source'"):
            MergeMap(4, "sources")  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="did you mean 'bitonic'"):
            NetworkMap(4, "bitnic")
        with pytest.raises(errors.SlotError, match=r"two different wires of 0\.\.3, got \(2, 4\)"):
            NetworkMap(4, [(0, 1), (2, 4)])
        with pytest.raises(errors.SlotError, match="two different wires"):
            NetworkMap(4, [(1, 1)])
        with pytest.raises(errors.ArgumentError, match="list of pairs"):
            NetworkMap(4, [(1, 2, 3)])  # type: ignore[list-item]
        with pytest.raises(errors.ArgumentError, match=r"10 pairs.*got 11"):
            RandomComparisons(5, 11)
        with pytest.raises(errors.ShapeError, match="the same n"):
            MergeMap(4) + MergeMap(5)
        with pytest.raises(errors.ArgumentTypeError, match="only comparison maps"):
            MergeMap(4) + 3  # type: ignore[operator]
        with pytest.raises(errors.NotAPermutationError, match="0 missing"):
            MergeMap(3).relabelled(items=[1, 1, 2])
        with pytest.raises(errors.ShapeError, match="batches of shape"):
            MergeMap(1).distance(np.zeros((1, 1, 1)), [0])
        with pytest.raises(errors.ShapeError, match="expected permutations of 3 items, got 2"):
            MergeMap(3).distance([0, 1, 2], [0, 1])

    def test_messages(self) -> None:
        with pytest.raises(errors.ArgumentError, match=r"padding must be one of .*, got 'comparisons'"):
            MergeMap(3, "comparisons")
        lossy = RandomComparisons(4, 2)
        for operation, call in {"decode": lossy.decode, "project": lossy.project}.items():
            with pytest.raises(errors.UnsupportedError, match=f"cannot {operation}: several permutations may share a code"):
                call([0, 1])
        with pytest.raises(errors.MergeboError, match=r"^a code"):
            MergeMap(3).decode(["a", "b", "c"])

    def test_repr(self) -> None:
        assert repr(NetworkMap(3, [(0, 1)] * 3)) == "NetworkMap(3, <3 comparators>)"
        assert repr(NetworkMap(3, "insertion")) == "NetworkMap(3, 'insertion')"

    @pytest.mark.parametrize("make", [MergeMap, EnumerationMap, NetworkMap, RandomComparisons])
    def test_numbers_of_items_are_plain_integers(self, make) -> None:
        assert type(make(np.int32(5)).n) is int


def test_encoding_needs_little_more_memory_than_its_output() -> None:
    import tracemalloc

    map_, orders = MergeMap(280), sample(280, 4000, seed=0)
    map_.encode(orders[:2])
    tracemalloc.start()
    bits = map_.encode(orders)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * bits.nbytes
