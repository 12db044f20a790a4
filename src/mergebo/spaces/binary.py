"""`Binary`: a vector of zeros and ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mergebo._text import read_integer
from mergebo._typing import Floats, Ints, Rows
from mergebo.errors import ArgumentError, ShapeError
from mergebo.permutations import as_int_array, check_n, invert, sample
from mergebo.spaces.variable import Variable, check_enumerable

__all__ = ["Binary"]


@dataclass(frozen=True)
class Binary(Variable):
    """A vector of `count` binary variables: `Binary(837)`."""

    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", check_n(self.count))

    @property
    def width(self) -> int:
        return self.count

    @property
    def log_size(self) -> float:
        return self.count * math.log(2)

    @property
    def size(self) -> float:
        return 2.0**self.count if self.count < 1000 else math.inf

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        return rng.integers(0, 2, (*shape, self.count))

    def stratified(self, index: Ints, rng: np.random.Generator) -> Rows:
        """All zeros first, then all ones, then a uniform fraction of ones; in uniform values about half are ones."""
        fraction = np.where(index < 2, index, rng.random(index.shape))
        return (rng.random((*index.shape, self.count)) < fraction[..., None]).astype(np.int64)

    def validate(self, values: ArrayLike) -> Rows:
        array = np.asarray(values)
        if array.dtype.kind != "b":
            array = as_int_array(values, "a binary vector")
        if array.ndim == 0 or array.shape[-1] != self.count:
            raise ShapeError(f"expected {self.count} values of 0 or 1, got an array of shape {array.shape}")
        if array.size and (array.min() < 0 or array.max() > 1):
            raise ArgumentError(f"binary values are 0 or 1, got {array[(array != 0) & (array != 1)][0]}")
        return array.astype(np.int64)

    def to_cells(self, value: Any) -> list[Any]:
        return list(value)

    def from_cells(self, name: str, cells: Sequence[str]) -> list[int]:
        return [read_integer(cell, name) for cell in cells]

    def enumerate(self) -> Rows:
        check_enumerable(self, self.size)
        return np.array(list(itertools.product((0, 1), repeat=self.count)), np.int64)

    def neighbours(self, value: Rows, move: str = "step") -> Rows:
        """The values with one entry flipped."""
        return np.where(np.eye(self.count, dtype=bool), 1 - value, value)

    def random_neighbours(self, value: Rows, move: str, count: int, rng: np.random.Generator) -> Rows:
        which = rng.choice(self.count, min(self.count, count), replace=False)
        flipped = np.tile(value, (len(which), 1))  # of many, only the sampled ones are written out
        flipped[np.arange(len(which)), which] = 1 - value[which]
        return flipped

    def to_unit(self, values: Rows) -> Floats:
        """1/4 for 0 and 3/4 for 1."""
        return np.asarray(0.25 + 0.5 * values)

    def from_unit(self, points: Floats) -> Rows:
        return (points > 0.5).astype(np.int64)

    def sample_labels(self, rng: np.random.Generator) -> Ints:
        return sample(self.count, seed=rng)

    def relabel(self, values: Rows, labels: Ints) -> Rows:
        return values[..., labels]

    def undo_relabel(self, values: Rows, labels: Ints) -> Rows:
        return values[..., invert(labels)]
