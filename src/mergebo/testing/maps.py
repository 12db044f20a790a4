"""What every comparison map must do."""

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


class MapSuite:
    """Inherit, and say how to make the map: the tests come along."""

    largest = 40
    """Sizes that are tried go up to here."""
    exact_up_to = 7
    """Projections are compared with brute force over all n! permutations up to here."""

    def make(self, n: int) -> ComparisonMap:
        """The map to test, for n items."""
        raise NotImplementedError

    @property_test
    def test_equals_its_algorithm(self, data: st.DataObject) -> None:
        """The fast encoder gives, bit for bit, the answers of the textbook algorithm."""
        made = self.make(data.draw(sizes(1, self.largest)))
        orders = data.draw(batches(made.n))
        try:
            slow = ComparisonMap._encode(made, orders)
        except UnsupportedError:  # renamed items: no algorithm on the original entries
            return
        np.testing.assert_array_equal(made.encode(orders), slow)

    @property_test
    def test_batch_is_a_loop_in_any_order(self, data: st.DataObject) -> None:
        """Row i of a batch has the code that it has alone, wherever it stands and whatever the batch's shape."""
        made = self.make(data.draw(sizes(1, self.largest)))
        orders = data.draw(batches(made.n, low=1))
        bits = made.encode(orders)
        assert bits.dtype == np.uint8
        assert bits.shape == (len(orders), made.length)
        np.testing.assert_array_equal(bits, [made.encode(order) for order in orders])
        shuffled = np.random.default_rng(0).permutation(len(orders))
        np.testing.assert_array_equal(made.encode(orders[shuffled]), bits[shuffled])
        np.testing.assert_array_equal(made.encode(orders[None, :, ::-1][..., ::-1])[0], bits)
        np.testing.assert_array_equal(made.encode(orders.tolist()), bits)
        np.testing.assert_array_equal(made.encode(orders.astype(np.float32)), bits)

    @property_test
    def test_input_is_left_alone(self, data: st.DataObject) -> None:
        """A read-only array works, and comes back as it was."""
        made = self.make(data.draw(sizes(1, self.largest)))
        orders = data.draw(batches(made.n, low=1))
        before = orders.copy()
        orders.setflags(write=False)
        bits = made.encode(orders)
        made.distance(orders, orders)
        bits.setflags(write=False)
        if made.lossless:
            kept = bits.copy()
            made.decode(bits)
            np.testing.assert_array_equal(bits, kept)
        np.testing.assert_array_equal(orders, before)

    @property_test
    def test_distance_is_hamming(self, data: st.DataObject) -> None:
        """`distance` counts the bits that differ."""
        made = self.make(data.draw(sizes(1, self.largest)))
        a, b = data.draw(batches(made.n)), data.draw(batches(made.n))
        expected = (made.encode(a)[:, None] != made.encode(b)[None]).sum(axis=-1)
        np.testing.assert_array_equal(made.distance(a, b), expected)

    @property_test
    def test_decode_undoes_encode(self, data: st.DataObject) -> None:
        """decode(encode(p)) == p, also by the slow way; or the map says that it is not lossless."""
        made = self.make(data.draw(sizes(1, self.largest)))
        orders = data.draw(batches(made.n))
        bits = made.encode(orders)
        if not made.lossless:
            with pytest.raises(UnsupportedError, match="lossless"):
                made.decode(bits)
            return
        np.testing.assert_array_equal(made.decode(bits), orders)
        assert made.decode(bits).dtype == np.int64
        np.testing.assert_array_equal(made.decode(bits[None].astype(float))[0], orders)

    @pytest.mark.parametrize("n", range(1, 8))
    def test_all_codes_are_distinct_and_no_other_decodes(self, n: int) -> None:
        """A lossless map has n! codes, and refuses every bit vector that is none of them."""
        made = self.make(n)
        if not made.lossless:
            return
        every = np.array(list(itertools.permutations(range(n))))
        codes = {code.tobytes() for code in made.encode(every)}
        assert len(codes) == len(every)
        rng = np.random.default_rng(n)
        for bits in rng.integers(0, 2, (200, made.length), np.uint8):
            if bits.tobytes() in codes:
                np.testing.assert_array_equal(made.encode(made.decode(bits)), bits)
            else:
                with pytest.raises(InvalidCodeError, match="no permutation has this code"):
                    made.decode(bits)

    @pytest.mark.parametrize("n", range(1, 8))
    def test_projection_is_exact(self, n: int) -> None:
        """`project` finds a permutation as near as the best of all n!, for random reals and near codes."""
        made = self.make(n)
        if not made.lossless or n > self.exact_up_to:
            return
        codes = made.encode(np.array(list(itertools.permutations(range(n))))).astype(float)
        rng = np.random.default_rng(n)
        features = np.concatenate(
            [rng.normal(0.5, 1, (12, made.length)), rng.choice(codes, 4) + rng.normal(0, 0.3, (4, made.length))]
        )
        found = ((made.encode(made.project(features)) - features) ** 2).sum(axis=-1)
        best = ((codes - features[:, None]) ** 2).sum(axis=-1).min(axis=-1)
        np.testing.assert_allclose(found, best)

    @property_test
    def test_projecting_a_code_gives_its_permutation(self, data: st.DataObject) -> None:
        """A code, and everything nearer to it than to any other code, projects to its own permutation."""
        made = self.make(data.draw(sizes(1, self.largest)))
        if not made.lossless:
            return
        orders = data.draw(batches(made.n, high=3))
        noise = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))).uniform(-0.49, 0.49, (len(orders), made.length))
        np.testing.assert_array_equal(made.project(made.encode(orders)), orders)
        np.testing.assert_array_equal(made.project(made.encode(orders) + noise), orders)

    @property_test
    def test_bad_input_is_refused(self, data: st.DataObject) -> None:
        """An error of ours that is also a ValueError or TypeError; never a silent wrong code."""
        made = self.make(data.draw(sizes(2, self.largest)))
        with pytest.raises(MergeboError) as caught:
            made.encode(data.draw(broken_permutations(made.n)))
        assert isinstance(caught.value, ValueError | TypeError)

    def test_copies_are_equal(self) -> None:
        """A map survives pickling and copying, and equals a map made the same way."""
        made = self.make(7)
        for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), self.make(7)):
            assert other == made
            assert hash(other) == hash(made)
            np.testing.assert_array_equal(other.encode(sample(7, 5, seed=0)), made.encode(sample(7, 5, seed=0)))
        assert self.make(8) != made
