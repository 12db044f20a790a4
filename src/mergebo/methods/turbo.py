"""TuRBO-1 (Eriksson et al. 2019) on the unit cube: sorting a real vector gives an order (random keys).

Built on BoTorch: it needs the extra `mergebo[torch]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mergebo._timing import phase
from mergebo._typing import Floats, Rows
from mergebo.errors import extra, require
from mergebo.methods.base import History

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Turbo"]


@dataclass(frozen=True)
class TrustRegion:
    """The trust region after a history."""

    start: int
    """Index of the first observation since the last restart."""
    length: float


@dataclass(frozen=True)
class Turbo:
    """Thompson sampling in a box around the best point that grows after successes and shrinks after failures."""

    candidates: int = 2000
    success_tolerance: int = 3
    max_length: float = 1.6
    min_length: float = 0.5**7
    initial_length: float = 0.8

    def __post_init__(self) -> None:
        require("torch", "torch", "botorch")  # fail now rather than after the initial design

    def region(self, values: Floats, initial: int, dimensions: int) -> TrustRegion:
        """The trust region, replayed from the history, which is the only state."""
        failure_tolerance = max(4, dimensions)
        start, length, successes, failures = 0, self.initial_length, 0, 0
        best = np.inf
        for k, value in enumerate(values):
            if k - start < initial:
                best = min(best, value)
                continue
            if value < best - 1e-3 * abs(best):
                successes, failures = successes + 1, 0
            else:
                successes, failures = 0, failures + 1
            best = min(best, value)
            if successes == self.success_tolerance:
                length, successes = min(2 * length, self.max_length), 0
            elif failures == failure_tolerance:
                length, failures = length / 2, 0
            if length < self.min_length:
                start, length, successes, failures, best = k + 1, self.initial_length, 0, 0, np.inf
        return TrustRegion(start, length)

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        region = self.region(history.values, history.initial, history.space.width)
        rows, values = history.rows[region.start :], history.values[region.start :]
        if len(values) < max(2, min(history.initial, len(history.values))):
            return history.untried_row(rng)
        cube = history.space.to_unit(rows)
        std = float(values.std()) or 1.0
        points = self._thompson(cube, -(values - values.mean()) / std, region.length, rng)
        found = history.space.from_unit(points)
        # Repair is slow: in parts, best candidates first.
        for part in np.array_split(found, -(-len(found) // 50)) if history.space.is_constrained else [found]:
            feasible = history.space.feasible_rows(part, repair=True)
            untried = feasible[~history.is_tried(feasible)]
            if len(untried):
                return np.asarray(untried[0])
        return history.random_instead("the trust region", rng)

    def _thompson(self, cube: Floats, y: Floats, length: float, rng: np.random.Generator) -> Floats:
        """Candidates in the trust region, the best of the posterior sample first."""
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
        with torch.random.fork_rng(devices=[]):  # torch samples from its global generator: restore it afterwards
            torch.manual_seed(int(rng.integers(2**31)))
            with phase("fit"):
                fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            weights = kernel.base_kernel.lengthscale.detach().numpy().reshape(-1)
            weights = weights / np.exp(np.log(weights).mean())
            centre = cube[y.argmax()]
            low, high = np.clip(centre - weights * length / 2, 0, 1), np.clip(centre + weights * length / 2, 0, 1)
            sampled = rng.uniform(low, high, (self.candidates, dimensions))
            # Only some coordinates are perturbed: in many dimensions most of a box's volume is near its boundary.
            perturbed = rng.random(sampled.shape) < min(1.0, 20 / dimensions)
            perturbed[np.arange(self.candidates), rng.integers(0, dimensions, self.candidates)] = True
            candidates = np.where(perturbed, sampled, centre)
            with torch.no_grad():
                model.eval()
                sample: Tensor = model.posterior(torch.from_numpy(candidates)).rsample()
        order = np.argsort(-sample.numpy().reshape(-1), kind="stable")
        return np.asarray(candidates[order])
