"""The comparison map of merge sort: n log n bits, lossless, with exact projection. The map of the Merge kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

import numpy as np

from mergebo._typing import Bits, Floats, Ints
from mergebo.compiled import merge
from mergebo.errors import unknown_choice
from mergebo.permutations import check_n
from mergebo.sorting.base import ComparisonMap, invalid_code
from mergebo.sorting.textbook import Algorithm, merge_sort

__all__ = ["MergeMap"]

Padding: TypeAlias = Literal["comparison", "source"]


@dataclass(frozen=True)
class MergeMap(ComparisonMap):
    """The comparisons of top-down merge sort, in the order left half, right half, node.

    `padding` defines the bits of a node after one half is used up: `"comparison"` (the paper's), the redundant comparison
    with the last element of that half; `"source"`, the half that the element comes from. `padded` keeps the implied last
    bit of nodes of more than two elements, as in the paper's worked example:

    >>> MergeMap(4).encode([0, 3, 2, 1])
    array([0, 1, 0, 1, 1], dtype=uint8)
    >>> MergeMap(4, padded=True).encode([0, 3, 2, 1])
    array([0, 1, 0, 1, 1, 1], dtype=uint8)
    """

    n: int
    padding: Padding = "comparison"
    padded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check_n(self.n))
        if self.padding not in get_args(Padding):
            raise unknown_choice("padding", self.padding, get_args(Padding))

    @property
    def nodes(self) -> merge.Nodes:
        """The merge tree in the format of `compiled.merge`."""
        return _tree(self.n, self.padded)

    @property
    def length(self) -> int:
        return int(self.nodes[:, 4].sum())

    @property
    def lossless(self) -> bool:
        return True

    def algorithm(self) -> Algorithm:
        return merge_sort(self.n, source=self.padding == "source", padded=self.padded)

    def _encode(self, rows: Ints) -> Bits:
        out = np.empty((len(rows), self.length), np.uint8)
        merge.encode(rows, self.nodes, self.padding == "comparison", out)
        return out

    def _decode(self, rows: Bits) -> Ints:
        out = np.empty((len(rows), self.n), np.int64)
        row, bit = merge.decode(rows, self.nodes, self.padding == "comparison", out)
        if row >= 0:
            raise invalid_code(row, bit, rows)
        return out

    def _project(self, rows: Floats, limit: int) -> Ints:
        codes = np.empty(rows.shape, np.uint8)
        merge.nearest_codes(rows, self.nodes, self.padding == "comparison", codes)
        return self._decode(codes)


@lru_cache(maxsize=256)
def _tree(n: int, padded: bool) -> merge.Nodes:
    nodes: list[tuple[int, ...]] = []

    def build(low: int, high: int, depth: int, offset: int) -> int:
        """Append the nodes of slots low..high-1, children first; return the offset of the next bit."""
        size = high - low
        if size < 2:
            return offset
        middle = low + size // 2
        offset = build(middle, high, depth + 1, build(low, middle, depth + 1, offset))
        width = size if padded and size > 2 else size - 1
        nodes.append((low, middle, high, offset, width, depth % 2))
        return offset + width

    build(0, n, 0, 0)
    table = np.array(nodes[::-1], np.uint64).reshape(-1, 6)
    table.setflags(write=False)
    return table
