"""One decorator for every compiled function, and the integer type that their indices use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

U64 = np.uint64
"""Unsigned indices spare numba's check for negative ones: half the time of a whole encoding."""


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile at the first call, cache on disk, release the GIL; the types of the plain function are kept."""
    return cast("Callable[P, R]", cast(Any, numba.njit)(cache=True, nogil=True)(function))
