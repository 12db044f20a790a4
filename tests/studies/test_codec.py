"""Variables as parameters of a study, and rows as their values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import mergebo as mb
from mergebo import errors
from mergebo.integrations.optuna import (
    params,
)
from mergebo.studies.codec import SpaceCodec
from mergebo.testing.strategies import spaces


@given(space=spaces(), seed=st.integers(0, 100))
@settings(max_examples=60, deadline=None)
def test_points_round_trip_through_parameters(space: mb.spaces.SearchSpace, seed: int) -> None:
    row = space.sample_rows((), seed=seed)
    codec = SpaceCodec.of(space.variables)
    held = codec.params(row)
    assert held.keys() == codec.distributions.keys()
    for name, distribution in codec.distributions.items():
        assert distribution._contains(distribution.to_internal_repr(held[name]))
    json.dumps([each for each in held.values() if isinstance(each, int | float)])
    np.testing.assert_array_equal(codec.rows([held])[0], row)


@pytest.mark.parametrize(
    "names",
    [
        [f"x{k}" for k in range(12)],
        [f"x{k:02}" for k in range(12)],
        [f"city_{k + 1}" for k in range(12)],
        [f"order[{k}]" for k in range(12)],
        [f"{k}" for k in range(12)],
    ],
)
@pytest.mark.parametrize("last", [True, False])
def test_lehmer_codes_are_found_whatever_their_names(names: list[str], last: bool) -> None:
    digits = {name: IntDistribution(0, 11 - k) for k, name in enumerate(names)}
    if not last:
        del digits[names[-1]]
    others = {"rate": FloatDistribution(1e-3, 1, log=True), "x": CategoricalDistribution(["a", None])}
    codec = SpaceCodec.infer(dict(sorted((digits | others).items())), SpaceCodec({}))
    orders = [part for part in codec.parts.values() if isinstance(part.variable, mb.Permutation)]
    assert [list(part.parameters) for part in orders] == [list(digits)]
    assert orders[0].variable == mb.Permutation(12)
    assert len(codec.parts) == 3


@pytest.mark.parametrize(
    "digits",
    [
        {"x0": IntDistribution(0, 3), "x1": IntDistribution(0, 3)},
        {"x0": IntDistribution(0, 3), "x2": IntDistribution(0, 2), "x3": IntDistribution(0, 1)},
        {"x0": IntDistribution(1, 3), "x1": IntDistribution(0, 2), "x2": IntDistribution(0, 1)},
        {"x0": IntDistribution(0, 5), "x1": IntDistribution(0, 4), "x2": IntDistribution(0, 3)},
        {"x0": IntDistribution(0, 2, step=2), "x1": IntDistribution(0, 1)},
        {"x0": FloatDistribution(0, 2), "x1": IntDistribution(0, 1)},
        {"x0": IntDistribution(0, 1)},
    ],
)
def test_parameters_that_are_not_lehmer_codes(digits: dict[str, Any]) -> None:
    codec = SpaceCodec.infer(digits, SpaceCodec({}))
    assert not [part for part in codec.parts.values() if isinstance(part.variable, mb.Permutation)]
    assert codec.distributions == digits


def test_two_variables_with_one_parameter() -> None:
    with pytest.raises(errors.ArgumentError, match="two variables would have the parameter 'order1'"):
        params(mb.Space(order=mb.Permutation(3), order1=mb.Real(0, 1)), {"order": [0, 1, 2], "order1": 0.5})
