"""Slot distances: how far apart the items of each pair are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Rows, Singles
from mergebo.compiled.slot_distances import slot_distance_steps
from mergebo.neighbours import exchange_sequence, move_slots
from mergebo.permutations import invert
from mergebo.similarity.base import WALK_ENTRIES, Similarity, blocks, scanned
from mergebo.spaces import Permutation

__all__ = ["SlotDistances"]


@dataclass(frozen=True)
class SlotDistances(Similarity):
    """Orders are similar if pairs of items are equally far apart: the sum of squared differences of their slot distances.

    With several `columns`, slots lie on a grid, row by row, with Manhattan distance. With `cyclic` they lie on a circle, and
    the distance is that of the shorter way round.
    """

    n: int
    columns: int = 1
    cyclic: bool = False

    def for_variable(self, variable: Permutation) -> Similarity:
        return SlotDistances(self.n, cyclic=True) if "cycle" in variable.symmetry else super().for_variable(variable)

    def distance(self, a: Rows, b: Rows) -> Floats:
        _, total = _slot_distances(self.n, self.columns, self.cyclic)
        x, y = (_pair_distances(self, each.astype(np.int16).tobytes()) for each in (a, b))
        return np.asarray((total - x @ y.T) / max(1e-9, total), np.float64)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        steps, _ = exchange_sequence(self.n, move)
        slot_distances, total = _slot_distances(self.n, self.columns, self.cyclic)

        def scan(part: Rows, out: NDArray[Any]) -> None:
            item_distances = _item_distances(self, part.astype(np.int16).tobytes())
            slot_distance_steps(centre, slot_distances, item_distances, steps, out)

        change = scanned(rows, len(move_slots(self.n, move)), np.float32, WALK_ENTRIES, scan)
        return blocks(change, -weights[0] / max(1e-9, total), weights[0] * self.distance(centre[None], rows))


@lru_cache(maxsize=64)
def _slot_distances(n: int, columns: int, cyclic: bool) -> tuple[Singles, float]:
    """Distances between slots minus their mean, and the sum of their squares, which is the same for all orders."""
    position = np.stack(np.divmod(np.arange(n), columns), axis=1)
    distances = np.abs(position[:, None] - position[None]).sum(axis=-1).astype(np.float32)
    if cyclic:
        distances = np.minimum(distances, n - distances)
    above = np.triu_indices(n, 1)
    distances -= distances[above].mean() if n > 1 else 0
    distances.setflags(write=False)
    return distances, float((distances[above] ** 2).sum())


@lru_cache(maxsize=2)
def _pair_distances(similarity: SlotDistances, orders: bytes) -> Singles:
    """The centred distance of every pair of items in every order, `(orders, pairs)`.

    Cached, like `_item_distances`: a local search compares many rows with the same observed ones.
    """
    i, j = np.triu_indices(similarity.n, 1)
    distances, _ = _slot_distances(similarity.n, similarity.columns, similarity.cyclic)
    ranks = invert(np.frombuffer(orders, np.int16).reshape(-1, similarity.n))
    return np.asarray(distances[ranks[:, i], ranks[:, j]])


@lru_cache(maxsize=1)
def _item_distances(similarity: SlotDistances, orders: bytes) -> Singles:
    """The same as a matrix for each order, `(n, n, orders)`."""
    distances, _ = _slot_distances(similarity.n, similarity.columns, similarity.cyclic)
    ranks = invert(np.frombuffer(orders, np.int16).reshape(-1, similarity.n)).T
    return np.ascontiguousarray(distances[ranks[:, None], ranks[None]])
