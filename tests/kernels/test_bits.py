"""Bits and distances of comparison maps, computed by torch."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("botorch", reason="needs the extra torch")
import torch
from hypothesis import given
from hypothesis import strategies as st

from mergebo import permutations as pm
from mergebo.kernels.bits import bit_distance, bit_distance_by_torch, tensor_bits
from mergebo.sorting import NETWORKS, ComparisonMap, EnumerationMap, MergeMap, NetworkMap, RandomComparisons
from mergebo.testing import strategies as our
from mergebo.testing.kernels import DEVICES

ALL_MAPS = [
    *(lambda n, p=p, k=k: MergeMap(n, p, k) for p in ("comparison", "source") for k in (False, True)),
    EnumerationMap,
    RandomComparisons,
    *(lambda n, k=k: NetworkMap(n, k) for k in NETWORKS),
    lambda n: MergeMap(n) + NetworkMap(n),
    lambda n: MergeMap(n).relabelled(items=pm.sample(n, seed=1), slots=pm.sample(n, seed=2)),
]


class TestTensorBits:
    """The torch path, which runs on every device but the CPU, gives the same bits and distances as the compiled code."""

    @pytest.mark.slow
    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("make", ALL_MAPS)
    @given(data=st.data())
    def test_bits(self, make, device: str, data: st.DataObject) -> None:
        map_: ComparisonMap = make(data.draw(our.sizes(1, 40)))
        batch = data.draw(our.batches(map_.n))
        bits = tensor_bits(map_, torch.from_numpy(batch).to(device))
        assert bits.device.type == device
        np.testing.assert_array_equal(bits.cpu().numpy(), map_.encode(batch))

    @pytest.mark.parametrize("device", DEVICES)
    def test_map_without_torch_code(self, device: str) -> None:
        class Own(MergeMap):
            pass

        class Other(ComparisonMap):
            n = 5
            length = 10

            def algorithm(self):
                return EnumerationMap(5).algorithm()

        batch = pm.sample(5, 4, seed=0)
        for map_ in (Own(5), Other()):
            bits = tensor_bits(map_, torch.from_numpy(batch).to(device))
            np.testing.assert_array_equal(bits.cpu().numpy(), map_.encode(batch))

    @pytest.mark.parametrize("device", DEVICES)
    def test_distance(self, device: str) -> None:
        a, b = (torch.from_numpy(pm.sample(30, (2, 9), seed=s)).to(device) for s in (1, 2))
        for map_ in (MergeMap(30), EnumerationMap(30), NetworkMap(30)):
            expected = torch.stack([torch.from_numpy(map_.distance(x, y)) for x, y in zip(a.cpu(), b.cpu(), strict=True)])
            for compute in (bit_distance, bit_distance_by_torch):
                assert torch.equal(compute(map_, a, b).cpu().long(), expected)
