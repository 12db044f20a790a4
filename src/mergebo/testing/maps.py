"""Conformance tests for comparison maps."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import strategies as st

from mergebo.errors import InvalidCodeError, MergeboError, UnsupportedError
from mergebo.permutations import sample
from mergebo.sorting import ComparisonMap
from mergebo.testing.properties import property_test
from mergebo.testing.strategies import batches, broken_permutations, sizes

__all__ = ["MapSuite"]


class MapSuite:
    """Inherit from this class and implement `make`, which creates the map to test."""

    largest = 40
    """Maximum number of items in tests."""
    exact_up_to = 7
    """Maximum number of items for comparing projections with brute force over all n! permutations."""

    def make(self, n: int) -> ComparisonMap:
        """The map to test, for n items."""
        raise NotImplementedError

    @property_test
    def test_equals_its_algorithm(self, data: st.DataObject) -> None:
        """The fast encoder agrees bit for bit with the textbook algorithm."""
        map_ = self.make(data.draw(sizes(1, self.largest)))
        orders = data.draw(batches(map_.n))
        try:
            slow = ComparisonMap._encode(map_, orders)
        except UnsupportedError:  # relabelled items: no algorithm on the original entries
            return
        np.testing.assert_array_equal(map_.encode(orders), slow)

    @property_test
    def test_batch_is_a_loop_in_any_order(self, data: st.DataObject) -> None:
        """The code of a row does not depend on the other rows, its index or the shape of the batch."""
        map_ = self.make(data.draw(sizes(1, self.largest)))
        orders = data.draw(batches(map_.n, low=1))
        bits = map_.encode(orders)
        assert bits.dtype == np.uint8
        assert bits.shape == (len(orders), map_.length)
        np.testing.assert_array_equal(bits, [map_.encode(order) for order in orders])
        shuffled = np.random.default_rng(0).permutation(len(orders))
        np.testing.assert_array_equal(map_.encode(orders[shuffled]), bits[shuffled])
        np.testing.assert_array_equal(map_.encode(orders[None, :, ::-1][..., ::-1])[0], bits)
        np.testing.assert_array_equal(map_.encode(orders.tolist()), bits)
        np.testing.assert_array_equal(map_.encode(orders.astype(np.float32)), bits)

    @property_test
    def test_input_is_left_alone(self, data: st.DataObject) -> None:
        """Read-only input works and is not changed."""
        map_ = self.make(data.draw(sizes(1, self.largest)))
        orders = data.draw(batches(map_.n, low=1))
        before = orders.copy()
        orders.setflags(write=False)
        bits = map_.encode(orders)
        map_.distance(orders, orders)
        bits.setflags(write=False)
        if map_.lossless:
            bits_before = bits.copy()
            map_.decode(bits)
            np.testing.assert_array_equal(bits, bits_before)
        np.testing.assert_array_equal(orders, before)

    @property_test
    def test_distance_is_hamming(self, data: st.DataObject) -> None:
        """`distance` counts the bits that differ."""
        map_ = self.make(data.draw(sizes(1, self.largest)))
        a, b = data.draw(batches(map_.n)), data.draw(batches(map_.n))
        expected = (map_.encode(a)[:, None] != map_.encode(b)[None]).sum(axis=-1)
        np.testing.assert_array_equal(map_.distance(a, b), expected)

    @property_test
    def test_decode_undoes_encode(self, data: st.DataObject) -> None:
        """decode(encode(p)) == p, or the map is not lossless and raises an error."""
        map_ = self.make(data.draw(sizes(1, self.largest)))
        orders = data.draw(batches(map_.n))
        bits = map_.encode(orders)
        if not map_.lossless:
            with pytest.raises(UnsupportedError, match="lossless"):
                map_.decode(bits)
            return
        np.testing.assert_array_equal(map_.decode(bits), orders)
        assert map_.decode(bits).dtype == np.int64
        np.testing.assert_array_equal(map_.decode(bits[None].astype(float))[0], orders)

    @pytest.mark.parametrize("n", range(1, 8))
    def test_all_codes_are_distinct_and_no_other_decodes(self, n: int) -> None:
        """A lossless map has n! codes, and rejects all other bit vectors."""
        map_ = self.make(n)
        if not map_.lossless:
            return
        orders = np.array(list(itertools.permutations(range(n))))
        codes = {code.tobytes() for code in map_.encode(orders)}
        assert len(codes) == len(orders)
        rng = np.random.default_rng(n)
        for bits in rng.integers(0, 2, (200, map_.length), np.uint8):
            if bits.tobytes() in codes:
                np.testing.assert_array_equal(map_.encode(map_.decode(bits)), bits)
            else:
                with pytest.raises(InvalidCodeError, match="no permutation has this code"):
                    map_.decode(bits)

    @pytest.mark.parametrize("n", range(1, 8))
    def test_projection_is_exact(self, n: int) -> None:
        """`project` finds a nearest permutation of all n!, for random features and for features near codes."""
        map_ = self.make(n)
        if not map_.lossless or n > self.exact_up_to:
            return
        codes = map_.encode(np.array(list(itertools.permutations(range(n))))).astype(float)
        rng = np.random.default_rng(n)
        features = np.concatenate(
            [rng.normal(0.5, 1, (12, map_.length)), rng.choice(codes, 4) + rng.normal(0, 0.3, (4, map_.length))]
        )
        found = ((map_.encode(map_.project(features)) - features) ** 2).sum(axis=-1)
        best = ((codes - features[:, None]) ** 2).sum(axis=-1).min(axis=-1)
        np.testing.assert_allclose(found, best)

    @property_test
    def test_projecting_a_code_gives_its_permutation(self, data: st.DataObject) -> None:
        """Features whose nearest code is that of p project to p."""
        map_ = self.make(data.draw(sizes(1, self.largest)))
        if not map_.lossless:
            return
        orders = data.draw(batches(map_.n, high=3))
        noise = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))).uniform(-0.49, 0.49, (len(orders), map_.length))
        np.testing.assert_array_equal(map_.project(map_.encode(orders)), orders)
        np.testing.assert_array_equal(map_.project(map_.encode(orders) + noise), orders)

    @property_test
    def test_bad_input_is_refused(self, data: st.DataObject) -> None:
        """Invalid input raises a `MergeboError` that is also a ValueError or TypeError."""
        map_ = self.make(data.draw(sizes(2, self.largest)))
        with pytest.raises(MergeboError) as caught:
            map_.encode(data.draw(broken_permutations(map_.n)))
        assert isinstance(caught.value, ValueError | TypeError)

    def test_copies_are_equal(self) -> None:
        """A map survives pickling and copying, and equals a map map_ the same way."""
        map_ = self.make(7)
        for other in (pickle.loads(pickle.dumps(map_)), copy.deepcopy(map_), self.make(7)):
            assert other == map_
            assert hash(other) == hash(map_)
            np.testing.assert_array_equal(other.encode(sample(7, 5, seed=0)), map_.encode(sample(7, 5, seed=0)))
        assert self.make(8) != map_
