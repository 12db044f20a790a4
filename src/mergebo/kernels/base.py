"""Base classes of kernels: input checks, views, normalised distances and diagonals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, get_args

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from mergebo.errors import UnsupportedError, unknown_choice
from mergebo.kernels.bits import read_tensor
from mergebo.permutations import View, check_n

__all__ = ["PermutationKernel"]


class PermutationKernel(Kernel):
    """`exp(-d / (2 l^2))`, d a distance of permutations divided by its maximum, so that l has the same meaning for every n.

    Inputs are orders as tensors `... x n` of any numeric type; anything else raises an error. The kernel reads them as
    they are (`view="order"`) or inverted (`view="rank"`). Use it like any GPyTorch kernel: `ScaleKernel(MergeKernel(15))`
    adds an outputscale, `active_dims` selects the columns of the order from a longer input. It is not differentiable with
    respect to its inputs.
    """

    has_lengthscale = True

    def __init__(self, n: int, *, view: View = "order", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if view not in get_args(View):
            raise unknown_choice("view", view, get_args(View))
        self.n = check_n(n)
        self.view = view

    def distance(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Normalised distances, 0 to 1: orders `... x A x n` and `... x B x n` -> `... x A x B`; batches broadcast."""
        return self._distance(*(read_tensor(x, self.view, self.n) for x in (x1, x2))).to(x1) / max(1, self._max_distance())

    @abstractmethod
    def _distance(self, a: Tensor, b: Tensor) -> Tensor:
        """Distances of valid int64 permutations, already in the kernel's view."""

    @abstractmethod
    def _max_distance(self) -> int:
        """The maximum, by which distances are divided."""

    def _similarity(self, distance: Tensor, diag: bool) -> Tensor:
        lengthscale = self.lengthscale.squeeze(-1) if diag else self.lengthscale
        return distance.div(-2 * lengthscale**2).exp()

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **params: Any) -> Tensor:
        if last_dim_is_batch:
            raise UnsupportedError("a permutation cannot be split into its entries: last_dim_is_batch is not possible")
        if not diag:
            return self._similarity(self.distance(x1, x2), diag)
        # Every row is a batch of one.
        return self._similarity(self.distance(x1.unsqueeze(-2), x2.unsqueeze(-2))[..., 0, 0], diag)


class DistanceKernel(Kernel):
    """`exp(-d / (2 l^2))` for any function d of two arrays of rows; not differentiable with respect to its inputs."""

    has_lengthscale = True

    def __init__(self, distance: Callable[[Any, Any], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.distance = distance

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        a, b = (x.detach().round().long().cpu().numpy() for x in (x1, x2))
        matrix = self.distance(a, b)
        distance = torch.from_numpy(matrix.diagonal().copy() if diag else matrix).to(x1)
        lengthscale = self.lengthscale.squeeze(-1) if diag else self.lengthscale
        return torch.exp(distance / (-2 * lengthscale**2))
