"""Precedence: which entry comes before which, as the comparisons of a sorting algorithm see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Ints, Rows, Singles
from mergebo.compiled.merge import merge_steps, merge_swaps, table_starts, tree_links
from mergebo.compiled.precedence import kendall_shifts, kendall_swaps, listed_steps, pair_steps
from mergebo.errors import UnsupportedError
from mergebo.neighbours import exchange_sequence, move_slots
from mergebo.permutations import View, invert
from mergebo.similarity.base import SCAN_ENTRIES, WALK_ENTRIES, Similarity, blocks, columns, ranks, scanned
from mergebo.sorting import ComparisonMap, EnumerationMap, MergeMap, RandomComparisons
from mergebo.spaces import Permutation

__all__ = ["ComparisonSimilarity"]


@dataclass(frozen=True)
class ComparisonSimilarity(Similarity):
    """Orders are similar if a sorting algorithm makes similar comparisons: the Hamming distance of their codes.

    Cost of a scan per neighbour and row: O(1) for swaps, and for all moves with all pairs on ranks; about log n for Merge's
    insertions and for random pairs; O(n) fast additions for Merge's reversals, and for insertions and reversals with all
    pairs on orders. With other maps each neighbour is encoded explicitly.
    """

    map: ComparisonMap
    view: View = "order"
    choose: int | None = None
    """The number of items in an order; all if None. Only for all pairs on ranks: two items that are not chosen are tied."""

    def __post_init__(self) -> None:
        if self.choose is not None and not self._compares_items:
            raise UnsupportedError(
                f"{self.map} on {self.view}s compares complete orders, not {self.choose} of {self.map.n} items"
            )

    @property
    def _compares_items(self) -> bool:
        return isinstance(self.map, EnumerationMap) and self.view == "rank"

    def for_variable(self, variable: Permutation) -> Similarity:
        return replace(self, choose=variable.choose) if self._compares_items else super().for_variable(variable)

    def distance(self, a: Rows, b: Rows) -> Floats:
        if self.choose is not None:
            k, n = self.choose, self.map.n
            pairs = k * (k - 1) / 2 + k * (n - k)
            return np.asarray((pairs - _signs(a, k) @ _signs(b, k).T) / (2 * max(1.0, pairs)), np.float64)
        x, y = self._read(a, b)
        return np.asarray(self.map._distance(x[None], y[None])[0] / max(1, self.map.length))

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        if self.choose is not None or not isinstance(self.map, EnumerationMap | MergeMap | RandomComparisons):
            return super().scan(centre, rows, move, weights)
        change = self._changes(centre, rows, move)
        return blocks(change, weights[0] / max(1, self.map.length), weights[0] * self.distance(centre[None], rows))

    def _changes(self, centre: Rows, rows: Rows, move: str) -> NDArray[Any]:
        """Changes of the Hamming distances of codes."""
        if self._compares_items:
            return _kendall_scan(centre, rows, move)
        (here,), others = self._read(centre[None], rows)
        if move == "swap":
            if isinstance(self.map, EnumerationMap):
                return _kendall_scan(invert(here), invert(others), move)[_in_other_view(here)]
            if isinstance(self.map, MergeMap):
                changes = _merge_swaps(self.map, here, others)
                return changes if self.view == "order" else changes[_in_other_view(centre)]
        steps, items = exchange_sequence(len(centre), move)
        if self.view == "rank":  # see _in_other_view
            steps = np.concatenate([centre[items].astype(np.int32), steps[:, 2:]], axis=1)
        kind = np.int16 if self.map.length < 1 << 15 else np.int32
        moves = len(move_slots(len(centre), move))
        if isinstance(self.map, MergeMap):
            merge = self.map

            def scan(part: Rows, out: NDArray[Any]) -> None:
                gains = np.ascontiguousarray(1 - 2 * merge._encode(part).T.astype(kind))
                merge_steps(here, gains, merge.nodes, _tree_links(merge), merge.padding == "comparison", steps, out)

        elif isinstance(self.map, RandomComparisons):
            chosen = self.map

            def scan(part: Rows, out: NDArray[Any]) -> None:
                gains = np.ascontiguousarray(1 - 2 * chosen._encode(part).T.astype(kind))
                listed_steps(here, gains, *_incidence(chosen), steps, out)

        else:

            def scan(part: Rows, out: NDArray[Any]) -> None:
                pair_steps(here, columns(part), steps, out)

        return scanned(others, moves, kind, WALK_ENTRIES, scan)

    def _read(self, *rows: Rows) -> tuple[Rows, ...]:
        return tuple(each if self.view == "order" else invert(each) for each in rows)


def _signs(orders: Rows, choose: int) -> Singles:
    """For each pair of items which one comes first, as 1 or -1; 0 if neither is chosen."""
    slots = ranks(orders, choose)
    i, j = np.triu_indices(orders.shape[1], 1)
    return np.asarray(np.sign(slots[:, i] - slots[:, j]), np.float32)


def _triangle(n: int, a: Ints, b: Ints) -> Ints:
    """Index of the pair a < b among all pairs of n."""
    return np.asarray(a * n - a * (a + 1) // 2 + b - a - 1)


def _in_other_view(order: Rows) -> Ints:
    """Index of each swap among those of the inverse: swapping the items of two slots swaps the slots of two items."""
    return _triangle(len(order), *np.sort(order[move_slots(len(order), "swap")], axis=1).T)


def _kendall_scan(centre: Rows, rows: Rows, move: str) -> NDArray[Any]:
    """Changes of the Kendall distance on ranks, for all moves of one kind."""
    n, slots = len(centre), move_slots(len(centre), move)
    pairs = n * (n - 1) // 2

    def swaps(part: Rows, out: NDArray[Any]) -> None:
        kendall_swaps(centre, columns(invert(part)), out)

    def shifts(part: Rows, out: NDArray[Any]) -> None:
        insertions = np.empty((n, n, len(part)), np.int16)
        reversals = np.empty((pairs, len(part)), np.int32)  # of long segments: more than 16 bits hold
        kendall_shifts(centre, columns(invert(part)), insertions, reversals)
        a, b = slots.T
        out[:] = insertions[a, b] if move == "insertion" else reversals[_triangle(n, a, b)]

    kind = np.int32 if move == "reversal" else np.int16
    return scanned(rows, len(slots), kind, SCAN_ENTRIES, swaps if move == "swap" else shifts)


@lru_cache(maxsize=64)
def _table_starts(map: MergeMap) -> Ints:
    return table_starts(map.nodes)


@lru_cache(maxsize=64)
def _incidence(map: RandomComparisons) -> tuple[Ints, Ints, Ints]:
    """The pairs, and for each entry the pairs that it is in, with where they start."""
    pairs = map.pairs.astype(np.int64)
    entry = pairs.T.reshape(-1)
    order = np.argsort(entry, kind="stable")
    return pairs, np.searchsorted(entry[order], np.arange(map.n + 1)), order % max(1, len(pairs))


@lru_cache(maxsize=64)
def _tree_links(map: MergeMap) -> Ints:
    return tree_links(map.nodes)


def _merge_swaps(map: MergeMap, centre: Rows, rows: Rows) -> NDArray[Any]:
    """Changes of the Hamming distance of merge codes, for all exchanges of two entries."""

    def scan(part: Rows, out: NDArray[Any]) -> None:
        bits = np.ascontiguousarray(map._encode(part).T)
        merge_swaps(centre, bits, map.nodes, _table_starts(map), map.padding == "comparison", out)

    return scanned(rows, map.n * (map.n - 1) // 2, np.int16, SCAN_ENTRIES, scan)
