"""Plots of a study."""

from __future__ import annotations

import numpy as np
import optuna

from mergebo.integrations.optuna import distributions, params
from mergebo.plots import study as pictures
from mergebo.spaces import Permutation, Space
from mergebo.studies import Study, StudyConfig


def test_good_orders_are_the_best_ones() -> None:
    study = Study(optuna.create_study(direction="maximize"), StudyConfig(Space(order=Permutation(items=list("abc")))))
    for order, value in (("abc", 1), ("cab", 9), ("bca", 5), ("acb", 0)):
        held = params(study.space, {"order": list(order)})
        study.optuna.add_trial(optuna.create_trial(params=held, distributions=distributions(study.space), value=value))
    slots, which = pictures.good_slots(study)
    assert slots.tolist() == [[1, 2, 0], [2, 0, 1], [0, 1, 2]]  # of a, b and c
    assert which == "the best 3 orders"
    (image,) = pictures.precedence(study).axes[0].images
    shares = np.ma.filled(image.get_array(), np.nan)
    assert np.nanmax(np.abs(shares + shares.T - 1)) < 1e-9
