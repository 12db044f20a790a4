"""A custom map, and the errors of all maps."""

from __future__ import annotations

import numpy as np
import pytest

from mergebo import errors
from mergebo.sorting import ComparisonMap, EnumerationMap, MergeMap, NetworkMap, RandomComparisons
from mergebo.sorting.projection import replay
from mergebo.sorting.textbook import Algorithm, merge_sort
from mergebo.testing import MapSuite


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


class TestTextbook(MapSuite):
    largest = 12
    exact_up_to = 5

    def make(self, n: int) -> ComparisonMap:
        return Textbook(n)


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

    @pytest.mark.parametrize("make", [MergeMap, EnumerationMap, NetworkMap, RandomComparisons])
    def test_numbers_of_items_are_plain_integers(self, make) -> None:
        assert type(make(np.int32(5)).n) is int
