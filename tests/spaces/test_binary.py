"""Binary variables."""

from __future__ import annotations

import numpy as np
import pytest

import mergebo as mb


def test_design_rows_have_every_fraction_of_ones() -> None:
    space = mb.Space(route=mb.Permutation(4), picks=mb.Binary(50), more=mb.Binary(1), heat=mb.Real(20, 80))
    rows = space.design_rows(range(2000), seed=1)
    np.testing.assert_array_equal(rows, space.design_rows(range(2000), seed=1))
    picks = rows[:, 4:54]
    assert picks[0].tolist() == [0] * 50
    assert picks[1].tolist() == [1] * 50
    assert rows[:2, 54].tolist() == [0, 1]
    fractions = np.histogram(picks[2:].mean(axis=1), bins=5, range=(0, 1))[0] / 1998
    np.testing.assert_allclose(fractions, 0.2, atol=0.05)
    assert picks[2:].mean(axis=0) == pytest.approx(np.full(50, 0.5), abs=0.05)
    assert space.design_rows(1, seed=0).shape == (56,)


@pytest.mark.parametrize("space", [mb.PermutationSpace(5), mb.Space(order=mb.Permutation(4), heat=mb.Real(0, 1))])
def test_without_binary_variables_design_rows_are_samples(space) -> None:
    np.testing.assert_array_equal(space.design_rows(range(7), seed=3), space.sample_rows(7, seed=3))
    np.testing.assert_array_equal(space.design_rows(1, seed=3), space.sample_rows(seed=3))
