"""Neighbourhood scans on a GPU: all neighbours written out there and run through the model's GPyTorch kernel.

A GPU has the arithmetic to spare that the increments of `compiled.scans` save, and this way every kernel works.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mergebo.acquisition.values import Floats
from mergebo.moves import move_slots, move_table
from mergebo.spaces import Permutation, Rows
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
        import torch

        kernel = self.model.to_botorch().covar_module.to(device=self.device, dtype=torch.float32)
        arrays = (np.asarray(self.model.rows), self.model.alpha, self.model.whitener.T)
        rows, alpha, whitener = (torch.from_numpy(np.ascontiguousarray(a)).to(self.device, torch.float32) for a in arrays)
        return kernel, rows, alpha, whitener

    def scan(self, row: Rows, variable: str, move: str) -> tuple[Floats, Floats]:
        """For all neighbours by one kind of move of one variable, in the order of `move_slots`."""
        import torch

        kernel, rows, alpha, whitener = self._parts
        space = self.model.similarity.space
        where, kind = space.slices[variable], space.variables[variable]
        centre = torch.from_numpy(np.asarray(row, np.float32)).to(self.device)
        if isinstance(kind, Permutation):
            moves = torch.from_numpy(np.array(move_slots(kind.n, move) if move == "swap" else move_table(kind.n, move)))
        else:
            moves = torch.arange(kind.width)
        most = max(1, NUMBERS // max(1, self._features()))
        means, deviations = [], []
        with torch.no_grad():
            for start in range(0, len(moves), most):
                piece = moves[start : start + most].to(self.device)
                around = centre.repeat(len(piece), 1)
                each = torch.arange(len(piece), device=self.device)
                if not isinstance(kind, Permutation):
                    around[each, where.start + piece] = 1 - centre[where.start + piece]
                elif move == "swap":  # two entries each: far less to send than whole rows of sources
                    a, b = where.start + piece.T
                    around[each, a], around[each, b] = centre[b], centre[a]
                else:
                    around[:, where] = centre[where][piece]
                cross = kernel(around, rows).to_dense()
                explained = (cross @ whitener).square().sum(dim=1)
                means.append(self.model.mean + cross @ alpha)
                deviations.append((self.model.hyperparameters.outputscale - explained).clamp_min(1e-9).sqrt())
        mean, deviation = (torch.cat(parts).cpu().numpy().astype(np.float64) for parts in (means, deviations))
        return mean, deviation

    def _features(self) -> int:
        """Numbers that one neighbour takes on the way."""
        widths = [getattr(getattr(factor, "map", None), "length", 0) for factor in self.model.similarity.factors.values()]
        return 4 * (sum(widths) + self.model.similarity.space.width)
