"""Quadratic assignment problems: which facility goes to which location."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Rows, Seed
from mergebo.errors import ShapeError
from mergebo.permutations import as_generator
from mergebo.problems.base import OrderProblem

__all__ = ["QAP"]


@dataclass(frozen=True, eq=False, repr=False)
class QAP(OrderProblem):
    """`Tr(A P B P^T) = sum_ij a[i, j] b[order[i], order[j]]`, QAPLIB's objective; a and b may be asymmetric."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.a.ndim != 2 or self.a.shape != self.b.shape or len(self.a) != self.a.shape[-1]:
            raise ShapeError(f"a and b must be square matrices of one size, got shapes {self.a.shape} and {self.b.shape}")

    @property
    def n(self) -> int:
        return len(self.a)

    @property
    def _scratch(self) -> int:
        return 2 * self.n * self.n

    def _evaluate(self, rows: Rows) -> Floats:
        pairs = (rows * self.n)[:, :, None] + rows[:, None, :]
        costs: Floats = self.b.reshape(-1).take(pairs).reshape(len(rows), -1) @ self.a.reshape(-1)
        return costs

    def _describe(self) -> str:
        return f"the cheapest assignment of {self.n} facilities to {self.n} locations"


def nug_like(name: str, n: int, seed: Seed) -> QAP:
    """Like Nugent et al.: locations on a grid with Manhattan distances, sparse integer flows between facilities."""
    rng = as_generator(seed)
    columns = int(np.ceil(np.sqrt(n)))
    location = np.stack(np.divmod(np.arange(n), columns), axis=1)
    distances = np.abs(location[:, None] - location[None]).sum(axis=-1).astype(np.float64)
    flows = np.triu(rng.integers(1, 11, (n, n)) * (rng.random((n, n)) < 0.6), 1).astype(np.float64)
    return QAP(name, distances, flows + flows.T)
