"""Tables of results."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_helpers import (
    HOSTILE,
)
from mergebo.integrations.optuna import distributions, params
from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, Space
from mergebo.studies import Study, StudyConfig
from mergebo.studies.attributes import NOISE
from mergebo.studies.table import read_table, table_text
from mergebo.testing.strategies import order_options

TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8).map(str.strip).filter(bool)
NAMES = st.lists(st.one_of(TEXTS, st.sampled_from(HOSTILE)), min_size=6, max_size=6, unique=True)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Space, list[str], list[tuple[dict[str, Any], list[float], list[float]]]]:
    """A space with arbitrary item names, directions, and results whose noise may be unknown."""
    names = draw(NAMES)
    shape = draw(order_options(low=2))
    order = Permutation(**{**shape, "items": [names["abcdef".index(letter)] for letter in shape["items"]]})
    others: dict[str, Any] = {
        "heat": Real(-1e3, 1e6),
        "time": Real(1e-9, 1e9, log=True),
        "cycles": Integer(-7, 10**6),
        "salt": Choice(draw(NAMES)),
        "one": Binary(1),
        "picks": Binary(3),
    }
    chosen = draw(st.lists(st.sampled_from(list(others)), unique=True))
    space = Space(order=order, **{name: others[name] for name in chosen})
    directions = draw(st.lists(st.sampled_from(["minimize", "maximize"]), min_size=1, max_size=3))
    results = []
    for seed in range(draw(st.integers(0, 4))):
        values = draw(st.lists(NUMBERS, min_size=len(directions), max_size=len(directions)))
        noise = draw(st.lists(st.floats(0, 1e9), min_size=len(directions), max_size=len(directions)))
        point = space.decode(space.sample_rows((), seed=seed))
        results.append((point, values, noise if draw(st.booleans()) else []))
    return space, directions, results


@pytest.mark.slow
@given(given=tables())
@settings(max_examples=60)
def test_tables_round_trip(given: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    space, directions, results = given
    study = Study(optuna.create_study(directions=directions), StudyConfig(space))
    for point, values, noise in results:
        attributes = {NOISE: noise if len(noise) > 1 else noise[0]} if noise else {}
        made = optuna.create_trial(
            params=params(space, point), distributions=distributions(space), values=values, user_attrs=attributes
        )
        study.optuna.add_trial(made)
    path = tmp_path_factory.mktemp("table") / "table.csv"
    path.write_text(table_text(study), encoding="utf-8")
    read = read_table(study, path)
    assert [line.values for line in read] == [values for _, values, _ in results]
    assert [line.noise for line in read] == [noise or None for *_, noise in results]
    for line, (point, *_) in zip(read, results, strict=True):
        np.testing.assert_array_equal(space.encode(line.point), space.encode(point))
