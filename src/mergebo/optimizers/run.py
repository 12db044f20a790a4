"""`minimize`: the whole loop in one call."""

from __future__ import annotations

import logging
import pickle
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
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
from mergebo.errors import ArgumentError, ExhaustedError, UnsupportedError
from mergebo.optimizers.explanation import Explanation
from mergebo.optimizers.optimizer import Optimizer, Trial
from mergebo.optimizers.pareto import Front
from mergebo.spaces import AnySpace

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Result:
    """What a run found: `best` (its `point` and `value`) or `pareto`, all `trials`, and why it `ended`."""

    found: Trial | Front | None
    """The best trial, or the front of several objectives."""
    trials: tuple[Trial, ...]
    ended: str
    optimizer: Optimizer
    """The run itself, which can go on: `ask`, `tell`, `state`."""

    @property
    def best(self) -> Trial | None:
        """The trial with the best value, as `Optimizer.best`."""
        if isinstance(self.found, Front):
            raise UnsupportedError(f"none of several trials is best in {len(self.found.signs)} objectives; see pareto")
        return self.found

    @property
    def pareto(self) -> Front:
        """The trials that no other beats in all objectives at once."""
        if not isinstance(self.found, Front):
            raise UnsupportedError("one objective has a best trial and no front; see best")
        return self.found

    def convergence(self) -> np.ndarray:
        """The best value after each finished trial, failed ones included."""
        if isinstance(self.found, Front):
            raise UnsupportedError("several objectives have no best value; see pareto")
        up = self.optimizer.direction == "maximize"
        values = [(-np.inf if up else np.inf) if trial.value is None else trial.value for trial in self.trials]
        best: np.ndarray = (np.maximum if up else np.minimum).accumulate(values)
        return best

    def explain(self, objective: int | None = None) -> Explanation:
        """What the results say; see `Optimizer.explain`."""
        return self.optimizer.explain(objective)


def minimize(
    objective: Callable[[Any], Any],
    space: AnySpace,
    *,
    budget: int,
    method: str = "auto",
    seed: int = 0,
    initial: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[Optimizer, Trial], object] | None = None,
    progress: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    **settings: Any,
) -> Result:
    """The point with the smallest value of `objective` that `budget` evaluations find.

    An evaluation that raises an exception or gives nan or infinity is recorded as failed and the run goes on. Ctrl-C
    and `time_limit` (seconds) end it with the best so far, and so does running out of points. `callback(optimizer,
    trial)` is called after each trial; a true result ends the run.

    With `workers`, so many evaluations run at a time: as soon as one is finished, the next point is chosen while the others
    are awaited. They run in threads, which suits objectives that wait for something else: a program, a machine, compiled
    code. For work in Python itself give an `executor` such as `ProcessPoolExecutor(4)` or Dask's `client.get_executor()`.
    When a run with workers ends early, evaluations that have begun are finished and recorded; only Ctrl-C leaves them.

    Further settings are those of `Optimizer` and of the method.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise ArgumentError(f"budget is a number of evaluations, at least 1, got {budget!r}")
    count = _at_once(workers, executor)
    _check_picklable(objective, executor)
    optimizer = Optimizer(space, method, seed=seed, initial=min(20, budget) if initial is None else initial, **settings)
    clock = _Clock(time_limit)
    with _bar(progress, budget, method) as advance:

        def after(trial: Trial) -> bool:
            """What follows every result; whether the run is to end."""
            advance(optimizer)
            return callback is not None and bool(callback(optimizer, optimizer.trials[trial.id]))

        if count == 1 and executor is None:
            ended = _one_by_one(optimizer, objective, budget, clock, after)
        else:
            with nullcontext(executor) if executor is not None else _threads(count) as pool:
                ended = _side_by_side(optimizer, objective, budget, clock, after, pool, count)
    found = optimizer.best if optimizer.objectives == 1 else optimizer.pareto
    return Result(found, optimizer.trials, ended, optimizer)


After: TypeAlias = Callable[[Trial], bool]

LATE, STOPPED = "time limit reached", "ended by the callback"


def _one_by_one(optimizer: Optimizer, objective: Callable[[Any], Any], budget: int, clock: _Clock, after: After) -> str:
    """The loop; why it ended."""
    try:
        while len(optimizer.trials) < budget:
            if clock.is_over:
                return LATE
            trial = optimizer.ask()
            _record(optimizer, trial, evaluate(objective, trial.point))
            if after(trial):
                return STOPPED
    except ExhaustedError as error:
        return str(error)
    except KeyboardInterrupt:
        return "interrupted"
    return "budget spent"


def _side_by_side(
    optimizer: Optimizer,
    objective: Callable[[Any], Any],
    budget: int,
    clock: _Clock,
    after: After,
    pool: Executor,
    workers: int,
) -> str:
    """The loop with several evaluations at a time; why it ended."""
    running: dict[Future[Any], Trial] = {}
    ended = ""
    try:
        while True:
            if not ended and len(optimizer.trials) >= budget:
                ended = "budget spent"
            if not ended and clock.is_over:
                ended = LATE
            if not ended and len(running) < workers:
                try:
                    trials = optimizer.ask(min(workers - len(running), budget - len(optimizer.trials)))
                except ExhaustedError as error:
                    ended, trials = str(error), []
                running |= {pool.submit(evaluate, objective, trial.point): trial for trial in trials}
            if ended in (LATE, STOPPED):  # what has not begun stays pending
                running = {future: trial for future, trial in running.items() if not future.cancel()}
            if not running:
                return ended
            finished, _ = wait(running, clock.left if not ended else None, FIRST_COMPLETED)
            # Of several at once the one that was asked for first: what is asked next must not hang on the order in a set.
            for future in sorted(finished, key=lambda each: running[each].id):
                trial = running.pop(future)
                _record(optimizer, trial, _outcome(future))
                if after(trial) and ended != LATE:
                    ended = STOPPED
    except KeyboardInterrupt:
        ended = "interrupted"
    except BrokenExecutor as error:
        ended = f"the executor broke: {error}"
        logger.warning("the executor lost a worker, which ends the run: %s", error)
    for future, trial in running.items():
        if not future.cancel() and future.done() and not isinstance(future.exception(), BrokenExecutor | KeyboardInterrupt):
            _record(optimizer, trial, _outcome(future))
    return ended


@dataclass(frozen=True)
class _Failure:
    """What an evaluation said when it failed. In words: an exception may not be fit to travel between processes."""

    said: str


def evaluate(objective: Callable[[Any], Any], point: Any) -> Any:
    """The value of a point, or how it failed; here or in another process."""
    try:
        return objective(point)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return _Failure(f"{error!r} ({where.filename}:{where.lineno})")


def _outcome(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenExecutor:
        raise
    except (Exception, CancelledError) as error:  # the value could not travel, or someone cancelled it
        return _Failure(repr(error))


def _record(optimizer: Optimizer, trial: Trial, value: Any) -> None:
    if not isinstance(value, _Failure):
        try:
            optimizer.tell(trial, value)
            return
        except Exception as error:  # no number
            value = _Failure(repr(error))
    warnings.warn(f"trial {trial.id} failed: {value.said}", RuntimeWarning, stacklevel=4)
    optimizer.fail(trial)


def _at_once(workers: int | None, executor: Executor | None) -> int:
    """How many evaluations run at a time."""
    if executor is not None and not isinstance(executor, Executor):
        raise ArgumentError(f"an executor is one of concurrent.futures, such as ProcessPoolExecutor(4), got {executor!r}")
    if workers is None:
        # Both pools of the standard library have it; others, such as Dask's, do not say how many they can take.
        workers = 1 if executor is None else getattr(executor, "_max_workers", None)
    if workers is None:
        raise ArgumentError(f"say how many evaluations {type(executor).__name__} is to run at a time: workers=4")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ArgumentError(f"workers is how many evaluations run at a time, at least 1, got {workers!r}")
    return workers


def _check_picklable(objective: Callable[[Any], Any], executor: Executor | None) -> None:
    """Complain before the first evaluation, not in each of them."""
    if not isinstance(executor, ProcessPoolExecutor):
        return
    try:
        pickle.dumps(objective)
    except Exception as error:
        raise ArgumentError(
            f"{objective!r} cannot be sent to another process ({error}); define it with def at the top of a module that can "
            "be imported, or use threads: minimize(..., workers=4) without an executor"
        ) from error


@contextmanager
def _threads(count: int) -> Iterator[Executor]:
    """A pool of threads; after an interrupt it is left to itself."""
    pool = ThreadPoolExecutor(count, thread_name_prefix="mergebo")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class _Clock:
    """Time that a run has."""

    limit: float | None
    start: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float | None:
        """Seconds, not negative; None without a limit."""
        return None if self.limit is None else max(0.0, self.limit - (time.monotonic() - self.start))

    @property
    def is_over(self) -> bool:
        return self.left == 0


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
