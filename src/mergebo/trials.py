"""Trials: points with their state and value, and the log of all trials of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.errors import TrialError
from mergebo.spaces import SearchSpace
from mergebo.spaces.variable import copied

__all__ = ["Recommendation", "State", "Trial", "TrialLog"]

State: TypeAlias = Literal["pending", "done", "failed"]
"""The state of a trial."""

Outcome: TypeAlias = tuple[State, Any, Any]
"""The state of a finished trial, its value and its noise."""


def same_point(a: Any, b: Any) -> bool:
    """Whether two points are equal, which may be arrays or dictionaries of them."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same_point(a[name], b[name]) for name in a)
    return bool(np.all(a == b)) if isinstance(a, np.ndarray) and np.shape(a) == np.shape(b) else bool(np.array_equal(a, b))


class _Copied:
    """A field that gives a copy whenever it is read, so that nobody changes what the object holds."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(self.name)  # the field has no default
        return copied(vars(instance)[self.name])

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = value


@dataclass(frozen=True)
class Trial:
    """One point with its state and value. Each `point` is a copy, which may be changed: the trial keeps its own."""

    id: int
    point: Any = _Copied()
    state: State = "pending"
    value: Any = None
    """A number; with several objectives, one for each."""
    noise_std: Any = None
    """Standard deviation of the value, or of each, if it was given."""

    def __eq__(self, other: object) -> bool:
        """Points may be arrays, which have no truth value when they are compared."""
        if type(self) is not type(other):
            return NotImplemented
        one, two = vars(self), vars(other)
        return all(same_point(one[name], two[name]) if name == "point" else one[name] == two[name] for name in one)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Recommendation(Trial):
    """The point with the best posterior mean, for noisy values. `value` is that mean, not a measurement.

    `id` is that of the point's first trial, which has the measurement.
    """

    std: Any = None
    """Posterior standard deviation; nan while unknown."""
    measurements: int = 1
    """How often the point was measured."""


class TrialLog:
    """All trials of a run as rows with their outcomes, and the order in which they were finished.

    Points, which only users see, are decoded when a `Trial` is asked for.
    """

    def __init__(self, space: SearchSpace, objectives: int) -> None:
        self.space = space
        self.objectives = objectives
        self.rows: list[Rows] = []
        self.states: list[State] = []
        self.values: list[Any] = []
        self.noise_stds: list[Any] = []
        self.finished: list[int] = []
        """Indices of finished trials, in the order in which they were finished."""
        self._indices: dict[bytes, list[int]] = {}
        self._trials: dict[int, Trial] = {}
        """The trials that were asked for since they last changed."""

    def __len__(self) -> int:
        return len(self.rows)

    def trial(self, index: int) -> Trial:
        """A trial with its point."""
        if index not in self._trials:
            outcome = self.states[index], self.values[index], self.noise_stds[index]
            self._trials[index] = Trial(index, self.space.decode(self.rows[index]), *outcome)
        return self._trials[index]

    def trials(self) -> list[Trial]:
        """All trials with their points."""
        return [self.trial(index) for index in range(len(self))]

    def add(self, row: Rows) -> int:
        """Add a pending trial; returns its index."""
        index = len(self)
        self.rows.append(row)
        self.states.append("pending")
        self.values.append(None)
        self.noise_stds.append(None)
        self._indices.setdefault(row.tobytes(), []).append(index)
        return index

    def finish(self, index: int, state: State, value: Any = None, noise_std: Any = None) -> None:
        """Record the outcome of a pending trial."""
        self.states[index], self.values[index], self.noise_stds[index] = state, value, noise_std
        if index in self._trials:  # the point need not be decoded again
            self._trials[index] = replace(self._trials[index], state=state, value=value, noise_std=noise_std)
        self.finished.append(index)

    def truncate(self, count: int) -> None:
        """Remove all trials but the first ones."""
        for index in range(len(self) - 1, count - 1, -1):
            same = self._indices[self.rows[index].tobytes()]
            same.pop()
            if not same:
                del self._indices[self.rows[index].tobytes()]
            self._trials.pop(index, None)
        for column in (self.rows, self.states, self.values, self.noise_stds):
            del column[count:]
        self.finished = [index for index in self.finished if index < count]

    def copy(self) -> TrialLog:
        """The same trials in a log of their own."""
        other = TrialLog(self.space, self.objectives)
        for row in self.rows:
            other.add(row)
        other.states, other.values, other.noise_stds = [*self.states], [*self.values], [*self.noise_stds]
        other.finished = [*self.finished]
        return other

    def indices_of(self, row: Rows) -> list[int]:
        """The trials of a row."""
        return self._indices.get(row.tobytes(), [])

    def pending_index(self, trial: Any) -> int:
        """The index of a pending trial, given itself or its id; an error if there is none."""
        index = trial.id if isinstance(trial, Trial) else trial
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self):
            raise TrialError(f"unknown trial {trial!r}; trials are 0..{len(self) - 1}")
        state = self.states[index]
        if state != "pending":
            hint = "; to add another measurement, tell its point" if state == "done" else ""
            raise TrialError(f"trial {index} is already {state} (value {self.values[index]}); nothing was changed{hint}")
        return index

    def rows_at(self, which: Iterable[int]) -> Rows:
        """The rows of some trials, `(count, width)`."""
        rows = [self.rows[k] for k in which]
        return np.array(rows, self.space.dtype).reshape(len(rows), self.space.width)

    def in_state(self, state: State) -> list[int]:
        """Indices of the trials in a state: finished ones in the order in which they were finished."""
        every = range(len(self)) if state == "pending" else self.finished
        return [k for k in every if self.states[k] == state]

    def results(self) -> tuple[list[int], Floats, Floats | None]:
        """Trials that are done in the order of observation, their values and their noise, `(count, objectives)`."""
        done = self.in_state("done")
        shape = len(done), self.objectives
        values = np.array([self.values[k] for k in done], np.float64).reshape(shape)
        given = [self.noise_stds[k] for k in done]
        unknown = self.as_value(np.full(self.objectives, np.nan))
        noise_std = np.array([unknown if each is None else each for each in given], np.float64).reshape(shape)
        return done, values, None if all(each is None for each in given) else noise_std

    def as_value(self, numbers: Floats) -> Any:
        """Numbers as a trial holds them: one, or a tuple with several objectives."""
        return tuple(numbers.tolist()) if self.objectives > 1 else float(numbers[0])

    def outcome(self, value: Any, noise_std: Any, what: str) -> Outcome:
        """State, value and noise that a trial has after an observation; a value that is not finite is a failure."""
        numbers = self._read_value(value, f"the value of {what}")
        noise = None if noise_std is None else self._read_value(noise_std, f"the noise of {what}")
        if noise is not None and not all(math.isfinite(each) and each >= 0 for each in noise):
            raise TrialError(f"the noise of {what} must be a finite standard deviation, at least 0, got {noise_std!r}")
        if not all(map(math.isfinite, numbers)):
            return "failed", None, None
        return "done", self.as_value(np.array(numbers)), None if noise is None else self.as_value(np.array(noise))

    def _read_value(self, value: Any, what: str) -> list[float]:
        """A value, or one for each objective, as floats."""
        several = self.objectives > 1
        try:
            given = list(value) if several and not isinstance(value, str | bytes) else [value]
            if any(isinstance(each, str | bytes | bool | np.bool_) for each in given):
                raise TypeError(f"{type(given[0]).__name__} is not a number")
            numbers = [float(each) for each in given]
        except (TypeError, ValueError, OverflowError) as error:
            expected = f"{self.objectives} numbers" if several else "a number"
            raise TrialError(f"{what} must be {expected}, got {value!r}") from error
        if len(numbers) != self.objectives:
            raise TrialError(f"{what} must be {self.objectives} numbers, one for each objective, got {value!r}")
        return numbers
