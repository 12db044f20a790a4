"""Kernels on positions, displacements and adjacency."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("botorch", reason="needs the extra torch")
from gpytorch.kernels import Kernel

from kernel_suite import BoTorchSuite, orders
from mergebo import distances
from mergebo.kernels import AdjacencyKernel, ARDPositionKernel, FootruleKernel, PositionKernel, SpearmanRhoKernel


class TestFootrule(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return FootruleKernel(n, view="rank")


class TestRho(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return SpearmanRhoKernel(n)


class TestPosition(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return PositionKernel(n)


class TestSlots(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return ARDPositionKernel(n, view="rank")


class TestEdges(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return AdjacencyKernel(n)


class TestRoundTour(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return AdjacencyKernel(n, cyclic=True)


class TestArcs(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return AdjacencyKernel(n, directed=True)


class TestRoundArcs(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return AdjacencyKernel(n, directed=True, cyclic=True, view="rank")


def test_distances_do_not_depend_on_the_lengthscales_of_the_slots() -> None:
    kernel = ARDPositionKernel(6, view="rank")
    a, b = orders(6, 3), orders(6, 4, seed=1)
    expected = distances.hamming.cross(a.numpy().astype(int), b.numpy().astype(int), view="rank") / 6
    np.testing.assert_allclose(kernel.distance(a, b).numpy(), expected)
