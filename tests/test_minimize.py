"""The loop: its ends, failures, and workers."""

from __future__ import annotations

import inspect
import json
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import mergebo as mb
from mergebo import errors
from optimizer_helpers import objective


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
        assert any("broken apparatus" in str(each.message) and Path(__file__).name in str(each.message) for each in caught)
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
        pool = ProcessPoolExecutor(1, mp_context=get_context("forkserver"))  # processes with threads must not be forked
        with pool, pytest.warns(RuntimeWarning, match=r"trial 0 failed: .*(pickle|local object)"):
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


class TestResults:
    def test_small_space_ends_gracefully(self) -> None:
        result = mb.minimize(objective, mb.PermutationSpace(3), budget=50)
        assert len(result.trials) == 6
        assert result.best.value == 0
        assert result.ended == "all 6 points of the space were tried"

    def test_time_limit_callback_and_interrupt(self) -> None:
        space = mb.PermutationSpace(6)
        assert mb.minimize(objective, space, budget=30, time_limit=0.0).ended == "time limit reached"
        seen = []
        stopped = mb.minimize(objective, space, budget=30, callback=lambda o, t: seen.append(t) or len(seen) == 4)
        assert stopped.ended == "ended by the callback"
        assert [trial.state for trial in seen] == ["done"] * 4

        def interrupted(order) -> float:
            if len(calls) == 7:
                raise KeyboardInterrupt
            calls.append(order)
            return objective(order)

        calls: list[object] = []
        result = mb.minimize(interrupted, space, budget=30)
        assert result.ended == "interrupted"
        assert result.best.value == min(objective(order) for order in calls)
        assert result.trials[-1].state == "pending"

    def test_convergence_of_a_maximised_objective(self) -> None:
        result = mb.minimize(
            lambda order: -float(order[0]), mb.PermutationSpace(5), budget=8, direction="maximize", method="random"
        )
        assert result.convergence().tolist() == np.maximum.accumulate([trial.value for trial in result.trials]).tolist()
        assert result.optimizer.best == result.best

    def test_convergence_and_progress(self, capsys: pytest.CaptureFixture[str]) -> None:
        result = mb.minimize(objective, mb.PermutationSpace(6), budget=12, method="random", progress=True)
        assert "best" in capsys.readouterr().out
        curve = result.convergence()
        assert len(curve) == 12
        assert (np.diff(curve) <= 0).all()
        assert curve[-1] == result.best.value

    def test_named_items(self) -> None:
        space = mb.PermutationSpace(items=["base", "acid", "salt", "water"])
        good = ["water", "acid", "base", "salt"]
        result = mb.minimize(lambda order: sum(a != b for a, b in zip(order, good, strict=True)), space, budget=24, seed=1)
        assert result.best.point == good
        state = mb.Optimizer(space, "random").state()
        assert (
            mb.Optimizer.from_state(json.loads(json.dumps(state))).ask().point == mb.Optimizer(space, "random").ask().point
        )
        assert space.encode([good, good[::-1]]).tolist() == [[3, 1, 0, 2], [2, 0, 1, 3]]
        assert space.encode(np.array([3, 1, 0, 2])).tolist() == [3, 1, 0, 2]


@pytest.mark.parametrize("budget", [0, -3, 1.5, True, None])
def test_budget(budget: object) -> None:
    with pytest.raises(errors.ArgumentError, match="budget must be a number of evaluations"):
        mb.minimize(objective, mb.PermutationSpace(4), budget=budget)  # type: ignore[arg-type]


def test_one_item() -> None:
    result = mb.minimize(lambda order: 4.0, mb.PermutationSpace(1), budget=5)
    assert len(result.trials) == 1
    assert result.best.value == 4


def broken(point) -> float:
    return point.idx("a")


class UnpicklableError(Exception):
    """Its text is not the argument that it needs."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def unpicklable_error(point) -> float:
    raise UnpicklableError("odd ", "one")


@pytest.mark.filterwarnings("ignore:trial .* failed:RuntimeWarning")
class TestABrokenObjective:
    space = mb.PermutationSpace(6)

    @pytest.mark.parametrize("workers", [None, 1, 3])
    def test_its_error_is_raised_after_five_evaluations(self, workers: int | None) -> None:
        calls: list[object] = []
        callback = lambda optimizer, trial: calls.append(trial)  # noqa: E731
        with pytest.raises(AttributeError, match="idx") as caught:
            mb.minimize(broken, self.space, budget=40, method="random", workers=workers, callback=callback)
        assert 4 <= len(calls) <= 5
        assert "The first 5 evaluations all raised this error" in caught.value.__notes__[0]
        assert "return nan" in caught.value.__notes__[0]
        assert caught.traceback[-1].name == "broken"

    def test_in_other_processes(self) -> None:
        with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
            with pytest.raises(AttributeError, match="idx"):
                mb.minimize(broken, self.space, budget=40, method="random", executor=pool)
            with pytest.raises(
                errors.ArgumentError, match=r"the objective failed: UnpicklableError\('odd one'\) \(.*test_minimize"
            ):
                mb.minimize(unpicklable_error, self.space, budget=40, method="random", executor=pool)
            assert pool.submit(abs, -3).result() == 3

    @pytest.mark.parametrize("value", [None, "3", [3.0], {"loss": 3}, (1, 2)])
    def test_values_that_are_no_numbers(self, value: object) -> None:
        with pytest.raises(errors.TrialError, match="must be a number, got"):
            mb.minimize(lambda point: value, self.space, budget=40, method="random")

    def test_other_failures_do_not_end_the_run(self) -> None:
        calls: list[object] = []

        def unlucky(point) -> float:
            calls.append(point)
            if len(calls) == 1:
                raise ValueError("one")
            if len(calls) < 7:
                raise KeyError(point[0])
            return objective(point)

        assert len(mb.minimize(unlucky, self.space, budget=9, method="random").trials) == 9
        assert len(mb.minimize(lambda point: float("nan"), self.space, budget=9, method="random").trials) == 9
        calls.clear()

        def late(point) -> float:
            calls.append(point)
            return objective(point) if len(calls) == 1 else broken(point)

        assert len(mb.minimize(late, self.space, budget=9, method="random").trials) == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "budget must be a number of evaluations, at least 1, got None; give one: budget=100"),
        ({"n_trials": 30}, "n_trials of Optuna is called budget here: budget=30"),
        ({"n_calls": 30}, "n_calls of scikit-optimize is called budget here: budget=30"),
        ({"budget": 10, "initial": 11}, "initial=11 random points are more than the budget of 10 .* such as initial=3"),
        ({"budget": 10, "callback": 3}, r"a callback is a function callback\(optimizer, trial\), got 3"),
        ({"budget": 10, "callback": lambda result: None}, r"called as callback\(optimizer, trial\), got .*\(result\)"),
        ({"budget": 10, "callback": lambda: None}, "too many positional arguments"),
        ({"budget": 10, "direction": "up"}, "direction must be one of"),
    ],
)
def test_arguments_that_cannot_work(arguments: dict, message: str) -> None:
    calls: list[object] = []
    with pytest.raises(errors.MergeboError, match=message):
        mb.minimize(lambda point: calls.append(point) or 1.0, mb.PermutationSpace(5), **arguments)
    assert not calls


def test_arguments_that_others_expect() -> None:
    with pytest.raises(errors.ArgumentTypeError, match="objective must be a function"):
        mb.minimize([1, 2], mb.PermutationSpace(4), budget=3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=r"use mergebo.minimize\(..., direction='maximize'\)"):
        mb.maximize  # noqa: B018
    assert "direction" in inspect.signature(mb.minimize).parameters
    result = mb.minimize(objective, mb.PermutationSpace(4), budget=6, direction="maximize", method="random")
    assert result.best.value == max(trial.value for trial in result.trials)
