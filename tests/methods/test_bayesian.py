"""Bayesian methods."""

from __future__ import annotations

import numpy as np
import pytest

import mergebo as mb
from mergebo.gp import GP
from mergebo.methods import History
from mergebo.methods.bayesian import condition_on_pending
from mergebo.similarity import Positions, Product
from optimizer_helpers import objective


def test_fantasies_count_as_values_to_improve_on() -> None:
    """Otherwise a batch clusters around one expected optimum."""
    space = mb.PermutationSpace(6)
    rows = space.sample_rows(12, seed=0)
    values = np.array([objective(row) for row in rows]) + 5
    model = GP(Product.of(space, Positions), rows, values)
    pending = np.arange(6)[None]
    expected = float(model.predict_standardised(pending)[0][0])
    _, alone = condition_on_pending(model, History(space, rows, values, rows[:0], rows[:0], 5))
    extended, best = condition_on_pending(model, History(space, rows, values, rows[:0], pending, 5))
    assert alone == model.y.min()
    assert len(extended.rows) == 13
    assert best == pytest.approx(min(alone, expected))
