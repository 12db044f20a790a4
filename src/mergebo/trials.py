"""Trials: points with their state and value, and the log of all trials of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.errors import TrialError
from mergebo.spaces import SearchSpace

__all__ = ["Recommendation", "State", "Trial", "TrialLog"]

State: TypeAlias = Literal["pending", "done", "failed"]
"""The state of a trial."""


@dataclass(frozen=True)
class Trial:
    """One point with its state and value."""

    id: int
    point: Any
    state: State = "pending"
    value: Any = None
    """A number; with several objectives, one for each."""
    noise_std: Any = None
    """Standard deviation of the value, or of each, if it was given."""


@dataclass(frozen=True)
class Recommendation(Trial):
    """The point with the best posterior mean, for noisy values. `value` is that mean, not a measurement.

    `id` is that of the point's first trial, which has the measurement.
    """

    std: Any = None
    """Posterior standard deviation; nan while unknown."""
    measurements: int = 1
    """How often the point was measured."""


class TrialLog:
    """All trials of a run with their rows, and the order in which they were finished."""

    def __init__(self, space: SearchSpace, objectives: int) -> None:
        self.space = space
        self.objectives = objectives
        self.trials: list[Trial] = []
        self.rows: list[Rows] = []
        self.finished: list[int] = []
        """Indices of finished trials, in the order in which they were finished."""
        self._indices: dict[bytes, list[int]] = {}

    def add(self, row: Rows) -> Trial:
        """A new pending trial."""
        trial = Trial(len(self.trials), self.space.decode(row))
        self.trials.append(trial)
        self.rows.append(row)
        self._indices.setdefault(row.tobytes(), []).append(trial.id)
        return trial

    def indices_of(self, row: Rows) -> list[int]:
        """The trials of a row."""
        return self._indices.get(row.tobytes(), [])

    def pending_index(self, trial: Any) -> int:
        """The index of a pending trial, given itself or its id; an error if there is none."""
        index = trial.id if isinstance(trial, Trial) else trial
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self.trials):
            raise TrialError(f"unknown trial {trial!r}; trials are 0..{len(self.trials) - 1}")
        found = self.trials[index]
        if found.state != "pending":
            hint = "; to add another measurement, tell its point" if found.state == "done" else ""
            raise TrialError(f"trial {index} is already {found.state} (value {found.value}); nothing was changed{hint}")
        return index

    def finish(self, index: int, state: State, value: Any = None, noise_std: Any = None) -> None:
        """Record the outcome of a pending trial."""
        self.trials[index] = replace(self.trials[index], state=state, value=value, noise_std=noise_std)
        self.finished.append(index)

    def rows_at(self, which: Iterable[int]) -> Rows:
        """The rows of some trials, `(count, width)`."""
        rows = [self.rows[k] for k in which]
        return np.array(rows, self.space.dtype).reshape(len(rows), self.space.width)

    def in_state(self, state: State) -> list[int]:
        """Indices of the trials in a state: finished ones in the order in which they were finished."""
        every = [trial.id for trial in self.trials] if state == "pending" else self.finished
        return [k for k in every if self.trials[k].state == state]

    def results(self) -> tuple[list[int], Floats, Floats | None]:
        """Trials that are done in the order of observation, their values and their noise, `(count, objectives)`."""
        done = self.in_state("done")
        shape = len(done), self.objectives
        values = np.array([self.trials[k].value for k in done], np.float64).reshape(shape)
        given = [self.trials[k].noise_std for k in done]
        unknown = self.as_value(np.full(self.objectives, np.nan))
        noise_std = np.array([unknown if each is None else each for each in given], np.float64).reshape(shape)
        return done, values, None if all(each is None for each in given) else noise_std

    def as_value(self, numbers: Floats) -> Any:
        """Numbers as a trial holds them: one, or a tuple with several objectives."""
        return tuple(numbers.tolist()) if self.objectives > 1 else float(numbers[0])

    def read_value(self, value: Any, what: str) -> list[float]:
        """A value, or one for each objective, as floats."""
        several = self.objectives > 1
        try:
            given = list(value) if several and not isinstance(value, str | bytes) else [value]
            if any(isinstance(each, str | bytes | bool) for each in given):
                raise TypeError(f"{type(given[0]).__name__} is not a number")
            numbers = [float(each) for each in given]
        except (TypeError, ValueError) as error:
            expected = f"{self.objectives} numbers" if several else "a number"
            raise TrialError(f"{what} must be {expected}, got {value!r}") from error
        if len(numbers) != self.objectives:
            raise TrialError(f"{what} must be {self.objectives} numbers, one for each objective, got {value!r}")
        return numbers
