"""Explanations: the right structure first, no effects from noise, and the same model as the proposals."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

import mergebo as mb
from constrained_spaces import SPACES, objective
from explanation_helpers import difference, explained, make_history
from mergebo.explain import explain
from mergebo.gp import GP
from mergebo.methods import METHODS, STRUCTURES, EmbeddingModels, Structure, StructureModels
from optimizer_helpers import MIXED


@pytest.mark.slow
def test_adjacency_is_most_probable_for_tours_and_the_embedding_resembles_the_cities() -> None:
    problem = mb.problems.get("tsp:random(n=12,seed=100)")
    found = explained(problem.name, 100)
    assert next(iter(found.structures)) == "adjacency"
    assert found.kind == "adjacency"
    rows = problem.space.sample_rows(20_000, seed=7)
    ranks, values = mb.permutations.invert(rows), problem.evaluate_rows(rows)
    significant = [effect for effect in found.of_kind("adjacency") if effect.lower_bound > 0]
    assert len(significant) > 10
    for a, b, estimate in [(*effect.where, effect.estimate) for effect in significant]:
        apart = np.abs(ranks[:, a] - ranks[:, b])
        assert difference(values, (apart == 1) | (apart == 11)) * estimate > 0
    assert found.embedding is not None
    assert found.embedding.shape == (12, 2)
    assert spearmanr(pdist(found.embedding), pdist(problem.coordinates)).statistic > 0.5
    assert "embedding" in str(found)


@pytest.mark.slow
def test_noise_is_not_explained() -> None:
    space = mb.PermutationSpace(8)
    rows = space.sample_rows(40, seed=0)
    found = explain(make_history(space, rows, np.random.default_rng(0).normal(size=40)), "minimize")
    assert not found.is_informative
    assert "do not show yet" in str(found)
    assert "lowers" not in str(found)
    assert "do not show yet" in found.plot().get_suptitle()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 6])
def test_few_items_and_few_results(n: int, count: int) -> None:
    space = mb.PermutationSpace(n)
    rows = space.enumerate_rows()[:count]
    found = explain(make_history(space, rows, np.arange(len(rows)) ** 2), "minimize")
    assert found.results == len(rows)
    assert str(found)
    assert found.plot() is not None
    if len(rows) < 2:
        assert not found.structures
        assert not found.effects
        assert "at least two" in str(found)


def test_equal_results() -> None:
    space = mb.PermutationSpace(5)
    found = explain(make_history(space, space.sample_rows(12, seed=0), np.full(12, 7.0)), "minimize")
    assert str(found) == "All 12 results are equal: there is nothing to explain."
    assert found.plot() is not None


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_explained(method: str) -> None:
    """An explanation depends on the results alone: pending and failed trials do not matter."""
    opt = mb.Optimizer(mb.PermutationSpace(items=["acid", "base", "salt", "water"]), method, initial=12)
    for trial in opt.ask(12):
        opt.tell(trial, 2.0 * (trial.point.index("acid") > trial.point.index("base")) + trial.point.index("salt"))
    before = str(opt.explain())
    opt.fail(opt.ask())
    opt.ask()
    assert str(opt.explain()) == before
    assert opt.explain().items == {"order": ("acid", "base", "salt", "water")}
    assert "salt" in before


@pytest.mark.slow
def test_every_kind_of_constraint_can_be_explained() -> None:
    for kind, space in SPACES.items():
        optimizer = mb.Optimizer(space, "random", seed=0)
        for trial in optimizer.ask(30):
            optimizer.tell(trial, objective(space, trial.point))
        assert "results" in str(optimizer.explain()), kind
    bonds = mb.Optimizer(mb.PermutationSpace(7, symmetry="cycle"), "random", seed=0)
    for trial in bonds.ask(60):
        slot = {int(item): k for k, item in enumerate(trial.point)}
        bonds.tell(trial, float(abs(slot[2] - slot[5]) in (1, 6)))
    text = str(bonds.explain())
    assert "2 next to 5  raises the value" in text
    assert "before" not in text


def test_a_structure_of_ones_own_is_explained() -> None:
    """With its own words, and the effects that show it."""
    mine = Structure("slots", STRUCTURES["positions"].variants, "where everything is", "position")
    space = mb.PermutationSpace(6)
    rows = space.sample_rows(60, seed=0)
    values = mb.permutations.invert(rows) @ np.array([5.0, 0, 0, 0, 0, -2.0])
    found = explain(make_history(space, rows, values), "minimize", EmbeddingModels(StructureModels((mine,))))
    assert found.structures == {"slots": 1.0}
    assert found.kind == "position"
    assert "What matters is where everything is" in str(found)


@pytest.mark.slow
def test_the_same_results_give_the_same_explanation() -> None:
    first = explained("qap:nug-like(n=8,seed=1)", 30)
    again = explained("qap:nug-like(n=8,seed=1)", 30)
    assert first.effects == again.effects
    assert first.structures == again.structures


def count_models() -> int:
    gc.collect()
    return sum(type(each) is GP for each in gc.get_objects())


@pytest.mark.slow
@pytest.mark.parametrize("beliefs", [(), [mb.beliefs.before(0, 1)]], ids=["no beliefs", "beliefs"])
@pytest.mark.parametrize("space", [MIXED, mb.PermutationSpace(6)], ids=["binary", "orders"])
def test_the_models_that_propose_also_recommend_and_explain(space: mb.Space | mb.PermutationSpace, beliefs: list) -> None:
    """With the same transform of the values and the same prior mean, so nothing is fitted again."""
    optimizer = mb.Optimizer(space, seed=2, initial=10, noisy=True, beliefs=beliefs, embedding=False)
    rng = np.random.default_rng(0)
    for _ in range(14):
        trial = optimizer.ask()
        row = space.encode(trial.point)
        optimizer.tell(trial, float(row @ np.arange(len(row)) + rng.normal()))
    optimizer.ask()
    before = count_models()
    assert before > 0
    assert optimizer.best is not None
    optimizer.explain()
    assert count_models() == before
