"""Variables as parameters of a study, and rows as their values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.search_space import intersection_search_space

import mergebo as mb
from mergebo import errors
from mergebo.integrations.optuna import (
    params,
)
from mergebo.studies.codec import SpaceCodec, codec_of
from mergebo.studies.trials import CommonParameters
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


def test_other_kinds_of_variables_have_to_register_their_parameters() -> None:
    """As `tests/integration/test_new_variable.py` does."""
    with pytest.raises(errors.ArgumentError, match="cannot be represented by parameters of Optuna; register a codec"):
        codec_of("a kind without a codec", "x")  # type: ignore[arg-type]


def test_common_parameters_are_those_of_a_new_comparison() -> None:
    """Whatever was compared before; Optuna's function compares all trials each time."""
    rng, common = np.random.default_rng(0), CommonParameters()
    studies = [optuna.create_study(sampler=optuna.samplers.RandomSampler(0)) for _ in range(2)]
    for _ in range(60):
        study = studies[rng.integers(2)]
        trial = study.ask()
        for name in "abc":
            if rng.random() < 0.95:
                trial.suggest_int(name, 0, int(rng.choice([3, 4], p=[0.97, 0.03])))
        if rng.random() < 0.8:
            study.tell(trial, 1.0, state=None)
        trials = study.get_trials(deepcopy=False)
        assert common.of(trials) == intersection_search_space(trials)
