"""Effects: true ones within calibrated standard deviations, of every kind of variable."""

from __future__ import annotations

import numpy as np
import pytest

import mergebo as mb
from explanation_helpers import adjusted, explained, make_history, truth
from mergebo.explain import Effect, explain
from mergebo.methods import STRUCTURES
from mergebo.similarity import Product
from optimizer_helpers import MIXED


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
    every = space.enumerate_rows()
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
    rows = space.enumerate_rows()
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


@pytest.mark.slow
def test_quantities_are_explained_beside_the_order() -> None:
    problem = mb.problems.get("addition:heated")
    rows = problem.space.sample_rows(60, seed=0)
    found = explain(make_history(problem.space, rows, problem.evaluate_rows(rows)), "minimize")
    hot = next(effect for effect in found.effects if effect.description == "celsius above 60")
    assert not hot.better
    assert hot.lower_bound > 0
    assert found.of_kind("precedence")


def test_explanations_show_the_effects_of_numbers_and_options() -> None:
    space = mb.Space(dose=mb.Integer(0, 10), heat=mb.Real(0, 1), salt=mb.Choice(["K", "Na", "Li"]))
    optimizer = mb.Optimizer(space, "random", initial=40)
    for trial in optimizer.ask(40):
        point = trial.point
        optimizer.tell(trial, (point["dose"] - 3) ** 2 + 10 * point["heat"] + 5 * (point["salt"] == "Na"))
    found = optimizer.explain()
    most_significant = {effect.variable: effect for effect in found.effects[::-1]}
    assert most_significant["dose"].description == "dose above 6.67"
    assert most_significant["salt"].description == "salt is Na"
    assert most_significant["salt"].estimate == pytest.approx(5, abs=1)
    high = next(effect for effect in found.effects if effect.description == "heat above 0.667")
    assert high.estimate == pytest.approx(5, abs=1)
    assert not high.better
    assert "how much of each quantity" in str(found)
    found.plot()


def test_effects_are_in_the_units_of_the_values() -> None:
    """Also where models see warped values: the number of ones matters much more than the order here."""
    rows = MIXED.sample_rows(80, seed=1)
    values = 1000.0 * rows[:, 5:].sum(axis=1) + rows[:, 0]
    found = explain(make_history(MIXED, rows, values), "minimize")
    effects = {effect.description: effect for effect in found.of_kind("choice")}
    for k in range(4):
        effect = effects[f"picks {k} is 1"]
        assert abs(effect.estimate - 1000) < max(300, 4 * effect.std)


def test_the_text_of_an_effect() -> None:
    effect = Effect("precedence", "acid before base", "order", (0, 1), -3.14159, 0.812, True)
    assert str(effect) == "acid before base: lowers the value by 3.14 ± 0.81 (better)"
    assert str(Effect("position", "x late", "order", (0, 2), 1520.0, 231.0, False)).endswith("by 1520 ± 230 (worse)")
    assert effect.lower_bound == pytest.approx(3.14159 - 1.624)
