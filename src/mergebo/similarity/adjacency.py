"""Adjacency: which items are next to each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Rows, Singles
from mergebo.compiled.adjacency import edge_steps
from mergebo.distances import adjacency, next_items
from mergebo.neighbours import exchange_sequence, move_slots
from mergebo.similarity.base import WALK_ENTRIES, Similarity, blocks, columns, scanned
from mergebo.spaces import Permutation

__all__ = ["Adjacency"]


@dataclass(frozen=True)
class Adjacency(Similarity):
    """Orders are similar if most adjacent pairs are the same.

    `directed` distinguishes (a, b) from (b, a); `cyclic` makes the last item adjacent to the first, as in a round trip.
    """

    n: int
    directed: bool = False
    cyclic: bool = False
    choose: int | None = None
    """The number of items in an order; all if None."""

    def for_variable(self, variable: Permutation) -> Similarity:
        return replace(
            self,
            directed=self.directed and "reversal" not in variable.symmetry,
            cyclic=self.cyclic or "cycle" in variable.symmetry,
            choose=variable.choose,
        )

    @property
    def _options(self) -> dict[str, Any]:
        return {"directed": self.directed, "cyclic": self.cyclic, "choose": self.choose}

    @property
    def max_distance(self) -> int:
        """The number of adjacent pairs, for normalisation."""
        return max(1, adjacency.maximum(self.n, **self._options))

    def distance(self, a: Rows, b: Rows) -> Floats:
        return adjacency.cross(a, b, **self._options) / self.max_distance

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        if self.choose is not None:
            return super().scan(centre, rows, move, weights)
        steps, _ = exchange_sequence(self.n, move)

        def scan(part: Rows, out: NDArray[Any]) -> None:
            after, before = (columns(next_items(part, step, cyclic=self.cyclic)) for step in (1, -1))
            edge_steps(centre, after, after if self.directed else before, self.cyclic, steps, out)

        change = scanned(rows, len(move_slots(self.n, move)), np.int16, WALK_ENTRIES, scan)
        return blocks(change, weights[0] / self.max_distance, weights[0] * self.distance(centre[None], rows))
