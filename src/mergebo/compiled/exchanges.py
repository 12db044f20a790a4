"""Sequences of exchanges of two entries, along which distances are updated incrementally.

An insertion is a sequence of exchanges of adjacent slots and a reversal one of exchanges around its centre, so a few
sequences visit a whole neighbourhood. `steps` is a table of `(i, j, index, restart)`: exchange the entries i and j, after
going back to the initial order if `restart`, and write the change of distance into row `index` of `out` unless that is
negative. Inner loops run over the other orders, contiguously, and become vector instructions. Every loop over steps reads
them and restarts by itself: a function for that would take as much time as some of the loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo.compiled.jit import jit

Steps = NDArray[np.int32]


@jit
def write(total: NDArray[Any], index: np.int32, out: NDArray[Any]) -> None:
    """Write the changes after a step to row `index` of `out`, unless that is negative."""
    if index >= 0:
        row = out[index]
        for k in range(len(total)):  # faster than assigning an array
            row[k] = total[k]


@jit
def flip(bit: bool, gain: NDArray[Any], total: NDArray[Any]) -> None:
    """Update the distances for a bit that has flipped; `gain` is their change if it flips to 1."""
    if bit:
        for k in range(len(total)):
            total[k] += gain[k]
    else:
        for k in range(len(total)):
            total[k] -= gain[k]
