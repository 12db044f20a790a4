"""Helpers that compare a model with the BoTorch model of the same hyperparameters.

Tests that use them are marked `needs_torch`; importing this module does not need torch.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from mergebo._typing import Rows
from mergebo.gp import GP

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP

DEVICES = ["cpu"]
"""Available torch devices."""
if find_spec("botorch") is not None:
    import torch

    DEVICES += ["cuda"] if torch.cuda.is_available() else []


def check_posterior(model: GP, reference: SingleTaskGP, test: Rows) -> None:
    """Check that both models have the same mean and variance at test rows."""
    with torch.no_grad():
        posterior = reference.eval().posterior(torch.from_numpy(test.astype(float)))
    mean, deviation = model.predict_standardised(test)
    np.testing.assert_allclose(mean, posterior.mean[:, 0].numpy(), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(deviation**2, posterior.variance[:, 0].numpy(), rtol=1e-5, atol=1e-7)


def evidence(reference: SingleTaskGP, *, fitted: bool = False) -> float:
    """BoTorch's log marginal likelihood with priors, optionally after a fit from the present hyperparameters."""
    from botorch.fit import fit_gpytorch_mll
    from gpytorch.mlls import ExactMarginalLogLikelihood

    mll = ExactMarginalLogLikelihood(reference.likelihood, reference)
    if fitted:
        fit_gpytorch_mll(mll)
    reference.train()
    with torch.no_grad():
        return float(mll(reference(*reference.train_inputs), reference.train_targets)) * len(reference.train_targets)


def log_evidence(model: GP, test: Rows) -> float:
    """BoTorch's log marginal likelihood with priors, after a check of the posterior at test rows."""
    reference = model.to_botorch()
    check_posterior(model, reference, test)
    return evidence(reference)
