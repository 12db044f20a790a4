"""Kernels on positions and adjacency."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mergebo.distances import Distance, adjacency, footrule, hamming, spearman_rho
from mergebo.kernels.base import PermutationKernel
from mergebo.kernels.bits import read_tensor
from mergebo.permutations import View

__all__ = ["ARDPositionKernel", "AdjacencyKernel", "FootruleKernel", "PositionKernel", "SpearmanRhoKernel"]


class FootruleKernel(PermutationKernel):
    """RBF on Spearman's footrule, the total displacement of entries: the sum of |a - b|.

    With `view="rank"` it compares the slots of items; with `view="order"` item numbers, which makes sense only if they are
    meaningful.
    """

    def _distance(self, a: Tensor, b: Tensor) -> Tensor:
        return _crossed(footrule, a, b)

    def _max_distance(self) -> int:
        return footrule.maximum(self.n)


class SpearmanRhoKernel(PermutationKernel):
    """RBF on the squared displacement of entries: the sum of (a - b)^2, as in Spearman's rho. Views as for the footrule."""

    def _distance(self, a: Tensor, b: Tensor) -> Tensor:
        return _crossed(spearman_rho, a, b)

    def _max_distance(self) -> int:
        return spearman_rho.maximum(self.n)


class PositionKernel(PermutationKernel):
    """RBF on the number of slots with different items (the one-hot matrix of items and slots). The same in both views."""

    def _distance(self, a: Tensor, b: Tensor) -> Tensor:
        return _crossed(hamming, a, b)

    def _max_distance(self) -> int:
        return hamming.maximum(self.n)


class ARDPositionKernel(PermutationKernel):
    """`exp(-sum_i [a_i != b_i] / (2 l_i^2 n))`, one lengthscale per slot: COMBO's diffusion kernel on complete graphs."""

    def __init__(self, n: int, *, view: View = "order", **kwargs: Any) -> None:
        super().__init__(n, view=view, ard_num_dims=n, **kwargs)
        self.ard_num_dims = None  # GPyTorch would check the input size first, with a less helpful message

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **params: Any) -> Tensor:
        a, b = (read_tensor(x, self.view, self.n) for x in (x1, x2))
        differ = (a != b) if diag else (a.unsqueeze(-2) != b.unsqueeze(-3))
        lengthscale = self.lengthscale if diag else self.lengthscale.unsqueeze(-2)
        exponent: Tensor = (differ.to(x1) / (-2 * self.n * lengthscale**2)).sum(dim=-1)
        return exponent.exp()

    def _distance(self, a: Tensor, b: Tensor) -> Tensor:
        return _crossed(hamming, a, b)

    def _max_distance(self) -> int:
        return self.n


class AdjacencyKernel(PermutationKernel):
    """RBF on the number of adjacent pairs that are not shared (the one-hot matrix of adjacent items).

    `directed` distinguishes (a, b) from (b, a); with `cyclic` the last item is adjacent to the first, as in a tour.
    """

    def __init__(self, n: int, *, directed: bool = False, cyclic: bool = False, view: View = "order", **kwargs: Any) -> None:
        super().__init__(n, view=view, **kwargs)
        self.directed = directed
        self.cyclic = cyclic

    def _distance(self, a: Tensor, b: Tensor) -> Tensor:
        return _crossed(adjacency, a, b, directed=self.directed, cyclic=self.cyclic)

    def _max_distance(self) -> int:
        return adjacency.maximum(self.n, directed=self.directed, cyclic=self.cyclic)


def _crossed(distance: Distance, a: Tensor, b: Tensor, **options: Any) -> Tensor:
    """Distances of all rows of a to all rows of b, on the device of the tensors."""
    assert distance.crossed is not None
    distances: Tensor = distance.crossed(a, b, **options)
    return distances
