"""Bayesian methods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mergebo as mb
from mergebo.gp import GP
from mergebo.methods import STRUCTURES, EmbeddingModels, History, KernelModel, StructureModels, mallows_kernel
from mergebo.methods.bayesian import condition_on_pending, feasibility_of
from mergebo.methods.structures import MIN_WEIGHT
from mergebo.similarity import Positions, Product
from method_helpers import make_history
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


REAGENTS = ["acid", "base", "salt", "water", "catalyst"]


def evaluate(optimizer: mb.Optimizer, count: int) -> None:
    """Make an experiment for each of some new trials; it fails if salt comes first."""
    for trial in optimizer.ask(count):
        order, heat = trial.point["order"], (trial.point["temperature"] - 55) / 8
        if order[0] == "salt":
            optimizer.fail(trial)
        else:
            optimizer.tell(trial, abs(order.index("water") - 1) + order.index("base") / 2 + heat**2)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "bops-h"])
@pytest.mark.parametrize("settings", [{}, {"batch": "law"}, {"batch": "thompson"}, {"acquisition": "ei"}])
def test_proposals_avoid_what_has_failed(method: str, settings: dict[str, Any]) -> None:
    space = mb.Space(order=mb.Permutation(items=REAGENTS), temperature=mb.Real(20, 80))
    optimizer = mb.Optimizer(space, method, seed=0, initial=8, **settings)
    evaluate(optimizer, 8)
    for _ in range(8):
        evaluate(optimizer, 2)
    failed = [trial.state == "failed" for trial in optimizer.trials]
    assert any(failed[:8])
    assert sum(failed[8:]) <= 3


def test_failures_are_modelled_once_there_is_one() -> None:
    space = mb.PermutationSpace(6)
    rows = space.sample_rows(12, seed=0)
    values = np.array([objective(row) for row in rows])
    known = History(space, rows, values, rows[:0], rows[:0], 5)
    builder, rng = KernelModel(mallows_kernel), np.random.default_rng(0)
    assert feasibility_of(builder, known, rng) is None
    found = feasibility_of(builder, replace(known, rows=rows[3:], values=values[3:], failed=rows[:3]), rng)
    assert found is not None
    np.testing.assert_array_equal(found.models[0].rows, np.concatenate([rows[3:], rows[:3]]))


def test_failures_among_the_latest_proposals_make_it_cautious() -> None:
    space = mb.PermutationSpace(6)
    rows = space.sample_rows(12, seed=0)
    known = History(space, rows[:9], np.arange(9.0), rows[9:], rows[:0], 5)
    orders = [np.arange(12) < 9, np.arange(12) >= 3]  # the failures came last, or first, as initial points
    late, early = (
        feasibility_of(KernelModel(mallows_kernel), replace(known, succeeded=each), np.random.default_rng(0))
        for each in orders
    )
    assert late is not None
    assert early is not None
    assert late.caution > early.caution == 1


def test_structures_that_are_improbable_do_not_count_in_an_average() -> None:
    history = make_history("lop:planted(n=10,seed=1)", 60)
    weighed = StructureModels().weighed(history)
    assert 1 <= len(weighed) < len(STRUCTURES)
    assert sum(weight for _, weight in weighed) == pytest.approx(1)
    assert min(weight for _, weight in weighed) >= MIN_WEIGHT
    assert EmbeddingModels().weighed(history)[0][1] == weighed[0][1]
