"""Structures are inferred from results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo.hyperparameters import negative_log_posterior
from mergebo.methods import STRUCTURES, Dataset, StructureModels
from mergebo.methods.structures import SMALL_WIDTH, find_structures
from method_helpers import make_dataset


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


@pytest.mark.slow
def test_the_negative_log_posterior_is_what_was_minimised() -> None:
    for problem in ("lop:planted(n=9,seed=1)", "ttp:random(n=9,seed=1)"):  # of one variable and of two: their priors differ
        for model, _ in StructureModels().weigh(make_dataset(problem, 30)).values():
            distances, logs = model.similarity.distances(model.rows, model.rows), model.hyperparameters.logs
            assert model.neg_log_posterior == pytest.approx(
                negative_log_posterior(logs, distances, model.y, priors=model.priors)[0]
            )


def test_slow_structures_are_used_if_there_are_no_others() -> None:
    known = make_dataset(f"lop:planted(n={SMALL_WIDTH + 1},seed=1)", 12)
    for names, expected in ((["slot-distances"], "slot-distances"), (["positions", "slot-distances"], "positions")):
        assert list(StructureModels(find_structures(names)).weigh(known)) == [expected]
