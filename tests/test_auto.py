"""The automatic method: it finds out structure, maps are what they say, and nothing hangs on what is remembered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo.errors import ArgumentError, UnsupportedError
from mergebo.optimizers import auto
from mergebo.optimizers.auto import FAMILIES, Auto, Past, learned_map, plain_models, surprise
from mergebo.optimizers.history import History
from mergebo.surrogate.embedding import Embedded, Pairs, _evaluate, fit_map
from mergebo.surrogate.warp import logarithmic

KINDS = [(False, True), (True, False), (False, False), (True, True)]


def history(problem: str, count: int, seed: int = 0) -> History:
    made = mb.problems.get(problem)
    rows = made.space.sample_rows(count, seed=seed)
    nothing = rows[:0]
    return History(made.space, rows, made.evaluate_rows(rows), nothing, nothing, count)


def past(problem: str, count: int, seed: int = 0) -> Past:
    known = history(problem, count, seed)
    return Past.of(known.space, known.rows, known.values)


def parameters(n: int, seed: int = 0) -> np.ndarray:
    return np.concatenate([0.7 * np.random.default_rng(seed).normal(size=2 * n), [0.3, -4.0]])


def forget() -> None:
    for each in (plain_models, learned_map, surprise):
        each.cache_clear()


# --------------------------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_have_mean_zero(kind: tuple[bool, bool]) -> None:
    pairs = Pairs(5, *kind)
    every = pairs.matrices(mb.optimizers.history.every_row(mb.PermutationSpace(5)))
    np.testing.assert_allclose(every.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(4, 9), seed=st.integers(0, 99))
def test_the_gradient_of_a_map_is_that_of_its_loss(kind: tuple[bool, bool], n: int, seed: int) -> None:
    orders = mb.permutations.sample(n, 12, seed=seed)
    phi, y = Pairs(n, *kind).matrices(orders), np.random.default_rng(seed).normal(size=12)
    at = parameters(n, seed)
    steps = 1e-5 * np.eye(len(at))
    numeric = [(_evaluate(at + step, phi, y).loss - _evaluate(at - step, phi, y).loss) / 2e-5 for step in steps]
    np.testing.assert_allclose(_evaluate(at, phi, y).gradient, numeric, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_the_kernel(kind: tuple[bool, bool]) -> None:
    n = 8
    pairs, known, new = Pairs(n, *kind), mb.permutations.sample(n, 20, seed=0), mb.permutations.sample(n, 30, seed=1)
    values = 5 + 3 * np.random.default_rng(0).normal(size=20)
    at = parameters(n)
    model = Embedded.of(pairs, known, values, at)
    share = 1 / (1 + np.exp(-at[-2]))
    z = at[:-2].reshape(n, 2)
    alike = (1 - share) * np.eye(n) + share * np.exp(-0.5 * ((z[:, None] - z) ** 2).sum(axis=2))

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.einsum("aij,ik,bkl,lj->ab", pairs.matrices(a), alike, pairs.matrices(b), alike)

    plain = kernel(known, known)
    covariance = plain + (np.exp(at[-1]) + 1e-7) * np.trace(plain) / 20 * np.eye(20)
    inverse, ones = np.linalg.inv(covariance), np.ones(20)
    y = (values - values.mean()) / values.std(ddof=1)
    mean = ones @ inverse @ y / (ones @ inverse @ ones)
    variance = (y - mean) @ inverse @ (y - mean) / 20
    cross = kernel(new, known)
    expected = mean + cross @ inverse @ (y - mean)
    spread = variance * (np.diag(kernel(new, new)) - np.einsum("ij,jk,ik->i", cross, inverse, cross))
    found = model.predict_standardised(new)
    np.testing.assert_allclose(found[0], expected, atol=1e-4)
    np.testing.assert_allclose(found[1], np.sqrt(spread), atol=1e-3)
    seen = model.with_points(new[:3])
    assert (seen.predict_standardised(new[:3])[1] < found[1][:3]).all()


def test_a_map_shows_where_cities_are() -> None:
    """Learned from the lengths of random tours alone: near cities come to lie near each other."""
    problem = mb.problems.get("tsp:random(n=12,seed=5)")
    orders = mb.permutations.sample(12, 200, seed=0)
    values = problem.evaluate_rows(orders)
    y = (values - values.mean()) / values.std()
    _, found = fit_map(Pairs(12, False, True), orders, y, parameters(12), steps=200, share=2.0)
    places = found[:-2].reshape(12, 2)
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    above = np.triu_indices(12, 1)
    assert np.corrcoef(apart[above], problem.distances[above])[0, 1] > 0.5


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
    models = dict(zip(FAMILIES, plain_models(past(problem, 80), tuple(FAMILIES)), strict=True))
    assert min(models, key=lambda name: models[name].loss) in families


CHOICES = mb.Space(route=mb.Permutation(6), picks=mb.Binary(8))


@pytest.mark.parametrize("bent", [False, True])
def test_values_are_seen_through_a_logarithm_where_that_is_likelier(bent: bool) -> None:
    rows = CHOICES.spread_rows(range(60), seed=0)
    plain = rows[:, 6:].sum(axis=1) + 0.2 * mb.permutations.kendall(rows[:, :6], np.arange(6), view="rank")
    values = np.exp(1.5 * plain) if bent else plain
    for scale in (1.0, 1e-3, 1e6):
        models = plain_models(Past.of(CHOICES, rows, scale * values), ("precedence", "positions"))
        expected = logarithmic(values)[0] if bent else scale * values
        assert models[0].spread == pytest.approx(expected.std(ddof=1))
        assert models[0].y.argmin() == values.argmin()


def test_losses_of_values_and_of_warped_values_compare_densities() -> None:
    """Twice the values have half the density; a warp has its Jacobian to make up for."""
    rows = CHOICES.spread_rows(range(12), seed=0)
    values = rows[:, 6:].sum(axis=1) + np.linspace(0, 1, 12)
    known = Past.of(CHOICES, rows, values)
    losses = [auto._loss(auto._models(known, scale * values, ("positions",))) for scale in (1.0, 2.0)]
    assert losses[1] - losses[0] == pytest.approx(12 * np.log(2), abs=1e-3)


def test_large_points_with_choices() -> None:
    known = history("ttp:random(n=40,seed=1)", 12)
    row = Auto().propose(known, np.random.default_rng(0))
    assert known.space.width > auto.SMALL
    assert sorted(row[:40].tolist()) == list(range(40))
    assert set(row[40:].tolist()) <= {0, 1}
    assert row.tobytes() not in known.tried


def test_the_loss_is_what_was_minimised() -> None:
    from mergebo.surrogate.gp import negative_log_posterior

    for model in plain_models(past("lop:planted(n=9,seed=1)", 30), tuple(FAMILIES)):
        distances = model.similarity.distances(model.rows, model.rows)
        assert model.loss == pytest.approx(negative_log_posterior(model.hyperparameters.logs, distances, model.y)[0])


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
    expected = surprise(shorter, ("neighbours",), "neighbours")
    forget()
    assert surprise(longer.first(30), ("neighbours",), "neighbours") == expected


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


def test_mistakes_are_explained() -> None:
    with pytest.raises(ArgumentError, match="did you mean 'positions'"):
        Auto(families=("position",))
    space = mb.Space(order=mb.Permutation(4), heat=mb.Real(0, 1))
    rows = space.sample_rows(5, seed=0)
    known = History(space, rows, np.arange(5.0), rows[:0], rows[:0], 5)
    with pytest.raises(UnsupportedError, match="heat"):
        Auto().propose(known, np.random.default_rng(0))
