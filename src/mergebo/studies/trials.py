"""The trials of a study: which of them count, their parameters, and the values that a model may read."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from mergebo.studies.attributes import CANCELLED, DISCARDED, PROPOSED, QUEUED, REASON, RETRY_OF, WORKER

__all__ = [
    "STATES",
    "CommonParameters",
    "PointsSeen",
    "counted_trials",
    "is_usable",
    "params_of",
    "penalised_values",
    "retried_numbers",
    "shown_trials",
    "state_of",
    "was_cancelled",
    "was_interrupted",
]

STATES = {
    TrialState.COMPLETE: "done",
    TrialState.RUNNING: "pending",
    TrialState.WAITING: "queued",
    TrialState.FAIL: "failed",
    TrialState.PRUNED: "failed",
}
"""The states of trials as users see them, apart from cancelled ones."""


def state_of(trial: FrozenTrial) -> str:
    """The state of a trial as users see it."""
    return "cancelled" if was_cancelled(trial) else STATES[trial.state]


def was_cancelled(trial: FrozenTrial) -> bool:
    """Whether a trial ended in a way that says nothing about its point, which may be proposed again."""
    return CANCELLED in trial.user_attrs


def was_interrupted(trial: FrozenTrial) -> bool:
    """Whether a trial ended only because its worker did, so that it will be retried."""
    return trial.state == TrialState.FAIL and WORKER in trial.user_attrs and REASON not in trial.user_attrs


def counted_trials(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """The trials that count, in the order in which they were first started: of a retried trial, the last retry.

    Cancelled trials do not count. Two workers may retry a trial at the same moment: the first retry counts, unless only the
    other one has a value.
    """
    counted = [trial for trial in trials if DISCARDED not in trial.user_attrs]
    retries: dict[int, FrozenTrial] = {}
    for trial in counted:
        if retried := trial.user_attrs.get(RETRY_OF):
            other = retries.get(retried[-1])
            if other is None or (trial.state == TrialState.COMPLETE != other.state):
                retries[retried[-1]] = trial

    def last(trial: FrozenTrial) -> FrozenTrial:
        while trial.number in retries:
            trial = retries[trial.number]
        return trial

    found = [last(trial) for trial in counted if RETRY_OF not in trial.user_attrs]
    return [trial for trial in found if not was_cancelled(trial)]


def shown_trials(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """The trials that count and the cancelled ones, sorted by number.

    Interrupted trials have the state WAITING, since they will be retried.
    """
    trials = list(trials)
    found = [trial for trial in trials if was_cancelled(trial)]
    for trial in counted_trials(trials):
        if was_interrupted(trial):
            trial = copy.copy(trial)
            trial.state = TrialState.WAITING
        found.append(trial)
    return sorted(found, key=lambda trial: trial.number)


def params_of(trial: FrozenTrial) -> dict[str, Any]:
    """The parameters of a trial, including those proposed or enqueued for it that are not yet suggested."""
    return {**trial.system_attrs.get(PROPOSED, {}), **trial.system_attrs.get(QUEUED, {}), **trial.params}


def retried_numbers(trials: Iterable[FrozenTrial]) -> set[int]:
    """The numbers of the trials of which there is a retry."""
    return {number for trial in trials for number in trial.user_attrs.get(RETRY_OF, ())}


def is_usable(trial: FrozenTrial, retried: set[int]) -> bool:
    """Whether proposals take a trial into account; queued, discarded, cancelled and retried ones are of no use."""
    if trial.state == TrialState.WAITING or DISCARDED in trial.user_attrs or was_cancelled(trial):
        return False
    return not (trial.state == TrialState.FAIL and trial.number in retried)


def penalised_values(trials: Sequence[FrozenTrial], signs: Sequence[float]) -> list[list[float]]:
    """The values of complete trials, with a penalty for those that violate constraints of Optuna.

    The values of infeasible trials are worse than those of all feasible ones: by the range of the feasible values for the
    largest violation, and proportionally less for smaller ones. `signs` are 1 for minimised objectives and -1 for others.
    """
    violations = np.array([sum(max(0.0, each) for each in trial.constraints.values()) for trial in trials])
    if not violations.any():
        return [list(trial.values) for trial in trials]
    values = np.array(signs) * np.array([trial.values for trial in trials]).reshape(len(trials), len(signs))
    feasible = values[violations == 0]
    worst, scale = (feasible.max(axis=0), np.ptp(feasible, axis=0)) if len(feasible) else (np.zeros(len(signs)),) * 2
    for k in np.flatnonzero(violations):
        values[k] = worst + np.where(scale > 0, scale, 1.0) * violations[k] / violations.max()
    return (np.array(signs) * values).tolist()  # type: ignore[no-any-return]


class PointsSeen:
    """The points of all trials at one moment, to find out later whether another process has proposed the same one since."""

    def __init__(self, trials: Iterable[FrozenTrial]) -> None:
        self._finished, self._points = set(), {}
        for trial in trials:
            if trial.state.is_finished():  # so that its point stays the same
                self._finished.add(trial.number)
            else:
                self._points[trial.number] = params_of(trial)

    def is_proposed_since(self, params: Mapping[str, Any], trials: Iterable[FrozenTrial]) -> bool:
        """Whether one of these trials has these parameters and did not have them before."""
        return any(
            params_of(trial) == params != self._points.get(trial.number)
            for trial in trials
            if trial.number not in self._finished
        )


class CommonParameters:
    """The parameters that all complete trials have, with the same distribution; only new trials are compared."""

    def __init__(self) -> None:
        self._latest: tuple[list[FrozenTrial], dict[str, BaseDistribution]] = [], {}
        """The trials compared last, and what they have in common."""

    def of(self, trials: Iterable[FrozenTrial]) -> dict[str, BaseDistribution]:
        """The common parameters of these trials, sorted by name."""
        complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
        seen, common = self._latest
        if len(complete) < len(seen) or any(one is not other for one, other in zip(seen, complete, strict=False)):
            seen, common = [], {}
        for k in range(len(seen), len(complete)):
            own = complete[k].distributions
            common = {name: each for name, each in common.items() if own.get(name) == each} if k else dict(own)
        self._latest = complete, common
        return dict(sorted(common.items()))
