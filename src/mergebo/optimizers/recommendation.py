"""What values really are, where measurements are noisy: the posterior of auto's structures, whichever method measured."""

from __future__ import annotations

import numpy as np

from mergebo._typing import Floats
from mergebo.optimizers.auto import Past, structures
from mergebo.optimizers.history import History


def posterior(history: History) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the noise-free value at every result's row, all structures by their evidence."""
    count = len(history.values)
    if count < 2 or np.ptp(history.values) == 0:
        unknown = np.full(count, np.nan) if history.errors is None else history.errors
        return history.values.copy(), unknown
    past = Past.of(
        history.space,
        history.rows,
        history.values,
        noisy=history.noisy,
        errors=history.errors,
        knowledge=history.knowledge,
    )
    models, shares = zip(*structures(past).values(), strict=True)
    means, deviations = (np.array(each) for each in zip(*(model.predict(history.rows) for model in models), strict=True))
    mean = shares @ means
    return mean, np.sqrt(shares @ (deviations**2 + (means - mean) ** 2))
