"""A short round tour of random cities; needs optunahub."""

from __future__ import annotations

import numpy as np
import optuna
import optunahub

module = optunahub.load_module(package="samplers/permutation")
cities = np.random.default_rng(0).random((12, 2))


def length(trial: optuna.Trial) -> float:
    """The length of the tour."""
    tour = module.suggest_permutation(trial, "tour", len(cities))
    return float(np.linalg.norm(cities[tour] - cities[np.roll(tour, 1)], axis=1).sum())


study = optuna.create_study(sampler=module.PermutationSampler(seed=0))
study.optimize(length, n_trials=60)
print(study.best_value, study.best_trial.user_attrs["tour"])
