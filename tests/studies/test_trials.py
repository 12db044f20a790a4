"""Which trials of a study count."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.distributions import IntDistribution
from optuna.trial import FrozenTrial, TrialState

from mergebo.studies.attributes import CANCELLED, DISCARDED, RETRY_OF, WORKER
from mergebo.studies.trials import counted_trials, is_usable, shown_trials, state_of

FAIL, RUNNING = TrialState.FAIL, TrialState.RUNNING


def trial(number: int, state: TrialState = TrialState.COMPLETE, **attributes: Any) -> FrozenTrial:
    created = optuna.create_trial(
        state=state,
        value=1.0 if state == TrialState.COMPLETE else None,
        params={"x": number},
        distributions={"x": IntDistribution(0, 100)},
        user_attrs={
            {"again": RETRY_OF, "cancelled": CANCELLED, "surplus": DISCARDED, "worker": WORKER}[name]: value
            for name, value in attributes.items()
        },
    )
    created.number = number
    return created


@pytest.mark.parametrize(
    ("trials", "expected"),
    [
        ([], []),
        ([trial(0), trial(1, RUNNING)], [0, 1]),
        ([trial(0, FAIL), trial(1), trial(2, again=[0])], [2, 1]),
        ([trial(0, FAIL), trial(1), trial(2, FAIL, again=[0]), trial(3, RUNNING, again=[0, 2])], [3, 1]),
        ([trial(0, FAIL), trial(1, RUNNING, again=[0]), trial(2, RUNNING, again=[0])], [1]),
        ([trial(0, FAIL), trial(1, FAIL, again=[0]), trial(2, again=[0])], [2]),
        ([trial(0, FAIL), trial(1, again=[0]), trial(2, again=[0])], [1]),
        ([trial(0), trial(1, FAIL, surplus=True), trial(2)], [0, 2]),
        ([trial(0), trial(1, FAIL, cancelled=True), trial(2)], [0, 2]),
        ([trial(0, FAIL, worker="w"), trial(1, FAIL, again=[0], cancelled=True), trial(2)], [2]),
        ([trial(0, FAIL), trial(1, FAIL, again=[0], surplus=True), trial(2, RUNNING, again=[0])], [2]),
    ],
)
def test_counted_trials(trials: list[FrozenTrial], expected: list[int]) -> None:
    assert [each.number for each in counted_trials(trials)] == expected


def test_cancelled_trials_are_shown_and_not_used() -> None:
    trials = [trial(0), trial(1, FAIL, cancelled=True), trial(2, FAIL)]
    assert [state_of(each) for each in shown_trials(trials)] == ["done", "cancelled", "failed"]
    assert [is_usable(each, set()) for each in trials] == [True, False, True]
