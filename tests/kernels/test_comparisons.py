"""Kernels made of comparison maps."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("botorch", reason="needs the extra torch")
import torch
from gpytorch.kernels import Kernel

from kernel_suite import BoTorchSuite, matrix, orders
from mergebo.kernels import (
    ComparisonKernel,
    KendallKernel,
    MallowsKernel,
    MergeKernel,
    NetworkKernel,
    RandomComparisonsKernel,
)
from mergebo.sorting import MergeMap, RandomComparisons


class TestMerge(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return MergeKernel(n)


class TestMergeSource(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return MergeKernel(n, padding="source")


class TestMergeRank(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return MergeKernel(n, view="rank")


class TestMallows(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return MallowsKernel(n)


class TestMallowsRank(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return MallowsKernel(n, view="rank")


class TestKendall(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return KendallKernel(n)


class TestRandom(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return RandomComparisonsKernel(n, seed=1)


class TestBitonic(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return NetworkKernel(n, view="rank")


class TestOddEven(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return NetworkKernel(n, "odd-even-merge")


class TestSum(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return ComparisonKernel(MergeMap(n) + RandomComparisons(n, n // 2))


def test_the_kernel_computed_by_hand() -> None:
    """exp(-Hamming / (2 l^2 length)), computed by hand."""
    kernel = MergeKernel(4).double()
    kernel.lengthscale = 0.5
    a, b = torch.tensor([[0.0, 3, 2, 1]]).double(), torch.tensor([[0.0, 1, 2, 3]]).double()
    # 01011 against 00000 with its leftover right half: 0 0 0 0 0 -> three bits differ
    assert MergeMap(4).encode([0, 1, 2, 3]).tolist() == [0, 0, 0, 0, 0]
    assert matrix(kernel, a, b).item() == pytest.approx(np.exp(-3 / (2 * 0.25 * 5)))


def test_distances_are_comparable_for_every_n() -> None:
    """Two random orders are about half of the maximum distance apart for every n."""
    for n in (15, 60, 280):
        for kernel in (MergeKernel(n), MallowsKernel(n)):
            assert kernel.distance(orders(n, 20), orders(n, 20, seed=1)).mean() == pytest.approx(0.5, abs=0.05)
