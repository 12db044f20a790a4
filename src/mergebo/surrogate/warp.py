"""Values seen through a logarithm: where good values are rare, differences among them count more than among bad ones."""

from __future__ import annotations

import numpy as np

from mergebo.surrogate.similarity import Floats

STRENGTH = 3.0
"""How far the logarithm bends: at the median value its slope is `1 / (1 + STRENGTH)` of that at the least one."""


def logarithmic(values: Floats) -> tuple[Floats, float]:
    """`log(1 + 3 gap / median gap)`, gaps being to the least value, and the logarithm of this map's Jacobian.

    With that, evidence for models of the warped values can be compared with evidence for models of the values. Where half
    of the values are equal to the least, they are left as they are.
    """
    gaps = values - values.min()
    median = float(np.median(gaps))
    if not median > 1e-12 * max(1e-300, float(np.abs(values).max())):
        return values, 0.0
    warped: Floats = np.log1p(STRENGTH * gaps / median)
    return warped, float((np.log(STRENGTH / median) - warped).sum())
