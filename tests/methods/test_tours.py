"""Tours are improved before the search."""

from __future__ import annotations

import numpy as np
import pytest

from mergebo.methods import STRUCTURES, StructureModels
from mergebo.methods.tours import improve_tours
from method_helpers import make_dataset


@pytest.mark.parametrize("structure", ["adjacency", "directed-adjacency", "precedence"])
def test_improved_tours_have_better_posterior_means(structure: str) -> None:
    known = make_dataset("ttp:random(n=12,seed=2)", 40)
    model = StructureModels().model(known, STRUCTURES[structure])
    rows = known.space.sample_rows(20, seed=1)
    found = improve_tours(model, rows)
    np.testing.assert_array_equal(found[:, 12:], rows[:, 12:])
    np.testing.assert_array_equal(np.sort(found[:, :12], axis=1), np.tile(np.arange(12), (20, 1)))
    before, after = (model.predict(each)[0] for each in (rows, found))
    if structure == "precedence":
        np.testing.assert_array_equal(found, rows)
    else:
        assert after.mean() < before.mean()
        assert (after < before + 1e-9).mean() > 0.8
