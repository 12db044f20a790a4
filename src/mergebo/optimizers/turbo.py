"""TuRBO-1 (Eriksson et al. 2019) on the unit cube: an order is read off a real vector by sorting it.

Built on BoTorch: it needs the extra `mergebo[torch]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.errors import UnsupportedError, extra, require
from mergebo.optimizers.history import History
from mergebo.permutations import invert
from mergebo.spaces import AnySpace, Binary, Choice, Permutation, Quantity
from mergebo.stopwatch import phase

if TYPE_CHECKING:
    from torch import Tensor


def to_cube(rows: Rows, space: AnySpace) -> Floats:
    """Rows as points of the cube.

    An item's coordinate is its slot, a choice's 1/4 or 3/4, a number's its share of the range; an option has one of its own,
    3/4 if it is taken.
    """
    parts: list[Floats] = []
    for name, where in space.slices.items():
        values = rows[:, where]
        match space.variables[name]:
            case Permutation(n) as variable:
                slots = (invert(values.astype(np.int64, copy=False)) + 0.5) / n
                if variable.choose is not None:  # what is not chosen has no place of its own
                    slots = np.where(slots < variable.choose / n, slots, (1 + variable.choose / n) / 2)
                parts.append(slots)
            case Binary():
                parts.append(0.25 + 0.5 * values)
            case Choice(options):
                parts.append(0.25 + 0.5 * (values == np.arange(len(options))))
            case Quantity() as quantity:
                parts.append(quantity.to_unit(values))
            case other:
                raise UnsupportedError(f"turbo cannot read {name}={other} off the cube")
    return np.concatenate(parts, axis=1)


def from_cube(points: Floats, space: AnySpace) -> Rows:
    """Points of the cube as rows: items sorted by their coordinates, choices above one half, the option with the largest."""
    parts: list[Rows] = []
    start = 0
    for variable in space.variables.values():
        width = len(variable.options) if isinstance(variable, Choice) else variable.width
        values = points[:, start : start + width]
        start += width
        match variable:
            case Permutation():
                parts.append(np.argsort(values, axis=1, kind="stable"))
            case Choice():
                parts.append(values.argmax(axis=1)[:, None])
            case Quantity():
                parts.append(variable.from_unit(values))
            case _:
                parts.append((values > 0.5).astype(np.int64))
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class Region:
    """The trust region that a history leads to."""

    start: int
    """The first result since the last restart."""
    length: float


@dataclass(frozen=True)
class Turbo:
    """Thompson sampling inside a box around the best point, which grows after successes and shrinks after failures."""

    candidates: int = 2000
    successes: int = 3
    longest: float = 1.6
    shortest: float = 0.5**7
    first: float = 0.8

    def __post_init__(self) -> None:
        require("torch", "torch", "botorch")  # an error now rather than after the initial design

    def region(self, values: Floats, initial: int, dimensions: int) -> Region:
        """Go through the results as TuRBO does: no state but the history."""
        patience = max(4, dimensions)
        start, length, good, bad = 0, self.first, 0, 0
        best = np.inf
        for k, value in enumerate(values):
            if k - start < initial:
                best = min(best, value)
                continue
            if value < best - 1e-3 * abs(best):
                good, bad = good + 1, 0
            else:
                good, bad = 0, bad + 1
            best = min(best, value)
            if good == self.successes:
                length, good = min(2 * length, self.longest), 0
            elif bad == patience:
                length, bad = length / 2, 0
            if length < self.shortest:
                start, length, good, bad, best = k + 1, self.first, 0, 0, np.inf
        return Region(start, length)

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        region = self.region(history.values, history.initial, history.space.width)
        rows, values = history.rows[region.start :], history.values[region.start :]
        if len(values) < max(2, min(history.initial, len(history.values))):
            return history.fresh_row(rng)
        cube = to_cube(rows, history.space)
        spread = float(values.std()) or 1.0
        points = self._thompson(cube, -(values - values.mean()) / spread, region.length, rng)
        found = from_cube(points, history.space)
        for some in np.array_split(found, -(-len(found) // 50)) if history.space.ruled else [found]:
            some = history.space.kept(some, closest=True)  # few are mended, the likeliest first
            fresh = some[~history.is_tried(some)]
            if len(fresh):
                return np.asarray(fresh[0])
        return history.random_instead("the trust region", rng)

    def _thompson(self, cube: Floats, y: Floats, length: float, rng: np.random.Generator) -> Floats:
        """Candidates of the trust region, the likeliest best first."""
        with extra("torch"):
            import torch
            from botorch.fit import fit_gpytorch_mll
            from botorch.models import SingleTaskGP
            from gpytorch.constraints import Interval
            from gpytorch.kernels import MaternKernel, ScaleKernel
            from gpytorch.likelihoods import GaussianLikelihood
            from gpytorch.mlls import ExactMarginalLogLikelihood

        dimensions = cube.shape[1]
        x, targets = torch.from_numpy(cube), torch.from_numpy(y).unsqueeze(-1)
        kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=dimensions, lengthscale_constraint=Interval(0.005, 4.0)))
        likelihood = GaussianLikelihood(noise_constraint=Interval(1e-8, 1e-3))
        model = SingleTaskGP(x, targets, covar_module=kernel, likelihood=likelihood, outcome_transform=None)
        with torch.random.fork_rng(devices=[]):  # torch draws from a global generator: leave it as it was
            torch.manual_seed(int(rng.integers(2**31)))
            with phase("fit"):
                fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            weights = kernel.base_kernel.lengthscale.detach().numpy().reshape(-1)
            weights = weights / np.exp(np.log(weights).mean())
            centre = cube[y.argmax()]
            low, high = np.clip(centre - weights * length / 2, 0, 1), np.clip(centre + weights * length / 2, 0, 1)
            drawn = rng.uniform(low, high, (self.candidates, dimensions))
            # Only some coordinates move: in many dimensions a box has no inside.
            moved = rng.random(drawn.shape) < min(1.0, 20 / dimensions)
            moved[np.arange(self.candidates), rng.integers(0, dimensions, self.candidates)] = True
            candidates = np.where(moved, drawn, centre)
            with torch.no_grad():
                model.eval()
                sample: Tensor = model.posterior(torch.from_numpy(candidates)).rsample()
        order = np.argsort(-sample.numpy().reshape(-1), kind="stable")
        return np.asarray(candidates[order])
