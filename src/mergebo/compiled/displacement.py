"""Displacements of items: sums over all items, and their changes along sequences of exchanges (see `exchanges`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints, Singles
from mergebo.compiled.exchanges import Steps, write
from mergebo.compiled.jit import jit


@jit
def displacements(a: Ints, b: Ints, reach: int, out: Ints) -> None:
    """Sums over columns of the difference, truncated at `reach`, between all rows of a and all of b."""
    for i in range(len(a)):
        for j in range(len(b)):
            total = 0
            for k in range(a.shape[1]):
                total += min(abs(a[i, k] - b[j, k]), reach)
            out[i, j] = total


@jit
def slot_steps(targets: NDArray[np.int32], weights: NDArray[np.float64], reach: int, steps: Steps, out: Singles) -> None:
    """Changes of the weighted, truncated displacement: an item costs `weights[slot] * min(|slot - target|, reach)`.

    `targets[slot, k]` is the slot in the k-th other order of the item that is initially in `slot`. A reach of 1 counts items
    in another slot, a reach of n or more is the footrule.
    """
    n, others = targets.shape
    here = np.arange(n)
    total = np.zeros(others)  # in double precision, since sequences may be long
    for step in range(len(steps)):
        i, j, index, restart = steps[step]
        if restart:
            here[:] = np.arange(n)
            total[:] = 0
        of_i, of_j, at_i, at_j = targets[here[i]], targets[here[j]], weights[i], weights[j]
        for k in range(others):
            total[k] += at_i * (min(abs(i - of_j[k]), reach) - min(abs(i - of_i[k]), reach))
            total[k] += at_j * (min(abs(j - of_i[k]), reach) - min(abs(j - of_j[k]), reach))
        here[i], here[j] = here[j], here[i]
        if index >= 0:  # `write` would make this loop 5 % slower
            row = out[index]
            for k in range(others):
                row[k] = total[k]


@jit
def square_steps(targets: NDArray[np.int32], steps: Steps, out: NDArray[Any]) -> None:
    """Changes of the sum over items of the squared displacement, with `targets` as above.

    The sum of the squared slots is constant, so only their products with the targets change.
    """
    n, others = targets.shape
    here = np.arange(n)
    total = np.zeros(others, np.int64)
    for step in range(len(steps)):
        i, j, index, restart = steps[step]
        if restart:
            here[:] = np.arange(n)
            total[:] = 0
        of_i, of_j, twice = targets[here[i]], targets[here[j]], 2 * (j - i)
        for k in range(others):
            total[k] += twice * (of_j[k] - of_i[k])
        here[i], here[j] = here[j], here[i]
        write(total, index, out)
