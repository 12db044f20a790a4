"""A kernel averaged over random relabellings of items and slots."""

from __future__ import annotations

from typing import Any

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from mergebo.errors import ArgumentError
from mergebo.kernels.base import PermutationKernel
from mergebo.kernels.bits import read_tensor
from mergebo.permutations import sample

__all__ = ["RelabelledAverage"]


class RelabelledAverage(Kernel):
    """The mean of `base_kernel` over `count` fixed random relabellings of items, slots or both.

    The Merge kernel is not invariant to relabelling items or slots. Its average over random relabellings becomes invariant
    as `count` grows, at count x n log n instead of n^2 bits.
    """

    def __init__(
        self,
        base_kernel: PermutationKernel,
        count: int = 8,
        *,
        items: bool = True,
        slots: bool = True,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        if count < 1:
            raise ArgumentError(f"count must be at least 1, got {count}")
        if not (items or slots):
            raise ArgumentError("nothing to relabel: items or slots must be true")
        super().__init__(active_dims=kwargs.pop("active_dims", base_kernel.active_dims), **kwargs)
        self.base_kernel = base_kernel
        n = base_kernel.n
        labels = torch.from_numpy(sample(n, (2, count), seed=seed))
        identity = torch.arange(n).expand(count, n)
        self.register_buffer("items", labels[0] if items else identity.clone())
        self.register_buffer("slots", labels[1] if slots else identity.clone())

    @property
    def is_stationary(self) -> bool:
        return bool(self.base_kernel.is_stationary)

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        return self.base_kernel.forward(self._relabelled(x1), self._relabelled(x2), diag=diag, **params).mean(dim=0)

    def _relabelled(self, x: Tensor) -> Tensor:
        """`count x ... x n`: in slot k of copy m, `items[m][x[slots[m][k]]]`."""
        orders = read_tensor(x, "order", self.base_kernel.n)
        return torch.stack([items[orders[..., slots]] for items, slots in zip(self.items, self.slots, strict=True)]).to(x)
