"""What methods read: results and points."""

from __future__ import annotations

import numpy as np

import mergebo as mb
from mergebo.methods import History


def test_incumbents_are_the_best_distinct_points() -> None:
    rows = np.array([[0, 1, 2], [1, 0, 2], [0, 1, 2], [2, 1, 0]])
    history = History(mb.PermutationSpace(3), rows, np.array([5.0, 1, 0, 3]), rows[:0], rows[:0], 2, noisy=True)
    assert history.best(3).tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    assert history.best(2, np.array([4.0, 3, 4, 0])).tolist() == [[2, 1, 0], [1, 0, 2]]
    assert history.tried == frozenset()


def test_small_spaces_are_enumerated() -> None:
    space = mb.Space(order=mb.Permutation(3), dose=mb.Integer(-1, 2), salt=mb.Choice(["K", "Na"]))
    rows = space.enumerate_rows()
    assert len(rows) == len(np.unique(rows, axis=0)) == space.size == 6 * 4 * 2
    np.testing.assert_array_equal(space.encode(space.decode(rows)), rows)
