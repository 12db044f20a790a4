"""Scans by torch."""

from __future__ import annotations

import numpy as np
import pytest

import mergebo as mb
from against_botorch import DEVICES
from mergebo import acquisition
from mergebo.gp import GP
from mergebo.methods import KernelModel
from mergebo.neighbours import MOVES
from method_helpers import ORDERS


@pytest.mark.needs_torch
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("method", ORDERS)
def test_device_scan_is_the_scan(method: str, device: str) -> None:
    """Means and deviations computed by torch, on every available device and in several chunks, agree with prediction."""
    space = mb.Space(a=mb.Permutation(6), b=mb.Binary(4), c=mb.Permutation(5))
    rows = space.sample_rows(25, seed=0)
    model = GP(KernelModel(ORDERS[method]).similarity(space), rows, np.random.default_rng(0).normal(size=25) + rows[:, 0])
    scan = mb.kernels.DeviceScan(model, device, max_entries=3000)
    centre = space.sample_rows(seed=5)
    moves = tuple(MOVES)
    found = [
        scan.scan(centre, name, move)
        for name, variable in space.variables.items()
        for move in (moves if isinstance(variable, mb.Permutation) else ("flip",))
    ]
    mean, deviation = model.predict_standardised(acquisition.neighbours(centre, space, moves))
    np.testing.assert_allclose(np.concatenate([m for m, _ in found]), mean, atol=2e-3)
    np.testing.assert_allclose(np.concatenate([d for _, d in found]), deviation, atol=2e-3)
    scanned = acquisition.AcquisitionNeighbourhood(model, acquisition.LogExpectedImprovement(), float(model.y.min()), moves)
    on_device = acquisition.AcquisitionNeighbourhood(scanned.model, scanned.function, scanned.best, moves, scan)
    best, expected = (scanned.value(each.best_neighbours(centre, 5)).max() for each in (on_device, scanned))
    assert best == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
@pytest.mark.needs_torch
@pytest.mark.parametrize("device", DEVICES)
def test_optimising_with_a_device(device: str) -> None:
    problem = mb.problems.get("lop:planted(n=7)")
    result = mb.minimize(problem.evaluate, problem.space, budget=14, initial=8, method="mergebo", device=device)
    assert len(result.trials) == 14
