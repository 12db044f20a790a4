"""Every method in spaces with every kind of constraint."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mergebo as mb
from constrained_spaces import SPACES, objective
from mergebo import errors
from mergebo.methods import METHODS
from mergebo.testing import strategies

UNSUPPORTED = {("mergebo", "subset"), ("bops-random", "subset"), ("combo", "subset")}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("method", METHODS)
class TestEveryMethod:
    def test_proposes_distinct_feasible_points(self, method: str, kind: str) -> None:
        """Equivalent points count as one; also in batches and after loading a state."""
        space = SPACES[kind]
        optimizer = mb.Optimizer(space, method, seed=1, initial=4)
        if (method, kind) in UNSUPPORTED:
            for trial in optimizer.ask(4):
                optimizer.tell(trial, objective(space, trial.point))
            with pytest.raises(errors.UnsupportedError, match="compares complete orders"):
                optimizer.ask()
            return
        for k in range(8):
            if k == 5:
                where = space.order.where if isinstance(space, mb.PermutationSpace) else None
                optimizer = mb.Optimizer.from_state(json.loads(json.dumps(optimizer.state())), where=where)
                assert optimizer.space == space
            trials = optimizer.ask(2) if k == 6 else [optimizer.ask()]
            for trial in trials:
                optimizer.tell(trial, objective(space, trial.point))
        rows = np.array([space.encode(trial.point) for trial in optimizer.trials])  # raises an error for infeasible points
        np.testing.assert_array_equal(rows, [trial["row"] for trial in optimizer.state()["trials"]])
        assert len(np.unique(rows, axis=0)) == len(rows) == 9


@pytest.mark.parametrize("method", METHODS)
class TestFewPoints:
    def test_a_chain_has_one_order(self, method: str) -> None:
        chain = mb.PermutationSpace(items=list("abcd"), before=[("a", "b"), ("b", "c"), ("c", "d")])
        result = mb.minimize(lambda order: 1.0, chain, budget=5, method=method)
        assert [trial.point for trial in result.trials] == [list("abcd")]
        assert result.ended == "all 1 points of the space were tried"

    @pytest.mark.slow
    def test_all_points_are_tried(self, method: str) -> None:
        for space in (
            mb.PermutationSpace(5, symmetry=("cycle", "reversal")),
            mb.PermutationSpace(5, before=[(0, 1), (2, 3), (3, 4)]),
        ):
            size = int(space.size)
            result = mb.minimize(lambda order: float(order[1]), space, budget=size + 5, method=method, initial=4)
            assert len(result.trials) == size
            assert result.ended == f"all {size} points of the space were tried"


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"search": "relaxation"}, {"acquisition": "thompson"}, {"ascent": "first"}], ids=str)
@pytest.mark.parametrize("kind", ["before", "slots", "adjacency", "predicate", "ring", "mixed"])
def test_other_searches_stay_feasible(kind: str, settings: dict[str, Any]) -> None:
    space = SPACES[kind]
    optimizer = mb.Optimizer(space, "mergebo", initial=4, **settings)
    for _ in range(9):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(space, trial.point))
    rows = np.array([trial["row"] for trial in optimizer.state()["trials"]])
    np.testing.assert_array_equal(space.feasible_rows(rows), rows)
    assert len(np.unique(rows, axis=0)) == 9


@pytest.mark.slow
def test_the_best_subset_is_found() -> None:
    space = mb.PermutationSpace(items=list("abcdefgh"), choose=3)
    worth = dict(zip("abcdefgh", (3, 1, 4, 1, 5, 9, 2, 6), strict=True))
    for method in ("auto", "bops-h"):
        found = mb.minimize(
            lambda order: -sum(worth[item] / (k + 1) for k, item in enumerate(order)), space, budget=60, method=method
        )
        assert found.best.point == ["f", "h", "e"], method


@pytest.mark.slow
@settings(max_examples=10)
@given(st.integers(5, 40), st.data())
def test_searches_over_random_partial_orders_are_feasible(n: int, data: st.DataObject) -> None:
    pairs = data.draw(strategies.posets(n, high=2 * n))
    space = mb.PermutationSpace(n, before=pairs)
    for method in ("local-search", "genetic", "bops-h"):
        optimizer = mb.Optimizer(space, method, initial=4)
        for _ in range(7):
            try:
                trial = optimizer.ask()
            except errors.ExhaustedError:
                break
            optimizer.tell(trial, float(trial.point[0]))
            slot = {int(item): k for k, item in enumerate(trial.point)}
            assert all(slot[a] < slot[b] for a, b in pairs)
