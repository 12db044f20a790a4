"""Explanations: true effects are found with honest deviations, the right structure leads, and nothing is made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

import mergebo as mb
from mergebo.optimizers import METHODS
from mergebo.optimizers.auto import FAMILIES, likeliest, plain_model
from mergebo.optimizers.explanation import STRUCTURES, Effect, Explanation, explain
from mergebo.optimizers.history import History, every_row
from mergebo.surrogate import GP, Positions, Product


def history(space: mb.PermutationSpace | mb.Space, rows: np.ndarray, values: np.ndarray) -> History:
    return History(space, rows, np.asarray(values, float), rows[:0], rows[:0], len(rows))


def explained(problem: str, count: int, direction: str = "minimize", seed: int = 0) -> Explanation:
    made = mb.problems.get(problem)
    rows = made.space.sample_rows(count, seed=seed)
    return explain(history(made.space, rows, made.evaluate_rows(rows)), direction)


def difference(values: np.ndarray, holds: np.ndarray) -> float:
    return float(values[holds].mean() - values[~holds].mean())


def alone(ranks: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Coefficients of all pairs' orders in a linear fit."""
    n = ranks.shape[1]
    a, b = np.triu_indices(n, 1)
    features = np.column_stack([ranks[:, a] < ranks[:, b], np.ones(len(ranks))])
    out = np.zeros((n, n))
    out[a, b] = np.linalg.lstsq(features, values, rcond=None)[0][:-1]
    return out - out.T


def truth(effect: Effect, ranks: np.ndarray, values: np.ndarray) -> float:
    a, b = effect.where
    if effect.kind == "exchange":
        return float(alone(ranks, values)[a, b])
    if effect.kind == "precedence":
        return difference(values, ranks[:, a] < ranks[:, b])
    if effect.kind == "position":
        return difference(values, ranks[:, a] * 3 // ranks.shape[1] == b)
    return difference(values, np.abs(ranks[:, a] - ranks[:, b]) == 1)


# ---------------------------------------------------------------------------------------------------------- the model's


def test_left_out_values_are_those_of_models_that_have_not_seen_them() -> None:
    space = mb.PermutationSpace(6)
    rows, values = space.sample_rows(9, seed=0), np.random.default_rng(0).normal(size=9)
    model = GP(Product.of(space, Positions), rows, values)
    # In units of the whole model, with its mean.
    kernel = np.linalg.inv(model.whitener.T @ model.whitener)
    for k in range(9):
        others = np.delete(np.arange(9), k)
        weights = np.linalg.solve(kernel[np.ix_(others, others)], model.y[others] - model.mean)
        assert model.left_out()[k] == pytest.approx(model.mean + kernel[k, others] @ weights)


def test_covariance_has_the_variances_of_predictions() -> None:
    space = mb.PermutationSpace(6)
    model = GP(Product.of(space, Positions), space.sample_rows(9, seed=0), np.random.default_rng(0).normal(size=9))
    new = space.sample_rows(5, seed=1)
    np.testing.assert_allclose(np.sqrt(model.covariance(new).diagonal()), model.predict_standardised(new)[1], rtol=1e-6)


# -------------------------------------------------------------------------------------------------------------- effects


def test_the_strongest_pairs_of_a_linear_ordering_are_found() -> None:
    problem = mb.problems.get("lop:planted(n=12,seed=100)")
    found = explained(problem.name, 80)
    assert found.kind == "precedence"
    assert found.structures["precedence"] > 0.9
    assert found.learned
    rows = problem.space.sample_rows(20_000, seed=7)
    ranks, values = mb.permutations.invert(rows), problem.evaluate_rows(rows)
    effects = found.of_kind("precedence")
    true = np.array([truth(effect, ranks, values) for effect in effects])
    strongest = np.argsort(-np.abs(true))[:10]
    assert (true[strongest] < 0).all()  # pairs are named in their better order
    assert all(effects[k].surely > 0 for k in strongest)
    assert len(set(strongest) & set(range(15))) >= 9


@pytest.mark.parametrize("count", [40, 80])
def test_deviations_are_honest(count: int) -> None:
    """The truth is within three of them nearly always, and they are not just large."""
    problem = mb.problems.get("lop:planted(n=12,seed=5)")
    rows = problem.space.sample_rows(50_000, seed=7)
    ranks, values = mb.permutations.invert(rows), problem.evaluate_rows(rows)
    single = alone(ranks, values)
    effects = [effect for effect in explained(problem.name, count).effects if effect.kind != "adjacency"]
    assert {effect.kind for effect in effects} == {"precedence", "exchange", "position"}
    true = [single[effect.where] if effect.kind == "exchange" else truth(effect, ranks, values) for effect in effects]
    errors = np.array([effect.estimate for effect in effects]) - true
    ratios = errors / [effect.deviation for effect in effects]
    assert (np.abs(ratios) < 3).mean() > 0.97
    assert np.sqrt((ratios**2).mean()) > 0.4


def test_deviations_are_honest_where_the_model_is_right() -> None:
    """Objectives drawn from the model itself, seen at a few orders: of all of them the true effects are known."""
    space = mb.PermutationSpace(5)
    every = every_row(space)
    ranks = mb.permutations.invert(every)
    prior = np.exp(-2.0 * Product.of(space, lambda n: FAMILIES["precedence"](n)[0]).distances(every, every)[0])
    rng = np.random.default_rng(0)
    draws = np.linalg.cholesky(prior + 1e-9 * np.eye(len(every))) @ rng.normal(size=(len(every), 8))
    ratios = []
    for values in draws.T:
        seen = rng.choice(len(every), 25, replace=False)
        effects = explain(history(space, every[seen], values[seen]), "minimize").of_kind("precedence")
        assert len(effects) == 10
        ratios += [(effect.estimate - truth(effect, ranks, values)) / effect.deviation for effect in effects]
    assert 0.4 < np.sqrt(np.mean(np.square(ratios))) < 1.6
    assert (np.abs(ratios) < 3).mean() > 0.95


def test_all_points_seen_leave_no_doubt() -> None:
    space = mb.PermutationSpace(4)
    rows = every_row(space)
    ranks = mb.permutations.invert(rows)
    values = 3.0 * (ranks[:, 0] < ranks[:, 1]) + 1.0 * (ranks[:, 2] < ranks[:, 3])
    found = explain(history(space, rows, values), "minimize")
    for effect in found.of_kind("precedence") + found.of_kind("exchange"):
        assert effect.estimate == pytest.approx(truth(effect, ranks, values), abs=0.1)
        assert effect.deviation < 0.2
    first, second = found.of_kind("exchange")[:2]
    assert (first.what, second.what) == ("1 before 0, all else equal", "3 before 2, all else equal")
    assert first.estimate == pytest.approx(-3, abs=0.1)


def test_neighbours_lead_in_a_tour_and_its_map_is_that_of_the_cities() -> None:
    problem = mb.problems.get("tsp:random(n=12,seed=100)")
    found = explained(problem.name, 100)
    assert next(iter(found.structures)) == "neighbours"
    assert found.kind == "adjacency"
    rows = problem.space.sample_rows(20_000, seed=7)
    ranks, values = mb.permutations.invert(rows), problem.evaluate_rows(rows)
    sure = [effect for effect in found.of_kind("adjacency") if effect.surely > 0]
    assert len(sure) > 10
    for a, b, estimate in [(*effect.where, effect.estimate) for effect in sure]:
        gap = np.abs(ranks[:, a] - ranks[:, b])
        assert difference(values, (gap == 1) | (gap == 11)) * estimate > 0
    assert found.places is not None
    assert found.places.shape == (12, 2)
    assert spearmanr(pdist(found.places), pdist(problem.coordinates)).statistic > 0.5
    assert "map" in str(found)


def test_maximising_turns_the_signs() -> None:
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
        assert (a.what, a.estimate, a.deviation, a.better) == (b.what, -b.estimate, b.deviation, b.better)
    assert low.of_kind("precedence")[0].better
    assert "lowers the value" in str(low)
    assert "raises the value" in str(high)
    assert "larger is better" in str(high)


def test_choices_have_effects_too() -> None:
    space = mb.Space(route=mb.Permutation(5), picks=mb.Binary(4))
    rows = space.sample_rows(80, seed=0)
    ranks = mb.permutations.invert(rows[:, :5].copy())
    values = 4.0 * rows[:, 5 + 2] + 2.0 * (ranks[:, 0] < ranks[:, 3])
    found = explain(history(space, rows, values), "maximize")
    effect = found.of_kind("choice")[0]
    assert (effect.what, effect.where, effect.better) == ("picks 2 is 1", (2,), False)
    assert abs(effect.estimate + 4) < 4 * effect.deviation
    assert found.of_kind("precedence")[0].what == "route: 3 before 0"
    assert found.plot() is not None


def test_choices_alone() -> None:
    space = mb.Space(picks=mb.Binary(6))
    rows = space.sample_rows(30, seed=0)
    found = explain(history(space, rows, 2.0 * rows[:, 0] - rows[:, 1]), "minimize")
    assert {effect.what for effect in found.effects[:2]} == {"picks 0 is 1", "picks 1 is 1"}
    assert "choices" in str(found)
    assert len(found.plot().axes) == 2


# ---------------------------------------------------------------------------------------------- what cannot be explained


def test_noise_is_not_explained() -> None:
    space = mb.PermutationSpace(8)
    rows = space.sample_rows(40, seed=0)
    found = explain(history(space, rows, np.random.default_rng(0).normal(size=40)), "minimize")
    assert not found.learned
    assert "do not say yet" in str(found)
    assert "lowers" not in str(found)
    assert "do not say yet" in found.plot().get_suptitle()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 6])
def test_few_items_and_few_results(n: int, count: int) -> None:
    space = mb.PermutationSpace(n)
    rows = every_row(space)[:count]
    found = explain(history(space, rows, np.arange(len(rows)) ** 2), "minimize")
    assert found.results == len(rows)
    assert str(found)
    assert found.plot() is not None
    if len(rows) < 2:
        assert not found.structures
        assert not found.effects
        assert "two at least" in str(found)


def test_equal_results() -> None:
    space = mb.PermutationSpace(5)
    found = explain(history(space, space.sample_rows(12, seed=0), np.full(12, 7.0)), "minimize")
    assert str(found) == "All 12 results are equal: there is nothing to explain."
    assert found.plot() is not None


def test_quantities_are_explained_beside_the_order() -> None:
    problem = mb.problems.get("addition:heated")
    rows = problem.space.sample_rows(60, seed=0)
    found = explain(history(problem.space, rows, problem.evaluate_rows(rows)), "minimize")
    hot = next(effect for effect in found.effects if effect.what == "celsius above 60")
    assert not hot.better
    assert hot.surely > 0
    assert found.of_kind("precedence")


# ---------------------------------------------------------------------------------------------------- the user's side


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_explained(method: str) -> None:
    """By its results alone: the same ones give the same explanation, and what is pending or failed does not matter."""
    opt = mb.Optimizer(mb.PermutationSpace(items=["acid", "base", "salt", "water"]), method, initial=12)
    for trial in opt.ask(12):
        opt.tell(trial, 2.0 * (trial.point.index("acid") > trial.point.index("base")) + trial.point.index("salt"))
    before = str(opt.explain())
    opt.fail(opt.ask())
    opt.ask()
    assert str(opt.explain()) == before
    assert opt.explain().items == {"order": ("acid", "base", "salt", "water")}
    assert "salt" in before


def test_an_effect_in_words() -> None:
    effect = Effect("precedence", "acid before base", "order", (0, 1), -3.14159, 0.812, True)
    assert str(effect) == "acid before base: lowers the value by 3.14 ± 0.81 (better)"
    assert str(Effect("position", "x late", "order", (0, 2), 1520.0, 231.0, False)).endswith("by 1520 ± 230 (worse)")
    assert effect.surely == pytest.approx(3.14159 - 1.624)


def test_every_family_has_words() -> None:
    assert set(FAMILIES) < set(STRUCTURES)


def test_the_figure_has_its_panels(tmp_path: Path) -> None:
    figure = explained("tsp:random(n=12,seed=100)", 100).plot(tmp_path / "tour.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    for wanted in ("Evidence", "Surest effects", "Neighbours: row next to column", "Map"):
        assert any(title.startswith(wanted) for title in titles), titles
    assert (tmp_path / "tour.png").read_bytes().startswith(b"\x89PNG")
    titles = [axes.get_title(loc="left") for axes in explained("lop:planted(n=40,seed=1)", 60).plot().axes]
    assert "Pairs in order: row before column, 30 of 40 items" in titles
    assert not any(title.startswith("Map") for title in titles)


def test_the_same_results_give_the_same_explanation() -> None:
    first = explained("qap:nug-like(n=8,seed=1)", 30)
    plain_model.cache_clear()
    likeliest.cache_clear()
    again = explained("qap:nug-like(n=8,seed=1)", 30)
    assert first.effects == again.effects
    assert first.structures == again.structures
