"""Batches: strategies, and methods that propose them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo import errors
from mergebo.gp import GP
from mergebo.methods import Auto, BatchMethod
from mergebo.methods.batch import acquisition_weights, greedy_determinant, law_batch
from mergebo.neighbours import MOVES, move_table
from mergebo.similarity import Positions, Product
from optimizer_helpers import MIXED, drive, objective, through_json, tried_rows

BATCHES = ("fantasies", "thompson", "law")


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("method", ["auto", "bops-h"])
class TestBatchStrategies:
    @pytest.mark.slow
    @pytest.mark.parametrize("space", [mb.PermutationSpace(7), MIXED], ids=["orders", "mixed"])
    def test_distinct_points_late_observations_and_exact_states(self, method: str, batch: str, space) -> None:
        optimizer = mb.Optimizer(space, method, seed=2, initial=6, batch=batch)
        drive(optimizer, 8)
        first = optimizer.ask(4)
        second = optimizer.ask(3)
        loaded = through_json(optimizer)
        for each in (optimizer, loaded):
            each.tell(second[2].id, objective(second[2].point))
            each.fail(first[1].id)
            each.tell(first[3].id, objective(first[3].point))
            each.ask(2)
        assert loaded.state() == optimizer.state()
        assert len(set(map(tuple, tried_rows(optimizer)))) == 17

    def test_a_batch_of_the_last_points_is_short(self, method: str, batch: str) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(3), method, initial=3, batch=batch)
        drive(optimizer, 3)
        assert len(optimizer.ask(8)) == 3
        with pytest.raises(errors.ExhaustedError, match="all 6 points"):
            optimizer.ask(2)

    @pytest.mark.slow
    def test_batches_optimise(self, method: str, batch: str) -> None:
        """Five batches of six come closer to the hidden order of 9 items than as many random points in any of 20 runs."""
        optimizer = mb.Optimizer(mb.PermutationSpace(9), method, seed=2, initial=10, batch=batch)
        for count in (10, *[6] * 5):
            for trial in optimizer.ask(count)[::-1]:
                optimizer.tell(trial, objective(trial.point))
        rows = mb.permutations.sample(9, (20, 40), seed=0)
        random = mb.distances.kendall(rows, np.arange(9), view="rank").min(axis=1)
        assert optimizer.best.value <= random.min()


def test_unknown_batch_strategies() -> None:
    for method in ("auto", "bops-h"):
        with pytest.raises(errors.ArgumentError, match="did you mean 'fantasies'"):
            mb.Optimizer(mb.PermutationSpace(4), method, batch="fantasys")
    with pytest.raises(errors.ArgumentError, match="law weights rows"):
        mb.Optimizer(mb.PermutationSpace(4), "bops-h", batch="law", acquisition="thompson")
    with pytest.raises(errors.ArgumentError, match="random has the settings"):
        mb.Optimizer(mb.PermutationSpace(4), "random", batch="law")
    assert isinstance(Auto(), BatchMethod)


class TestLaw:
    @given(size=st.integers(1, 8), count=st.integers(1, 6), seed=st.integers(0, 999))
    def test_greedy_determinant_against_determinants(self, size: int, count: int, seed: int) -> None:
        root = np.random.default_rng(seed).normal(size=(size, size + 2))
        matrix = root @ root.T
        chosen: list[int] = []
        for _ in range(min(count, size)):
            others = [k for k in range(size) if k not in chosen]
            chosen.append(max(others, key=lambda k: np.linalg.slogdet(matrix[np.ix_([*chosen, k], [*chosen, k])])[1]))
        assert greedy_determinant(matrix, count).tolist() == chosen

    def test_of_equal_rows_none_is_taken_twice(self) -> None:
        assert sorted(greedy_determinant(np.ones((4, 4)), 4).tolist()) == [0, 1, 2, 3]

    @given(st.lists(st.floats(-50, 50), min_size=1, max_size=20))
    def test_weights_grow_with_the_acquisition_value(self, values: list[float]) -> None:
        weights = acquisition_weights(np.array(values))
        assert ((weights > 0) & (weights <= 1)).all()
        assert (np.diff(weights[np.argsort(values, kind="stable")]) >= 0).all()

    def test_position_kernel_batches_are_more_diverse_than_the_best_rows(self) -> None:
        space = mb.PermutationSpace(8)
        rows = space.sample_rows(20, seed=0)
        model = GP(Product.of(space, Positions), rows, np.array([objective(row) for row in rows]))
        centre = np.arange(8)
        near = np.concatenate([centre[move_table(8, move)] for move in MOVES])
        values = -np.array([objective(row) for row in near])
        order = np.argsort(-values, kind="stable")
        batch = law_batch(model, near[order], values[order], 6)

        def diversity(orders: np.ndarray) -> float:
            return float(mb.distances.hamming.cross(orders, orders).sum())

        assert len(np.unique(batch, axis=0)) == 6
        assert diversity(batch) > diversity(near[order][:6])
