"""Explanations: true effects within calibrated standard deviations, the right structure first, no effects from noise."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

import mergebo as mb
from mergebo.explain import Effect, Explanation, explain
from mergebo.gp import GP
from mergebo.methods import METHODS, STRUCTURES, EmbeddingModels, Structure, StructureModels
from mergebo.methods.base import History, enumerate_rows
from mergebo.similarity import Product


def make_history(space: mb.PermutationSpace | mb.Space, rows: np.ndarray, values: np.ndarray) -> History:
    return History(space, rows, np.asarray(values, float), rows[:0], rows[:0], len(rows))


def explained(problem: str, count: int, direction: str = "minimize", seed: int = 0) -> Explanation:
    made = mb.problems.get(problem)
    rows = made.space.sample_rows(count, seed=seed)
    return explain(make_history(made.space, rows, made.evaluate_rows(rows)), direction)


def difference(values: np.ndarray, holds: np.ndarray) -> float:
    return float(values[holds].mean() - values[~holds].mean())


def adjusted(ranks: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Coefficients of all pairs' orders in a linear regression."""
    n = ranks.shape[1]
    a, b = np.triu_indices(n, 1)
    features = np.column_stack([ranks[:, a] < ranks[:, b], np.ones(len(ranks))])
    out = np.zeros((n, n))
    out[a, b] = np.linalg.lstsq(features, values, rcond=None)[0][:-1]
    return out - out.T


def truth(effect: Effect, ranks: np.ndarray, values: np.ndarray) -> float:
    a, b = effect.where
    if effect.kind == "adjusted":
        return float(adjusted(ranks, values)[a, b])
    if effect.kind == "precedence":
        return difference(values, ranks[:, a] < ranks[:, b])
    if effect.kind == "position":
        return difference(values, ranks[:, a] * 3 // ranks.shape[1] == b)
    return difference(values, np.abs(ranks[:, a] - ranks[:, b]) == 1)


# ---------------------------------------------------------------------------------------------------------------- model


# -------------------------------------------------------------------------------------------------------------- effects


@pytest.mark.slow
def test_the_strongest_pairs_of_a_linear_ordering_are_found() -> None:
    problem = mb.problems.get("lop:planted(n=12,seed=100)")
    found = explained(problem.name, 80)
    assert found.kind == "precedence"
    assert found.structures["precedence"] > 0.9
    assert found.is_informative
    rows = problem.space.sample_rows(20_000, seed=7)
    ranks, values = mb.permutations.invert(rows), problem.evaluate_rows(rows)
    effects = found.of_kind("precedence")
    true = np.array([truth(effect, ranks, values) for effect in effects])
    strongest = np.argsort(-np.abs(true))[:10]
    assert (true[strongest] < 0).all()  # pairs are named in their better order
    assert all(effects[k].lower_bound > 0 for k in strongest)
    assert len(set(strongest) & set(range(15))) >= 9


@pytest.mark.slow
@pytest.mark.parametrize("count", [40, 80])
def test_standard_deviations_are_calibrated(count: int) -> None:
    """The truth is nearly always within three of them, and they are not just large."""
    problem = mb.problems.get("lop:planted(n=12,seed=5)")
    rows = problem.space.sample_rows(50_000, seed=7)
    ranks, values = mb.permutations.invert(rows), problem.evaluate_rows(rows)
    coefficients = adjusted(ranks, values)
    effects = [effect for effect in explained(problem.name, count).effects if effect.kind != "adjacency"]
    assert {effect.kind for effect in effects} == {"precedence", "adjusted", "position"}
    true = [coefficients[effect.where] if effect.kind == "adjusted" else truth(effect, ranks, values) for effect in effects]
    errors = np.array([effect.estimate for effect in effects]) - true
    ratios = errors / [effect.std for effect in effects]
    assert (np.abs(ratios) < 3).mean() > 0.97
    assert np.sqrt((ratios**2).mean()) > 0.4


@pytest.mark.slow
def test_standard_deviations_are_calibrated_where_the_model_is_right() -> None:
    """Objectives drawn from the prior and observed at a few orders; the true effects come from all orders."""
    space = mb.PermutationSpace(5)
    every = enumerate_rows(space)
    ranks = mb.permutations.invert(every)
    prior = np.exp(-2.0 * Product.of(space, lambda n: STRUCTURES["precedence"].variants(n)[0]).distances(every, every)[0])
    rng = np.random.default_rng(0)
    draws = np.linalg.cholesky(prior + 1e-9 * np.eye(len(every))) @ rng.normal(size=(len(every), 8))
    ratios = []
    for values in draws.T:
        seen = rng.choice(len(every), 25, replace=False)
        effects = explain(make_history(space, every[seen], values[seen]), "minimize").of_kind("precedence")
        assert len(effects) == 10
        ratios += [(effect.estimate - truth(effect, ranks, values)) / effect.std for effect in effects]
    assert 0.4 < np.sqrt(np.mean(np.square(ratios))) < 1.6
    assert (np.abs(ratios) < 3).mean() > 0.95


def test_observing_all_points_leaves_little_uncertainty() -> None:
    space = mb.PermutationSpace(4)
    rows = enumerate_rows(space)
    ranks = mb.permutations.invert(rows)
    values = 3.0 * (ranks[:, 0] < ranks[:, 1]) + 1.0 * (ranks[:, 2] < ranks[:, 3])
    found = explain(make_history(space, rows, values), "minimize")
    for effect in found.of_kind("precedence") + found.of_kind("adjusted"):
        assert effect.estimate == pytest.approx(truth(effect, ranks, values), abs=0.1)
        assert effect.std < 0.2
    first, second = found.of_kind("adjusted")[:2]
    assert [each.description for each in (first, second)] == [
        "1 before 0, other pairs held fixed",
        "3 before 2, other pairs held fixed",
    ]
    assert first.estimate == pytest.approx(-3, abs=0.1)


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


def test_maximising_flips_the_signs() -> None:
    problem = mb.problems.get("lop:planted(n=6,seed=1)")
    opts = {}
    for direction, sign in (("minimize", 1.0), ("maximize", -1.0)):
        opts[direction] = opt = mb.Optimizer(problem.space, "random", initial=40, direction=direction)
        for _ in range(40):
            trial = opt.ask()
            opt.tell(trial, sign * float(problem.evaluate(trial.point)))
    low, high = opts["minimize"].explain(), opts["maximize"].explain()
    assert low.structures == high.structures
    for a, b in zip(low.effects, high.effects, strict=True):
        assert (a.description, a.estimate, a.std, a.better) == (b.description, -b.estimate, b.std, b.better)
    assert low.of_kind("precedence")[0].better
    assert "lowers the value" in str(low)
    assert "raises the value" in str(high)
    assert "larger is better" in str(high)


@pytest.mark.slow
def test_binary_choices_have_effects_too() -> None:
    space = mb.Space(route=mb.Permutation(5), picks=mb.Binary(4))
    rows = space.sample_rows(80, seed=0)
    ranks = mb.permutations.invert(rows[:, :5].copy())
    values = 4.0 * rows[:, 5 + 2] + 2.0 * (ranks[:, 0] < ranks[:, 3])
    found = explain(make_history(space, rows, values), "maximize")
    effect = found.of_kind("choice")[0]
    assert (effect.description, effect.where, effect.better) == ("picks 2 is 1", (2,), False)
    assert abs(effect.estimate + 4) < 4 * effect.std
    assert found.of_kind("precedence")[0].description == "route: 3 before 0"
    assert found.plot() is not None


def test_binary_choices_without_orders() -> None:
    space = mb.Space(picks=mb.Binary(6))
    rows = space.sample_rows(30, seed=0)
    found = explain(make_history(space, rows, 2.0 * rows[:, 0] - rows[:, 1]), "minimize")
    assert {effect.description for effect in found.effects[:2]} == {"picks 0 is 1", "picks 1 is 1"}
    assert "choices" in str(found)
    assert len(found.plot().axes) == 2


# ------------------------------------------------------------------------------------------------------ nothing to explain


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
    rows = enumerate_rows(space)[:count]
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
def test_quantities_are_explained_beside_the_order() -> None:
    problem = mb.problems.get("addition:heated")
    rows = problem.space.sample_rows(60, seed=0)
    found = explain(make_history(problem.space, rows, problem.evaluate_rows(rows)), "minimize")
    hot = next(effect for effect in found.effects if effect.description == "celsius above 60")
    assert not hot.better
    assert hot.lower_bound > 0
    assert found.of_kind("precedence")


# ---------------------------------------------------------------------------------------------------- texts and figures


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


def test_the_text_of_an_effect() -> None:
    effect = Effect("precedence", "acid before base", "order", (0, 1), -3.14159, 0.812, True)
    assert str(effect) == "acid before base: lowers the value by 3.14 ± 0.81 (better)"
    assert str(Effect("position", "x late", "order", (0, 2), 1520.0, 231.0, False)).endswith("by 1520 ± 230 (worse)")
    assert effect.lower_bound == pytest.approx(3.14159 - 1.624)


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
def test_the_figure_has_its_panels(tmp_path: Path) -> None:
    figure = explained("tsp:random(n=12,seed=100)", 100).plot(tmp_path / "tour.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    for wanted in ("Posterior probability", "Most significant effects", "Adjacency: row next to column", "Item embedding"):
        assert any(title.startswith(wanted) for title in titles), titles
    assert (tmp_path / "tour.png").read_bytes().startswith(b"\x89PNG")
    titles = [axes.get_title(loc="left") for axes in explained("lop:planted(n=40,seed=1)", 60).plot().axes]
    assert "Precedence: row before column, 30 of 40 items" in titles
    assert not any(title.startswith("Item embedding") for title in titles)


@pytest.mark.slow
def test_the_same_results_give_the_same_explanation() -> None:
    first = explained("qap:nug-like(n=8,seed=1)", 30)
    again = explained("qap:nug-like(n=8,seed=1)", 30)
    assert first.effects == again.effects
    assert first.structures == again.structures


# ------------------------------------------------------------------------------------------------------- one dataset for all


BINARY = mb.Space(route=mb.Permutation(5), picks=mb.Binary(4))


def count_models() -> int:
    gc.collect()
    return sum(type(each) is GP for each in gc.get_objects())


@pytest.mark.slow
@pytest.mark.parametrize("beliefs", [(), [mb.beliefs.before(0, 1)]], ids=["no beliefs", "beliefs"])
@pytest.mark.parametrize("space", [BINARY, mb.PermutationSpace(6)], ids=["binary", "orders"])
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


def test_effects_are_in_the_units_of_the_values() -> None:
    """Also where models see warped values: the number of ones matters much more than the order here."""
    rows = BINARY.sample_rows(80, seed=1)
    values = 1000.0 * rows[:, 5:].sum(axis=1) + rows[:, 0]
    found = explain(make_history(BINARY, rows, values), "minimize")
    effects = {effect.description: effect for effect in found.of_kind("choice")}
    for k in range(4):
        effect = effects[f"picks {k} is 1"]
        assert abs(effect.estimate - 1000) < max(300, 4 * effect.std)
