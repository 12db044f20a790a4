"""The export of models to BoTorch; `tests/test_gp.py` compares the two."""

from __future__ import annotations

import numpy as np
import pytest

import mergebo as mb
from mergebo.errors import UnsupportedError
from mergebo.gp import GP
from mergebo.mean import PathLengthMean
from mergebo.similarity import Positions, Product


def test_mean_functions_are_not_exported() -> None:
    space = mb.PermutationSpace(5)
    rows = space.sample_rows(6, seed=0)
    mean_function = PathLengthMean(np.random.default_rng(0).normal(size=(1, 5, 2)), True)
    model = GP(Product.of(space, Positions), rows, rows[:, 0].astype(float), mean_function=mean_function)
    with pytest.raises(UnsupportedError, match="mean function"):
        model.to_botorch()
