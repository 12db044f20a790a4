"""What all kernels have in common: distances, the effect of relabelling, use in BoTorch, errors."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("botorch", reason="needs the extra torch")
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.kernels import ProductKernel, RBFKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from hypothesis import given
from hypothesis import strategies as st

from kernel_suite import N, by_items, by_slots, change, matrix, orders
from mergebo import distances, errors, kernels
from mergebo import permutations as pm
from mergebo.testing import strategies as our


@pytest.mark.slow
@pytest.mark.parametrize("view", ["order", "rank"])
@given(data=st.data())
def test_kernels_agree_with_distances_of_permutations(view: pm.View, data: st.DataObject) -> None:
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


class TestInvariance:
    """The effect of relabelling on each kernel, which is the reason to choose a view."""

    def test_mallows(self) -> None:
        for make in (kernels.MallowsKernel, kernels.KendallKernel, kernels.FootruleKernel):
            assert change(make(N, view="order"), by_slots) < 1e-12
            assert change(make(N, view="rank"), by_items) < 1e-12
            assert change(make(N, view="order"), by_items) > 0.01
            assert change(make(N, view="rank"), by_slots) > 0.01

    def test_merge_is_invariant_to_neither(self) -> None:
        for view in ("order", "rank"):
            assert change(kernels.MergeKernel(N, view=view), by_items) > 0.01
            assert change(kernels.MergeKernel(N, view=view), by_slots) > 0.01

    def test_position_and_adjacency(self) -> None:
        assert change(kernels.PositionKernel(N), by_items) < 1e-12
        assert change(kernels.PositionKernel(N), by_slots) < 1e-12
        assert change(kernels.AdjacencyKernel(N), by_items) < 1e-12
        assert change(kernels.AdjacencyKernel(N), by_slots) > 0.01


class TestInsideBoTorch:
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
