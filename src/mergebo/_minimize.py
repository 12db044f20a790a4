"""`minimize`: the whole optimisation in one call."""

from __future__ import annotations

import inspect
import logging
import pickle
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from mergebo._progress import progress_bar
from mergebo.errors import ArgumentError, ArgumentTypeError, ExhaustedError, UnsupportedError
from mergebo.explain.report import Explanation
from mergebo.methods.base import Method
from mergebo.optimizer import Direction, Optimizer
from mergebo.pareto import ParetoFront
from mergebo.spaces import SearchSpace
from mergebo.trials import Trial

logger = logging.getLogger(__name__)

ELSEWHERE = {"n_trials": "Optuna", "n_calls": "scikit-optimize"}
"""What other packages call the budget."""
MAX_INITIAL_FAILURES = 5
"""Number of evaluations at the start of a run that, if all raise the same error, end it with this error."""


@dataclass(frozen=True)
class Result:
    """The result of a run: `best` (its `point` and `value`) or `pareto`, all `trials`, and why it `ended`."""

    found: Trial | ParetoFront | None
    """The best trial, or the front of several objectives."""
    trials: tuple[Trial, ...]
    ended: str
    optimizer: Optimizer
    """The optimiser, to continue the run: `ask`, `tell`, `state`."""

    @property
    def best(self) -> Trial | None:
        """The trial with the best value, as `Optimizer.best`."""
        if isinstance(self.found, ParetoFront):
            raise UnsupportedError(f"no single trial is best in {len(self.found.signs)} objectives; see pareto")
        return self.found

    @property
    def pareto(self) -> ParetoFront:
        """The non-dominated trials."""
        if not isinstance(self.found, ParetoFront):
            raise UnsupportedError("a single objective has a best trial and no front; see best")
        return self.found

    def convergence(self) -> np.ndarray:
        """The best value after each finished trial, failed ones included."""
        if isinstance(self.found, ParetoFront):
            raise UnsupportedError("no single value is best with several objectives; see pareto")
        maximise = self.optimizer.direction == "maximize"
        values = [(-np.inf if maximise else np.inf) if trial.value is None else trial.value for trial in self.trials]
        best: np.ndarray = (np.maximum if maximise else np.minimum).accumulate(values)
        return best

    def explain(self, objective: int | None = None) -> Explanation:
        """Explain the results; see `Optimizer.explain`."""
        return self.optimizer.explain(objective)


def minimize(
    objective: Callable[[Any], Any],
    space: SearchSpace,
    *,
    budget: int | None = None,
    direction: Direction | Sequence[Direction] = "minimize",
    method: str | Method = "auto",
    seed: int | None = 0,
    initial: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[Optimizer, Trial], object] | None = None,
    progress: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    **settings: Any,
) -> Result:
    """Minimise `objective` over a space with `budget` evaluations; with `direction="maximize"`, maximise it.

    The first `initial` points are random: 20, or all of a smaller budget, unless you say how many.

    An evaluation that raises an exception or returns nan or infinity is recorded as failed, and the run continues. But if
    the first five all raise the same error, the objective is probably broken, and its error is raised; return nan for
    points that cannot be evaluated. Ctrl-C and `time_limit` (seconds) end the run with the best trial so far, and so does
    exhausting the space. `callback(optimizer, trial)` is called after each trial; a true result ends the run.

    `workers` is the number of parallel evaluations: as soon as one is finished, the next point is chosen while the others
    are pending. They run in threads, which suits objectives that wait for something else: a program, a machine, compiled
    code. For pure Python pass an `executor` such as `ProcessPoolExecutor(4)` or Dask's `client.get_executor()`. If a run
    with workers ends early, running evaluations are completed and recorded, except after Ctrl-C.

    The method is a name or an object such as `mb.methods.Auto(embedding=False)`. Further settings are those of `Optimizer`
    and, with a name, those of the method.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        names = {name: settings[name] for name in ELSEWHERE if budget is None and name in settings}
        hint = "".join(f"; {name} of {ELSEWHERE[name]} is called budget here: budget={names[name]!r}" for name in names)
        raise ArgumentError(
            f"budget must be a number of evaluations, at least 1, got {budget!r}{hint or '; give one: budget=100'}"
        )
    if not callable(objective):
        raise ArgumentTypeError(f"objective must be a function that returns the value of a point, got {objective!r}")
    _check_callback(callback)
    count = _worker_count(workers, executor)
    _check_picklable(objective, executor)
    initial = min(20, budget) if initial is None else initial
    optimizer = Optimizer(space, method, seed=seed, initial=initial, direction=direction, **settings)
    if initial > budget:
        raise ArgumentError(
            f"initial={initial} random points are more than the budget of {budget} evaluations, so there would be no "
            f"others; give a larger budget or fewer, such as initial={max(1, budget // 3)}"
        )
    clock = _Clock(time_limit)
    with _bar(progress, budget, optimizer.method_name) as advance:

        def after(trial: Trial) -> bool:
            """Show progress and call the callback; whether the run is to end."""
            advance(optimizer)
            return callback is not None and bool(callback(optimizer, optimizer.trials[trial.id]))

        if count == 1 and executor is None:
            ended = _run_serial(optimizer, objective, budget, clock, after)
        else:
            with nullcontext(executor) if executor is not None else _threads(count) as pool:
                ended = _run_parallel(optimizer, objective, budget, clock, after, pool, count)
    found = optimizer.best if optimizer.objectives == 1 else optimizer.pareto
    return Result(found, optimizer.trials, ended, optimizer)


After: TypeAlias = Callable[[Trial], bool]

TIMED_OUT, STOPPED = "time limit reached", "ended by the callback"


def _run_serial(optimizer: Optimizer, objective: Callable[[Any], Any], budget: int, clock: _Clock, after: After) -> str:
    """Evaluate one point at a time; returns why the run ended."""
    first = _FirstEvaluations()
    try:
        while len(optimizer.trials) < budget:
            if clock.is_over:
                return TIMED_OUT
            trial = optimizer.ask()
            first.check(_record(optimizer, trial, evaluate(objective, trial.point)))
            if after(trial):
                return STOPPED
    except ExhaustedError as error:
        return str(error)
    except KeyboardInterrupt:
        return "interrupted"
    return "budget spent"


def _run_parallel(
    optimizer: Optimizer,
    objective: Callable[[Any], Any],
    budget: int,
    clock: _Clock,
    after: After,
    pool: Executor,
    workers: int,
) -> str:
    """Evaluate several points at a time; returns why the run ended."""
    running: dict[Future[Any], Trial] = {}
    first = _FirstEvaluations()
    ended = ""
    try:
        while True:
            if not ended and len(optimizer.trials) >= budget:
                ended = "budget spent"
            if not ended and clock.is_over:
                ended = TIMED_OUT
            if not ended and len(running) < workers:
                try:
                    trials = optimizer.ask(min(workers - len(running), budget - len(optimizer.trials)))
                except ExhaustedError as error:
                    ended, trials = str(error), []
                running |= {pool.submit(evaluate, objective, trial.point): trial for trial in trials}
            if ended in (TIMED_OUT, STOPPED):  # evaluations that have not started stay pending
                running = {future: trial for future, trial in running.items() if not future.cancel()}
            if not running:
                return ended
            finished, _ = wait(running, clock.remaining if not ended else None, FIRST_COMPLETED)
            # In the order of the trials: proposals must not depend on the order in a set.
            for future in sorted(finished, key=lambda each: running[each].id):
                trial = running.pop(future)
                first.check(_record(optimizer, trial, _outcome(future)))
                if after(trial) and ended != TIMED_OUT:
                    ended = STOPPED
    except KeyboardInterrupt:
        ended = "interrupted"
    except BrokenExecutor as error:
        ended = f"the executor broke: {error}"
        logger.warning("the executor lost a worker, which ends the run: %s", error)
    except Exception:
        for future in running:
            future.cancel()
        raise
    for future, trial in running.items():
        if not future.cancel() and future.done() and not isinstance(future.exception(), BrokenExecutor | KeyboardInterrupt):
            _record(optimizer, trial, _outcome(future))
    return ended


@dataclass(frozen=True)
class _Failure:
    """A failed evaluation."""

    message: str
    kind: str
    """The type of the error and where it was raised. The message of the same error may differ, by the point."""
    error: Exception | None
    """None if it cannot be pickled for this process."""

    def __reduce__(self) -> tuple[Any, ...]:
        error = self.error
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = None
        return _Failure, (self.message, self.kind, error)


class _FirstEvaluations:
    """The first evaluations of a run: if all of them raise the same error, so will the others."""

    def __init__(self) -> None:
        self._kinds: list[str] = []

    def check(self, failure: _Failure | None) -> None:
        """Raise the error of the first evaluations if all had the same one; `failure` is that of the next evaluation."""
        if len(self._kinds) == MAX_INITIAL_FAILURES:
            return
        self._kinds.append("" if failure is None else failure.kind)
        if failure is None or len(self._kinds) < MAX_INITIAL_FAILURES or len({*self._kinds}) > 1:
            return
        error = failure.error or ArgumentError(f"the objective failed: {failure.message}")
        error.add_note(
            f"The first {MAX_INITIAL_FAILURES} evaluations all raised this error, which ended the run. If the objective is "
            "right, and these points cannot be evaluated, return nan for them."
        )
        raise error


def evaluate(objective: Callable[[Any], Any], point: Any) -> Any:
    """The value of a point, or a `_Failure`; runs here or in another process."""
    try:
        return objective(point)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{where.filename}:{where.lineno}"
        return _Failure(f"{error!r} ({place})", f"{type(error)} {place}", error)


def _outcome(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenExecutor:
        raise
    except (Exception, CancelledError) as error:  # the value cannot be pickled, or the future was cancelled
        return _Failure(repr(error), str(type(error)), error)


def _record(optimizer: Optimizer, trial: Trial, value: Any) -> _Failure | None:
    """Record what an evaluation returned; returns its failure, if it raised an error or returned something else."""
    if isinstance(value, _Failure):
        failure = value
    else:
        try:
            optimizer._record_returned(trial, value)
            return None
        except Exception as error:  # not a number
            failure = _Failure(repr(error), f"{type(error)} {type(value)}", error)
    warnings.warn(f"trial {trial.id} failed: {failure.message}", RuntimeWarning, stacklevel=4)
    optimizer.fail(trial)
    return failure


def _worker_count(workers: int | None, executor: Executor | None) -> int:
    """Number of parallel evaluations."""
    if executor is not None and not isinstance(executor, Executor):
        raise ArgumentError(f"executor must be one of concurrent.futures, such as ProcessPoolExecutor(4), got {executor!r}")
    if workers is None:
        # Both pools of the standard library have this attribute; others, such as Dask's, have none.
        workers = 1 if executor is None else getattr(executor, "_max_workers", None)
    if workers is None:
        raise ArgumentError(f"give the number of parallel evaluations of {type(executor).__name__}, such as workers=4")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ArgumentError(f"workers must be the number of parallel evaluations, at least 1, got {workers!r}")
    return workers


def _check_callback(callback: Callable[[Optimizer, Trial], object] | None) -> None:
    """Fail before the first evaluation rather than after it."""
    if callback is None:
        return
    try:
        if not callable(callback):
            raise TypeError(f"it is of the type {type(callback).__name__}")
        called = inspect.signature(callback)
    except ValueError:  # some builtins have no signature
        return
    except TypeError as error:
        raise ArgumentTypeError(f"a callback is a function callback(optimizer, trial), got {callback!r}: {error}") from error
    try:
        called.bind(None, None)
    except TypeError as error:
        raise ArgumentTypeError(
            f"a callback is called as callback(optimizer, trial), got one with the arguments {called}: {error}"
        ) from error


def _check_picklable(objective: Callable[[Any], Any], executor: Executor | None) -> None:
    """Fail before the first evaluation rather than in each of them."""
    if not isinstance(executor, ProcessPoolExecutor):
        return
    try:
        pickle.dumps(objective)
    except Exception as error:
        raise ArgumentError(
            f"{objective!r} cannot be pickled for another process ({error}); define it with def at the top level of an "
            "importable module, or use threads: minimize(..., workers=4) without an executor"
        ) from error


@contextmanager
def _threads(count: int) -> Iterator[Executor]:
    """A pool of threads; after an interrupt, running ones are not waited for."""
    pool = ThreadPoolExecutor(count, thread_name_prefix="mergebo")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class _Clock:
    """The time limit of a run."""

    limit: float | None
    start: float = field(default_factory=time.monotonic)

    @property
    def remaining(self) -> float | None:
        """Seconds left, at least 0; None without a limit."""
        return None if self.limit is None else max(0.0, self.limit - (time.monotonic() - self.start))

    @property
    def is_over(self) -> bool:
        return self.remaining == 0


@contextmanager
def _bar(shown: bool, budget: int, method: str) -> Iterator[Callable[[Optimizer], None]]:
    """A progress bar with the best value so far, or nothing."""
    if not shown:
        yield lambda optimizer: None
        return
    with progress_bar(budget, method) as advance:
        yield lambda optimizer: advance(f"{method:<12}{_best_so_far(optimizer)}")


def _best_so_far(optimizer: Optimizer) -> str:
    if optimizer.objectives > 1:
        return f"  {len(optimizer.pareto)} on the front"
    best = optimizer.best
    return "" if best is None else f"  best {best.value:g}"
