"""Linear ordering: items in the order that gains most over all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Rows, Seed
from mergebo.compiled.jit import jit
from mergebo.errors import ArgumentError, ShapeError
from mergebo.permutations import as_generator, sample
from mergebo.problems.base import Optimum, OrderProblem

__all__ = ["LOP"]


@dataclass(frozen=True, eq=False, repr=False)
class LOP(OrderProblem):
    """Linear ordering: minus the sum of `gains[a, b]` over all pairs of items with a before b."""

    gains: NDArray[np.float64]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gains.ndim != 2 or self.gains.shape[0] != self.gains.shape[1]:
            raise ShapeError(f"gains must be a square matrix, got shape {self.gains.shape}")

    @property
    def n(self) -> int:
        return len(self.gains)

    @property
    def _scratch(self) -> int:
        return self.n * self.n

    def _evaluate(self, rows: Rows) -> Floats:
        gained = np.empty((len(rows), self.n * (self.n - 1) // 2))
        _gather(rows, self.gains, gained)
        values: Floats = -gained.sum(axis=-1)
        return values

    def _describe(self) -> str:
        return f"the best linear order of {self.n} items by {self.n * (self.n - 1) // 2} pairwise gains"


@jit
def _gather(rows: Rows, gains: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """The gains of all pairs of slots in the order of `np.triu_indices`; row by row, which is fast for large matrices."""
    for t in range(len(rows)):
        k = 0
        for i in range(rows.shape[1]):
            gains_of = gains[rows[t, i]]
            for j in range(i + 1, rows.shape[1]):
                out[t, k] = gains_of[rows[t, j]]
                k += 1


def planted_lop(name: str, n: int, seed: Seed, noise: float = 0.5) -> LOP:
    """A planted order: the gain of a before b grows with the distance of a and b in it, plus noise on every pair.

    Gains are 0 to 1 plus `noise` times a standard normal number. Without noise every pair agrees with the planted order,
    which is then the optimum.
    """
    if noise < 0:
        raise ArgumentError(f"noise must not be negative, got {noise}")
    rng = as_generator(seed)
    hidden = sample(n, seed=rng)
    rank = np.argsort(hidden)
    ahead = (rank[None, :] - rank[:, None]) / max(1, n - 1)
    gains = np.clip(ahead, 0, None) + noise * rng.normal(size=(n, n))
    np.fill_diagonal(gains, 0)
    problem = LOP(name, gains)
    if noise:
        return problem
    value = float(problem.evaluate(hidden))
    proof = Optimum(value, True, "every pair of items is in its better order")
    return problem.with_optimum(proof, [hidden])
