"""Local search against brute force and BoTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mergebo as mb
import mixed_space
from mergebo import acquisition, distances
from mergebo.acquisition import ACQUISITIONS, SearchLimits
from mergebo.gp import GP
from mergebo.methods import KernelModel, mallows_kernel
from mergebo.neighbours import MOVES
from model_helpers import SPACE, model


@pytest.mark.needs_torch
@pytest.mark.parametrize("moves", [("swap",), ("insertion",), ("reversal",), ("swap", "insertion", "reversal")])
def test_one_step_of_local_search_is_the_botorch_argmax(moves: tuple[str, ...]) -> None:
    """The best neighbour is the one with the largest LogEI of BoTorch."""
    import torch
    from botorch.acquisition import LogExpectedImprovement

    fitted = model()
    best = float(fitted.y.min())
    start = SPACE.sample_rows(1, seed=3)
    around = acquisition.neighbours(start[0], SPACE, moves)
    reference = LogExpectedImprovement(fitted.to_botorch().eval(), best_f=best, maximize=False)
    with torch.no_grad():
        expected = torch.cat([reference(torch.from_numpy(row.astype(float)).view(1, 1, -1)) for row in around]).numpy()

    def value(rows: np.ndarray) -> np.ndarray:
        return acquisition.LogExpectedImprovement().value(*fitted.predict_standardised(rows), best)

    for landscape in (
        acquisition.ExhaustiveNeighbourhood(value, SPACE, moves),
        acquisition.AcquisitionNeighbourhood(fitted, acquisition.LogExpectedImprovement(), best, moves),
    ):
        _, values = acquisition.local_search(landscape, start, SearchLimits(steps=1))
        assert values[0] == pytest.approx(max(expected.max(), float(value(start)[0])), rel=1e-5)


def test_local_search_ends_at_a_local_optimum_and_returns_the_best_first() -> None:
    target = np.arange(8)

    def value(rows: np.ndarray) -> np.ndarray:
        return -distances.hamming(rows, target).astype(float)

    rows, values = acquisition.local_search(acquisition.ExhaustiveNeighbourhood(value, SPACE), SPACE.sample_rows(5, seed=0))
    assert rows[0].tolist() == target.tolist()
    assert values[0] == 0
    assert (np.diff(values) <= 0).all()


@pytest.mark.parametrize("seed", [None, 0])
def test_excluded_rows_are_passed_through_but_not_returned(seed: int | None) -> None:
    target = np.arange(8)

    def value(rows: np.ndarray) -> np.ndarray:
        return -distances.hamming(rows, target).astype(float)

    rows, values = acquisition.local_search(
        acquisition.ExhaustiveNeighbourhood(value, SPACE),
        SPACE.sample_rows(5, seed=0),
        rng=None if seed is None else np.random.default_rng(seed),
        exclude=lambda rows: (rows == target).all(axis=1),
    )
    assert values[0] == -2
    assert not (rows == target).all(axis=1).any()


class TestFirstImprovement:
    @pytest.mark.parametrize("moves", [("swap",), ("insertion", "reversal")])
    @pytest.mark.parametrize("count", [1, 5, 1000])
    def test_ends_at_a_local_optimum(self, moves: tuple[str, ...], count: int) -> None:
        """Of the whole neighbourhood, for any function, however few neighbours are sampled first."""
        space = mb.Space(route=mb.Permutation(7), picks=mb.Binary(3))
        weights = np.random.default_rng(1).normal(size=(10, 10))

        def value(rows: np.ndarray) -> np.ndarray:
            return np.sin(rows @ weights).sum(axis=1)

        landscape = acquisition.ExhaustiveNeighbourhood(value, space, moves)
        for seed in range(5):
            rows, values = acquisition.local_search(
                landscape,
                space.sample_rows(1, seed=seed),
                SearchLimits(steps=10_000),
                rng=np.random.default_rng(seed),
                sampled_neighbours=count,
            )
            assert values[0] >= np.round(value(acquisition.neighbours(rows[0], space, moves)).max(), 7)
            assert values[0] == pytest.approx(value(rows[:1])[0], abs=1e-6)

    @pytest.mark.parametrize("most", [0, 1, 3])
    def test_full_scans_are_limited(self, most: int) -> None:
        """Random neighbours alone improve the value, too."""
        space = mb.Space(route=mb.Permutation(30), picks=mb.Binary(40))

        def value(rows: np.ndarray) -> np.ndarray:
            return -distances.hamming(rows[:, :30], np.arange(30)) - rows[:, 30:].sum(axis=1).astype(float)

        scans = []

        class Counted(acquisition.ExhaustiveNeighbourhood):
            def best_neighbours(self, row, count):
                scans.append(row)
                return super().best_neighbours(row, count)

        landscape = Counted(value, space, ("swap", "insertion", "reversal"))
        start = space.sample_rows(1, seed=0)
        limits, rng = SearchLimits(steps=1000, max_full_scans=most), np.random.default_rng(0)
        rows, values = acquisition.local_search(landscape, start, limits, rng=rng)
        assert len(scans) <= most
        assert values[0] > value(start)[0] + 20
        assert values[0] == value(rows[:1])[0]
        optimum = np.concatenate([np.arange(30), np.zeros(40, int)])
        assert acquisition.local_search(landscape, optimum[None], limits, rng=rng)[0][0].tolist() == optimum.tolist()

    def test_the_same_seed_gives_the_same_search(self) -> None:
        landscape = acquisition.AcquisitionNeighbourhood(model(), acquisition.LogExpectedImprovement(), -1.0)
        starts = SPACE.sample_rows(3, seed=1)
        found = [
            acquisition.local_search(landscape, starts, rng=np.random.default_rng(seed), sampled_neighbours=5)[0]
            for seed in (0, 0, 1)
        ]
        np.testing.assert_array_equal(found[0], found[1])
        assert found[0].shape != found[2].shape or (found[0] != found[2]).any()

    @pytest.mark.slow
    def test_is_as_good_as_steepest_ascent_with_far_fewer_scans(self) -> None:
        space = mb.PermutationSpace(150)
        problem = mb.problems.get("tsp:random", n=150)
        rows = space.sample_rows(40, seed=0)
        fitted = GP(KernelModel(mallows_kernel).similarity(space), rows, problem.evaluate(rows))
        scans = []

        class Counted(acquisition.AcquisitionNeighbourhood):
            def scan(self, row, variable, move):
                scans.append(row)
                return super().scan(row, variable, move)

        landscape = Counted(fitted, acquisition.LogExpectedImprovement(), float(fitted.y.min()))
        starts = np.concatenate([rows[[fitted.y.argmin()]], space.sample_rows(3, seed=2)])
        _, steepest = acquisition.local_search(landscape, starts, SearchLimits(screening_steps=3))
        most = len(scans)
        found, first = acquisition.local_search(
            landscape, starts, SearchLimits(screening_steps=3, min_improvement=1e-3), rng=np.random.default_rng(0)
        )
        assert first[0] >= steepest[0] - 0.05
        assert len(scans) - most < most / 2
        assert (np.sort(found, axis=1) == np.arange(150)).all()


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_search_ends_when_it_improves_too_little(scale: float) -> None:
    """The threshold is relative to the value."""
    space = mb.PermutationSpace(30)

    def value(rows: np.ndarray) -> np.ndarray:
        return scale * (1 - 1e-5 * distances.hamming(rows, np.arange(30)))

    landscape = acquisition.ExhaustiveNeighbourhood(value, space)
    start = np.arange(30)[::-1][None].copy()
    assert acquisition.local_search(landscape, start)[1][0] == scale
    short = acquisition.local_search(landscape, start, SearchLimits(min_improvement=1e-3))[1][0]
    assert value(start)[0] < short < scale
    assert acquisition.local_search(landscape, start, SearchLimits(min_improvement=1.5e-4))[1][0] == scale


def test_of_equal_values_the_first_visited_comes_first() -> None:
    space = mb.PermutationSpace(8)
    starts = space.sample_rows(300, seed=0)
    value = starts[:, 0] % 2
    rows, values = acquisition.local_search(
        acquisition.ExhaustiveNeighbourhood(lambda rows: rows[:, 0] % 2.0, space), starts, SearchLimits(steps=0)
    )
    assert (np.diff(values) <= 0).all()
    np.testing.assert_array_equal(rows, np.concatenate([starts[value == 1], starts[value == 0]]))


def test_the_number_of_full_scans_per_search() -> None:
    space = mb.PermutationSpace(9)
    scanned = []

    class Counted(acquisition.ExhaustiveNeighbourhood):
        def best_neighbours(self, row, count):
            scanned.append(row)
            return super().best_neighbours(row, count)

        def random_neighbours(self, row, count, rng):
            return row[None][:0]  # never a better one

    landscape = Counted(lambda rows: -distances.hamming(rows, np.arange(9)).astype(float), space)
    for count in (0, 1, 2):
        scanned.clear()
        acquisition.local_search(
            landscape,
            np.arange(9)[None, ::-1].copy(),
            SearchLimits(max_full_scans=count),
            rng=np.random.default_rng(0),
        )
        assert len(scanned) == count


@pytest.mark.parametrize("seed", [None, 0])
def test_a_local_search_ends_where_neither_moves_nor_continuous_steps_improve(seed: int | None) -> None:
    fitted = mixed_space.model()
    landscape = acquisition.AcquisitionNeighbourhood(fitted, ACQUISITIONS["logei"], float(fitted.y.min()), tuple(MOVES))
    rows, values = acquisition.local_search(
        landscape, mixed_space.MIXED.sample_rows(2, seed=0), rng=None if seed is None else np.random.default_rng(seed)
    )
    assert values[0] >= landscape.value(acquisition.neighbours(rows[0], mixed_space.MIXED, tuple(MOVES))).max() - 1e-6
    assert values[0] >= landscape.value(landscape.continuous_step(rows[0])[None])[0] - 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "options",
    [{"window": {3: (10, 30)}}, {"apart": [(1, 2), (2, 3)], "adjacent": [(4, 5), (5, 6)]}, {"symmetry": "cycle"}],
)
def test_large_local_search_with_compound_moves(options: dict[str, Any], first: bool) -> None:
    n = 60
    if "symmetry" not in options:
        options = {**options, "before": [(k, k + 7) for k in range(20, 50)]}
    space = mb.PermutationSpace(n, **options)
    rows = space.sample_rows(12, seed=1)
    values = mb.problems.get("tsp:random", n=n).evaluate_rows(rows)
    model = GP(KernelModel(mallows_kernel).similarity(space), rows, values)
    neighbourhood = acquisition.AcquisitionNeighbourhood(
        model, acquisition.LogExpectedImprovement(), float(model.y.min()), tuple(MOVES)
    )
    rng = np.random.default_rng(0) if first else None
    visited, found = acquisition.local_search(neighbourhood, rows[:2], acquisition.SearchLimits(steps=12), rng=rng)
    np.testing.assert_array_equal(space.feasible_rows(visited), visited)
    assert found[0] > neighbourhood.value(rows[:2]).max()
