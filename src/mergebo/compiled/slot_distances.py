"""Distances between the slots of all pairs of items: changes along sequences of exchanges (see `exchanges`)."""

from __future__ import annotations

import numpy as np

from mergebo._typing import Ints, Singles
from mergebo.compiled.exchanges import Steps, write
from mergebo.compiled.jit import jit


@jit
def slot_distance_steps(order: Ints, distances: Singles, others: Singles, steps: Steps, out: Singles) -> None:
    """Changes of the sum over pairs of items of their slot distance times their slot distance in another order.

    `distances[slot, slot]` are distances between slots, `others[item, item, k]` those between items in the k-th other order.
    """
    n = len(order)
    here, slot = order.copy(), np.empty(n, np.int64)
    total = np.zeros(others.shape[2], np.float64)  # in double precision, since sequences may be long
    for step in range(len(steps)):
        i, j, index, restart = steps[step]
        if restart:
            here[:] = order
            total[:] = 0
            for k in range(n):
                slot[order[k]] = k
        a, b = here[i], here[j]
        for item in range(n):
            if item != a and item != b:
                change = distances[i, slot[item]] - distances[j, slot[item]]
                of_a, of_b = others[a, item], others[b, item]
                for k in range(len(total)):
                    total[k] += change * (of_b[k] - of_a[k])
        here[i], here[j], slot[a], slot[b] = b, a, j, i
        write(total, index, out)
