"""Explanations of random results of a problem, and the true effects that they are compared with."""

from __future__ import annotations

import numpy as np

import mergebo as mb
from mergebo.explain import Effect, Explanation, explain
from mergebo.methods import History


def make_history(space: mb.PermutationSpace | mb.Space, rows: np.ndarray, values: np.ndarray) -> History:
    return History(space, rows, np.asarray(values, float), rows[:0], rows[:0], len(rows))


def explained(problem: str, count: int, direction: str = "minimize", seed: int = 0) -> Explanation:
    made = mb.problems.get(problem)
    rows = made.space.sample_rows(count, seed=seed)
    return explain(make_history(made.space, rows, made.evaluate_rows(rows)), direction)


def difference(values: np.ndarray, holds: np.ndarray) -> float:
    return float(values[holds].mean() - values[~holds].mean())


def adjusted(ranks: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Coefficients of all pairs' orders in a linear regression."""
    n = ranks.shape[1]
    a, b = np.triu_indices(n, 1)
    features = np.column_stack([ranks[:, a] < ranks[:, b], np.ones(len(ranks))])
    out = np.zeros((n, n))
    out[a, b] = np.linalg.lstsq(features, values, rcond=None)[0][:-1]
    return out - out.T


def truth(effect: Effect, ranks: np.ndarray, values: np.ndarray) -> float:
    a, b = effect.where
    if effect.kind == "adjusted":
        return float(adjusted(ranks, values)[a, b])
    if effect.kind == "precedence":
        return difference(values, ranks[:, a] < ranks[:, b])
    if effect.kind == "position":
        return difference(values, ranks[:, a] * 3 // ranks.shape[1] == b)
    return difference(values, np.abs(ranks[:, a] - ranks[:, b]) == 1)
