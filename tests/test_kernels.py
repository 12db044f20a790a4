"""Kernels: conformance, agreement with the distances of permutations, invariances, use in BoTorch."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("botorch", reason="needs the extra torch")
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.kernels import Kernel, ProductKernel, RBFKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from hypothesis import given
from hypothesis import strategies as st

from mergebo import distances, errors, kernels
from mergebo import permutations as pm
from mergebo.kernels.bits import bit_distance, bit_distance_by_torch, tensor_bits
from mergebo.sorting import (
    NETWORKS,
    ComparisonMap,
    EnumerationMap,
    MergeMap,
    NetworkMap,
    RandomComparisons,
)
from mergebo.testing import KernelSuite
from mergebo.testing import strategies as our
from mergebo.testing.kernels import DEVICES


def orders(n: int, *size: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(pm.sample(n, size, seed=seed)).double()


def matrix(kernel: Kernel, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return kernel.double()(a, b).to_dense()


ALL_KERNELS = {
    "merge": lambda n: kernels.MergeKernel(n),
    "merge source": lambda n: kernels.MergeKernel(n, padding="source"),
    "merge rank": lambda n: kernels.MergeKernel(n, view="rank"),
    "mallows": lambda n: kernels.MallowsKernel(n),
    "mallows rank": lambda n: kernels.MallowsKernel(n, view="rank"),
    "kendall": lambda n: kernels.KendallKernel(n),
    "random": lambda n: kernels.RandomComparisonsKernel(n, seed=1),
    "bitonic": lambda n: kernels.NetworkKernel(n, view="rank"),
    "odd-even": lambda n: kernels.NetworkKernel(n, "odd-even-merge"),
    "sum": lambda n: kernels.ComparisonKernel(MergeMap(n) + RandomComparisons(n, n // 2)),
    "footrule": lambda n: kernels.FootruleKernel(n, view="rank"),
    "rho": lambda n: kernels.SpearmanRhoKernel(n),
    "position": lambda n: kernels.PositionKernel(n),
    "slots": lambda n: kernels.ARDPositionKernel(n, view="rank"),
    "edges": lambda n: kernels.AdjacencyKernel(n),
    "round tour": lambda n: kernels.AdjacencyKernel(n, cyclic=True),
    "arcs": lambda n: kernels.AdjacencyKernel(n, directed=True),
    "round arcs": lambda n: kernels.AdjacencyKernel(n, directed=True, cyclic=True, view="rank"),
    "average": lambda n: kernels.RelabelledAverage(kernels.MergeKernel(n), 3),
}


def _suite(name: str) -> type[KernelSuite]:
    return type(f"Test{name.title().replace(' ', '')}", (KernelSuite,), {"make": lambda self, n: ALL_KERNELS[name](n)})


globals().update({suite.__name__: suite for suite in map(_suite, ALL_KERNELS)})


class TestDistances:
    @pytest.mark.slow
    @pytest.mark.parametrize("view", ["order", "rank"])
    @given(data=st.data())
    def test_kernels_agree_with_distances_of_permutations(self, view: pm.View, data: st.DataObject) -> None:
        n = data.draw(our.sizes(1, 30))
        a, b = data.draw(our.batches(n, low=1)), data.draw(our.batches(n, low=1))
        pairs = [
            (kernels.MallowsKernel(n, view=view), distances.kendall, {}),
            (kernels.FootruleKernel(n, view=view), distances.footrule, {}),
            (kernels.SpearmanRhoKernel(n, view=view), distances.spearman_rho, {}),
            (kernels.PositionKernel(n, view=view), distances.hamming, {}),
        ] + [
            (kernels.AdjacencyKernel(n, view=view, directed=d, cyclic=c), distances.adjacency, {"directed": d, "cyclic": c})
            for d in (False, True)
            for c in (False, True)
        ]
        for kernel, distance, options in pairs:
            expected = distance.cross(a, b, view=view, **options) / max(1, distance.maximum(n, **options))
            found = kernel.distance(torch.from_numpy(a).double(), torch.from_numpy(b).double())
            np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-12)

    def test_equation(self) -> None:
        """exp(-Hamming / (2 l^2 length)), computed by hand."""
        kernel = kernels.MergeKernel(4).double()
        kernel.lengthscale = 0.5
        a, b = torch.tensor([[0.0, 3, 2, 1]]).double(), torch.tensor([[0.0, 1, 2, 3]]).double()
        # 01011 against 00000 with its leftover right half: 0 0 0 0 0 -> three bits differ
        assert MergeMap(4).encode([0, 1, 2, 3]).tolist() == [0, 0, 0, 0, 0]
        assert matrix(kernel, a, b).item() == pytest.approx(np.exp(-3 / (2 * 0.25 * 5)))

    def test_distances_are_comparable_for_every_n(self) -> None:
        """Two random orders are about half of the maximum distance apart for every n."""
        for n in (15, 60, 280):
            for kernel in (kernels.MergeKernel(n), kernels.MallowsKernel(n)):
                assert kernel.distance(orders(n, 20), orders(n, 20, seed=1)).mean() == pytest.approx(0.5, abs=0.05)


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


class TestInvariance:
    """The effect of relabelling on each kernel, which is the reason to choose a view."""

    n = 9
    items = pm.sample(n, seed=10)
    slots = pm.sample(n, seed=11)

    def change(self, kernel: Kernel, relabel) -> float:
        a, b = pm.sample(self.n, 40, seed=1), pm.sample(self.n, 40, seed=2)
        before = matrix(kernel, torch.from_numpy(a).double(), torch.from_numpy(b).double())
        after = matrix(kernel, torch.from_numpy(relabel(a)).double(), torch.from_numpy(relabel(b)).double())
        return float((before - after).abs().max())

    def by_items(self, batch: np.ndarray) -> np.ndarray:
        return self.items[batch]

    def by_slots(self, batch: np.ndarray) -> np.ndarray:
        return batch[:, self.slots]

    def test_mallows(self) -> None:
        for make in (kernels.MallowsKernel, kernels.KendallKernel, kernels.FootruleKernel):
            assert self.change(make(self.n, view="order"), self.by_slots) < 1e-12
            assert self.change(make(self.n, view="rank"), self.by_items) < 1e-12
            assert self.change(make(self.n, view="order"), self.by_items) > 0.01
            assert self.change(make(self.n, view="rank"), self.by_slots) > 0.01

    def test_merge_is_invariant_to_neither(self) -> None:
        for view in ("order", "rank"):
            assert self.change(kernels.MergeKernel(self.n, view=view), self.by_items) > 0.01
            assert self.change(kernels.MergeKernel(self.n, view=view), self.by_slots) > 0.01

    def test_position_and_adjacency(self) -> None:
        assert self.change(kernels.PositionKernel(self.n), self.by_items) < 1e-12
        assert self.change(kernels.PositionKernel(self.n), self.by_slots) < 1e-12
        assert self.change(kernels.AdjacencyKernel(self.n), self.by_items) < 1e-12
        assert self.change(kernels.AdjacencyKernel(self.n), self.by_slots) > 0.01

    @pytest.mark.slow
    @pytest.mark.parametrize("relabel", ["by_items", "by_slots"])
    def test_average_approaches_invariance(self, relabel: str) -> None:
        """The change falls like 1 / sqrt(count): sixteen times the relabellings leave about a quarter."""

        def mean_change(count: int) -> float:
            changes = [
                self.change(kernels.RelabelledAverage(kernels.MergeKernel(self.n), count, seed=s), getattr(self, relabel))
                for s in range(4)
            ]
            return float(np.mean(changes))

        one, sixteen, many = mean_change(1), mean_change(16), mean_change(256)
        assert sixteen < 0.4 * one
        assert many < 0.4 * sixteen

    @pytest.mark.slow
    def test_average_over_slots_or_items_alone(self) -> None:
        many = {"count": 256, "seed": 0}
        over_slots = kernels.RelabelledAverage(kernels.MergeKernel(self.n), items=False, **many)
        over_items = kernels.RelabelledAverage(kernels.MergeKernel(self.n), slots=False, **many)
        assert self.change(over_slots, self.by_slots) < 0.3 * self.change(over_slots, self.by_items)
        assert self.change(over_items, self.by_items) < 0.3 * self.change(over_items, self.by_slots)

    def test_average_is_the_mean_over_relabelled_maps(self) -> None:
        average = kernels.RelabelledAverage(kernels.MergeKernel(self.n), 4, seed=3)
        a, b = orders(self.n, 5, seed=1), orders(self.n, 6, seed=2)
        each = [
            matrix(kernels.ComparisonKernel(MergeMap(self.n).relabelled(items=i, slots=s)), a, b)
            for i, s in zip(average.items.numpy(), average.slots.numpy(), strict=True)
        ]
        torch.testing.assert_close(matrix(average, a, b), torch.stack(each).mean(dim=0))


class TestInsideBoTorch:
    @pytest.mark.slow
    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("name", ALL_KERNELS)
    def test_fit_and_acquire(self, name: str, device: str) -> None:
        """A model with the kernel can be fitted, predicts, and evaluates a t-batch as it evaluates single candidates."""
        n = 7
        x = orders(n, 14).to(device)
        y = -distances.kendall(pm.sample(n, 14, seed=0), np.arange(n), view="rank").astype(float)
        train_y = torch.from_numpy((y - y.mean()) / y.std()).unsqueeze(-1).to(device)
        model = SingleTaskGP(x, train_y, covar_module=ScaleKernel(ALL_KERNELS[name](n)), outcome_transform=None).to(x)
        mll = ExactMarginalLogLikelihood(model.likelihood, model)

        def likelihood() -> float:
            model.train()
            with torch.no_grad():
                return float(mll(model(*model.train_inputs), model.train_targets))

        before = likelihood()
        fit_gpytorch_mll(mll)
        assert likelihood() >= before - 1e-6
        model.eval()
        candidates = orders(n, 20, 1, seed=3).to(device)
        acquisition = LogExpectedImprovement(model, best_f=train_y.max())
        with torch.no_grad():
            batched = acquisition(candidates)
            one_by_one = torch.cat([acquisition(c.unsqueeze(0)) for c in candidates])
            posterior = model.posterior(x)
        assert batched.shape == (20,)
        torch.testing.assert_close(batched, one_by_one, rtol=1e-6, atol=1e-8)
        assert torch.isfinite(posterior.mean).all()
        assert (posterior.variance >= 0).all()

    @pytest.mark.slow
    def test_batched_model(self) -> None:
        """Two outputs: one kernel with a lengthscale for each."""
        x = orders(6, 10)
        y = torch.stack([x[:, 0], x[:, -1]], dim=-1)
        batch = torch.Size([2])
        model = SingleTaskGP(x, y, covar_module=ScaleKernel(kernels.MergeKernel(6, batch_shape=batch), batch_shape=batch))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        assert model.covar_module.base_kernel.lengthscale.shape == (2, 1, 1)
        assert model.posterior(orders(6, 3, seed=4)).mean.shape == (3, 2)

    def test_permutation_beside_other_variables(self) -> None:
        """`active_dims` selects the order from a longer input: a product kernel for mixed spaces."""
        n = 5
        mixed = torch.cat([orders(n, 8), torch.rand(8, 2, generator=torch.Generator().manual_seed(0)).double()], dim=-1)
        product = ProductKernel(kernels.MergeKernel(n, active_dims=tuple(range(n))), RBFKernel(active_dims=(n, n + 1)))
        expected = matrix(kernels.MergeKernel(n), mixed[:, :n], mixed[:, :n]) * matrix(
            RBFKernel(), mixed[:, n:], mixed[:, n:]
        )
        torch.testing.assert_close(matrix(product, mixed, mixed), expected)
        average = kernels.RelabelledAverage(kernels.MergeKernel(n, active_dims=tuple(range(n))), 2)
        assert matrix(average, mixed, mixed).shape == (8, 8)

    def test_gradients_reach_the_lengthscale(self) -> None:
        kernel = kernels.MergeKernel(6).double()
        kernel(orders(6, 4), orders(6, 4, seed=1)).to_dense().sum().backward()
        assert kernel.raw_lengthscale.grad.abs().item() > 0

    def test_priors_and_constraints_of_gpytorch(self) -> None:
        from gpytorch.constraints import GreaterThan
        from gpytorch.priors import LogNormalPrior

        kernel = kernels.MallowsKernel(
            6, lengthscale_prior=LogNormalPrior(0.0, 1.0), lengthscale_constraint=GreaterThan(0.1)
        )
        assert kernel.lengthscale.item() > 0.1
        assert len(list(kernel.named_priors())) == 1


def test_distances_of_slots() -> None:
    """The distance does not depend on the lengthscales of the slots."""
    kernel = kernels.ARDPositionKernel(6, view="rank")
    a, b = orders(6, 3), orders(6, 4, seed=1)
    expected = distances.hamming.cross(a.numpy().astype(int), b.numpy().astype(int), view="rank") / 6
    np.testing.assert_allclose(kernel.distance(a, b).numpy(), expected)


class TestErrors:
    def test_construction(self) -> None:
        with pytest.raises(errors.ArgumentError, match="did you mean 'rank'"):
            kernels.MergeKernel(5, view="ranks")  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentTypeError, match="comparison map"):
            kernels.ComparisonKernel(5)  # type: ignore[arg-type]
        with pytest.raises(errors.ShapeError, match="at least 1"):
            kernels.PositionKernel(0)
        with pytest.raises(errors.ArgumentError, match="at least 1, got 0"):
            kernels.RelabelledAverage(kernels.MergeKernel(5), 0)
        with pytest.raises(errors.ArgumentError, match="nothing to relabel"):
            kernels.RelabelledAverage(kernels.MergeKernel(5), items=False, slots=False)

    def test_calls(self) -> None:
        with pytest.raises(errors.ShapeError, match="expected permutations of 5 items, got 4"):
            kernels.MergeKernel(5)(orders(4, 2), orders(4, 2)).to_dense()
        with pytest.raises(errors.NotAPermutationError, match=r"must hold integers, got 0\.5"):
            kernels.RelabelledAverage(kernels.MergeKernel(3))(torch.tensor([[0.5, 1.5, 2.5]])).to_dense()
        with pytest.raises(errors.UnsupportedError, match="last_dim_is_batch"):
            kernels.MergeKernel(3).forward(orders(3, 2), orders(3, 2), last_dim_is_batch=True)
