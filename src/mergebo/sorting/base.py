"""The base class of comparison maps: sorting algorithms that encode permutations as bit vectors of fixed length."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo._typing import Bits, Floats, Ints
from mergebo.compiled import packed
from mergebo.errors import ArgumentError, ArgumentTypeError, InvalidCodeError, ShapeError, UnsupportedError
from mergebo.permutations import as_int_array, validate
from mergebo.sorting.projection import nearest, replay
from mergebo.sorting.textbook import Algorithm, answers

if TYPE_CHECKING:
    from mergebo.sorting.combine import Concatenation, Relabelled

__all__ = ["ComparisonMap"]


class ComparisonMap(ABC):
    """A map from permutations to bit vectors of fixed length; bit k is the outcome of the k-th comparison.

    A map is defined by its `algorithm`. That alone gives a complete but slow map; the maps of this package override the
    private methods with fast ones. Public methods validate their input; private ones expect valid, two-dimensional rows.
    """

    n: int

    @property
    @abstractmethod
    def length(self) -> int:
        """Number of bits."""

    @property
    def lossless(self) -> bool:
        """Whether the map is injective, so that codes can be decoded."""
        return False

    @abstractmethod
    def algorithm(self) -> Algorithm:
        """A new run of the sorting algorithm, which defines the map (see `textbook.py`)."""

    def encode(self, orders: ArrayLike) -> Bits:
        """Bits of shape `(..., length)` for permutations of shape `(..., n)`."""
        array = validate(orders, n=self.n)
        return self._encode(array.reshape(-1, self.n)).reshape(*array.shape[:-1], self.length)

    def decode(self, bits: ArrayLike) -> Ints:
        """The permutations with these codes; for an invalid code, `InvalidCodeError` shows the first inconsistent bit."""
        self._require_lossless("decode")
        array = bits if isinstance(bits, np.ndarray) and bits.dtype == np.uint8 else as_int_array(bits, "a code")
        rows = self._check_rows(array, "a code")
        if rows.size and (rows.max() > 1 or rows.min() < 0):
            raise InvalidCodeError(f"a code holds zeros and ones, got {rows[(rows != 0) & (rows != 1)][0]}")
        return self._decode(rows.astype(np.uint8, copy=False)).reshape(*array.shape[:-1], self.n)

    def project(self, features: ArrayLike, *, limit: int = 100_000) -> Ints:
        """The permutations whose codes are nearest, in Euclidean distance, to real `features` of shape `(..., length)`.

        The result is exact. MergeMap needs O(n log^2 n). For most other maps the problem is hard (for EnumerationMap it is
        Kemeny's): branch and bound is fast near a code and raises an error after `limit` dives.
        """
        self._require_lossless("project")
        try:
            array = np.asarray(features, np.float64)
        except (ValueError, TypeError) as error:
            raise ArgumentTypeError(f"features must be a rectangular array of real numbers: {error}") from error
        rows = self._check_rows(array, "a feature vector")
        if not np.isfinite(rows).all():
            raise ArgumentError(f"features must be finite, got {rows[~np.isfinite(rows)][0]}")
        return self._project(rows, limit).reshape(*array.shape[:-1], self.n)

    def distance(self, a: ArrayLike, b: ArrayLike) -> Ints:
        """Hamming distances of the codes: `out[i, j]` between order i of a and order j of b."""
        x, y = np.atleast_2d(validate(a, n=self.n)), np.atleast_2d(validate(b, n=self.n))
        if x.ndim > 2 or y.ndim > 2:
            raise ShapeError(f"distance takes batches of shape (count, n), got {x.shape} and {y.shape}")
        distances: Ints = self._distance(x[None], y[None])[0]
        return distances

    def relabelled(self, *, items: ArrayLike | None = None, slots: ArrayLike | None = None) -> Relabelled:
        """The map after relabelling: in slot k it reads `items[order[slots[k]]]` instead of `order[k]`."""
        from mergebo.sorting.combine import Relabelled

        return Relabelled.of(self, items, slots)

    def __add__(self, other: ComparisonMap) -> Concatenation:
        """The concatenation of the bits of both maps."""
        from mergebo.sorting.combine import Concatenation

        return Concatenation.of(self, other)

    # Methods that fast maps override.

    def _encode(self, rows: Ints) -> Bits:
        codes = [answers(self.algorithm(), row.tolist()) for row in rows]
        return np.array(codes, np.uint8).reshape(len(rows), self.length)

    def _decode(self, rows: Bits) -> Ints:
        orders = [replay(self.algorithm(), self.n, row.tolist()) for row in rows]
        return np.array(orders, np.int64).reshape(len(rows), self.n)

    def _project(self, rows: Floats, limit: int) -> Ints:
        orders = [nearest(self.algorithm, self.n, row, limit) for row in rows]
        return np.array(orders, np.int64).reshape(len(rows), self.n)

    def _distance(self, a: Ints, b: Ints) -> Ints:
        """Within each of several batches: `(batch, A, n)` and `(batch, B, n)` -> `(batch, A, B)`."""
        return packed.cross_distances(self._pack, self.length, a, b)

    def _pack(self, rows: Ints) -> packed.Words:
        """The codes packed in 64-bit words; any order of bits that is the same for all rows."""
        return packed.pack(self._encode(rows))

    # Shared checks.

    def _check_rows(self, array: NDArray[Any], what: str) -> NDArray[Any]:
        if array.ndim == 0 or array.shape[-1] != self.length:
            raise ShapeError(f"{what} of {self!r} has {self.length} entries, got an array of shape {array.shape}")
        return array.reshape(int(np.prod(array.shape[:-1])), self.length)

    def _verified(self, orders: Ints, bits: Bits) -> Ints:
        """The decoded orders, after checking that encoding them gives the bits again."""
        wrong = np.argwhere(self._encode(orders) != bits)
        if wrong.size:
            row, bit = wrong[0]
            raise invalid_code(row, bit, bits)
        return orders

    def _require_lossless(self, operation: str) -> None:
        if not self.lossless:
            raise UnsupportedError(
                f"{self!r} cannot {operation}: several permutations may share a code. Add a lossless map: "
                f"`map + MergeMap({self.n})`"
            )


def invalid_code(row: int, bit: int | np.int64, bits: Bits) -> InvalidCodeError:
    """The error for a code that is inconsistent."""
    where = f" of row {row}" if len(bits) > 1 else ""
    return InvalidCodeError(
        f"no permutation has this code: bit {bit}{where} is {bits[row, bit]}, which contradicts the other bits"
    )
