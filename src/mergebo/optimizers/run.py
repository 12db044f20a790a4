"""`minimize`: the whole loop in one call."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from mergebo.errors import ArgumentError, ExhaustedError
from mergebo.optimizers.optimizer import Optimizer, Trial
from mergebo.spaces import AnySpace


@dataclass(frozen=True)
class Result:
    """What a run found: `best` (its `point` and `value`), all `trials`, and why it ended."""

    best: Trial | None
    trials: tuple[Trial, ...]
    ended: str

    def convergence(self) -> np.ndarray:
        """The best value after each finished trial, failed ones included."""
        values = [np.inf if trial.value is None else trial.value for trial in self.trials]
        best: np.ndarray = np.minimum.accumulate(values)
        return best


def minimize(
    objective: Callable[[Any], float],
    space: AnySpace,
    *,
    budget: int,
    method: str = "auto",
    seed: int = 0,
    initial: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[Optimizer, Trial], object] | None = None,
    progress: bool = False,
    **settings: Any,
) -> Result:
    """The point with the smallest value of `objective` that `budget` evaluations find.

    An evaluation that raises an exception or gives nan or infinity is recorded as failed and the run goes on. Ctrl-C
    and `time_limit` (seconds) end it with the best so far, and so does running out of points. `callback(optimizer,
    trial)` is called after each trial; a true result ends the run.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise ArgumentError(f"budget is a number of evaluations, at least 1, got {budget!r}")
    optimizer = Optimizer(space, method, seed=seed, initial=min(20, budget) if initial is None else initial, **settings)
    ended, start = "budget spent", time.monotonic()
    with _bar(progress, budget, method) as advance:
        try:
            while len(optimizer.trials) < budget:
                if time_limit is not None and time.monotonic() - start >= time_limit:
                    ended = "time limit reached"
                    break
                trial = optimizer.ask()
                _evaluate(optimizer, trial, objective)
                advance(optimizer.best)
                if callback is not None and callback(optimizer, optimizer.trials[trial.id]):
                    ended = "ended by the callback"
                    break
        except ExhaustedError as error:
            ended = str(error)
        except KeyboardInterrupt:
            ended = "interrupted"
    return Result(optimizer.best, optimizer.trials, ended)


def _evaluate(optimizer: Optimizer, trial: Trial, objective: Callable[[Any], float]) -> None:
    try:
        value = objective(trial.point)
        optimizer.tell(trial, value)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        warnings.warn(f"trial {trial.id} failed: {error!r} ({where.filename}:{where.lineno})", RuntimeWarning, stacklevel=3)
        optimizer.fail(trial)


def _bar(shown: bool, budget: int, method: str) -> Any:
    """A progress bar with the best value so far, or nothing."""
    if not shown:
        return nullcontext(lambda best: None)
    return _Bar(budget, method)


class _Bar:
    def __init__(self, budget: int, method: str) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.progress = Progress(*columns)
        self.task = self.progress.add_task(method, total=budget)
        self.method = method

    def __enter__(self) -> Callable[[Trial | None], None]:
        self.progress.start()
        return self.advance

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def advance(self, best: Trial | None) -> None:
        said = "" if best is None else f"  best {best.value:g}"
        self.progress.update(self.task, advance=1, description=f"{self.method:<12}{said}")
