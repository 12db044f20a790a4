"""Type aliases for arrays, by what they hold."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
"""Integers: orders, ranks, numbers of items."""
Bits: TypeAlias = NDArray[np.uint8]
"""Zeros and ones: outcomes of comparisons."""
Bools: TypeAlias = NDArray[np.bool_]
"""Truth values, such as which rows are feasible."""
Floats: TypeAlias = NDArray[np.float64]
"""Real numbers."""
Singles: TypeAlias = NDArray[np.float32]
"""Real numbers in single precision, as in scans of neighbourhoods."""
Rows: TypeAlias = NDArray[Any]
"""Points as flat arrays: of integers, or of floats throughout if there is a real variable."""
Seed: TypeAlias = int | np.random.Generator
"""Seed of a random generator, or a generator of the caller's own, which is advanced."""
