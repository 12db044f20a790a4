"""Kernels on the bits of comparison maps, which compare precedence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from mergebo.errors import ArgumentTypeError
from mergebo.kernels.base import PermutationKernel
from mergebo.kernels.bits import bit_distance
from mergebo.permutations import View
from mergebo.sorting import ComparisonMap, EnumerationMap, MergeMap, NetworkMap, RandomComparisons
from mergebo.sorting.merge import Padding

__all__ = ["ComparisonKernel", "KendallKernel", "MallowsKernel", "MergeKernel", "NetworkKernel", "RandomComparisonsKernel"]


class ComparisonKernel(PermutationKernel):
    """RBF on the bits of any comparison map: `exp(-Hamming / (2 l^2 length))` (eq. 3 of the paper)."""

    def __init__(self, map: ComparisonMap, *, view: View = "order", **kwargs: Any) -> None:
        if not isinstance(map, ComparisonMap):
            raise ArgumentTypeError(f"expected a comparison map such as MergeMap(15), got {map!r}")
        super().__init__(map.n, view=view, **kwargs)
        self.map = map

    def _distance(self, a: Tensor, b: Tensor) -> Tensor:
        return bit_distance(self.map, a, b)

    def _max_distance(self) -> int:
        return self.map.length


class MergeKernel(ComparisonKernel):
    """RBF on merge-sort comparisons, n log n bits: the Merge kernel of MergeBO."""

    def __init__(self, n: int, *, padding: Padding = "comparison", view: View = "order", **kwargs: Any) -> None:
        super().__init__(MergeMap(n, padding), view=view, **kwargs)


class MallowsKernel(ComparisonKernel):
    """RBF on all pairs, n(n-1)/2 bits: the Mallows kernel of BOPS-H, `exp(-Kendall / (2 l^2 n(n-1)/2))`."""

    def __init__(self, n: int, *, view: View = "order", **kwargs: Any) -> None:
        super().__init__(EnumerationMap(n), view=view, **kwargs)


class NetworkKernel(ComparisonKernel):
    """RBF on the swaps of a comparator network, by name or as a list of comparators."""

    def __init__(
        self,
        n: int,
        network: str | Sequence[tuple[int, int]] = "bitonic",
        *,
        view: View = "order",
        **kwargs: Any,
    ) -> None:
        super().__init__(NetworkMap(n, network), view=view, **kwargs)


class RandomComparisonsKernel(ComparisonKernel):
    """RBF on a fixed random subset of all pairs: the paper's control."""

    def __init__(self, n: int, size: int | None = None, *, seed: int = 0, view: View = "order", **kwargs: Any) -> None:
        super().__init__(RandomComparisons(n, size, seed), view=view, **kwargs)


class KendallKernel(MallowsKernel):
    """The linear kernel on signs of all pairs: Kendall's rank correlation, `1 - 4 d / (n(n-1))`, without a lengthscale."""

    has_lengthscale = False

    def _similarity(self, distance: Tensor, diag: bool) -> Tensor:
        return 1 - 2 * distance
