"""permutations.py against definitions, SciPy and brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from mergebo import errors
from mergebo import permutations as pm
from mergebo.testing import strategies as our


def all_orders(n: int) -> np.ndarray:
    return np.array(list(itertools.permutations(range(n))))


class TestValidate:
    @given(our.permutations())
    def test_returns_valid_orders_as_int64(self, order: np.ndarray) -> None:
        for given_as in (order, order.tolist(), tuple(order.tolist()), order.astype(np.float32), order.astype(np.uint16)):
            out = pm.validate(given_as)
            assert out.dtype == np.int64
            np.testing.assert_array_equal(out, order)

    @given(st.data())
    def test_rejects_everything_else(self, data: st.DataObject) -> None:
        n = data.draw(our.sizes(2, 12))
        with pytest.raises(errors.MergeboError) as caught:
            pm.validate(data.draw(our.broken_permutations(n)), n=n)
        assert isinstance(caught.value, ValueError | TypeError)

    @pytest.mark.parametrize(
        ("given_as", "error", "message"),
        [
            ([0, 2, 2, 1, 1], errors.NotAPermutationError, r"each of 0\.\.4 once; 3, 4 missing, 1, 2 twice"),
            ([0, 0, 0], errors.NotAPermutationError, "1, 2 missing, 0 more than twice"),
            ([1, 2, 3], errors.NotAPermutationError, "0 missing, 3 out of range; items count from 0 here: subtract 1"),
            ([[0, 1], [1, 1]], errors.NotAPermutationError, r"0 missing, 1 twice in row \(1,\)"),
            ([0, -1, 1], errors.NotAPermutationError, "2 missing, -1 out of range"),
            ([0, 1.5, 2], errors.NotAPermutationError, "integers, got 1.5"),
            ([0, float("nan")], errors.NotAPermutationError, "integers, got nan"),
            ([0, 1e300], errors.NotAPermutationError, "integers, got 1e"),
            ([], errors.ShapeError, "at least one item"),
            ([[], []], errors.ShapeError, "at least one item"),
            (3, errors.ShapeError, "the single value 3"),
            ([[0, 1], [0]], errors.ShapeError, "rectangular"),
            ("abc", errors.ArgumentTypeError, "must hold integers"),
            (["a", "b"], errors.ArgumentTypeError, "must hold integers"),
            ([True, False], errors.ArgumentTypeError, "bool"),
            ([None, 0], errors.ArgumentTypeError, "object"),
            ([0j, 1], errors.ArgumentTypeError, "complex"),
            (None, errors.ArgumentTypeError, "object"),
        ],
    )
    def test_messages_show_the_values(self, given_as: object, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            pm.validate(given_as)  # type: ignore[arg-type]

    def test_wrong_n(self) -> None:
        with pytest.raises(errors.ShapeError, match="expected permutations of 4 items, got 3"):
            pm.validate([0, 1, 2], n=4)

    def test_long_lists_are_truncated(self) -> None:
        with pytest.raises(errors.NotAPermutationError, match="and 94 more missing"):
            pm.validate([0] * 100)

    def test_one_item_and_empty_batches(self) -> None:
        assert pm.validate([0]).tolist() == [0]
        assert pm.validate(np.empty((0, 5))).shape == (0, 5)
        assert pm.validate(np.empty((0, 3, 5), int), n=5).shape == (0, 3, 5)

    @pytest.mark.parametrize("n", [0, -1])
    def test_no_items(self, n: int) -> None:
        with pytest.raises(errors.ShapeError, match=f"at least 1, got {n}"):
            pm.sample(n, seed=0)

    @pytest.mark.parametrize("n", [1.5, "3", None, True, [3]])
    def test_n_is_a_number(self, n: object) -> None:
        with pytest.raises(errors.ArgumentTypeError, match="number of items"):
            pm.check_n(n)


class TestGroup:
    @given(our.permutations())
    def test_inverse(self, order: np.ndarray) -> None:
        identity = np.arange(order.size)
        np.testing.assert_array_equal(pm.invert(order), np.argsort(order))
        np.testing.assert_array_equal(pm.compose(order, pm.invert(order)), identity)
        np.testing.assert_array_equal(pm.compose(pm.invert(order), order), identity)

    @given(st.data())
    def test_compose_is_function_composition(self, data: st.DataObject) -> None:
        n = data.draw(our.sizes(1, 12))
        a, b = data.draw(our.permutations(n)), data.draw(our.permutations(n))
        assert pm.compose(a, b).tolist() == [a[b[k]] for k in range(n)]
        batch = data.draw(our.batches(n, low=1))
        np.testing.assert_array_equal(pm.compose(a, batch), [pm.compose(a, row) for row in batch])

    def test_unknown_view(self) -> None:
        with pytest.raises(errors.ArgumentError, match="did you mean 'rank'"):
            pm.in_view([0, 1], "ranks")  # type: ignore[arg-type]


class TestSample:
    def test_same_seed_same_sample_and_no_global_state(self) -> None:
        np.random.seed(0)  # noqa: NPY002 -- to see that it is not touched
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        np.testing.assert_array_equal(pm.sample(9, (2, 3), seed=5), pm.sample(9, (2, 3), seed=5))
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
        generator = np.random.default_rng(5)
        first, second = pm.sample(9, seed=generator), pm.sample(9, seed=generator)
        assert first.shape == (9,)
        assert first.tolist() != second.tolist()

    def test_uniform(self) -> None:
        drawn = pm.sample(4, 24_000, seed=0)
        _, counts = np.unique(drawn @ [64, 16, 4, 1], return_counts=True)
        assert len(counts) == 24
        assert chisquare(counts).pvalue > 1e-3


class TestLehmer:
    @given(our.permutations())
    def test_definition_and_round_trip(self, order: np.ndarray) -> None:
        digits = pm.lehmer_encode(order)
        assert digits.tolist() == [sum(int(y < x) for y in order[k + 1 :]) for k, x in enumerate(order)]
        np.testing.assert_array_equal(pm.lehmer_decode(digits), order)

    def test_lexicographic_and_onto(self) -> None:
        digits = np.array(list(itertools.product(range(4), range(3), range(2), range(1))))
        np.testing.assert_array_equal(pm.lehmer_decode(digits), all_orders(4))

    @pytest.mark.parametrize("digits", [[3, 0, 0], [0, 2, 0], [0, 0, 1], [-1, 0, 0]])
    def test_out_of_range(self, digits: list[int]) -> None:
        with pytest.raises(errors.NotAPermutationError, match=r"digit . of a Lehmer code of 3 items is"):
            pm.lehmer_decode(digits)

    @pytest.mark.parametrize("digits", [[], 0])
    def test_no_digits(self, digits: object) -> None:
        with pytest.raises(errors.ShapeError, match="one digit for each item"):
            pm.lehmer_decode(digits)  # type: ignore[arg-type]


class TestMoves:
    @given(st.data())
    def test_as_on_lists(self, data: st.DataObject) -> None:
        order = data.draw(our.permutations(high=12))
        n = order.size
        i, j = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
        before = order.copy()

        swapped = order.tolist()
        swapped[i], swapped[j] = swapped[j], swapped[i]
        assert pm.swap(order, i, j).tolist() == swapped

        inserted = order.tolist()
        inserted.insert(j, inserted.pop(i))
        assert pm.insert(order, i, j).tolist() == inserted

        first, last = min(i, j), max(i, j)
        reversed_ = order.tolist()
        reversed_[first : last + 1] = reversed_[first : last + 1][::-1]
        assert pm.reverse(order, first, last).tolist() == reversed_

        batch = np.stack([order, order[::-1]])
        np.testing.assert_array_equal(pm.insert(batch, i, j)[0], inserted)
        np.testing.assert_array_equal(order, before)

    @pytest.mark.parametrize("move", [pm.swap, pm.insert, pm.reverse])
    @pytest.mark.parametrize("slots", [(0, 3), (-1, 0), (3, 3)])
    def test_slots_out_of_range(self, move, slots: tuple[int, int]) -> None:
        with pytest.raises(errors.SlotError, match=r"0\.\.2"):
            move([0, 1, 2], *slots)

    def test_backward_segment(self) -> None:
        with pytest.raises(errors.SlotError, match="first=2 > last=1"):
            pm.reverse([0, 1, 2], 2, 1)
