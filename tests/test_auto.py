"""The default method: structures are inferred, embeddings are correct, and caches do not change results."""

from __future__ import annotations

import gc
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo.compiled.adjacency import edge_gradients, two_opt
from mergebo.errors import MergeboError, UnsupportedError
from mergebo.gp import GP
from mergebo.hyperparameters import negative_log_posterior
from mergebo.mean import PathLengthMean, path_costs
from mergebo.methods import STRUCTURES, Auto, Dataset, EmbeddingModels, History, StructureModels
from mergebo.methods.dataset import Cache
from mergebo.methods.embedding import fit_embedding
from mergebo.methods.structures import MAX_FITTED, SMALL_WIDTH, find_structures
from mergebo.methods.tours import improve_tours
from mergebo.neighbours import MOVES, move_table
from mergebo.similarity import Adjacency, Product


def make_history(problem: str, count: int, seed: int = 0) -> History:
    made = mb.problems.get(problem)
    rows = made.space.sample_rows(count, seed=seed)
    nothing = rows[:0]
    return History(made.space, rows, made.evaluate_rows(rows), nothing, nothing, count)


def make_dataset(problem: str, count: int, seed: int = 0) -> Dataset:
    return StructureModels().dataset(make_history(problem, count, seed))


# ------------------------------------------------------------------------------------------------------------ embeddings


def lengths(orders: np.ndarray, costs: np.ndarray, cyclic: bool) -> np.ndarray:
    """Step by step."""
    steps = range(orders.shape[1] if cyclic else orders.shape[1] - 1)
    return np.array([sum(costs[order[k], order[(k + 1) % len(order)]] for k in steps) for order in orders])


@pytest.mark.slow
def test_only_cyclic_orders_get_an_embedding_although_other_structures_have_all_probability() -> None:
    """There, slot distances may imply adjacency; elsewhere, an improbable structure is not worth the time."""
    tours = mb.problems.get("tsp:random(n=10,seed=1)")
    for symmetry, expected in (((), False), (("cycle", "reversal"), True)):
        space = mb.PermutationSpace(10, symmetry=symmetry)
        rows = space.encode(list(tours.space.sample_rows(70, seed=0)))
        models, known = EmbeddingModels(), Dataset(space, rows, tours.evaluate_rows(rows))
        found = models.structures.weigh(known)
        without = {name: (model, 0.0 if STRUCTURES[name].embeddable else 1.0) for name, (model, _) in found.items()}
        assert models.select(known, found) is not None
        assert (models.select(known, without) is not None) is expected


@given(n=st.integers(2, 9), seed=st.integers(0, 99), cyclic=st.booleans(), ends=st.sampled_from([1, 2]))
def test_path_lengths_are_sums_over_steps(n: int, seed: int, cyclic: bool, ends: int) -> None:
    coordinates = np.random.default_rng(seed).normal(size=(ends, n, 2))
    mean, orders = PathLengthMean(coordinates, cyclic), mb.permutations.sample(n, 5, seed=seed)
    np.testing.assert_allclose(mean.costs, np.linalg.norm(coordinates[0][:, None] - coordinates[-1], axis=2), atol=1e-3)
    np.testing.assert_allclose(mean.value(orders), lengths(orders, mean.costs, cyclic))
    for move in MOVES:
        around = orders[0][move_table(n, move)]
        expected = lengths(around, mean.costs, cyclic) - lengths(orders[:1], mean.costs, cyclic)
        np.testing.assert_allclose(mean.changes(orders[0], "order", move), expected, atol=1e-9)


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
    (first,), (last,) = lengths(before[None], costs, cyclic), lengths(order[None], costs, cyclic)
    assert last <= first + 1e-9
    if n > 3:
        for move in ("insertion",) if directed else ("insertion", "reversal"):
            around = order[move_table(n, move)]
            assert len(around) == 0 or lengths(around, costs, cyclic).min() >= last - 1e-8


@pytest.mark.parametrize("directed", [False, True])
def test_an_embedding_recovers_the_coordinates(directed: bool) -> None:
    """From the path lengths of random orders alone, from any start."""
    n, rng = 12, np.random.default_rng(5)
    coordinates = rng.normal(size=(1 + directed, n, 2))
    orders = mb.permutations.sample(n, 200, seed=0)
    truth = PathLengthMean(coordinates, True)
    y = truth.value(orders) - truth.value(orders).mean()
    y /= y.std()
    for seed in range(3):
        found = np.random.default_rng(seed).normal(size=coordinates.shape)
        for share in (0.3, 0.1, 0.02):
            found = fit_embedding(orders, y, np.eye(200) / share, found, variance=1 - share, cyclic=True, steps=200)
        apart = np.triu_indices(n, 1)
        assert np.corrcoef(path_costs(found)[apart], truth.costs[apart])[0, 1] > 0.95


def test_a_model_with_a_mean_function_models_the_residual() -> None:
    n = 9
    coordinates, orders = np.random.default_rng(0).normal(size=(1, n, 2)), mb.permutations.sample(n, 40, seed=0)
    known, new = orders[:30], orders[30:]
    similarity = Product.of(mb.PermutationSpace(n), lambda n: Adjacency(n, cyclic=True))
    values = np.random.default_rng(1).normal(size=30)
    mean_function = PathLengthMean(coordinates, True)
    plain = GP(similarity, known, values)
    hyperparameters, scaling = plain.hyperparameters, (plain.y_mean, plain.y_std)
    model = GP(similarity, known, values, hyperparameters=hyperparameters, mean_function=mean_function)
    residual = plain.y_mean + plain.y_std * (plain.y - mean_function.value(known))
    other = GP(similarity, known, residual, hyperparameters=hyperparameters, scaling=scaling)
    mean, deviation = other.predict_standardised(new)
    np.testing.assert_allclose(model.predict_standardised(new)[0], mean + mean_function.value(new))
    np.testing.assert_allclose(model.predict_standardised(new)[1], deviation)
    for move in MOVES:
        around = new[0][move_table(n, move)]
        np.testing.assert_allclose(model.scan(new[0], "order", move)[0], model.predict_standardised(around)[0], atol=1e-4)
    fantasy = model.fantasize(new[:3])
    assert (fantasy.y_mean, fantasy.y_std) == scaling
    np.testing.assert_allclose(fantasy.predict(new)[0], model.predict(new)[0], atol=1e-6)
    assert (fantasy.predict(new[:3])[1] < model.predict(new[:3])[1]).all()
    with pytest.raises(UnsupportedError, match="mean function"):
        model.to_botorch()


# ----------------------------------------------------------------------------------------------------------- the method


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "structure"),
    [
        ("tsp:random(n=12,seed=1)", "adjacency"),
        ("lop:planted(n=12,seed=1)", "precedence"),
        ("cells:random(n=12,seed=1)", "slot-distances"),
    ],
)
def test_the_most_probable_structure_is_that_of_the_problem(problem: str, structure: str) -> None:
    found = StructureModels().weigh(make_dataset(problem, 80))
    assert max(found, key=lambda name: found[name][1]) == structure
    assert sum(weight for _, weight in found.values()) == pytest.approx(1)


@pytest.mark.slow
@given(columns=st.integers(2, 4))
def test_grids_are_recognised(columns: int) -> None:
    """The value is a sum of flows times distances on a grid; slots are numbered row by row."""
    n, rng = 12, np.random.default_rng(columns)
    position = np.stack(np.divmod(np.arange(n), columns), axis=1)
    slot_distances, flows = np.abs(position[:, None] - position).sum(axis=2), rng.random((n, n))
    rows = mb.permutations.sample(n, 96, seed=columns)
    ranks = mb.permutations.invert(rows)
    values = np.array([(flows * slot_distances[np.ix_(rank, rank)]).sum() for rank in ranks])
    known = Dataset(mb.PermutationSpace(n), rows, values)
    assert StructureModels().variant(known, STRUCTURES["slot-distances"]) == columns - 1


def test_large_points_with_binary_choices() -> None:
    known = make_history("ttp:random(n=40,seed=1)", 12)
    row = Auto().propose(known, np.random.default_rng(0))
    assert known.space.width > SMALL_WIDTH
    assert sorted(row[:40].tolist()) == list(range(40))
    assert set(row[40:].tolist()) <= {0, 1}
    assert row.tobytes() not in known.tried


@pytest.mark.parametrize("structure", ["adjacency", "directed-adjacency", "precedence"])
def test_improved_tours_have_better_posterior_means(structure: str) -> None:
    known = make_dataset("ttp:random(n=12,seed=2)", 40)
    model = StructureModels().model(known, STRUCTURES[structure])
    rows = known.space.sample_rows(20, seed=1)
    found = improve_tours(model, rows)
    np.testing.assert_array_equal(found[:, 12:], rows[:, 12:])
    np.testing.assert_array_equal(np.sort(found[:, :12], axis=1), np.tile(np.arange(12), (20, 1)))
    before, after = (model.predict(each)[0] for each in (rows, found))
    if structure == "precedence":
        np.testing.assert_array_equal(found, rows)
    else:
        assert after.mean() < before.mean()
        assert (after < before + 1e-9).mean() > 0.8


@pytest.mark.slow
def test_the_negative_log_posterior_is_what_was_minimised() -> None:
    for problem in ("lop:planted(n=9,seed=1)", "ttp:random(n=9,seed=1)"):  # of one variable and of two: their priors differ
        for model, _ in StructureModels().weigh(make_dataset(problem, 30)).values():
            distances, logs = model.similarity.distances(model.rows, model.rows), model.hyperparameters.logs
            assert model.neg_log_posterior == pytest.approx(
                negative_log_posterior(logs, distances, model.y, priors=model.priors)[0]
            )


@pytest.mark.slow
def test_proposals_do_not_depend_on_caches() -> None:
    known = make_history("tsp:random(n=10,seed=3)", 32)

    def proposal(history: History) -> list[int]:
        found: list[int] = Auto().propose(history, np.random.default_rng(1)).tolist()
        return found

    first = proposal(known)
    assert proposal(known) == first
    assert proposal(replace(known, cache=Cache())) == first


@pytest.mark.slow
def test_caches_belong_to_the_optimizer_and_are_freed_with_it() -> None:
    problem = mb.problems.get("tsp:random(n=8,seed=3)")
    optimizer = mb.minimize(problem.evaluate, problem.space, budget=12, initial=8).optimizer
    gc.collect()
    before = sum(type(each) is GP for each in gc.get_objects())
    assert before > 0
    del optimizer
    gc.collect()
    assert not any(type(each) is GP for each in gc.get_objects())


def test_one_step_ahead_errors_do_not_depend_on_later_observations() -> None:
    longer, shorter = (make_dataset("tsp:random(n=10,seed=3)", count) for count in (34, 30))
    adjacency = STRUCTURES["adjacency"]
    expected = EmbeddingModels().error(shorter, adjacency, 0.9)
    assert EmbeddingModels().error(longer.first(30), adjacency, 0.9) == expected


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, MAX_FITTED + 5])
def test_many_results_and_many_items(count: int) -> None:
    for n in (7, SMALL_WIDTH + 10):
        known = make_history(f"lop:planted(n={n},seed=1)", count)
        row = Auto().propose(known, np.random.default_rng(0))
        assert sorted(row.tolist()) == list(range(n))
        assert row.tobytes() not in known.tried


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.0, 1e-12, 1e12])
def test_degenerate_values(scale: float) -> None:
    known = make_history("tsp:random(n=8,seed=1)", 30)
    flat = History(known.space, known.rows, scale * known.values, known.failed, known.pending, 30)
    assert sorted(Auto().propose(flat, np.random.default_rng(0)).tolist()) == list(range(8))


@pytest.mark.slow
def test_batches_with_an_embedding() -> None:
    problem = mb.problems.get("tsp:random(n=9,seed=1)")
    optimizer = mb.Optimizer(problem.space, "auto", seed=0, initial=30)
    for trial in optimizer.ask(34):
        optimizer.tell(trial, float(problem.evaluate(trial.point)))
    points = [tuple(trial.point) for trial in optimizer.ask(4)]
    assert len(set(points)) == 4


def test_slow_structures_are_used_if_there_are_no_others() -> None:
    known = make_dataset(f"lop:planted(n={SMALL_WIDTH + 1},seed=1)", 12)
    for names, expected in ((["slot-distances"], "slot-distances"), (["positions", "slot-distances"], "positions")):
        assert list(StructureModels(find_structures(names)).weigh(known)) == [expected]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"structures": ("position",)}, "did you mean 'positions'"),
        ({"structures": "positions"}, "structures are a list such as .*, got 'positions'"),
        ({"structures": ()}, "structures are a list"),
        ({"moves": ("swp",)}, "did you mean 'swap'"),
        ({"moves": "swap"}, "moves are a list such as .*, got 'swap'"),
        ({"incumbents": -1}, "incumbents must be a number of starts of the search, at least 0, got -1"),
        ({"incumbents": 0, "random_starts": 0}, "at least one start"),
        ({"acquisition": "loegi"}, "did you mean 'logei'"),
        ({"acquisition": 3}, "a name such as 'logei' or an object, got 3"),
        ({"batch": "laws"}, "did you mean 'law'"),
    ],
)
def test_mistakes_are_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MergeboError, match=message):
        Auto(**settings)


def test_methods_can_be_pickled_and_compared() -> None:
    auto = Auto(embedding=False)
    auto.bayesian()
    assert pickle.loads(pickle.dumps(auto)) == auto == Auto(embedding=False) != Auto()
    assert repr(auto.bayesian().model).startswith("StructureModels(structures=(Structure('precedence'), ")
