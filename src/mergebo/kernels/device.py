"""Neighbourhood scans on a GPU: all neighbours are computed explicitly and evaluated by the model's GPyTorch kernel.

A GPU is fast enough without the incremental updates of `similarity`, and this works for every kernel.
"""

from __future__ import annotations

from functools import cached_property, singledispatch
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mergebo._typing import Floats, Rows
from mergebo.errors import UnsupportedError
from mergebo.gp import GP
from mergebo.neighbours import move_slots, move_table
from mergebo.spaces import Binary, Permutation, Variable

__all__ = ["DeviceScan"]


class DeviceScan:
    """Standardised means and standard deviations of all neighbours of a row, in single precision, on a torch device.

    At most about `max_entries` numbers are in memory at once; the default is 8 GiB.
    """

    def __init__(self, model: GP, device: str, max_entries: int = 1 << 31) -> None:
        self.model = model
        self.device = device
        self.max_entries = max_entries

    @cached_property
    def _parts(self) -> tuple[Any, Tensor, Tensor, Tensor]:
        kernel = self.model.to_botorch().covar_module.to(device=self.device, dtype=torch.float32)
        arrays = (np.asarray(self.model.rows), self.model.alpha, self.model.chol_inverse.T)
        rows, alpha, chol_inverse = (
            torch.from_numpy(np.ascontiguousarray(a)).to(self.device, torch.float32) for a in arrays
        )
        return kernel, rows, alpha, chol_inverse

    def scan(self, row: Rows, variable: str, move: str) -> tuple[Floats, Floats]:
        """For all neighbours by one kind of move of one variable, in the order of `move_slots`."""
        kernel, rows, alpha, chol_inverse = self._parts
        space = self.model.similarity.space
        where, kind = space.slices[variable], space.variables[variable]
        centre = torch.from_numpy(np.asarray(row, np.float32)).to(self.device)
        count = neighbour_count(kind, move)
        most = max(1, self.max_entries // max(1, self._features()))
        means, deviations = [], []
        with torch.no_grad():
            for start in range(0, count, most):
                part = slice(start, min(start + most, count))
                around = centre.repeat(part.stop - start, 1)
                write_neighbours(kind, move, part, around[:, where])
                cross = kernel(around, rows).to_dense()
                explained = (cross @ chol_inverse).square().sum(dim=1)
                means.append(self.model.constant_mean + cross @ alpha)
                deviations.append((self.model.hyperparameters.variance - explained).clamp_min(1e-9).sqrt())
        if not means:
            return np.empty(0), np.empty(0)
        mean, deviation = (torch.cat(parts).cpu().numpy().astype(np.float64) for parts in (means, deviations))
        return mean, deviation

    def _features(self) -> int:
        """Numbers in memory per neighbour."""
        widths = [getattr(getattr(factor, "map", None), "length", 0) for factor in self.model.similarity.factors.values()]
        return 4 * (sum(widths) + self.model.similarity.space.width)


@singledispatch
def neighbour_count(variable: Variable, move: str) -> int:
    """Number of neighbours by one kind of move, for the kinds of variables that are scanned."""
    raise UnsupportedError(f"{variable} is not scanned on a device")


@singledispatch
def write_neighbours(variable: Variable, move: str, part: slice, around: Tensor) -> None:
    """Turn copies of a variable's value, `(count, width)`, into the neighbours in `part`, in place."""
    raise UnsupportedError(f"{variable} is not scanned on a device")


@neighbour_count.register
def _(variable: Permutation, move: str) -> int:
    return len(move_slots(variable.n, move))


@write_neighbours.register
def _(variable: Permutation, move: str, part: slice, around: Tensor) -> None:
    if move != "swap":
        around[:] = around[0][torch.from_numpy(move_table(variable.n, move, part)).to(around.device)]
        return
    # Two entries each are far less to transfer than a table of sources.
    each = torch.arange(len(around), device=around.device)
    a, b = torch.from_numpy(move_slots(variable.n, move)[part].copy()).to(around.device).T
    around[each, a], around[each, b] = around[each, b], around[each, a]


@neighbour_count.register
def _(variable: Binary, move: str) -> int:
    return variable.count


@write_neighbours.register
def _(variable: Binary, move: str, part: slice, around: Tensor) -> None:
    each = torch.arange(len(around), device=around.device)
    around[each, part.start + each] = 1 - around[each, part.start + each]
