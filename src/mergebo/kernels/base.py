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
from mergebo.spaces import Numeric


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


class NumericKernel(Kernel):
    """RBF on a number scaled to its range, `exp(-(u - u')^2 / (2 l^2))`; scaled logarithms with `log`."""

    has_lengthscale = True

    def __init__(self, quantity: Numeric, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.quantity = quantity

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        low, high = self.quantity.ends
        units = (((x.log() if self.quantity.log else x) - low) / (high - low) for x in (x1, x2))
        distance = self.covar_dist(*units, square_dist=True, diag=diag, **params)
        lengthscale = self.lengthscale.squeeze(-1) if diag else self.lengthscale
        return torch.exp(distance / (-2 * lengthscale**2))


class BinaryKernel(Kernel):
    """RBF on binary variables, `exp(-Hamming / (2 l^2 count))`, to be multiplied with a kernel on orders in mixed spaces.

    With `ones`, times an RBF on the fraction of ones, with a separate lengthscale.
    """

    has_lengthscale = True

    def __init__(self, count: int, *, ones: bool = False, **kwargs: Any) -> None:
        super().__init__(ard_num_dims=2 if ones else None, **kwargs)
        self.ard_num_dims = None  # one lengthscale per distance, not per input column
        self.count = check_n(count)
        self.ones = ones

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        distances = [self.covar_dist(x1, x2, square_dist=True, diag=diag, **params) / self.count]
        if self.ones:
            fractions = (x.mean(dim=-1, keepdim=True) for x in (x1, x2))
            distances.append(self.covar_dist(*fractions, square_dist=True, diag=diag, **params))
        lengthscales = self.lengthscale if diag else self.lengthscale.unsqueeze(-2)
        return torch.exp((torch.stack(distances, dim=-1) / (-2 * lengthscales**2)).sum(dim=-1))
