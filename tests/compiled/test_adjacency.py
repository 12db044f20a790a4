"""Compiled loops over the adjacent pairs of orders."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo.compiled.adjacency import edge_gradients, two_opt
from mergebo.mean import PathLengthMean
from mergebo.neighbours import move_table
from model_helpers import path_lengths


@given(n=st.integers(3, 9), seed=st.integers(0, 99), cyclic=st.booleans(), ends=st.sampled_from([1, 2]))
def test_gradients_of_path_lengths(n: int, seed: int, cyclic: bool, ends: int) -> None:
    rng = np.random.default_rng(seed)
    orders, weights, coordinates = mb.permutations.sample(n, 4, seed=seed), rng.normal(size=4), rng.normal(size=(ends, n, 2))

    def total(flat: np.ndarray) -> float:
        return float(weights @ PathLengthMean(flat.reshape(coordinates.shape), cyclic).value(orders))

    steps = 1e-6 * np.eye(coordinates.size)
    numeric = [(total(coordinates.ravel() + step) - total(coordinates.ravel() - step)) / 2e-6 for step in steps]
    found = np.zeros(coordinates.shape)
    edge_gradients(orders, weights, coordinates[0], coordinates[-1], cyclic, found)
    np.testing.assert_allclose(found.ravel(), numeric, atol=1e-4)


@given(n=st.integers(1, 10), seed=st.integers(0, 99), cyclic=st.booleans(), directed=st.booleans())
def test_two_opt_ends_at_local_optima(n: int, seed: int, cyclic: bool, directed: bool) -> None:
    costs = np.random.default_rng(seed).normal(size=(n, n))
    costs = costs if directed else costs + costs.T
    before = mb.permutations.sample(n, seed=seed)
    order = before.copy()
    two_opt(order, costs, directed, cyclic)
    assert sorted(order.tolist()) == list(range(n))
    (first,), (last,) = path_lengths(before[None], costs, cyclic), path_lengths(order[None], costs, cyclic)
    assert last <= first + 1e-9
    if n > 3:
        for move in ("insertion",) if directed else ("insertion", "reversal"):
            around = order[move_table(n, move)]
            assert len(around) == 0 or path_lengths(around, costs, cyclic).min() >= last - 1e-8
