"""Positions: which item is in which slot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mergebo._typing import Floats, Rows, Singles
from mergebo.distances import cross_mismatches, hamming
from mergebo.similarity.base import Similarity, blocks, ranks
from mergebo.similarity.displacement import TruncatedDisplacement, displacement_changes

__all__ = ["ARDPositions", "Positions"]


@dataclass(frozen=True)
class Positions(TruncatedDisplacement):
    """Orders are similar if most slots hold the same item: all displacements count the same."""

    @property
    def reach(self) -> int:
        return 1

    @property
    def max_distance(self) -> float:
        return max(1, hamming.maximum(self.n)) if self.choose is None else 2 * self.choose

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray(cross_mismatches(ranks(a, self.choose), ranks(b, self.choose)) / self.max_distance)


@dataclass(frozen=True)
class ARDPositions(Similarity):
    """`Positions` with a lengthscale for each slot (automatic relevance determination).

    This is the diffusion kernel of COMBO (Oh et al. 2019) on one complete graph per slot. With n items its factor is 1 where
    two orders agree and `(1 - exp(-n beta)) / (1 + (n - 1) exp(-n beta))` where they do not; the lengthscale is a
    reparametrisation of beta.
    """

    n: int

    @property
    def num_lengthscales(self) -> int:
        return self.n

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray((a.T[:, :, None] != b.T[:, None, :]) / self.n)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        change = displacement_changes(centre, rows, move, weights / self.n, 1)
        return blocks(change, 1.0, ((centre != rows) @ (weights / self.n))[None])
