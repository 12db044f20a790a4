"""Averages over relabellings: the conformance suite, and how they approach invariance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

pytest.importorskip("botorch", reason="needs the extra torch")
import torch
from gpytorch.kernels import Kernel

from kernel_suite import BoTorchSuite, N, by_items, by_slots, change, matrix, orders
from mergebo import kernels
from mergebo.sorting import MergeMap


class TestAverage(BoTorchSuite):
    def make(self, n: int) -> Kernel:
        return kernels.RelabelledAverage(kernels.MergeKernel(n), 3)


class TestInvariance:
    @pytest.mark.slow
    @pytest.mark.parametrize("relabel", [by_items, by_slots])
    def test_average_approaches_invariance(self, relabel: Callable[[np.ndarray], np.ndarray]) -> None:
        """The change falls like 1 / sqrt(count): sixteen times the relabellings leave about a quarter."""

        def mean_change(count: int) -> float:
            changes = [change(kernels.RelabelledAverage(kernels.MergeKernel(N), count, seed=s), relabel) for s in range(4)]
            return float(np.mean(changes))

        one, sixteen, many = mean_change(1), mean_change(16), mean_change(256)
        assert sixteen < 0.4 * one
        assert many < 0.4 * sixteen

    @pytest.mark.slow
    def test_average_over_slots_or_items_alone(self) -> None:
        many = {"count": 256, "seed": 0}
        over_slots = kernels.RelabelledAverage(kernels.MergeKernel(N), items=False, **many)
        over_items = kernels.RelabelledAverage(kernels.MergeKernel(N), slots=False, **many)
        assert change(over_slots, by_slots) < 0.3 * change(over_slots, by_items)
        assert change(over_items, by_items) < 0.3 * change(over_items, by_slots)

    def test_average_is_the_mean_over_relabelled_maps(self) -> None:
        average = kernels.RelabelledAverage(kernels.MergeKernel(N), 4, seed=3)
        a, b = orders(N, 5, seed=1), orders(N, 6, seed=2)
        each = [
            matrix(kernels.ComparisonKernel(MergeMap(N).relabelled(items=i, slots=s)), a, b)
            for i, s in zip(average.items.numpy(), average.slots.numpy(), strict=True)
        ]
        torch.testing.assert_close(matrix(average, a, b), torch.stack(each).mean(dim=0))
