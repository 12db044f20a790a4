"""Acquisition functions against BoTorch, and local search against brute force."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.optimize import check_grad

import mergebo as mb
from mergebo import acquisition, distances, errors
from mergebo import neighbours as moves_module
from mergebo import permutations as pm
from mergebo.acquisition import SearchLimits
from mergebo.acquisition.compound import compound_moves
from mergebo.acquisition.neighbourhood import top_k
from mergebo.gp import GP
from mergebo.methods import KernelModel, footrule_kernel, mallows_kernel, merge_kernel

SPACE = mb.PermutationSpace(8)


def model() -> GP:
    rows = SPACE.sample_rows(20, seed=0)
    values = distances.kendall(rows, np.arange(8), view="rank").astype(float)
    return GP(KernelModel(merge_kernel).similarity(SPACE), rows, values)


@pytest.mark.slow
@pytest.mark.needs_torch
@pytest.mark.filterwarnings("ignore:ExpectedImprovement has known numerical issues")  # BoTorch's advice to take LogEI
@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("ei", "ExpectedImprovement"),
        ("logei", "LogExpectedImprovement"),
        ("pi", "LogProbabilityOfImprovement"),
        ("ucb", "UpperConfidenceBound"),
    ],
)
def test_acquisition_functions_against_botorch(name: str, reference: str) -> None:
    import torch
    from botorch.acquisition import analytic

    fitted = model()
    rows = SPACE.sample_rows(60, seed=1)
    best = float(fitted.y.min())
    settings = {"beta": 4.0} if name == "ucb" else {"best_f": best}
    function = getattr(analytic, reference)(fitted.to_botorch().eval(), maximize=False, **settings)
    with torch.no_grad():
        expected = function(torch.from_numpy(rows.astype(float)).unsqueeze(1)).numpy()
    value = acquisition.ACQUISITIONS[name].value(*fitted.predict_standardised(rows), best)
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-8)
    assert value.argmax() == expected.argmax()


def test_log_ei_is_the_logarithm_and_accurate_where_ei_underflows() -> None:
    mean = np.linspace(-3, 30, 200)
    deviation = np.ones_like(mean)
    ei = acquisition.ExpectedImprovement().value(mean, deviation, 0.0)
    log_ei = acquisition.LogExpectedImprovement().value(mean, deviation, 0.0)
    near = mean < 20
    np.testing.assert_allclose(log_ei[near], np.log(ei[near]), rtol=1e-6)
    far = acquisition.LogExpectedImprovement().value(np.array([50.0, 1e3, 1e5, 1e8]), np.ones(4), 0.0)
    assert np.isfinite(far).all()
    assert (np.diff(far) < 0).all()
    assert far[1] == pytest.approx(-0.5e6 - 0.5 * np.log(2 * np.pi) - 2 * np.log(1e3), rel=1e-9)


def test_neighbours_of_mixed_points() -> None:
    space = mb.Space(route=mb.Permutation(4), picks=mb.Binary(3))
    row = space.sample_rows(seed=0)
    around = acquisition.neighbours(row, space)
    assert len(around) == 6 + 3
    assert len({tuple(r) for r in around}) == 9
    space.encode([space.decode(r) for r in around])
    assert ((around != row).sum(axis=1) == [2] * 6 + [1] * 3).all()


@pytest.mark.parametrize("device", [None, pytest.param("cpu", marks=pytest.mark.needs_torch)])
def test_a_single_point_has_no_neighbours(device: str | None) -> None:
    space = mb.PermutationSpace(1)
    fitted = GP(KernelModel(merge_kernel).similarity(space), np.zeros((1, 1), int), np.array([1.0]))
    scan = None if device is None else mb.kernels.DeviceScan(fitted, device)
    landscape = acquisition.AcquisitionNeighbourhood(fitted, acquisition.ExpectedImprovement(), 0.0, scanner=scan)
    assert landscape.scan(np.array([0]), "order", "swap").shape == (0,)
    assert [each.shape for each in (scan or fitted).scan(np.array([0]), "order", "swap")] == [(0,), (0,)]
    assert landscape.best_neighbours(np.array([0]), 5).shape == (0, 1)
    assert landscape.best_neighbours(np.array([0]), 5).dtype == int
    rows, values = acquisition.local_search(landscape, np.array([[0]]))
    assert (rows.tolist(), values.shape) == ([[0]], (1,))
    around = acquisition.neighbours(np.array([0]), space, ())
    assert (around.shape, around.dtype) == ((0, 1), int)


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

    @pytest.mark.slow
    @pytest.mark.parametrize("n", [7, 55])
    def test_by_name(self, n: int) -> None:
        space = mb.PermutationSpace(n)
        runs = []
        for _ in range(2):
            result = mb.minimize(
                lambda order: float(distances.footrule(order, np.arange(n))),
                space,
                budget=14,
                initial=8,
                method="bops-h",
                ascent="first",
            )
            assert len({tuple(trial.point) for trial in result.trials}) == 14
            runs.append([trial.point.tolist() for trial in result.trials])
        assert runs[0] == runs[1]
        with pytest.raises(errors.ArgumentError, match="did you mean 'first'"):
            mb.Optimizer(space, "bops-h", ascent="frist")


def test_compound_moves_are_two_four_eight_disjoint_changes_that_are_feasible_together() -> None:
    def swaps(row: np.ndarray, pairs: list[tuple[int, int]]):
        return ((1 << a | 1 << b, partial(pm.swap, row, a, b)) for a, b in pairs)

    row = np.arange(12)
    pairs = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 9), (6, 7), (8, 9), (10, 11)]  # the second and the fifth overlap others
    two, four = [1, 0, 3, 2, *range(4, 12)], [1, 0, 3, 2, 5, 4, 7, 6, *range(8, 12)]
    free = mb.PermutationSpace(12)
    assert [each.tolist() for each in compound_moves(row, swaps(row, pairs), free)] == [two, four]
    assert row.tolist() == list(range(12))
    constrained = mb.PermutationSpace(12, before=[(2, 3)])  # the third swap would violate it
    assert [each.tolist() for each in compound_moves(row, swaps(row, pairs), constrained)] == [
        [1, 0, 2, 3, 5, 4, *range(6, 12)],
        [1, 0, 2, 3, 5, 4, 7, 6, 9, 8, 10, 11],
    ]


@pytest.mark.parametrize("moves", [("swap",), ("swap", "insertion", "reversal")])
def test_the_best_disjoint_moves_are_made_together(moves: tuple[str, ...]) -> None:
    """Against a slow oracle: all moves, best first, each made unless it changes an entry that was changed before."""
    n = 55
    space = mb.PermutationSpace(n)
    rows = space.sample_rows(15, seed=0)
    values = distances.kendall(rows, np.arange(n), view="rank").astype(float)
    fitted = GP(KernelModel(mallows_kernel).similarity(space), rows, values)
    landscape = acquisition.AcquisitionNeighbourhood(
        fitted, acquisition.LogExpectedImprovement(), float(fitted.y.min()), moves
    )
    row = rows[3]
    around = np.concatenate([row[moves_module.move_table(n, kind)] for kind in moves])
    scanned = np.concatenate([landscape.scan(row, "order", kind) for kind in moves])
    slots = np.concatenate([moves_module.move_slots(n, kind) for kind in moves])
    swaps = np.repeat([kind == "swap" for kind in moves], [len(moves_module.move_slots(n, kind)) for kind in moves])
    made, used, expected, count = row.copy(), set(), [], 0
    for k in np.argsort(-np.round(scanned, 4), kind="stable")[: 8 * n]:
        low, high = slots[k].min(), slots[k].max()
        changed = {low, high} if swaps[k] else set(range(low, high + 1))
        if used & changed:
            continue
        used |= changed
        made[list(changed)] = around[k][list(changed)]
        count += 1
        if count in (2, 4, 8, 16, 32):
            expected.append(made.tolist())
    assert len(expected) >= 2
    assert landscape.best_neighbours(row, 5)[-len(expected) :].tolist() == expected


def test_every_variable_is_moved_whatever_its_column() -> None:
    space = mb.Space(dose=mb.Integer(1, 9), picks=mb.Binary(3), route=mb.Permutation(4), salt=mb.Choice(["Na", "K"]))
    rows = space.sample_rows(12, seed=0)
    fitted = GP(KernelModel(merge_kernel).similarity(space), rows, rows[:, 0] + rows[:, 4] + 0.1 * rows[:, 1])
    landscape = acquisition.AcquisitionNeighbourhood(fitted, acquisition.LogExpectedImprovement(), 0.0)
    around = landscape.best_neighbours(rows[0], 3)
    moved = {name for name, where in space.slices.items() if (around[:, where] != rows[0, where]).any()}
    assert moved == set(space.variables)


def test_the_top_k_include_indistinguishable_values() -> None:
    values = np.array([0.0, 2.0, 1.0, 0.9995, -np.inf, 1.0, 0.5, -np.inf])
    assert top_k(values, 2).tolist() == [1, 2, 3, 5]
    assert top_k(values, 8).tolist() == [0, 1, 2, 3, 5, 6]
    assert top_k(np.full(3, -np.inf), 2).tolist() == []


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


@pytest.mark.parametrize("moves", [(), ("swap",), ("swap", "insertion", "reversal")])
def test_random_neighbours_are_neighbours(moves: tuple[str, ...]) -> None:
    """Each at most once; all of them if at least as many are requested."""
    space = mb.Space(route=mb.Permutation(5), picks=mb.Binary(3))
    row = space.sample_rows(seed=0)
    every = {tuple(each) for each in acquisition.neighbours(row, space, moves)}
    sampled = moves_module.random_neighbours(row, space, moves, 1000, np.random.default_rng(0))
    assert len(sampled) == sum(len(each) for each in moves_module.neighbourhoods(row, space, moves))
    assert {tuple(each) for each in sampled} == every
    few = moves_module.random_neighbours(row, space, moves, 3, np.random.default_rng(1))
    assert 3 <= len(few) <= 3 + len(moves)
    assert {tuple(each) for each in few} <= every
    single = mb.PermutationSpace(1)
    assert moves_module.random_neighbours(np.array([0]), single, moves, 5, np.random.default_rng(0)).shape == (0, 1)


def test_rank_view_kernels_are_invariant_to_relabelling() -> None:
    """The model of precedence predicts the same after relabelling the items; the Merge model does not."""
    rows = SPACE.sample_rows(20, seed=0)
    values = distances.kendall(rows, np.arange(8), view="rank").astype(float)
    labels = pm.sample(8, seed=5)
    test = SPACE.sample_rows(10, seed=6)
    for orders, same in ((mallows_kernel, True), (merge_kernel, False)):
        similarity = KernelModel(orders).similarity(SPACE)
        before = GP(similarity, rows, values).predict(test)[0]
        after = GP(similarity, labels[rows], values).predict(labels[test])[0]
        assert np.allclose(before, after, rtol=1e-4) is same


class TestRelaxation:
    @pytest.mark.parametrize(
        "space",
        [
            SPACE,
            mb.Space(route=mb.Permutation(6), picks=mb.Binary(5)),
            mb.Space(route=mb.Permutation(5), picks=mb.Binary(3), second=mb.Permutation(4), more=mb.Binary(2)),
        ],
        ids=["orders", "mixed", "several of each"],
    )
    @pytest.mark.parametrize("orders", [merge_kernel, mallows_kernel])
    def test_codes_have_the_acquisition_value_and_gradients_are_right(self, space, orders) -> None:
        rows = space.sample_rows(15, seed=0)
        values = rows[:, 0] + 0.1 * rows[:, -1]
        fitted = GP(KernelModel(orders).similarity(space), rows, values)
        relaxed = acquisition.Relaxation(fitted, float(fitted.y.min()))
        codes = relaxed.features(rows)
        test = space.sample_rows(5, seed=3)
        corners = np.concatenate(relaxed.features(test), axis=1)
        expected = acquisition.LogExpectedImprovement().value(*fitted.predict_standardised(test), relaxed.best)
        np.testing.assert_allclose([-relaxed.value(corner, codes)[0] for corner in corners], expected, rtol=1e-6)
        for inside in np.random.default_rng(0).uniform(0, 1, corners.shape)[:2]:
            error = check_grad(lambda v: relaxed.value(v, codes)[0], lambda v: relaxed.value(v, codes)[1], inside)
            assert error < 1e-4
        np.testing.assert_array_equal([relaxed.project(corner) for corner in corners], test)
        ends = relaxed.maximise(test, steps=5)
        space.encode([space.decode(row) for row in ends] if isinstance(space, mb.Space) else ends)

    def test_searches_stay_within_the_cube_of_features(self) -> None:
        reached = []

        class Recording(acquisition.Relaxation):
            def project(self, features):
                reached.append(features)
                return super().project(features)

        fitted = model()
        ends = Recording(fitted, float(fitted.y.min())).maximise(SPACE.sample_rows(4, seed=1), steps=50)
        assert len(reached) == len(ends) == 4
        assert 0 <= np.min(reached) < np.max(reached) <= 1
        after_many = np.array(reached)
        reached.clear()
        Recording(fitted, float(fitted.y.min())).maximise(SPACE.sample_rows(4, seed=1), steps=1)
        assert (np.array(reached) != after_many).any(axis=1).all()  # one step does not reach the optimum

    def test_needs_codes_that_decode(self) -> None:
        rows = SPACE.sample_rows(5, seed=0)
        fitted = GP(KernelModel(footrule_kernel).similarity(SPACE), rows, rows[:, 0].astype(float))
        with pytest.raises(errors.UnsupportedError, match="codes that can be decoded"):
            acquisition.Relaxation(fitted, 0.0)

    @pytest.mark.slow
    def test_as_a_search(self) -> None:
        problem = mb.problems.get("lop:planted(n=9,seed=1,noise=0.0)").relabelled(3)
        ends = {
            name: np.mean(
                [mb.minimize(problem.evaluate, problem.space, budget=45, seed=s, **options).best.value for s in range(4)]
            )
            for name, options in {
                "relaxed": {"method": "mergebo", "search": "relaxation"},
                "random": {"method": "random"},
            }.items()
        }
        assert ends["relaxed"] < ends["random"]
        with pytest.raises(errors.ArgumentError, match="did you mean 'relaxation'"):
            mb.Optimizer(SPACE, "mergebo", search="relaxtion")
        with pytest.raises(errors.ArgumentError, match="maximises logei, not ei"):
            mb.Optimizer(SPACE, "mergebo", search="relaxation", acquisition="ei")
