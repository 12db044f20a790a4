"""The automatic method: it finds out structure, maps are what they say, and nothing hangs on what is remembered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo.compiled.edges import edge_pulls, shorten
from mergebo.errors import ArgumentError, UnsupportedError
from mergebo.moves import MOVES, move_table
from mergebo.optimizers import auto
from mergebo.optimizers.auto import (
    Auto,
    Past,
    best_map,
    learned_places,
    levelled,
    likeliest,
    plain_model,
    repaired,
    structures,
    surprise,
)
from mergebo.optimizers.history import History
from mergebo.surrogate import GP, Adjacency, Product
from mergebo.surrogate.places import PathCosts, distances, fit_places


def history(problem: str, count: int, seed: int = 0) -> History:
    made = mb.problems.get(problem)
    rows = made.space.sample_rows(count, seed=seed)
    nothing = rows[:0]
    return History(made.space, rows, made.evaluate_rows(rows), nothing, nothing, count)


def past(problem: str, count: int, seed: int = 0) -> Past:
    known = history(problem, count, seed)
    return Past.of(known.space, known.rows, known.values)


def forget() -> None:
    for each in (plain_model, likeliest, learned_places, surprise):
        each.cache_clear()


# ----------------------------------------------------------------------------------------------------------------- maps


def lengths(orders: np.ndarray, costs: np.ndarray, cyclic: bool) -> np.ndarray:
    """Step by step."""
    steps = range(orders.shape[1] if cyclic else orders.shape[1] - 1)
    return np.array([sum(costs[order[k], order[(k + 1) % len(order)]] for k in steps) for order in orders])


def test_a_map_is_looked_for_although_other_families_have_all_evidence_on_a_round_alone() -> None:
    """There, spacings may tell what neighbours do; elsewhere, a family without evidence is not worth the time."""
    tours = mb.problems.get("tsp:random(n=10,seed=1)")
    for symmetry, looked_for in (((), False), (("cycle", "reversal"), True)):
        space = mb.PermutationSpace(10, symmetry=symmetry)
        rows = space.encode(list(tours.space.sample_rows(70, seed=0)))
        found = structures(known := Past.of(space, rows, tours.evaluate_rows(rows)))
        without = {name: (model, 0.0 if name in auto.MAPPED else 1.0) for name, (model, _) in found.items()}
        assert best_map(known, found) is not None
        assert (best_map(known, without) is not None) is looked_for


@given(n=st.integers(2, 9), seed=st.integers(0, 99), cyclic=st.booleans(), ends=st.sampled_from([1, 2]))
def test_path_costs_are_sums_over_steps(n: int, seed: int, cyclic: bool, ends: int) -> None:
    places = np.random.default_rng(seed).normal(size=(ends, n, 2))
    trend, orders = PathCosts(places, cyclic), mb.permutations.sample(n, 5, seed=seed)
    np.testing.assert_allclose(trend.costs, np.linalg.norm(places[0][:, None] - places[-1], axis=2), atol=1e-3)
    np.testing.assert_allclose(trend.value(orders), lengths(orders, trend.costs, cyclic))
    for move in MOVES:
        around = orders[0][move_table(n, move)]
        expected = lengths(around, trend.costs, cyclic) - lengths(orders[:1], trend.costs, cyclic)
        np.testing.assert_allclose(trend.changes(orders[0], "order", move), expected, atol=1e-9)


@given(n=st.integers(3, 9), seed=st.integers(0, 99), cyclic=st.booleans(), ends=st.sampled_from([1, 2]))
def test_pulls_are_derivatives_of_lengths(n: int, seed: int, cyclic: bool, ends: int) -> None:
    rng = np.random.default_rng(seed)
    orders, weights, places = mb.permutations.sample(n, 4, seed=seed), rng.normal(size=4), rng.normal(size=(ends, n, 2))

    def total(flat: np.ndarray) -> float:
        return float(weights @ PathCosts(flat.reshape(places.shape), cyclic).value(orders))

    steps = 1e-6 * np.eye(places.size)
    numeric = [(total(places.ravel() + step) - total(places.ravel() - step)) / 2e-6 for step in steps]
    found = np.zeros(places.shape)
    edge_pulls(orders, weights, places[0], places[-1], cyclic, found)
    np.testing.assert_allclose(found.ravel(), numeric, atol=1e-4)


@given(n=st.integers(1, 10), seed=st.integers(0, 99), cyclic=st.booleans(), directed=st.booleans())
def test_shortened_orders_are_local_optima(n: int, seed: int, cyclic: bool, directed: bool) -> None:
    costs = np.random.default_rng(seed).normal(size=(n, n))
    costs = costs if directed else costs + costs.T
    before = mb.permutations.sample(n, seed=seed)
    order = before.copy()
    shorten(order, costs, directed, cyclic)
    assert sorted(order.tolist()) == list(range(n))
    (first,), (last,) = lengths(before[None], costs, cyclic), lengths(order[None], costs, cyclic)
    assert last <= first + 1e-9
    if n > 3:
        for move in ("insertion",) if directed else ("insertion", "reversal"):
            around = order[move_table(n, move)]
            assert len(around) == 0 or lengths(around, costs, cyclic).min() >= last - 1e-8


@pytest.mark.parametrize("directed", [False, True])
def test_a_map_shows_where_items_are(directed: bool) -> None:
    """Learned from the costs of random orders alone, from any start."""
    n, rng = 12, np.random.default_rng(5)
    places = rng.normal(size=(1 + directed, n, 2))
    orders = mb.permutations.sample(n, 200, seed=0)
    truth = PathCosts(places, True)
    y = truth.value(orders) - truth.value(orders).mean()
    y /= y.std()
    for seed in range(3):
        found = np.random.default_rng(seed).normal(size=places.shape)
        for left in (0.3, 0.1, 0.02):
            found = fit_places(orders, y, np.eye(200) / left, found, variance=1 - left, cyclic=True, steps=200)
        apart = np.triu_indices(n, 1)
        assert np.corrcoef(distances(found)[apart], truth.costs[apart])[0, 1] > 0.95


def test_a_model_with_a_trend_learns_what_is_left() -> None:
    n = 9
    places, orders = np.random.default_rng(0).normal(size=(1, n, 2)), mb.permutations.sample(n, 40, seed=0)
    known, new = orders[:30], orders[30:]
    similarity = Product.of(mb.PermutationSpace(n), lambda n: Adjacency(n, cyclic=True))
    values = np.random.default_rng(1).normal(size=30)
    trend = PathCosts(places, True)
    plain = GP(similarity, known, values)
    hyperparameters, scaling = plain.hyperparameters, (plain.centre, plain.spread)
    model = GP(similarity, known, values, hyperparameters=hyperparameters, trend=trend)
    left = plain.centre + plain.spread * (plain.y - trend.value(known))
    other = GP(similarity, known, left, hyperparameters=hyperparameters, scaling=scaling)
    mean, deviation = other.predict_standardised(new)
    np.testing.assert_allclose(model.predict_standardised(new)[0], mean + trend.value(new))
    np.testing.assert_allclose(model.predict_standardised(new)[1], deviation)
    for move in MOVES:
        around = new[0][move_table(n, move)]
        np.testing.assert_allclose(model.scan(new[0], "order", move)[0], model.predict_standardised(around)[0], atol=1e-4)
    seen = model.with_points(new[:3])
    assert (seen.centre, seen.spread) == scaling
    np.testing.assert_allclose(seen.predict(new)[0], model.predict(new)[0], atol=1e-6)
    assert (seen.predict(new[:3])[1] < model.predict(new[:3])[1]).all()
    with pytest.raises(UnsupportedError, match="trend"):
        model.to_botorch()


# ----------------------------------------------------------------------------------------------------------- the method


@pytest.mark.parametrize(
    ("problem", "families"),
    [
        ("tsp:random(n=12,seed=1)", {"neighbours"}),
        ("lop:planted(n=12,seed=1)", {"precedence"}),
        ("cells:random(n=12,seed=1)", {"spacings"}),
    ],
)
def test_the_likeliest_family_is_the_one_that_fits_the_problem(problem: str, families: set[str]) -> None:
    found = structures(past(problem, 80))
    assert max(found, key=lambda name: found[name][1]) in families
    assert sum(share for _, share in found.values()) == pytest.approx(1)


@given(columns=st.integers(2, 4))
def test_grids_are_recognised(columns: int) -> None:
    """The value is what pairs of items cost by their distance on a grid; slots are numbered row by row."""
    n, rng = 12, np.random.default_rng(columns)
    place = np.stack(np.divmod(np.arange(n), columns), axis=1)
    gaps, flows = np.abs(place[:, None] - place).sum(axis=2), rng.random((n, n))
    rows = mb.permutations.sample(n, 96, seed=columns)
    ranks = mb.permutations.invert(rows)
    values = np.array([(flows * gaps[np.ix_(rank, rank)]).sum() for rank in ranks])
    assert likeliest(Past.of(mb.PermutationSpace(n), rows, values), "spacings") == columns - 1


def test_large_points_with_choices() -> None:
    known = history("ttp:random(n=40,seed=1)", 12)
    row = Auto().propose(known, np.random.default_rng(0))
    assert known.space.width > auto.SMALL
    assert sorted(row[:40].tolist()) == list(range(40))
    assert set(row[40:].tolist()) <= {0, 1}
    assert row.tobytes() not in known.tried


def test_levelled_values_keep_their_order_and_draw_in_the_large_ones() -> None:
    values = np.array([3.0, 1.0, 2.0, 1000.0])
    found = levelled(values)
    assert found.argsort().tolist() == values.argsort().tolist()
    assert found.min() == 0
    assert found[3] < 250 * found[0]
    np.testing.assert_array_equal(levelled(np.full(3, 7.0)), np.zeros(3))
    np.testing.assert_allclose(levelled(1e6 * values - 5), found)


@pytest.mark.parametrize("family", ["neighbours", "succession", "precedence"])
def test_repaired_rows_are_expected_to_be_better(family: str) -> None:
    known = past("ttp:random(n=12,seed=2)", 40)
    model = plain_model(known, family)
    rows = known.space.sample_rows(20, seed=1)
    found = repaired(model, rows)
    np.testing.assert_array_equal(found[:, 12:], rows[:, 12:])
    np.testing.assert_array_equal(np.sort(found[:, :12], axis=1), np.tile(np.arange(12), (20, 1)))
    before, after = (model.predict(each)[0] for each in (rows, found))
    if family == "precedence":
        np.testing.assert_array_equal(found, rows)
    else:
        assert after.mean() < before.mean()
        assert (after < before + 1e-9).mean() > 0.8


def test_the_loss_is_what_was_minimised() -> None:
    from mergebo.surrogate.gp import negative_log_posterior

    for problem in ("lop:planted(n=9,seed=1)", "ttp:random(n=9,seed=1)"):  # of one variable and of two: their priors differ
        for model, _ in structures(past(problem, 30)).values():
            distances, logs = model.similarity.distances(model.rows, model.rows), model.hyperparameters.logs
            assert model.loss == pytest.approx(negative_log_posterior(logs, distances, model.y, prior=model.prior)[0])


def test_proposals_do_not_depend_on_what_is_remembered() -> None:
    known = history("tsp:random(n=10,seed=3)", 32)

    def proposal() -> list[int]:
        found: list[int] = Auto().propose(known, np.random.default_rng(1)).tolist()
        return found

    first = proposal()
    again = proposal()
    forget()
    assert first == again == proposal()


def test_maps_are_judged_by_what_came_before() -> None:
    """A surprise at a result is the same whatever came after it."""
    longer, shorter = past("tsp:random(n=10,seed=3)", 34), past("tsp:random(n=10,seed=3)", 30)
    expected = surprise(shorter, ("neighbours",), "neighbours", 0.9)
    forget()
    assert surprise(longer.first(30), ("neighbours",), "neighbours", 0.9) == expected


def test_it_is_ahead_of_the_published_kernels_on_tours() -> None:
    found = {}
    problem = mb.problems.get("tsp:random(n=12,seed=7)")
    for method in ("auto", "bops-h"):
        runs = [
            mb.minimize(lambda order: float(problem.evaluate(order)), problem.space, budget=50, method=method, seed=seed)
            for seed in range(3)
        ]
        found[method] = np.mean([run.best.value for run in runs if run.best])
    assert found["auto"] < found["bops-h"]


@pytest.mark.parametrize("count", [30, auto.FITTED + 5])
def test_many_results_and_many_items(count: int) -> None:
    for n in (7, auto.SMALL + 10):
        known = history(f"lop:planted(n={n},seed=1)", count)
        row = Auto().propose(known, np.random.default_rng(0))
        assert sorted(row.tolist()) == list(range(n))
        assert row.tobytes() not in known.tried


def test_very_large_neighbourhoods_are_looked_at_less_often() -> None:
    choices = mb.Space(route=mb.Permutation(280), picks=mb.Binary(837))
    spaces = [mb.Space(picks=mb.Binary(100)), choices, *map(mb.PermutationSpace, (300, 1000, 5000))]
    assert [auto.whole_looks(space) for space in spaces] == [6, 6, 6, 2, 1]


@pytest.mark.parametrize("scale", [0.0, 1e-12, 1e12])
def test_degenerate_values(scale: float) -> None:
    known = history("tsp:random(n=8,seed=1)", 30)
    flat = History(known.space, known.rows, scale * known.values, known.failed, known.pending, 30)
    assert sorted(Auto().propose(flat, np.random.default_rng(0)).tolist()) == list(range(8))


def test_batches_with_a_map() -> None:
    problem = mb.problems.get("tsp:random(n=9,seed=1)")
    optimizer = mb.Optimizer(problem.space, "auto", seed=0, initial=30)
    for trial in optimizer.ask(34):
        optimizer.tell(trial, float(problem.evaluate(trial.point)))
    points = [tuple(trial.point) for trial in optimizer.ask(4)]
    assert len(set(points)) == 4


def test_slow_families_are_used_if_there_are_no_others() -> None:
    known = past(f"lop:planted(n={auto.SMALL + 1},seed=1)", 12)
    assert list(structures(known, ("spacings",))) == ["spacings"]
    assert list(structures(known, ("positions", "spacings"))) == ["positions"]


def test_mistakes_are_explained() -> None:
    with pytest.raises(ArgumentError, match="did you mean 'positions'"):
        Auto(families=("position",))
