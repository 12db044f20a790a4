"""Item embeddings: their coordinates, where they are used, and their errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mergebo as mb
from mergebo.mean import PathLengthMean, path_costs
from mergebo.methods import STRUCTURES, Dataset, EmbeddingModels
from mergebo.methods.embedding import fit_embedding
from method_helpers import make_dataset


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


@pytest.mark.slow
def test_an_order_that_is_the_only_variable_of_a_space_has_an_embedding() -> None:
    """As studies of the command line have it: the same model as of a `PermutationSpace`."""
    known = make_dataset("tsp:random(n=10,seed=1)", 70)
    named = replace(known, space=mb.Space(route=mb.Permutation(10)))
    models = [EmbeddingModels().select(each, EmbeddingModels().structures.weigh(each)) for each in (known, named)]
    means = [model.predict(known.rows[:5])[0] for model in models if model is not None]
    assert len(means) == 2
    np.testing.assert_array_equal(*means)
    mixed = replace(known, space=mb.Space(route=mb.Permutation(9), count=mb.Integer(0, 9)))
    assert EmbeddingModels().select(mixed, {}) is None


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


def test_one_step_ahead_errors_do_not_depend_on_later_observations() -> None:
    longer, shorter = (make_dataset("tsp:random(n=10,seed=3)", count) for count in (34, 30))
    adjacency = STRUCTURES["adjacency"]
    expected = EmbeddingModels().error(shorter, adjacency, 0.9)
    assert EmbeddingModels().error(longer.first(30), adjacency, 0.9) == expected


@pytest.mark.slow
def test_batches_with_an_embedding() -> None:
    problem = mb.problems.get("tsp:random(n=9,seed=1)")
    optimizer = mb.Optimizer(problem.space, "auto", seed=0, initial=30)
    for trial in optimizer.ask(34):
        optimizer.tell(trial, float(problem.evaluate(trial.point)))
    points = [tuple(trial.point) for trial in optimizer.ask(4)]
    assert len(set(points)) == 4
