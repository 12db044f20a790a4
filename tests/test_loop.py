"""Batches, workers, noise, prior knowledge, several objectives: nothing lost, nothing twice, and what is said holds."""

from __future__ import annotations

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

import mergebo as mb
from mergebo import beliefs, errors
from mergebo.moves import MOVES, move_table
from mergebo.optimizers import METHODS, BatchMethod, History
from mergebo.optimizers.auto import FAMILIES, Auto, Past, plain_model, structures
from mergebo.optimizers.batches import acquisition_weights, greedy_determinant, law
from mergebo.optimizers.knowledge import Knowledge
from mergebo.optimizers.models import ModelBased, with_pending
from mergebo.optimizers.pareto import SLOPE, non_dominated, scalarised
from mergebo.surrogate import GP, Positions, Product

MIXED = mb.Space(route=mb.Permutation(5), picks=mb.Binary(4))
RULES = ("fantasies", "thompson", "law")


def objective(point) -> float:
    """How far an order is from 0, 1, 2 ..., and how many choices are made."""
    if isinstance(point, dict):
        return float(mb.permutations.kendall(point["route"], np.arange(5), view="rank") + 2 * np.sum(point["picks"]))
    return float(mb.permutations.kendall(point, np.arange(len(point)), view="rank"))


def both(point) -> list[float]:
    """Two objectives that disagree: close to an order, and close to its reverse."""
    n = len(point)
    return [float(mb.permutations.kendall(point, goal, view="rank")) for goal in (np.arange(n), np.arange(n)[::-1])]


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
    """Asks, results and failures in any order, as hypothesis draws them."""

    @staticmethod
    def steps() -> st.SearchStrategy:
        kinds = st.sampled_from(["ask", "tell", "fail", "point"])
        return st.lists(st.tuples(kinds, st.integers(1, 4), st.integers(0, 99)), min_size=3, max_size=12)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("random", {}),
        ("local-search", {}),
        ("genetic", {}),
        *[("bops-h", {"batch": rule}) for rule in RULES],
        ("mergebo", {"acquisition": "thompson"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("space", [mb.PermutationSpace(4), MIXED], ids=["orders", "mixed"])
@settings(max_examples=8)
@given(steps=Interleaving.steps(), seed=st.integers(0, 9))
def test_any_interleaving(method: str, options: dict, space, steps, seed: int) -> None:
    """No point twice, no result lost, the best is the best, and a state goes on as if nothing had happened."""
    optimizer = mb.Optimizer(space, method, seed=seed, initial=3, **options)
    told: dict[tuple, float] = {}
    failed: set[tuple] = set()
    for kind, count, which in steps:
        pending = [trial for trial in optimizer.trials if trial.state == "pending"]
        if kind == "ask":
            left = space.size - len(set(keys(optimizer)))
            if left:
                assert len(optimizer.ask(count)) == min(count, left)
        elif kind == "point":
            row = space.sample_rows(seed=which)
            if tuple(row.tolist()) not in told:
                optimizer.tell(space.decode(row), objective(space.decode(row)))
                told[tuple(row.tolist())] = objective(space.decode(row))
                failed.discard(tuple(row.tolist()))
        elif pending:
            trial = pending[which % len(pending)]
            key = tuple(space.encode(trial.point).tolist())
            if kind == "tell":
                optimizer.tell(trial, objective(trial.point))
                told[key] = objective(trial.point)
            else:
                optimizer.fail(trial)
                failed.add(key)
    done = {key: trial.value for key, trial in zip(keys(optimizer), optimizer.trials, strict=True) if trial.state == "done"}
    assert done == told
    asked = [key for key in keys(optimizer) if key not in told or key not in failed]
    tried_again = {key for key in asked if asked.count(key) > 1}
    assert not tried_again - failed - set(told)
    if told:
        assert optimizer.best.value == min(told.values())
    loaded = through_json(optimizer)
    assert loaded.state() == optimizer.state()
    if len(set(keys(optimizer))) < space.size:
        assert [trial.id for trial in loaded.ask(2)] == [trial.id for trial in optimizer.ask(2)]
        assert loaded.state() == optimizer.state()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", ["auto", "bops-h"])
class TestBatchRules:
    @pytest.mark.parametrize("space", [mb.PermutationSpace(7), MIXED], ids=["orders", "mixed"])
    def test_batches_are_distinct_late_results_welcome_and_states_exact(self, method: str, rule: str, space) -> None:
        optimizer = mb.Optimizer(space, method, seed=2, initial=6, batch=rule)
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

    def test_a_batch_of_the_last_points_is_short(self, method: str, rule: str) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(3), method, initial=3, batch=rule)
        drive(optimizer, 3)
        assert len(optimizer.ask(8)) == 3
        with pytest.raises(errors.ExhaustedError, match="all 6 points"):
            optimizer.ask(2)

    def test_batches_optimise(self, method: str, rule: str) -> None:
        """Five batches of six come closer to the hidden order of 9 items than as many random points do in any of 20 runs."""
        optimizer = mb.Optimizer(mb.PermutationSpace(9), method, seed=1, initial=10, batch=rule)
        for count in (10, *[6] * 5):
            for trial in optimizer.ask(count)[::-1]:
                optimizer.tell(trial, objective(trial.point))
        rows = mb.permutations.sample(9, (20, 40), seed=0)
        random = mb.permutations.kendall(rows, np.arange(9), view="rank").min(axis=1)
        assert optimizer.best.value <= random.min()


def test_unknown_rules() -> None:
    for method in ("auto", "bops-h"):
        with pytest.raises(errors.ArgumentError, match="did you mean 'fantasies'"):
            mb.Optimizer(mb.PermutationSpace(4), method, batch="fantasys")
    with pytest.raises(errors.ArgumentError, match="law weighs rows"):
        mb.Optimizer(mb.PermutationSpace(4), "bops-h", batch="law", acquisition="thompson")
    with pytest.raises(errors.ArgumentError, match="random has the settings"):
        mb.Optimizer(mb.PermutationSpace(4), "random", batch="law")
    assert isinstance(Auto(), BatchMethod)


def test_what_is_pending_counts_as_a_value_to_improve_on() -> None:
    """Otherwise a batch crowds around one expected optimum."""
    space = mb.PermutationSpace(6)
    rows = space.sample_rows(12, seed=0)
    values = np.array([objective(row) for row in rows]) + 5
    model = GP(Product.of(space, Positions), rows, values)
    awaited = np.arange(6)[None]
    expected = float(model.predict_standardised(awaited)[0][0])
    _, alone = with_pending(model, History(space, rows, values, rows[:0], rows[:0], 5))
    extended, best = with_pending(model, History(space, rows, values, rows[:0], awaited, 5))
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
        batch = law(model, near[order], values[order], 6)

        def spread(some: np.ndarray) -> float:
            return float(mb.permutations.hamming.cross(some, some).sum())

        assert len(np.unique(batch, axis=0)) == 6
        assert spread(batch) > spread(near[order][:6])


# -------------------------------------------------------------------------------------------------------------- workers


class Scripted(Executor):
    """Of three evaluations the second is finished, then again, as soon as another is submitted; at the end all."""

    def __init__(self, total: int) -> None:
        self.waiting: list[tuple[Future, Callable[[], object]]] = []
        self.left = total

    def submit(self, function, /, *arguments, **named) -> Future:
        future: Future = Future()
        self.waiting.append((future, lambda: function(*arguments, **named)))
        self.left -= 1
        if len(self.waiting) == 3 or not self.left:
            threading.Timer(0.01, self.finish, [1 if self.left else 3]).start()
        return future

    def finish(self, count: int) -> None:
        for _ in range(count):
            future, call = self.waiting.pop(1 if len(self.waiting) > 1 else 0)
            future.set_running_or_notify_cancel()
            future.set_result(call())


def slow(point) -> float:
    time.sleep(0.002)
    return objective(point)


def dying(point) -> float:
    import os

    os._exit(1)


class TestWorkers:
    space = mb.PermutationSpace(6)

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
            with pytest.raises(errors.ArgumentError, match="cannot be sent to another process.*workers=4"):
                mb.minimize(lambda point: 1.0, self.space, budget=9, executor=pool)
        assert len(mb.minimize(lambda point: 1.0, self.space, budget=9, method="random", workers=3).trials) == 9

    def test_a_worker_that_dies_ends_the_run_with_what_there_is(self) -> None:
        with ProcessPoolExecutor(1) as pool:
            result = mb.minimize(dying, self.space, budget=4, method="random", executor=pool)
        assert result.ended.startswith("the executor broke")
        assert {trial.state for trial in result.trials} == {"pending"}

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

        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = mb.minimize(fragile, self.space, budget=30, method="random", workers=4)
        assert any("broken apparatus" in str(each.message) and "test_loop.py" in str(each.message) for each in said)
        for trial in result.trials:
            assert trial.state == ("failed" if trial.point[0] < 2 else "done")
        assert len(result.trials) == 30

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

    def test_one_worker_is_the_plain_loop(self) -> None:
        alone, one = (mb.minimize(objective, self.space, budget=12, initial=6, workers=k) for k in (None, 1))
        with ThreadPoolExecutor(1) as pool:
            other = mb.minimize(objective, self.space, budget=12, initial=6, executor=pool)
        for run in (one, other):
            assert [t.point.tolist() for t in run.trials] == [t.point.tolist() for t in alone.trials]

    def test_bad_calls(self) -> None:
        for bad in (0, -1, 1.5, True, "2"):
            with pytest.raises(errors.ArgumentError, match="workers is how many"):
                mb.minimize(objective, self.space, budget=3, workers=bad)  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="say how many evaluations Scripted"):
            mb.minimize(objective, self.space, budget=3, executor=Scripted(3))
        with pytest.raises(errors.ArgumentError, match="an executor is one of concurrent.futures"):
            mb.minimize(objective, self.space, budget=3, executor=4)  # type: ignore[arg-type]
