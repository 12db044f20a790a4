"""Recommendations from noisy observations: the posterior under the structures of `auto`, whichever method proposed them."""

from __future__ import annotations

import numpy as np

from mergebo._typing import Floats
from mergebo.methods.auto import Dataset, weigh_structures
from mergebo.methods.base import History


def posterior(history: History) -> tuple[Floats, Floats]:
    """Mean and standard deviation of noise-free values at observed rows, by Bayesian model averaging over structures."""
    count = len(history.values)
    if count < 2 or np.ptp(history.values) == 0:
        unknown = np.full(count, np.nan) if history.noise_std is None else history.noise_std
        return history.values.copy(), unknown
    dataset = Dataset.of(
        history.space,
        history.rows,
        history.values,
        noisy=history.noisy,
        noise_std=history.noise_std,
        prior_mean=history.prior_mean,
    )
    models, weights = zip(*weigh_structures(dataset).values(), strict=True)
    means, deviations = (np.array(each) for each in zip(*(model.predict(history.rows) for model in models), strict=True))
    mean = weights @ means
    return mean, np.sqrt(weights @ (deviations**2 + (means - mean) ** 2))
