"""The conformance suite of kernels with a fit in BoTorch, and helpers of the tests of kernels; needs the extra torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood

from mergebo import distances
from mergebo.permutations import sample
from mergebo.testing import KernelSuite
from mergebo.testing.kernels import DEVICES


def orders(n: int, *size: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(sample(n, size, seed=seed)).double()


def matrix(kernel: Kernel, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return kernel.double()(a, b).to_dense()


N = 9
ITEMS, SLOTS = sample(N, seed=10), sample(N, seed=11)
"""New labels of the items and slots of N."""


def by_items(batch: np.ndarray) -> np.ndarray:
    return ITEMS[batch]


def by_slots(batch: np.ndarray) -> np.ndarray:
    return batch[:, SLOTS]


def change(kernel: Kernel, relabel: Callable[[np.ndarray], np.ndarray]) -> float:
    """The largest change of the kernel between random orders of N items by relabelling them."""
    a, b = sample(N, 40, seed=1), sample(N, 40, seed=2)
    before = matrix(kernel, torch.from_numpy(a).double(), torch.from_numpy(b).double())
    after = matrix(kernel, torch.from_numpy(relabel(a)).double(), torch.from_numpy(relabel(b)).double())
    return float((before - after).abs().max())


class BoTorchSuite(KernelSuite):
    """Inherit from this class and implement `make`, which creates the kernel to test."""

    @pytest.mark.slow
    @pytest.mark.parametrize("device", DEVICES)
    def test_fit_and_acquire(self, device: str) -> None:
        """A model with the kernel can be fitted, predicts, and evaluates a t-batch as it evaluates single candidates."""
        n = 7
        x = orders(n, 14).to(device)
        y = -distances.kendall(sample(n, 14, seed=0), np.arange(n), view="rank").astype(float)
        train_y = torch.from_numpy((y - y.mean()) / y.std()).unsqueeze(-1).to(device)
        model = SingleTaskGP(x, train_y, covar_module=ScaleKernel(self.make(n)), outcome_transform=None).to(x)
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
