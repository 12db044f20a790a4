"""The loop: batches, workers, noise, prior knowledge and several objectives."""

from __future__ import annotations

import itertools
import json
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mergebo as mb
from mergebo import errors
from mergebo.methods import Dataset, History, StructureModels
from mergebo.pareto import AUGMENTATION, chebyshev_scalarise, hypervolume, non_dominated, reference_point

BATCHES = ("fantasies", "thompson", "law")
MIXED = mb.Space(route=mb.Permutation(5), picks=mb.Binary(4))


def objective(point) -> float:
    """The distance of an order from 0, 1, 2 ..., and the number of ones."""
    if isinstance(point, dict):
        return float(mb.distances.kendall(point["route"], np.arange(5), view="rank") + 2 * np.sum(point["picks"]))
    return float(mb.distances.kendall(point, np.arange(len(point)), view="rank"))


def both(point) -> list[float]:
    """Two conflicting objectives: the distances to an order and to its reverse."""
    n = len(point)
    return [float(mb.distances.kendall(point, goal, view="rank")) for goal in (np.arange(n), np.arange(n)[::-1])]


def drive(optimizer: mb.Optimizer, count: int) -> None:
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.point))


def keys(optimizer: mb.Optimizer) -> list[tuple]:
    return [tuple(optimizer.space.encode(trial.point).tolist()) for trial in optimizer.trials]


def through_json(optimizer: mb.Optimizer, **given) -> mb.Optimizer:
    return mb.Optimizer.from_state(json.loads(json.dumps(optimizer.state())), **given)


# -------------------------------------------------------------------------------------------------------------- batches


class Interleaving:
    """Random sequences of asks, observations and failures."""

    @staticmethod
    def steps() -> st.SearchStrategy:
        kinds = st.sampled_from(["ask", "tell", "fail", "point"])
        return st.lists(st.tuples(kinds, st.integers(1, 4), st.integers(0, 99)), min_size=3, max_size=12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("random", {}),
        ("local-search", {}),
        ("genetic", {}),
        *[("bops-h", {"batch": batch}) for batch in BATCHES],
        ("mergebo", {"acquisition": "thompson"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("space", [mb.PermutationSpace(4), MIXED], ids=["orders", "mixed"])
@settings(max_examples=8)
@given(steps=Interleaving.steps(), seed=st.integers(0, 9))
def test_any_interleaving(method: str, options: dict, space, steps, seed: int) -> None:
    """No point is proposed twice, no observation is lost, the best is right, and a restored state continues the same."""
    optimizer = mb.Optimizer(space, method, seed=seed, initial=3, **options)
    observed: dict[tuple, float] = {}
    failed: set[tuple] = set()
    for kind, count, which in steps:
        pending = [trial for trial in optimizer.trials if trial.state == "pending"]
        if kind == "ask":
            untried = space.size - len(set(keys(optimizer)))
            if untried:
                assert len(optimizer.ask(count)) == min(count, untried)
        elif kind == "point":
            row = space.sample_rows(seed=which)
            if tuple(row.tolist()) not in observed:
                optimizer.tell(space.decode(row), objective(space.decode(row)))
                observed[tuple(row.tolist())] = objective(space.decode(row))
                failed.discard(tuple(row.tolist()))
        elif pending:
            trial = pending[which % len(pending)]
            key = tuple(space.encode(trial.point).tolist())
            if kind == "tell":
                optimizer.tell(trial, objective(trial.point))
                observed[key] = objective(trial.point)
            else:
                optimizer.fail(trial)
                failed.add(key)
    done = {key: trial.value for key, trial in zip(keys(optimizer), optimizer.trials, strict=True) if trial.state == "done"}
    assert done == observed
    proposed = [key for key in keys(optimizer) if key not in observed or key not in failed]
    repeated = {key for key in proposed if proposed.count(key) > 1}
    assert not repeated - failed - set(observed)
    if observed:
        assert optimizer.best.value == min(observed.values())
    loaded = through_json(optimizer)
    assert loaded.state() == optimizer.state()
    if len(set(keys(optimizer))) < space.size:
        assert [trial.id for trial in loaded.ask(2)] == [trial.id for trial in optimizer.ask(2)]
        assert loaded.state() == optimizer.state()


# -------------------------------------------------------------------------------------------------------------- workers


class Scripted(Executor):
    """An executor that finishes the second of three evaluations whenever another one is submitted, and all at the end."""

    def __init__(self, total: int) -> None:
        self.waiting: list[tuple[Future, Callable[[], object]]] = []
        self.remaining = total

    def submit(self, function, /, *arguments, **named) -> Future:
        future: Future = Future()
        self.waiting.append((future, lambda: function(*arguments, **named)))
        self.remaining -= 1
        if len(self.waiting) == 3 or not self.remaining:
            threading.Timer(0.01, self.finish, [1 if self.remaining else 3]).start()
        return future

    def finish(self, count: int) -> None:
        for _ in range(count):
            future, call = self.waiting.pop(1 if len(self.waiting) > 1 else 0)
            future.set_running_or_notify_cancel()
            future.set_result(call())


def slow(point) -> float:
    time.sleep(0.002)
    return objective(point)


def unpicklable(point) -> object:
    return lambda: objective(point)


def dying(point) -> float:
    import os

    os._exit(1)


class TestWorkers:
    space = mb.PermutationSpace(6)

    @pytest.mark.slow
    @pytest.mark.parametrize("method", ["random", "bops-h"])
    def test_budget_is_exact_and_nothing_is_lost(self, method: str) -> None:
        calls: list[tuple] = []
        most, now, lock = [0], [0], threading.Lock()

        def counted(point) -> float:
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.003)
            with lock:
                now[0] -= 1
                calls.append(tuple(point.tolist()))
            return objective(point)

        result = mb.minimize(counted, self.space, budget=17, method=method, initial=6, workers=4)
        assert len(calls) == len(set(calls)) == len(result.trials) == 17
        assert 1 < most[0] <= 4
        assert all(trial.state == "done" and trial.value == objective(trial.point) for trial in result.trials)
        assert result.best.value == min(map(objective, calls))
        assert result.ended == "budget spent"

    def test_processes_and_lambdas(self) -> None:
        with ProcessPoolExecutor(2) as pool:
            result = mb.minimize(slow, self.space, budget=9, method="random", executor=pool)
            assert [trial.value for trial in result.trials] == [objective(trial.point) for trial in result.trials]
            with pytest.raises(errors.ArgumentError, match=r"cannot be pickled for another process.*workers=4"):
                mb.minimize(lambda point: 1.0, self.space, budget=9, executor=pool)
        assert len(mb.minimize(lambda point: 1.0, self.space, budget=9, method="random", workers=3).trials) == 9

    def test_a_worker_that_dies_ends_the_run_with_a_result(self) -> None:
        with ProcessPoolExecutor(1) as pool:
            result = mb.minimize(dying, self.space, budget=4, method="random", executor=pool)
        assert result.ended.startswith("the executor broke")
        assert {trial.state for trial in result.trials} == {"pending"}

    @pytest.mark.slow
    def test_the_same_order_of_results_gives_the_same_run(self) -> None:
        runs = [
            mb.minimize(objective, self.space, budget=18, method="bops-h", initial=6, workers=3, executor=Scripted(18))
            for _ in range(2)
        ]
        assert [t.point.tolist() for t in runs[0].trials] == [t.point.tolist() for t in runs[1].trials]
        assert all(trial.state == "done" for run in runs for trial in run.trials)

    def test_failures(self) -> None:
        def fragile(point) -> float:
            if point[0] == 0:
                raise ZeroDivisionError("broken apparatus")
            return float("nan") if point[0] == 1 else objective(point)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = mb.minimize(fragile, self.space, budget=30, method="random", workers=4)
        assert any("broken apparatus" in str(each.message) and "test_loop.py" in str(each.message) for each in caught)
        for trial in result.trials:
            assert trial.state == ("failed" if trial.point[0] < 2 else "done")
        assert len(result.trials) == 30

    @pytest.mark.parametrize("workers", [None, 2])
    def test_a_value_that_is_not_a_number_is_a_failure(self, workers: int | None) -> None:
        def text(point) -> object:
            return "a lot" if point[0] == 0 else objective(point)

        with pytest.warns(RuntimeWarning, match=r"failed: .*'a lot'"):
            result = mb.minimize(text, self.space, budget=20, method="random", workers=workers)
        assert [trial.state for trial in result.trials] == [
            "failed" if trial.point[0] == 0 else "done" for trial in result.trials
        ]

    def test_a_value_that_cannot_be_pickled_is_a_failure(self) -> None:
        with ProcessPoolExecutor(1) as pool, pytest.warns(RuntimeWarning, match=r"trial 0 failed: .*pickle"):
            result = mb.minimize(unpicklable, self.space, budget=1, method="random", executor=pool)
        assert [trial.state for trial in result.trials] == ["failed"]

    def test_time_limit_callback_exhaustion_and_interrupt(self) -> None:
        assert mb.minimize(slow, self.space, budget=9, workers=2, time_limit=0.0).ended == "time limit reached"
        late = mb.minimize(slow, self.space, budget=600, method="random", workers=2, time_limit=0.1)
        assert late.ended == "time limit reached"
        assert 2 <= len(late.trials) < 600
        assert {trial.state for trial in late.trials} <= {"done", "pending"}
        assert sum(trial.state == "pending" for trial in late.trials) <= 2
        seen: list[mb.Trial] = []
        stopped = mb.minimize(
            slow, self.space, budget=90, method="random", workers=3, callback=lambda o, t: seen.append(t) or len(seen) >= 5
        )
        assert stopped.ended == "ended by the callback"
        assert [trial.state for trial in seen] == ["done"] * len(seen)
        assert len(seen) == sum(trial.state == "done" for trial in stopped.trials)
        small = mb.minimize(slow, mb.PermutationSpace(3), budget=50, workers=4)
        assert small.ended == "all 6 points of the space were tried"
        assert sorted(trial.state for trial in small.trials) == ["done"] * 6

        def interrupted(point) -> float:
            if point[0] == 0:
                raise KeyboardInterrupt
            return objective(point)

        broken = mb.minimize(interrupted, self.space, budget=60, method="random", workers=2)
        assert broken.ended == "interrupted"
        assert all((trial.state == "pending") for trial in broken.trials if trial.point[0] == 0)
        assert broken.best is None or broken.best.value == min(t.value for t in broken.trials if t.state == "done")

    @pytest.mark.slow
    def test_one_worker_is_the_plain_loop(self) -> None:
        alone, one = (mb.minimize(objective, self.space, budget=12, initial=6, workers=k) for k in (None, 1))
        with ThreadPoolExecutor(1) as pool:
            other = mb.minimize(objective, self.space, budget=12, initial=6, executor=pool)
        for run in (one, other):
            assert [t.point.tolist() for t in run.trials] == [t.point.tolist() for t in alone.trials]

    def test_bad_calls(self) -> None:
        for bad in (0, -1, 1.5, True, "2"):
            with pytest.raises(errors.ArgumentError, match="workers must be the number"):
                mb.minimize(objective, self.space, budget=3, workers=bad)  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="number of parallel evaluations of Scripted"):
            mb.minimize(objective, self.space, budget=3, executor=Scripted(3))
        with pytest.raises(errors.ArgumentError, match="executor must be one of"):
            mb.minimize(objective, self.space, budget=3, executor=4)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------------- noise


def noisy_run(method: str = "bops-h", seed: int = 0, count: int = 30, noise: float = 3.0, **options) -> mb.Optimizer:
    optimizer = mb.Optimizer(mb.PermutationSpace(7), method, seed=seed, initial=12, noisy=True, **options)
    rng = np.random.default_rng([seed, 5])
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.point) + noise * rng.normal())
    return optimizer


class TestNoise:
    @pytest.mark.slow
    def test_the_recommendation_is_the_best_posterior_mean_averaged_over_structures(self) -> None:
        """Computed step by step."""
        optimizer = noisy_run(direction="maximize")
        rows = np.array([trial.point for trial in optimizer.trials])
        values = np.array([-trial.value for trial in optimizer.trials])
        mean, square = np.zeros(len(rows)), np.zeros(len(rows))
        for model, weight in StructureModels().weigh(Dataset(optimizer.space, rows, values, noisy=True)).values():
            one, deviation = model.predict(rows)
            mean += weight * one
            square += weight * (one**2 + deviation**2)
        best = optimizer.best
        assert best.value == pytest.approx(-mean.min())
        assert best.std == pytest.approx(np.sqrt(square - mean**2)[mean.argmin()], rel=1e-4)

    @pytest.mark.slow
    def test_it_beats_the_luckiest_measurement(self) -> None:
        """Over eight runs, in true values; in nearly all, the truth is within three standard deviations of the mean."""
        gains, ratios = [], []
        for seed in range(8):
            optimizer = noisy_run(seed=seed, count=40)
            luckiest = min(optimizer.trials, key=lambda trial: trial.value)
            gains.append(objective(luckiest.point) - objective(optimizer.best.point))
            ratios.append(abs(objective(optimizer.best.point) - optimizer.best.value) / optimizer.best.std)
        assert np.mean(gains) > 0
        assert np.median(ratios) < 2
        assert sum(each < 3 for each in ratios) >= 6

    @pytest.mark.slow
    def test_the_best_is_not_measured_indefinitely(self) -> None:
        """Other points are worth more than certainty about one."""
        for seed in range(3):
            optimizer = noisy_run(seed=seed, count=40)
            assert len(set(keys(optimizer))) >= 25

    @pytest.mark.slow
    @pytest.mark.parametrize("method", ["random", "bops-h", "auto", "genetic"])
    def test_small_spaces_are_measured_repeatedly(self, method: str) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(3), method, initial=4, noisy=True)
        rng = np.random.default_rng(0)
        for trial in (optimizer.ask() for _ in range(20)):
            optimizer.tell(trial, objective(trial.point) + rng.normal())
        assert len(optimizer.trials) == 20
        assert optimizer.best.measurements > 1
        assert len(optimizer.ask(8)) == 8

    def test_failed_points_are_not_proposed_again(self) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(2), "random", initial=1, noisy=True)
        failed = optimizer.ask()
        optimizer.fail(failed)
        for _ in range(5):
            trial = optimizer.ask()
            assert trial.point.tolist() != failed.point.tolist()
            optimizer.tell(trial, 1.0)

    def test_repeated_measurements_and_given_noise(self) -> None:
        space = mb.PermutationSpace(items=["a", "b", "c", "d"])
        optimizer = mb.Optimizer(space, "bops-h", initial=4)
        points = [["a", "b", "c", "d"], ["b", "a", "c", "d"], ["d", "c", "b", "a"]]
        for point, value in zip(points, (0.0, 1.0, 6.0), strict=True):
            optimizer.tell(point, value)
        assert not optimizer.noisy
        with pytest.raises(errors.TrialError, match=r"has the value 0\.0 already.*noisy=True"):
            optimizer.tell(["a", "b", "c", "d"], 0.5)
        optimizer.tell(["a", "b", "c", "d"], 0.5, noise_std=0.4)
        assert optimizer.noisy
        optimizer.tell(["a", "b", "c", "d"], 0.2)
        assert optimizer.best.point == ["a", "b", "c", "d"]
        assert optimizer.best.measurements == 3
        assert [trial.noise_std for trial in optimizer.trials] == [None, None, None, 0.4, None]

        class Recorder:
            def propose(self, history: History, rng: np.random.Generator) -> np.ndarray:
                np.testing.assert_array_equal(history.noise_std, [np.nan, np.nan, np.nan, 0.4, np.nan])
                return history.untried_row(rng)

        mb.Optimizer.from_state(optimizer.state() | {"method": None}, method=Recorder()).ask()
        with pytest.raises(errors.TrialError, match="to add another measurement, tell its point"):
            optimizer.tell(0, 1.0)
        loaded = through_json(optimizer)
        assert loaded.state() == optimizer.state()
        assert loaded.best == optimizer.best
        for each in (loaded, optimizer):
            each.ask(2)
        assert loaded.state() == optimizer.state()

    @pytest.mark.parametrize("noise", [-1.0, float("nan"), float("inf"), "1", True, [1.0]])
    def test_invalid_noise(self, noise: object) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(4), "random")
        trial = optimizer.ask()
        with pytest.raises(errors.TrialError, match="noise of trial 0"):
            optimizer.tell(trial, 1.0, noise_std=noise)
        assert optimizer.trials[0].state == "pending"
        assert not optimizer.noisy

    def test_one_or_equal_observations(self) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(4), "random", noisy=True)
        assert optimizer.best is None
        optimizer.tell([0, 1, 2, 3], 2.0, noise_std=0.5)
        assert (optimizer.best.value, optimizer.best.std) == (2.0, 0.5)
        optimizer.tell([1, 0, 2, 3], 2.0)
        assert optimizer.best.value == 2.0

    @pytest.mark.slow
    def test_mixed_spaces_with_given_noise(self) -> None:
        optimizer = mb.Optimizer(MIXED, "auto", seed=1, initial=8)
        rng = np.random.default_rng(0)
        for _ in range(11):
            trial = optimizer.ask()
            optimizer.tell(trial, objective(trial.point) + 0.5 * rng.normal(), noise_std=0.5)
        assert optimizer.best.std > 0


# ------------------------------------------------------------------------------------------------------ prior knowledge


class TestPriorKnowledge:
    space = mb.PermutationSpace(items=["a", "b", "c", "d", "e"])

    def test_start_points_come_first_and_count_as_initial(self) -> None:
        known = [["e", "d", "c", "b", "a"], ["a", "b", "c", "d", "e"]]
        optimizer = mb.Optimizer(self.space, "random", initial=3, start=[*known, known[0]])
        assert [trial.point for trial in optimizer.ask(2)] == known
        loaded = through_json(optimizer)
        assert loaded.ask(3)[0].point == optimizer.ask(3)[0].point
        plain = mb.Optimizer(self.space, "random", initial=3)
        assert optimizer.trials[2].point == plain.ask().point
        assert mb.minimize(lambda order: 1.0, self.space, budget=1, start=known).trials[0].point == known[0]
        for bad in (["a", "b", "c", "d", "e"], [["a", "b"]], [[["a", "b", "c", "d", "e"]]]):
            with pytest.raises(errors.MergeboError):
                mb.Optimizer(self.space, "random", start=bad)

    def test_points_from_elsewhere_are_observations_like_others(self) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(4), "bops-h", initial=3)
        waiting = optimizer.ask()
        for row in mb.permutations.sample(4, 5, seed=1):
            if row.tolist() != waiting.point.tolist():
                optimizer.tell(row, objective(row))
        optimizer.tell(waiting.point, 4.0)
        assert optimizer.trials[0].value == 4.0
        before = optimizer.state()
        for bad in ([0, 1, 2], [0, 0, 1, 2], [[0, 1, 2, 3]], {"x": 1}):
            with pytest.raises(errors.MergeboError):
                optimizer.tell(bad, 1.0)
        with pytest.raises(errors.TrialError, match="value of the point"):
            optimizer.tell([3, 2, 1, 0], "much")
        assert optimizer.state() == before
        count = len(optimizer.trials)
        optimizer.tell([3, 2, 1, 0], float("nan"))
        assert optimizer.trials[count].state == "failed"
        optimizer.tell([3, 2, 1, 0], 6.0)
        assert optimizer.trials[count + 1].value == 6.0
        assert len(optimizer.ask(4)) == 4


def test_states_of_format_1_are_restored() -> None:
    """Format 1 had one exact objective."""
    optimizer = mb.Optimizer(mb.PermutationSpace(5), "bops-h", initial=4)
    drive(optimizer, 6)
    state = optimizer.state()
    new = ("format", "objectives", "noisy", "start", "beliefs", "heuristic")
    old = {key: value for key, value in state.items() if key not in new}
    old |= {"format": 1, "trials": [{key: trial[key] for key in ("row", "state", "value")} for trial in state["trials"]]}
    loaded = mb.Optimizer.from_state(json.loads(json.dumps(old)))
    assert loaded.state() == state
    drive(loaded, 2)
    drive(optimizer, 2)
    assert keys(loaded) == keys(optimizer)


# --------------------------------------------------------------------------------------------------- several objectives


FRONTS = st.integers(1, 4).flatmap(
    lambda m: arrays(np.int64, st.tuples(st.integers(0, 12), st.just(m)), elements=st.integers(0, 6))
)
"""Rows of one to four objectives."""


class TestObjectives:
    space = mb.PermutationSpace(5)

    def made(self, method: str = "random", count: int = 14, **options) -> mb.Optimizer:
        optimizer = mb.Optimizer(self.space, method, seed=3, initial=8, objectives=2, **options)
        for _ in range(count):
            trial = optimizer.ask()
            optimizer.tell(trial, both(trial.point))
        return optimizer

    @given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), max_size=15))
    def test_non_dominated_one_by_one(self, values: list[tuple[int, int, int]]) -> None:
        def beats(a: tuple, b: tuple) -> bool:
            return all(x <= y for x, y in zip(a, b, strict=True)) and a != b

        slow = [not any(beats(other, each) for other in values) for each in values]
        assert non_dominated(np.array(values, float).reshape(-1, 3)).tolist() == slow

    @given(seed=st.integers(0, 99))
    def test_the_scalarisation_preserves_dominance_and_has_the_right_gradient(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        values, weights = rng.normal(size=(9, 3)) * [1, 10, 100], rng.dirichlet(np.ones(3))
        scalars, gradient = chebyshev_scalarise(values, weights)
        scaled = (values - values.min(axis=0)) / np.ptp(values, axis=0)
        slow = [max(weights * row) + AUGMENTATION * sum(weights * row) for row in scaled]
        np.testing.assert_allclose(scalars, slow)
        better = (values[:, None] < values[None]).all(axis=-1)
        assert (scalars[:, None] < scalars[None])[better].all()
        inner = (values > values.min(axis=0)).all(axis=1) & (values < values.max(axis=0)).all(axis=1)
        for k in np.flatnonzero(inner):
            for j in range(3):
                step = np.zeros_like(values)
                step[k, j] = 1e-7 * np.ptp(values[:, j])
                change = (chebyshev_scalarise(values + step, weights)[0] - scalars)[k] / step[k, j]
                assert change == pytest.approx(gradient[k, j], rel=1e-3)

    def test_front(self) -> None:
        optimizer = self.made(direction=("minimize", "maximize"))
        front = optimizer.pareto
        # The second objective is maximised, so both agree: one trial is best in both.
        assert [trial.value[0] for trial in front] == [min(t.value[0] for t in optimizer.trials)] * len(front)
        front = self.made().pareto
        assert front.points[:, 0].tolist() == sorted(front.points[:, 0].tolist())
        assert all(sum(trial.value) == 10 for trial in front), "orders close to one are far from its reverse"
        assert front[0] in list(front)

    def test_hypervolume_by_strips(self) -> None:
        optimizer = self.made(direction=("maximize", "minimize"))
        front, reference = optimizer.pareto, (-1.0, 12.0)
        area = 0.0
        edges = sorted({reference[0], *front.points[:, 0].tolist()})
        for low, high in itertools.pairwise(edges):
            best = min(y for x, y in front.points.tolist() if x >= high)
            area += (high - low) * max(0.0, reference[1] - best)
        assert front.hypervolume(reference) == pytest.approx(area)
        inferred = front.reference()
        assert inferred[0] <= front.points[:, 0].min()
        assert inferred[1] >= front.points[:, 1].max()
        assert front.hypervolume() >= 0

    @given(FRONTS, st.integers(0, 6))
    def test_hypervolume_by_cells(self, values: np.ndarray, reference: int) -> None:
        """For integer values: the number of dominated cells of a grid."""
        objectives = values.shape[1]
        cells = np.stack(np.meshgrid(*[np.arange(reference)] * objectives), axis=-1).reshape(-1, objectives)
        dominated = (values[:, None] <= cells[None]).all(axis=-1).any(axis=0)
        assert hypervolume(values.astype(float), np.full(objectives, float(reference))) == dominated.sum()

    @pytest.mark.needs_torch
    @given(FRONTS, st.integers(0, 2**32))
    def test_hypervolume_against_botorch(self, values: np.ndarray, seed: int) -> None:
        """Also with points that are dominated, repeated, beyond the reference point or on its boundary."""
        import torch
        from botorch.utils.multi_objective.hypervolume import Hypervolume, infer_reference_point

        rng = np.random.default_rng(seed)
        scale, shift = 10.0 ** rng.integers(-3, 4, values.shape[1]), rng.normal(0, 10, values.shape[1])
        for front in (values + 0.0, values * scale + shift, rng.normal(size=values.shape) * scale, values[:1] * scale):
            if len(front):
                inferred = infer_reference_point(torch.from_numpy(-front)).numpy()
                np.testing.assert_allclose(reference_point(front), -inferred, rtol=1e-9)
            for at in (front[len(front) // 2 :].max(axis=0, initial=-1.0), front.mean(axis=0) if len(front) else shift):
                expected = Hypervolume(torch.from_numpy(-at)).compute(torch.from_numpy(-front))
                assert hypervolume(front, at) == pytest.approx(expected, rel=1e-9, abs=0)

    @pytest.mark.slow
    def test_better_than_random_search(self) -> None:
        goals = mb.permutations.sample(8, 2, seed=4)

        def volume(method: str, seed: int) -> float:
            def values(point) -> list[float]:
                return [float(mb.distances.kendall(point, goal, view="rank")) for goal in goals]

            result = mb.minimize(
                values, mb.PermutationSpace(8), budget=35, initial=12, method=method, seed=seed, objectives=2
            )
            return result.pareto.hypervolume([28, 28])

        assert np.mean([volume("bops-h", s) for s in range(3)]) > np.mean([volume("random", s) for s in range(3)])

    def test_noisy_front(self) -> None:
        optimizer = mb.Optimizer(self.space, "bops-h", seed=1, initial=8, objectives=2)
        rng = np.random.default_rng(0)
        for _ in range(14):
            trial = optimizer.ask()
            optimizer.tell(trial, np.array(both(trial.point)) + rng.normal(size=2), noise_std=[1.0, 1.0])
        front = optimizer.pareto
        assert all(len(trial.std) == 2 and min(trial.std) > 0 for trial in front)
        assert non_dominated(front.points).all()
        assert through_json(optimizer).pareto.points.tolist() == front.points.tolist()

    def test_result_explanation_and_figure(self, tmp_path: Path) -> None:
        result = mb.minimize(both, self.space, budget=12, method="random", objectives=2, workers=2, progress=True)
        with pytest.raises(errors.UnsupportedError, match="see pareto"):
            result.best  # noqa: B018
        with pytest.raises(errors.UnsupportedError, match="see pareto"):
            result.convergence()
        result.pareto.plot(tmp_path / "front.png", names=("cost", "yield"))
        assert (tmp_path / "front.png").stat().st_size > 5000
        optimizer = self.made(count=20)
        assert optimizer.explain(objective=1).results == 20
        with pytest.raises(errors.ArgumentError, match="choose the objective"):
            optimizer.explain()
        with pytest.raises(errors.ArgumentError, match=r"objectives are 0\.\.1"):
            optimizer.explain(objective=2)

    def test_failures_and_empty_fronts(self) -> None:
        optimizer = mb.Optimizer(self.space, "bops-h", initial=2, objectives=2)
        assert len(optimizer.pareto) == 0
        with pytest.raises(errors.UnsupportedError, match="the front is empty"):
            optimizer.pareto.hypervolume()
        trial = optimizer.ask()
        optimizer.tell(trial, [1.0, float("nan")])
        assert optimizer.trials[0].state == "failed"
        assert len(optimizer.ask(4)) == 4

    def test_bad_calls(self) -> None:
        for bad in (0, 1.5, True, "2"):
            with pytest.raises(errors.ArgumentError, match="objectives must be their number"):
                mb.Optimizer(self.space, objectives=bad)  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="each of 2 objectives needs a direction, got 3"):
            mb.Optimizer(self.space, objectives=2, direction=["minimize"] * 3)
        with pytest.raises(errors.ArgumentError, match="did you mean 'maximize'"):
            mb.Optimizer(self.space, objectives=2, direction=("minimize", "maximise"))
        with pytest.raises(errors.ArgumentError, match="about one objective"):
            mb.Optimizer(self.space, objectives=2, heuristic=len)
        optimizer = mb.Optimizer(self.space, "random", objectives=2)
        trial = optimizer.ask()
        for value in (1.0, "12", [1.0], [1.0, 2.0, 3.0], [1.0, "2"], [True, 1.0], None):
            with pytest.raises(errors.TrialError, match="must be 2 numbers"):
                optimizer.tell(trial, value)
        with pytest.raises(errors.UnsupportedError, match="see pareto"):
            optimizer.best  # noqa: B018
        optimizer.tell(trial, np.array([1.0, 2.0]))
        assert optimizer.trials[0].value == (1.0, 2.0)
        with pytest.raises(errors.ShapeError, match="2 finite numbers"):
            optimizer.pareto.hypervolume([1.0])
        with pytest.raises(errors.UnsupportedError, match="no front; see best"):
            mb.minimize(objective, self.space, budget=2, method="random").pareto  # noqa: B018
        three = mb.Optimizer(self.space, "random", objectives=3)
        three.tell([0, 1, 2, 3, 4], [1, 2, 3])
        with pytest.raises(errors.UnsupportedError, match="two objectives, not 3"):
            three.pareto.plot()
