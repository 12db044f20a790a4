"""Neighbourhood scans on a GPU: all neighbours written out there and run through the model's GPyTorch kernel.

A GPU has the arithmetic to spare that the increments of `compiled.scans` save, and this way every kernel works.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.errors import extra
from mergebo.moves import move_slots, move_table
from mergebo.spaces import Permutation
from mergebo.surrogate import GP

if TYPE_CHECKING:
    from torch import Tensor

NUMBERS = 1 << 31
"""Features that are held at once, in single precision: 8 GiB."""


class DeviceScan:
    """Standardised means and deviations of all neighbours of a row, in single precision, computed on `device`."""

    def __init__(self, model: GP, device: str) -> None:
        self.model = model
        self.device = device

    @cached_property
    def _parts(self) -> tuple[Any, Tensor, Tensor, Tensor]:
        with extra("torch"):
            import torch

        kernel = self.model.to_botorch().covar_module.to(device=self.device, dtype=torch.float32)
        arrays = (np.asarray(self.model.rows), self.model.alpha, self.model.whitener.T)
        rows, alpha, whitener = (torch.from_numpy(np.ascontiguousarray(a)).to(self.device, torch.float32) for a in arrays)
        return kernel, rows, alpha, whitener

    def scan(self, row: Rows, variable: str, move: str) -> tuple[Floats, Floats]:
        """For all neighbours by one kind of move of one variable, in the order of `move_slots`."""
        kernel, rows, alpha, whitener = self._parts  # which says so if torch is not installed
        import torch

        space = self.model.similarity.space
        where, kind = space.slices[variable], space.variables[variable]
        centre = torch.from_numpy(np.asarray(row, np.float32)).to(self.device)
        count = len(move_slots(kind.n, move)) if isinstance(kind, Permutation) else kind.width
        most = max(1, NUMBERS // max(1, self._features()))
        means, deviations = [], []
        with torch.no_grad():
            for start in range(0, count, most):
                part = slice(start, min(start + most, count))
                around = centre.repeat(part.stop - start, 1)
                each = torch.arange(part.stop - start, device=self.device)
                if not isinstance(kind, Permutation):
                    flipped = where.start + start + each
                    around[each, flipped] = 1 - centre[flipped]
                elif move == "swap":  # two entries each: far less to send than whole rows of sources
                    a, b = where.start + torch.from_numpy(move_slots(kind.n, move)[part].copy()).to(self.device).T
                    around[each, a], around[each, b] = centre[b], centre[a]
                else:
                    around[:, where] = centre[where][torch.from_numpy(move_table(kind.n, move, part)).to(self.device)]
                cross = kernel(around, rows).to_dense()
                explained = (cross @ whitener).square().sum(dim=1)
                means.append(self.model.mean + cross @ alpha)
                deviations.append((self.model.hyperparameters.variance - explained).clamp_min(1e-9).sqrt())
        if not means:
            return np.empty(0), np.empty(0)
        mean, deviation = (torch.cat(parts).cpu().numpy().astype(np.float64) for parts in (means, deviations))
        return mean, deviation

    def _features(self) -> int:
        """Numbers that one neighbour takes on the way."""
        widths = [getattr(getattr(factor, "map", None), "length", 0) for factor in self.model.similarity.factors.values()]
        return 4 * (sum(widths) + self.model.similarity.space.width)
