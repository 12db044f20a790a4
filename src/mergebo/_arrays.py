"""Operations that NumPy and torch spell differently, for functions of either kind of array. Imports no torch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["namespace", "put", "to_double"]


def namespace(x: Any) -> Any:
    """The package whose functions apply to an array: `numpy` or `torch`."""
    return sys.modules[type(x).__module__.partition(".")[0]]


def to_double(x: Any) -> Any:
    """The array in double precision."""
    return x.astype(np.float64) if isinstance(x, np.ndarray) else x.double()


def put(out: Any, index: Any, values: Any) -> Any:
    """`out` after `out[..., index[k]] = values[k]` along the last axis, in place."""
    if isinstance(out, np.ndarray):
        np.put_along_axis(out, index, values, axis=-1)
    else:
        out.scatter_(-1, index, values)
    return out
