"""The base class of similarities, and neighbourhood scans in blocks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Ints, Rows, Singles
from mergebo.errors import UnsupportedError
from mergebo.neighbours import move_slots, move_table
from mergebo.permutations import invert
from mergebo.spaces import Permutation

__all__ = ["Similarity"]


class Similarity(ABC):
    """A factor `exp(-d / (2 l^2))` of a kernel, with its own lengthscale l; d is between 0 and 1.

    A similarity with several lengthscales has as many distances, in front: `(count, A, B)` instead of `(A, B)`.
    """

    @property
    def num_lengthscales(self) -> int:
        """Number of lengthscales."""
        return 1

    @abstractmethod
    def distance(self, a: Rows, b: Rows) -> Floats:
        """Normalised distances between all rows of a and all rows of b, for one variable."""

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        """Weighted distances of all neighbours of `centre`, by one kind of move, to all rows.

        In single precision and in blocks of consecutive moves, `(moves, rows)`, to save memory. This default computes each
        neighbour explicitly, which is correct for any similarity. Override it where distances can be updated incrementally.
        """
        n = len(centre)
        for part in parts(len(move_slots(n, move)), max(n, self.num_lengthscales * len(rows))):
            distances = self.distance(centre[move_table(n, move, part)], rows)
            yield np.tensordot(weights, distances.reshape(len(weights), -1, len(rows)), axes=1).astype(np.float32)

    def for_variable(self, variable: Permutation) -> Similarity:
        """The corresponding similarity for a variable with repeated items, subsets or symmetries.

        Of symmetric orders the canonical representatives are compared, unless a subclass can do better.
        """
        if variable.choose is not None:
            raise UnsupportedError(
                f"{self} compares complete orders, not {variable.choose} of {variable.n} items; "
                "auto, bops-h, spearman, turbo and methods without a model support these"
            )
        return self


@dataclass(frozen=True)
class PartialOrderSimilarity(Similarity):
    """A similarity of orders of n items that is also defined if only some of them are chosen."""

    n: int
    choose: int | None = None
    """The number of items in an order; all if None."""

    def for_variable(self, variable: Permutation) -> Similarity:
        return replace(self, choose=variable.choose)


def ranks(orders: Rows, choose: int | None) -> Ints:
    """The slot of each item; items after the first `choose`, which are not chosen, are tied in the slot after these."""
    return invert(orders) if choose is None else np.minimum(invert(orders), choose)


SCAN_ENTRIES = 64
"""Rows per call of scans with tables: few enough for the tables to fit in the cache."""

WALK_ENTRIES = 256
"""Rows per call of scans along exchange sequences: many, to share the work that is the same for all rows."""

BLOCK_ENTRIES = 1 << 18
"""Numbers in a block of a scan: few enough to stay in the cache while the model reads them."""


def parts(count: int, width: int) -> Iterator[slice]:
    """Slices of 0..count-1, for blocks of `width` numbers each."""
    step = max(1, BLOCK_ENTRIES // max(1, width))
    return (slice(start, start + step) for start in range(0, count, step))


def blocks(change: NDArray[Any], unit: float, base: Floats) -> Iterator[Singles]:
    """`base + unit * change`, in blocks."""
    start = base.astype(np.float32)
    for part in parts(*change.shape):
        block: Singles = np.multiply(change[part], np.float32(unit), dtype=np.float32)
        block += start
        yield block


def scanned(rows: Rows, moves: int, kind: Any, most: int, scan: Callable[[Rows, NDArray[Any]], None]) -> NDArray[Any]:
    """The output of a compiled scan for all moves and rows, called for at most `most` rows at a time."""
    pieces = []
    for start in range(0, len(rows) if moves else 0, most):
        piece = rows[start : start + most]
        out = np.empty((moves, len(piece)), kind)
        scan(piece, out)
        pieces.append(out)
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces, axis=1) if pieces else np.empty((moves, len(rows)), kind)


def columns(rows: Rows) -> NDArray[np.int32]:
    """The transposed rows, contiguous for inner loops over rows."""
    return np.ascontiguousarray(rows.T.astype(np.int32))
