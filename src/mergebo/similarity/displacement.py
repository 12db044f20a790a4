"""Displacement: how far items are from their slots in another order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Rows, Singles
from mergebo.compiled.displacement import slot_steps, square_steps
from mergebo.distances import cross_displacements, cross_squares, footrule, spearman_rho
from mergebo.neighbours import exchange_sequence, move_slots
from mergebo.permutations import invert
from mergebo.similarity.base import WALK_ENTRIES, PartialOrderSimilarity, blocks, columns, ranks, scanned

__all__ = ["Footrule", "SpearmanRho"]


class TruncatedDisplacement(PartialOrderSimilarity):
    """Orders are similar if items are displaced little; displacements by more than `reach` slots count as `reach`."""

    @property
    @abstractmethod
    def reach(self) -> int:
        """The displacement at which distances are truncated."""

    @property
    @abstractmethod
    def max_distance(self) -> float:
        """The largest sum of displacements, for normalisation."""

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        if self.choose is not None:
            return super().scan(centre, rows, move, weights)
        change = displacement_changes(centre, rows, move, np.ones(self.n), self.reach)
        return blocks(change, weights[0] / self.max_distance, weights[0] * self.distance(centre[None], rows))


@dataclass(frozen=True)
class Footrule(TruncatedDisplacement):
    """Spearman's footrule on ranks: displacements are not truncated."""

    @property
    def reach(self) -> int:
        return self.n

    @property
    def max_distance(self) -> float:
        return max(1, footrule.maximum(self.n)) if self.choose is None else self.choose * (self.choose + 1)

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray(cross_displacements(ranks(a, self.choose), ranks(b, self.choose)) / self.max_distance)


@dataclass(frozen=True)
class SpearmanRho(PartialOrderSimilarity):
    """Orders are similar if their ranks correlate: squared displacements, as in Spearman's rho.

    With a long lengthscale this becomes a linear kernel, in which each item has its own effect per slot.
    """

    @property
    def max_distance(self) -> float:
        """The distance of an order to its reverse; for partial orders, an upper bound."""
        k = self.choose
        return max(1.0, spearman_rho.maximum(self.n)) if k is None else k * (k + 1) * (2 * k + 1) / 3

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray(cross_squares(ranks(a, self.choose), ranks(b, self.choose)) / self.max_distance)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        if self.choose is not None:
            return super().scan(centre, rows, move, weights)
        steps, _ = exchange_sequence(self.n, move)

        def scan(part: Rows, out: NDArray[Any]) -> None:
            square_steps(columns(invert(part))[centre], steps, out)

        change = scanned(rows, len(move_slots(self.n, move)), np.int64, WALK_ENTRIES, scan)
        return blocks(change, weights[0] / self.max_distance, weights[0] * self.distance(centre[None], rows))


def displacement_changes(centre: Rows, rows: Rows, move: str, weights: Floats, reach: int) -> Singles:
    """Changes of the sum over items of `weights[slot] * min(displacement, reach)`."""
    steps, _ = exchange_sequence(len(centre), move)

    def scan(part: Rows, out: Singles) -> None:
        slot_steps(columns(invert(part))[centre], weights, reach, steps, out)

    return scanned(rows, len(move_slots(len(centre), move)), np.float32, WALK_ENTRIES, scan)
