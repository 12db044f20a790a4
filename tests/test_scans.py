"""Neighbourhood scans against brute force over all neighbours."""

from __future__ import annotations

import numpy as np
import pytest

import mergebo as mb
from mergebo import acquisition
from mergebo.gp import GP
from mergebo.methods import KernelModel, SingleKernel
from mergebo.methods.registry import METHODS
from mergebo.neighbours import MOVES
from mergebo.similarity import (
    Adjacency,
    Positions,
)

ORDERS = {
    **{name: info.fixed["kernel"] for name, info in METHODS.items() if info.make is SingleKernel},
    "position": Positions,
    "adjacency": Adjacency,
}
"""Similarities of the methods' models, and others."""


@pytest.mark.parametrize("method", ORDERS)
@pytest.mark.parametrize(
    "space", [mb.PermutationSpace(9), mb.Space(a=mb.Permutation(6), b=mb.Binary(4), c=mb.Permutation(5))]
)
def test_scanned_values_agree_with_evaluation(method: str, space) -> None:
    """Acquisition values of a scan, and its best neighbour, agree with evaluating all neighbours."""
    rows = space.sample_rows(25, seed=0)
    values = np.random.default_rng(0).normal(size=25) + rows[:, 0]
    model = GP(KernelModel(ORDERS[method]).similarity(space), rows, values)
    best = float(model.y.min())
    moves = tuple(MOVES)
    scanned = acquisition.AcquisitionNeighbourhood(model, acquisition.LogExpectedImprovement(), best, moves)
    enumerated = acquisition.ExhaustiveNeighbourhood(scanned.value, space, moves)
    for centre in space.sample_rows(4, seed=5):
        scans = [
            scanned.scan(centre, name, move)
            for name, variable in space.variables.items()
            for move in (moves if isinstance(variable, mb.Permutation) else ("flip",))
        ]
        around = acquisition.neighbours(centre, space, moves)
        expected = scanned.value(around)
        negligible = expected < -40  # next to tried points, where single precision is not sufficient
        np.testing.assert_allclose(np.concatenate(scans)[~negligible], expected[~negligible], rtol=2e-3, atol=2e-3)
        assert (np.concatenate(scans)[negligible] < -30).all()
        fast, slow = scanned.best_neighbours(centre, 5), enumerated.best_neighbours(centre, 5)
        assert scanned.value(fast).max() == pytest.approx(scanned.value(slow).max(), rel=1e-9)
