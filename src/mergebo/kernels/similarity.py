"""Similarities as GPyTorch kernels, and kernels as similarities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel, ProductKernel

from mergebo._typing import Floats, Rows
from mergebo.errors import ArgumentError
from mergebo.kernels.base import DistanceKernel, PermutationKernel
from mergebo.kernels.comparisons import ComparisonKernel
from mergebo.kernels.positions import (
    AdjacencyKernel,
    ARDPositionKernel,
    FootruleKernel,
    PositionKernel,
    SpearmanRhoKernel,
)
from mergebo.kernels.scalars import BinaryKernel, NumericKernel
from mergebo.similarity import (
    Adjacency,
    ARDPositions,
    BinaryCountSimilarity,
    BinarySimilarity,
    ComparisonSimilarity,
    Footrule,
    NumericSimilarity,
    Positions,
    Product,
    ProductSimilarity,
    Similarity,
    SpearmanRho,
)

__all__ = ["KernelSimilarity", "kernel_of", "product_kernel", "similarity_of"]

Columns = tuple[int, ...]


@singledispatch
def kernel_of(similarity: Similarity, columns: Columns) -> Kernel:
    """A similarity as a GPyTorch kernel on these columns of a point, with lengthscales of its own.

    This default computes distances on the CPU. Register a kernel for a similarity whose distance torch can compute.
    """
    return DistanceKernel(similarity.distance, active_dims=columns)


_by_distance = kernel_of.dispatch(object)
"""Also for orders of some of the items: the kernels are of complete orders."""


@kernel_of.register
def _(similarity: ComparisonSimilarity, columns: Columns) -> Kernel:
    if similarity.choose is not None:
        return _by_distance(similarity, columns)
    return ComparisonKernel(similarity.map, view=similarity.view, active_dims=columns)


@kernel_of.register
def _(similarity: Footrule | SpearmanRho, columns: Columns) -> Kernel:
    if similarity.choose is not None:
        return _by_distance(similarity, columns)
    kind = FootruleKernel if isinstance(similarity, Footrule) else SpearmanRhoKernel
    return kind(similarity.n, view="rank", active_dims=columns)


@kernel_of.register
def _(similarity: Positions, columns: Columns) -> Kernel:
    if similarity.choose is not None:
        return _by_distance(similarity, columns)
    return PositionKernel(similarity.n, active_dims=columns)


@kernel_of.register
def _(similarity: ARDPositions, columns: Columns) -> Kernel:
    return ARDPositionKernel(similarity.n, active_dims=columns)


@kernel_of.register
def _(similarity: Adjacency, columns: Columns) -> Kernel:
    if similarity.choose is not None:
        return _by_distance(similarity, columns)
    return AdjacencyKernel(similarity.n, directed=similarity.directed, cyclic=similarity.cyclic, active_dims=columns)


@kernel_of.register
def _(similarity: BinarySimilarity | BinaryCountSimilarity, columns: Columns) -> Kernel:
    return BinaryKernel(similarity.choices, ones=isinstance(similarity, BinaryCountSimilarity), active_dims=columns)


@kernel_of.register
def _(similarity: NumericSimilarity, columns: Columns) -> Kernel:
    return NumericKernel(similarity.quantity, active_dims=columns)


@kernel_of.register
def _(similarity: ProductSimilarity, columns: Columns) -> Kernel:
    return ProductKernel(*(kernel_of(part, columns) for part in similarity.parts))


def product_kernel(product: Product) -> Kernel:
    """The product of the similarities of a space's variables as a kernel on rows; products in it are flattened."""
    space = product.space
    made = [kernel_of(factor, tuple(range(space.width))[space.slices[name]]) for name, factor in product.factors.items()]
    kernels = [part for kernel in made for part in getattr(kernel, "kernels", [kernel])]
    return kernels[0] if len(kernels) == 1 else ProductKernel(*kernels)


@dataclass(frozen=True)
class KernelSimilarity(Similarity):
    """The similarity of any GPyTorch kernel of permutations. Scans compute each neighbour explicitly."""

    kernel: PermutationKernel

    def distance(self, a: Rows, b: Rows) -> Floats:
        with torch.no_grad():
            distances: Floats = self.kernel.distance(*(torch.from_numpy(each.astype(np.float64)) for each in (a, b))).numpy()
        return distances


def similarity_of(kernel: Any, n: int) -> Similarity:
    """The similarity of a GPyTorch kernel of permutations of n items. Its lengthscale is not read."""
    plain = isinstance(kernel, PermutationKernel) and all(
        getattr(type(kernel), each) is getattr(PermutationKernel, each) for each in ("forward", "_similarity", "distance")
    )
    if not plain:
        raise ArgumentError(
            f"a kernel for n items must be a PermutationKernel, exp(-distance / (2 l^2)), got {type(kernel).__name__} "
            f"for n = {n}; others go into a BoTorch model (the page on BoTorch shows how)"
        )
    if isinstance(kernel, ComparisonKernel) and type(kernel)._distance is ComparisonKernel._distance:
        return ComparisonSimilarity(kernel.map, kernel.view)
    return KernelSimilarity(kernel)
