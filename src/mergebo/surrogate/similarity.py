"""How alike two points are: normalised distances on rows, and the GPyTorch kernels that they stand for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mergebo.permutations import DISTANCES, View, invert
from mergebo.sorting import ComparisonMap
from mergebo.spaces import AnySpace, Rows

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

Floats = NDArray[np.float64]


class Similarity(ABC):
    """One factor `exp(-d / (2 l^2))` of a kernel, with its own lengthscale l; d is between 0 and 1."""

    @abstractmethod
    def distance(self, a: Rows, b: Rows) -> Floats:
        """Normalised distances between all rows of a and all rows of b, of one variable."""

    @abstractmethod
    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        """The same factor as a GPyTorch kernel that reads these columns of a point."""


@dataclass(frozen=True)
class ByMap(Similarity):
    """Orders are alike if a sorting algorithm compares them alike."""

    map: ComparisonMap
    view: View = "order"

    def distance(self, a: Rows, b: Rows) -> Floats:
        x, y = (rows if self.view == "order" else invert(rows) for rows in (a, b))
        return np.asarray(self.map._distance(x[None], y[None])[0] / max(1, self.map.length))

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import ComparisonKernel

        return ComparisonKernel(self.map, view=self.view, active_dims=columns)


@dataclass(frozen=True)
class Footrule(Similarity):
    """Orders are alike if items are displaced little (Spearman's footrule on ranks)."""

    n: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        footrule = DISTANCES["footrule"]
        return footrule.cross(a, b, view="rank") / max(1, footrule.maximum(self.n))

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import SpearmanKernel

        return SpearmanKernel(self.n, view="rank", active_dims=columns)


@dataclass(frozen=True)
class SameChoices(Similarity):
    """Binary vectors are alike if most choices are the same: an RBF on the bits."""

    count: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        x, y = a.astype(np.float64), b.astype(np.float64)
        return np.asarray((x.sum(axis=1)[:, None] + y.sum(axis=1)[None] - 2 * (x @ y.T)) / self.count)

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels.base import BitsKernel

        return BitsKernel(self.count, active_dims=columns)


@dataclass(frozen=True)
class Product:
    """A similarity for each variable of a space; the kernel is their product."""

    space: AnySpace
    factors: Mapping[str, Similarity]

    def distances(self, a: Rows, b: Rows) -> Floats:
        """The factors' distances, `(factors, A, B)`."""
        slices = self.space.slices
        return np.stack([factor.distance(a[:, slices[name]], b[:, slices[name]]) for name, factor in self.factors.items()])

    def kernel(self) -> Any:
        """The product as a GPyTorch kernel on whole rows."""
        from gpytorch.kernels import ProductKernel

        columns = [tuple(range(self.space.width))[self.space.slices[name]] for name in self.factors]
        kernels = [factor.kernel(where) for factor, where in zip(self.factors.values(), columns, strict=True)]
        return kernels[0] if len(kernels) == 1 else ProductKernel(*kernels)
