"""Kernels on binary and numeric variables."""

from __future__ import annotations

from typing import Any

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from mergebo.permutations import check_n
from mergebo.spaces import Numeric

__all__ = ["BinaryKernel", "NumericKernel"]


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
