"""Objectives of orders and binary choices, and helpers that drive optimizers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import mergebo as mb

MIXED = mb.Space(route=mb.Permutation(5), picks=mb.Binary(4))


def objective(point: Any) -> float:
    """The distance of an order from 0, 1, 2 ..., and the number of ones."""
    if isinstance(point, dict):
        return float(mb.distances.kendall(point["route"], np.arange(5), view="rank") + 2 * np.sum(point["picks"]))
    return float(mb.distances.kendall(point, np.arange(len(point)), view="rank"))


def drive(optimizer: mb.Optimizer, count: int) -> list[list[float]]:
    """Ask and tell `count` times; returns the rows of all trials."""
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.point))
    return tried_rows(optimizer)


def tried_rows(optimizer: mb.Optimizer) -> list[list[float]]:
    return [optimizer.space.encode(trial.point).tolist() for trial in optimizer.trials]


def through_json(optimizer: mb.Optimizer, **given: Any) -> mb.Optimizer:
    return mb.Optimizer.from_state(json.loads(json.dumps(optimizer.state())), **given)
