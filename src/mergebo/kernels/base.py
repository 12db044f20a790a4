"""What all kernels on permutations share: input checks, the view, normalised distances, diagonals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, get_args

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from mergebo.errors import UnsupportedError, unknown_choice
from mergebo.kernels.tensors import read_tensor
from mergebo.permutations import View, item_count
from mergebo.spaces import Quantity


class PermutationKernel(Kernel):
    """`exp(-d / (2 l^2))`, d a distance of permutations divided by its largest value: l means the same at every n.

    Inputs are orders as tensors `... x n` of any number type; anything else is an error. The kernel reads them as they are
    (`view="order"`) or inverted (`view="rank"`). Use it as any GPyTorch kernel: `ScaleKernel(MergeKernel(15))` adds an
    outputscale, `active_dims` picks the order's columns out of a longer input. There are no gradients with respect to
    inputs.
    """

    has_lengthscale = True

    def __init__(self, n: int, *, view: View = "order", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if view not in get_args(View):
            raise unknown_choice("view", view, get_args(View))
        self.n = item_count(n)
        self.view = view

    def distance(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Normalised distances, 0 to 1: orders `... x A x n` and `... x B x n` -> `... x A x B`; leading sizes broadcast."""
        return self._distance(*(read_tensor(x, self.view, self.n) for x in (x1, x2))).to(x1) / max(1, self._largest())

    @abstractmethod
    def _distance(self, a: Tensor, b: Tensor) -> Tensor:
        """Distances of valid int64 permutations, already in the kernel's view."""

    @abstractmethod
    def _largest(self) -> int:
        """What distances are divided by."""

    def _similarity(self, distance: Tensor, diag: bool) -> Tensor:
        lengthscale = self.lengthscale.squeeze(-1) if diag else self.lengthscale
        return distance.div(-2 * lengthscale**2).exp()

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **params: Any) -> Tensor:
        if last_dim_is_batch:
            raise UnsupportedError("a permutation cannot be split into its entries: last_dim_is_batch is not possible")
        if not diag:
            return self._similarity(self.distance(x1, x2), diag)
        # Row by row: every row is a batch of one.
        return self._similarity(self.distance(x1.unsqueeze(-2), x2.unsqueeze(-2))[..., 0, 0], diag)


class DistanceKernel(Kernel):
    """`exp(-d / (2 l^2))` for any function d of two arrays of rows; no gradients with respect to inputs."""

    has_lengthscale = True

    def __init__(self, distance: Callable[[Any, Any], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.distance = distance

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        a, b = (x.detach().round().long().cpu().numpy() for x in (x1, x2))
        between = self.distance(a, b)
        found = torch.from_numpy(between.diagonal().copy() if diag else between).to(x1)
        lengthscale = self.lengthscale.squeeze(-1) if diag else self.lengthscale
        return torch.exp(found / (-2 * lengthscale**2))


class NearKernel(Kernel):
    """RBF on a number in parts of its range, `exp(-(u - u')^2 / (2 l^2))`; `u` is that of logarithms with `log`."""

    has_lengthscale = True

    def __init__(self, quantity: Quantity, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.quantity = quantity

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        low, high = self.quantity.ends
        units = (((x.log() if self.quantity.log else x) - low) / (high - low) for x in (x1, x2))
        distance = self.covar_dist(*units, square_dist=True, diag=diag, **params)
        lengthscale = self.lengthscale.squeeze(-1) if diag else self.lengthscale
        return torch.exp(distance / (-2 * lengthscale**2))


class BitsKernel(Kernel):
    """RBF on binary choices, `exp(-Hamming / (2 l^2 count))`: goes with a kernel on orders in mixed points.

    With `ones`, times an RBF on the share of ones, which has a lengthscale of its own.
    """

    has_lengthscale = True

    def __init__(self, count: int, *, ones: bool = False, **kwargs: Any) -> None:
        super().__init__(ard_num_dims=2 if ones else None, **kwargs)
        self.ard_num_dims = None  # as many lengthscales as there are distances, not as the input has columns
        self.count = item_count(count)
        self.ones = ones

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        distances = [self.covar_dist(x1, x2, square_dist=True, diag=diag, **params) / self.count]
        if self.ones:
            shares = (x.mean(dim=-1, keepdim=True) for x in (x1, x2))
            distances.append(self.covar_dist(*shares, square_dist=True, diag=diag, **params))
        lengthscales = self.lengthscale if diag else self.lengthscale.unsqueeze(-2)
        return torch.exp((torch.stack(distances, dim=-1) / (-2 * lengthscales**2)).sum(dim=-1))
