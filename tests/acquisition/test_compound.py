"""Compound moves against making disjoint moves one after the other."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import mergebo as mb
from mergebo import acquisition, distances
from mergebo import permutations as pm
from mergebo.acquisition.compound import compound_moves
from mergebo.gp import GP
from mergebo.methods import KernelModel, mallows_kernel
from mergebo.neighbours import move_slots, move_table


def test_compound_moves_are_two_four_eight_disjoint_changes_that_are_feasible_together() -> None:
    def swaps(row: np.ndarray, pairs: list[tuple[int, int]]):
        return ((1 << a | 1 << b, partial(pm.swap, row, a, b)) for a, b in pairs)

    row = np.arange(12)
    pairs = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 9), (6, 7), (8, 9), (10, 11)]  # the second and the fifth overlap others
    two, four = [1, 0, 3, 2, *range(4, 12)], [1, 0, 3, 2, 5, 4, 7, 6, *range(8, 12)]
    free = mb.PermutationSpace(12)
    assert [each.tolist() for each in compound_moves(row, swaps(row, pairs), free)] == [two, four]
    assert row.tolist() == list(range(12))
    constrained = mb.PermutationSpace(12, before=[(2, 3)])  # the third swap would violate it
    assert [each.tolist() for each in compound_moves(row, swaps(row, pairs), constrained)] == [
        [1, 0, 2, 3, 5, 4, *range(6, 12)],
        [1, 0, 2, 3, 5, 4, 7, 6, 9, 8, 10, 11],
    ]


@pytest.mark.parametrize("moves", [("swap",), ("swap", "insertion", "reversal")])
def test_the_best_disjoint_moves_are_made_together(moves: tuple[str, ...]) -> None:
    """Against a slow oracle: all moves, best first, each made unless it changes an entry that was changed before."""
    n = 55
    space = mb.PermutationSpace(n)
    rows = space.sample_rows(15, seed=0)
    values = distances.kendall(rows, np.arange(n), view="rank").astype(float)
    fitted = GP(KernelModel(mallows_kernel).similarity(space), rows, values)
    landscape = acquisition.AcquisitionNeighbourhood(
        fitted, acquisition.LogExpectedImprovement(), float(fitted.y.min()), moves
    )
    row = rows[3]
    around = np.concatenate([row[move_table(n, kind)] for kind in moves])
    scanned = np.concatenate([landscape.scan(row, "order", kind) for kind in moves])
    slots = np.concatenate([move_slots(n, kind) for kind in moves])
    swaps = np.repeat([kind == "swap" for kind in moves], [len(move_slots(n, kind)) for kind in moves])
    made, used, expected, count = row.copy(), set(), [], 0
    for k in np.argsort(-np.round(scanned, 4), kind="stable")[: 8 * n]:
        low, high = slots[k].min(), slots[k].max()
        changed = {low, high} if swaps[k] else set(range(low, high + 1))
        if used & changed:
            continue
        used |= changed
        made[list(changed)] = around[k][list(changed)]
        count += 1
        if count in (2, 4, 8, 16, 32):
            expected.append(made.tolist())
    assert len(expected) >= 2
    assert landscape.best_neighbours(row, 5)[-len(expected) :].tolist() == expected
