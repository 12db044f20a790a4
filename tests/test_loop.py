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
from scipy.optimize import check_grad
from scipy.stats import lognorm

import mergebo as mb
from against_botorch import log_evidence
from mergebo import beliefs, errors
from mergebo.gp import GP
from mergebo.hyperparameters import NOISE_PRIOR, negative_log_posterior
from mergebo.mean import PriorMean
from mergebo.methods import Auto, BatchMethod, Dataset, History, StructureModels
from mergebo.methods.batch import acquisition_weights, greedy_determinant, law_batch
from mergebo.methods.bayesian import condition_on_pending
from mergebo.neighbours import MOVES, move_table
from mergebo.pareto import AUGMENTATION, chebyshev_scalarise, hypervolume, non_dominated, reference_point
from mergebo.similarity import Positions, Product

MIXED = mb.Space(route=mb.Permutation(5), picks=mb.Binary(4))
BATCHES = ("fantasies", "thompson", "law")


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
        assert len(set(keys(optimizer))) == 17

    def test_a_batch_of_the_last_points_is_short(self, method: str, batch: str) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(3), method, initial=3, batch=batch)
        drive(optimizer, 3)
        assert len(optimizer.ask(8)) == 3
        with pytest.raises(errors.ExhaustedError, match="all 6 points"):
            optimizer.ask(2)

    @pytest.mark.slow
    def test_batches_optimise(self, method: str, batch: str) -> None:
        """Five batches of six come closer to the hidden order of 9 items than as many random points in any of 20 runs."""
        optimizer = mb.Optimizer(mb.PermutationSpace(9), method, seed=1, initial=10, batch=batch)
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


def test_fantasies_count_as_values_to_improve_on() -> None:
    """Otherwise a batch clusters around one expected optimum."""
    space = mb.PermutationSpace(6)
    rows = space.sample_rows(12, seed=0)
    values = np.array([objective(row) for row in rows]) + 5
    model = GP(Product.of(space, Positions), rows, values)
    pending = np.arange(6)[None]
    expected = float(model.predict_standardised(pending)[0][0])
    _, alone = condition_on_pending(model, History(space, rows, values, rows[:0], rows[:0], 5))
    extended, best = condition_on_pending(model, History(space, rows, values, rows[:0], pending, 5))
    assert alone == model.y.min()
    assert len(extended.rows) == 13
    assert best == pytest.approx(min(alone, expected))


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


class TestGivenNoise:
    """Known noise of single values in the Gaussian process, against BoTorch and against common noise."""

    @pytest.mark.needs_torch
    @pytest.mark.parametrize("space", [mb.PermutationSpace(7), MIXED], ids=["orders", "mixed"])
    @pytest.mark.parametrize("known", ["all", "some"])
    def test_against_botorch(self, space, known: str) -> None:
        from gpytorch.likelihoods import FixedNoiseGaussianLikelihood

        rng = np.random.default_rng(1)
        rows = space.sample_rows(18, seed=0)
        values = np.array([objective(space.decode(row)) for row in rows]) + rng.normal(size=18)
        deviations = rng.uniform(0.2, 3, 18)
        if known == "some":
            deviations[::3] = np.nan
        model = GP(Product.of(space, Positions), rows, values, noise_std=deviations)
        reference = model.to_botorch()
        assert isinstance(reference.likelihood, FixedNoiseGaussianLikelihood)
        fixed = ~np.isnan(deviations)
        noise = model.noise_variances
        np.testing.assert_allclose(noise[fixed], (deviations[fixed] / values.std(ddof=1)) ** 2)
        np.testing.assert_allclose(noise[~fixed], model.hyperparameters.noise)
        np.testing.assert_allclose(reference.likelihood.noise.detach().numpy(), noise)
        value = log_evidence(model, space.sample_rows(25, seed=5))
        learned = known == "some"  # fixed in the BoTorch model, without a prior
        prior = lognorm.logpdf(model.hyperparameters.noise, NOISE_PRIOR[1], scale=np.exp(NOISE_PRIOR[0])) if learned else 0
        assert -model.neg_log_posterior == pytest.approx(value + prior, rel=1e-6)

    @pytest.mark.parametrize("known", ["all", "some", "none"])
    def test_gradient_and_optimum(self, known: str) -> None:
        space = mb.PermutationSpace(6)
        rng = np.random.default_rng(2)
        rows = space.sample_rows(15, seed=0)
        distances = Product.of(space, Positions).distances(rows, rows)
        y = rng.normal(size=15)
        share = {"all": 1.0, "some": 0.5, "none": 0.0}[known]
        noise = np.where(rng.random(15) < share, rng.uniform(0.1, 1, 15), np.nan)
        learns = known != "all"

        def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
            return negative_log_posterior(logs, distances, y, learns, fixed_noise=noise)

        for logs in ([0.0, 0.3, -3.0], [-1.0, -0.5, -1.0]):
            assert check_grad(lambda at: loss(at)[0], lambda at: loss(at)[1], np.array(logs)) < 1e-4
        if known == "none":
            assert loss(np.array([0.0, 0.3, -3]))[0] == negative_log_posterior(np.array([0.0, 0.3, -3]), distances, y)[0]

    def test_equal_noise_of_single_values_is_common_noise(self) -> None:
        space = mb.PermutationSpace(6)
        rows = space.sample_rows(15, seed=0)
        values = np.random.default_rng(0).normal(3, 2, 15)
        std = values.std(ddof=1)
        each = GP(Product.of(space, Positions), rows, values, noise_std=np.full(15, 0.3 * std))
        every = GP(Product.of(space, Positions), rows, values, noise=0.3**2)
        np.testing.assert_allclose(each.hyperparameters.logs, every.hyperparameters.logs, atol=1e-6)
        assert each.neg_log_posterior == pytest.approx(every.neg_log_posterior)
        test = space.sample_rows(9, seed=1)
        found, expected = (model.fantasize(test[:2]).predict(test) for model in (each, every))
        np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_a_noisy_value_has_less_influence(self) -> None:
        space = mb.PermutationSpace(6)
        rows = space.sample_rows(20, seed=0)
        values = np.array([objective(row) for row in rows])
        values[0] -= 20
        deviations = np.full(20, 0.1)
        precise = GP(Product.of(space, Positions), rows, values, noise_std=deviations).predict(rows[:1])[0][0]
        deviations[0] = 20
        imprecise = GP(Product.of(space, Positions), rows, values, noise_std=deviations).predict(rows[:1])[0][0]
        assert abs(precise - values[0]) < 1
        assert imprecise > values[0] + 10


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

    def test_incumbents_are_the_best_distinct_points(self) -> None:
        rows = np.array([[0, 1, 2], [1, 0, 2], [0, 1, 2], [2, 1, 0]])
        history = History(mb.PermutationSpace(3), rows, np.array([5.0, 1, 0, 3]), rows[:0], rows[:0], 2, noisy=True)
        assert history.best(3).tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
        assert history.best(2, np.array([4.0, 3, 4, 0])).tolist() == [[2, 1, 0], [1, 0, 2]]
        assert history.tried == frozenset()


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

    @given(seed=st.integers(0, 99), move=st.sampled_from(tuple(MOVES)))
    def test_changes_of_mean_functions_along_moves_are_differences_between_rows(self, seed: int, move: str) -> None:
        found = (beliefs.before("a", "c"), beliefs.early("d", strength=2), beliefs.late("e"))
        prior = PriorMean(self.space, found, lambda order: order.index("b") ** 2)
        rows = self.space.sample_rows(9, seed=seed)
        mean_function = prior.mean_function(rows, np.random.default_rng(seed).normal(size=9))
        around = rows[0][move_table(5, move)]
        slow = [float(mean_function.value(each[None])[0] - mean_function.value(rows[:1])[0]) for each in around]
        np.testing.assert_allclose(mean_function.changes(rows[0], "order", move), slow, atol=1e-12)
        model = GP(Product.of(self.space, Positions), rows, np.arange(9.0), mean_function=mean_function)
        for scanned, expected in zip(model.scan(rows[0], "order", move), model.predict_standardised(around), strict=True):
            np.testing.assert_allclose(scanned, expected, atol=2e-3)

    def test_features_and_signs(self) -> None:
        rows = self.space.encode([["a", "b", "c", "d", "e"], ["c", "b", "a", "e", "d"]])
        assert beliefs.before("a", "c").feature(self.space, rows).tolist() == [1, -1]
        assert beliefs.early("d").feature(self.space, rows).tolist() == [-3, -4]
        assert beliefs.late("d").feature(self.space, rows).tolist() == [3, 4]
        prior = PriorMean(self.space, (beliefs.before("a", "c"),), lambda order: float(order.index("e")), sign=-1.0)
        assert prior.expected[0] > 0 > prior.expected[1]
        estimate = beliefs.early("e").feature  # what the heuristic estimates, with its sign
        assert estimate(self.space, rows).tolist() == [-4, -3]
        many = self.space.sample_rows(3000, seed=5)
        factor, offset = np.polyfit(estimate(self.space, many), prior.features(many)[:, 0], 1)
        assert factor > 0
        np.testing.assert_allclose(prior.features(rows)[:, 0], factor * np.array([-4, -3]) + offset, atol=1e-12)
        np.testing.assert_allclose(prior.features(many)[:, 0], factor * estimate(self.space, many) + offset, atol=1e-12)
        np.testing.assert_allclose(prior.features(many).mean(axis=0), 0, atol=0.1)
        np.testing.assert_allclose(prior.features(many).std(axis=0), 1, atol=0.05)

    @pytest.mark.parametrize("truth", [1.0, -1.0])
    def test_weights_follow_the_data(self, truth: float) -> None:
        """The weight of a correct belief keeps its sign; that of a wrong one changes it after some tens of observations."""
        prior = PriorMean(self.space, (beliefs.early("a"),))
        rows = self.space.sample_rows(60, seed=0)
        noise = np.random.default_rng(0).normal(size=60)
        values = truth * np.array([self.space.decode(row).index("a") for row in rows]) + 0.5 * noise
        expected = prior.expected[0]
        assert expected < 0
        few, many = (prior.weights(rows[:k], values[:k])[0] for k in (2, 60))
        assert abs(few - expected) < abs(many - expected) if truth < 0 else few < 0
        assert np.sign(many) == -truth * 1.0
        assert abs(abs(many) - 1) < 0.15

    @pytest.mark.slow
    def test_right_beliefs_help_and_wrong_ones_are_overridden(self) -> None:
        """A hidden order of 12 items: best values after few trials, and after more."""
        n = 12
        right = [*map(beliefs.early, range(4)), *map(beliefs.late, range(8, n))]
        wrong = [*map(beliefs.late, range(4)), *map(beliefs.early, range(8, n))]

        def runs(given: list[beliefs.Belief], budget: int) -> float:
            options = {"method": "bops-h", "initial": 8, "beliefs": given}
            space = mb.PermutationSpace(n)
            return float(
                np.mean([mb.minimize(objective, space, budget=budget, seed=s, **options).best.value for s in range(4)])
            )

        without = runs([], 14)
        assert runs(right, 14) < without / 2
        assert runs(wrong, 14) > without
        assert runs(wrong, 40) < without / 2

    @pytest.mark.slow
    def test_a_heuristic_helps(self) -> None:
        def rough(order) -> float:
            return 100 + 7.0 * float(np.abs(np.asarray(order) - np.arange(10)).sum())

        def run(seed: int, **given) -> float:
            options = {"method": "bops-h", "seed": seed, "initial": 8}
            return mb.minimize(objective, mb.PermutationSpace(10), budget=12, **options, **given).best.value

        assert np.mean([run(s, heuristic=rough) for s in range(4)]) < np.mean([run(s) for s in range(4)])

    @pytest.mark.slow
    @pytest.mark.parametrize("method", ["auto", "bops-h", "turbo", "random", "local-search", "genetic"])
    def test_every_method_supports_it_and_states_keep_it(self, method: str) -> None:
        def rough(order) -> float:
            return float(order.index("e"))

        given = {"beliefs": [beliefs.before("a", "b"), beliefs.late("c", strength=0.5)], "heuristic": rough}
        optimizer = mb.Optimizer(self.space, method, initial=5, **given)
        for _ in range(8):
            trial = optimizer.ask()
            optimizer.tell(trial, float(trial.point.index("a")))
        with pytest.raises(errors.ArgumentError, match="heuristic, which is not saved"):
            through_json(optimizer)
        loaded = through_json(optimizer, heuristic=rough)
        assert loaded.beliefs == optimizer.beliefs
        assert loaded.ask().point == optimizer.ask().point
        assert loaded.state() == optimizer.state()

    @pytest.mark.slow
    def test_embeddings_with_beliefs(self) -> None:
        """An item embedding and beliefs add up in the mean function of one model."""
        problem = mb.problems.get("tsp:random(n=10,seed=100)")
        optimizer = mb.Optimizer(problem.space, "auto", initial=26, beliefs=[beliefs.before(0, 1)])
        for _ in range(31):
            trial = optimizer.ask()
            optimizer.tell(trial, float(problem.evaluate(trial.point)))
        assert optimizer.explain().results == 31

    def test_beliefs_in_several_variables(self) -> None:
        space = mb.Space(first=mb.Permutation(4), second=mb.Permutation(3), picks=mb.Binary(2))
        optimizer = mb.Optimizer(space, "bops-h", initial=4, beliefs=[beliefs.early(2, variable="second")])
        for _ in range(7):
            trial = optimizer.ask()
            optimizer.tell(trial, float(trial.point["first"][0] + trial.point["picks"].sum()))
        with pytest.raises(errors.ArgumentError, match="name the order of the belief '2 early'"):
            mb.Optimizer(space, beliefs=[beliefs.early(2)])
        with pytest.raises(errors.ArgumentError, match="did you mean 'second'"):
            mb.Optimizer(space, beliefs=[beliefs.early(2, variable="secnd")])

    def test_bad_calls(self) -> None:
        with pytest.raises(errors.ArgumentError, match="item of the belief 'a before f'"):
            mb.Optimizer(self.space, beliefs=[beliefs.before("a", "f")])
        for bad in ("a before b", ["a before b"], 3):
            with pytest.raises(errors.ArgumentError, match=r"a belief is, e\.g\.,"):
                mb.Optimizer(self.space, beliefs=bad)  # type: ignore[arg-type]
        for strength in (0, -1, float("nan")):
            with pytest.raises(errors.ArgumentError, match="strength of a belief"):
                beliefs.early("a", strength=strength)
        with pytest.raises(errors.ArgumentError, match="two different ones"):
            beliefs.before("a", "a")
        with pytest.raises(errors.ArgumentError, match="did you mean 'early'"):
            beliefs.Belief("earliest", ("a",))  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="a heuristic must be a function"):
            mb.Optimizer(self.space, heuristic=3)  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="finite number for every point, got nan"):
            mb.Optimizer(self.space, heuristic=lambda order: float("nan")).ask()
        with pytest.raises(errors.ArgumentError, match="finite number for every point, got 'far'"):
            mb.Optimizer(self.space, heuristic=lambda order: "far").ask()
        with pytest.raises(errors.ArgumentError, match="had no heuristic"):
            mb.Optimizer.from_state(mb.Optimizer(self.space).state(), heuristic=len)
        relaxed = mb.Optimizer(self.space, "mergebo", initial=3, search="relaxation", beliefs=[beliefs.early("a")])
        for _ in range(3):
            trial = relaxed.ask()
            relaxed.tell(trial, float(trial.point.index("a")))
        with pytest.raises(errors.UnsupportedError, match="the relaxation does not support mean functions"):
            relaxed.ask()


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
