"""A model beside BoTorch's with the same hyperparameters, for the tests of all parts that models have.

Tests that use it are marked `needs_torch`; to import it, torch is not needed.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from mergebo.spaces import Rows
from mergebo.surrogate import GP

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP

DEVICES = ["cpu"]
"""Those of torch that are at hand."""
if find_spec("botorch") is not None:
    import torch

    DEVICES += ["cuda"] if torch.cuda.is_available() else []


def check_posterior(model: GP, theirs: SingleTaskGP, test: Rows) -> None:
    """BoTorch's mean and variance at test rows are the model's."""
    with torch.no_grad():
        posterior = theirs.eval().posterior(torch.from_numpy(test.astype(float)))
    mean, deviation = model.predict_standardised(test)
    np.testing.assert_allclose(mean, posterior.mean[:, 0].numpy(), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(deviation**2, posterior.variance[:, 0].numpy(), rtol=1e-5, atol=1e-7)


def evidence(theirs: SingleTaskGP, *, fitted: bool = False) -> float:
    """BoTorch's log marginal likelihood with its priors; if so wanted, after a fit that starts where the model is."""
    from botorch.fit import fit_gpytorch_mll
    from gpytorch.mlls import ExactMarginalLogLikelihood

    mll = ExactMarginalLogLikelihood(theirs.likelihood, theirs)
    if fitted:
        fit_gpytorch_mll(mll)
    theirs.train()
    with torch.no_grad():
        return float(mll(theirs(*theirs.train_inputs), theirs.train_targets)) * len(theirs.train_targets)


def log_evidence(model: GP, test: Rows) -> float:
    """BoTorch's log marginal likelihood with its priors, once its posterior at test rows is the model's."""
    theirs = model.to_botorch()
    check_posterior(model, theirs, test)
    return evidence(theirs)
