"""The decorator of all compiled functions, and the integer type of their indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

U64 = np.uint64
"""Unsigned indices avoid numba's check for negative ones, which takes half of the time of an encoding."""


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile at the first call, cache on disk, release the GIL; keeps the type of the plain function."""
    return cast("Callable[P, R]", cast(Any, numba.njit)(cache=True, nogil=True)(function))
