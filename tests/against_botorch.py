"""A model beside BoTorch's with the same hyperparameters, for the tests of all parts that models have."""

from __future__ import annotations

import numpy as np

from mergebo.spaces import Rows
from mergebo.surrogate import GP


def log_evidence(model: GP, test: Rows) -> float:
    """BoTorch's log marginal likelihood with its priors, once its posterior at test rows is the model's."""
    import torch
    from gpytorch.mlls import ExactMarginalLogLikelihood

    theirs = model.to_botorch()
    with torch.no_grad():
        posterior = theirs.eval().posterior(torch.from_numpy(test.astype(float)))
    mean, deviation = model.predict_standardised(test)
    np.testing.assert_allclose(mean, posterior.mean[:, 0].numpy(), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(deviation**2, posterior.variance[:, 0].numpy(), rtol=1e-5, atol=1e-7)
    mll = ExactMarginalLogLikelihood(theirs.likelihood, theirs)
    theirs.train()
    with torch.no_grad():
        return float(mll(theirs(*theirs.train_inputs), theirs.train_targets)) * len(model.y)
