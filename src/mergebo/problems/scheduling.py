"""Permutation flow shops: all machines process the jobs in the same order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Ints, Rows, Seed
from mergebo.compiled.jit import jit
from mergebo.errors import ShapeError, unknown_choice
from mergebo.permutations import as_generator
from mergebo.problems.base import OrderProblem

__all__ = ["FlowShop"]

Criterion: TypeAlias = Literal["makespan", "flowtime"]


@dataclass(frozen=True, eq=False, repr=False)
class FlowShop(OrderProblem):
    """Jobs go through the machines in the given order; `times[machine, job]`.

    A job starts on a machine when it has left the previous machine and the previous job has left this one. `makespan` is the
    completion time of the last job, `flowtime` the sum of the completion times.
    """

    times: NDArray[np.float64]
    criterion: Criterion = "makespan"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.times.ndim != 2:
            raise ShapeError(f"times must be a matrix machines x jobs, got shape {self.times.shape}")
        if self.criterion not in get_args(Criterion):
            raise unknown_choice("criterion", self.criterion, get_args(Criterion))

    @property
    def n(self) -> int:
        return int(self.times.shape[1])

    def _evaluate(self, rows: Rows) -> Floats:
        return _ends(self._by_job, rows.astype(np.int64), self.criterion == "flowtime")

    @cached_property
    def _by_job(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.times.T)

    def _describe(self) -> str:
        what = "earliest finish" if self.criterion == "makespan" else "least total flow time"
        return f"the {what} of {self.n} jobs on {len(self.times)} machines"


@jit
def _ends(times: NDArray[np.float64], orders: Ints, flowtime: bool) -> Floats:
    """Completion time of the last job, or the sum of completion times; `times[job, machine]`."""
    values = np.empty(len(orders))
    free = np.empty(times.shape[1])  # when each machine has finished with the jobs so far
    for k in range(len(orders)):
        free[:] = 0.0
        total = 0.0
        for job in orders[k]:
            done = 0.0
            for machine in range(len(free)):
                done = max(free[machine], done) + times[job, machine]
                free[machine] = done
            total += done
        values[k] = total if flowtime else free[-1]
    return values


def taillard_times(seed: int, jobs: int, machines: int) -> NDArray[np.float64]:
    """Processing times of Taillard's (1993) instances, from their published seeds.

    A Lehmer generator, 16807 modulo 2^31 - 1, machine after machine; a time is 1 + floor(99 u).
    """
    state, modulus = seed, 2**31 - 1
    times = np.empty(machines * jobs)
    for k in range(len(times)):
        state = 16807 * state % modulus
        times[k] = 1 + 99 * state // modulus
    return times.reshape(machines, jobs)


TAILLARD: dict[tuple[int, int], tuple[int, list[int], list[int]]] = {
    (20, 5): (
        1,
        [873654221, 379008056, 1866992158, 216771124, 495070989, 402959317, 1369363414, 2021925980, 573109518, 88325120],
        [1278, 1359, 1081, 1293, 1235, 1195, 1239, 1206, 1230, 1108],
    ),
}
"""(jobs, machines): number of the first instance, seeds, and optimal makespans (Taillard's table; all ten are proved)."""


def random_times(n: int, machines: int, seed: Seed) -> NDArray[np.float64]:
    """Times with the distribution of Taillard's, from NumPy's generator."""
    return as_generator(seed).integers(1, 100, (machines, n)).astype(np.float64)
