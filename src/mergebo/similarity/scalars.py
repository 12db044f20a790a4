"""Similarities of binary, numeric and categorical variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mergebo._typing import Floats, Rows, Singles
from mergebo.similarity.base import Similarity, blocks
from mergebo.spaces import Numeric

__all__ = ["BinaryCountSimilarity", "BinarySimilarity", "CategoricalSimilarity", "NumericSimilarity"]


@dataclass(frozen=True)
class BinarySimilarity(Similarity):
    """An RBF on binary vectors: similar if most bits are equal."""

    choices: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        x, y = a.astype(np.float64), b.astype(np.float64)
        return np.asarray((x.sum(axis=1)[:, None] + y.sum(axis=1)[None] - 2 * (x @ y.T)) / self.choices)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        change = np.where((rows != centre).T, -1, 1)  # a flip approaches the rows that differ there
        return blocks(change, weights[0] / self.choices, weights[0] * self.distance(centre[None], rows))


@dataclass(frozen=True)
class BinaryCountSimilarity(Similarity):
    """`BinarySimilarity` times an RBF on the share of ones: how many bits are 1 may matter more than which."""

    choices: int

    @property
    def num_lengthscales(self) -> int:
        return 2

    def distance(self, a: Rows, b: Rows) -> Floats:
        more = a.mean(axis=1)[:, None] - b.mean(axis=1)[None]
        return np.stack([BinarySimilarity(self.choices).distance(a, b), more**2])

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        by_choice, by_share = weights / (self.choices, self.choices**2)
        step = 1 - 2 * centre[:, None]  # of the number of ones
        more = centre.sum() - rows.sum(axis=1)
        change = by_choice * np.where((rows != centre).T, -1, 1) + by_share * (2 * step * more + 1)
        base = np.tensordot(weights, self.distance(centre[None], rows), axes=1)
        return blocks(change, 1.0, base)


@dataclass(frozen=True)
class NumericSimilarity(Similarity):
    """An RBF on numbers scaled to the unit interval, on the log scale if the variable has one."""

    quantity: Numeric

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray((self.quantity.to_unit(a) - self.quantity.to_unit(b).T) ** 2)


@dataclass(frozen=True)
class CategoricalSimilarity(Similarity):
    """Options are equal or not: all different options are equally dissimilar."""

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray(a != b.T, np.float64)
