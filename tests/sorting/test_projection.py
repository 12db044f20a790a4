"""Decoding and projection by search, for maps that have no faster way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebo import errors
from mergebo.sorting import EnumerationMap, MergeMap, NetworkMap
from mergebo.sorting.projection import replay
from mergebo.testing import strategies as our


@given(st.data())
def test_slow_decoding_agrees(data: st.DataObject) -> None:
    order = data.draw(our.permutations(high=20))
    for map_ in (
        MergeMap(order.size),
        MergeMap(order.size, "source"),
        EnumerationMap(order.size),
        NetworkMap(order.size),
    ):
        assert replay(map_.algorithm(), map_.n, map_.encode(order).tolist()) == order.tolist()


def test_hard_projection_stops_at_its_limit() -> None:
    features = np.random.default_rng(0).normal(0.5, 2, EnumerationMap(14).length)
    with pytest.raises(errors.SearchLimitError, match=r"within 50 dives.*use MergeMap"):
        EnumerationMap(14).project(features, limit=50)
