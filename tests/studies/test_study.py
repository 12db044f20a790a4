"""Studies in Python: what the command line and other interfaces call."""

from __future__ import annotations

import optuna

from mergebo.spaces import Permutation, Space
from mergebo.studies import Study, StudyConfig


def test_best_so_far_follows_the_direction() -> None:
    for direction, expected in (("minimize", [3.0, 1.0, 1.0]), ("maximize", [3.0, 3.0, 5.0])):
        study = Study(optuna.create_study(direction=direction), StudyConfig(Space(order=Permutation(2))))
        for value in (3.0, 1.0, 5.0):
            study.optuna.add_trial(optuna.create_trial(value=value))
        study.optuna.add_trial(optuna.create_trial(state=optuna.trial.TrialState.FAIL))
        assert study.best_so_far(study.trials()) == expected
