"""Strategies that choose the points of a batch."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Rows
from mergebo.gp import GP

__all__: list[str] = []

Batch: TypeAlias = Literal["fantasies", "thompson", "law"]
"""One after the other, each conditioned on the expected values of those before; Thompson sampling; LAW (determinantal)."""

MAX_CANDIDATES = 400
"""Number of rows with the largest acquisition values among which LAW chooses."""
MIN_WEIGHT = 0.01
"""Smallest weight of a row: the determinant needs all weights positive."""


def law_batch(model: GP, rows: Rows, values: Floats, count: int) -> Rows:
    """The batch of LAW (Oh et al. 2022) from rows with their acquisition values, best first.

    It is promising and diverse: a greedy choice with a large determinant of `W K W`, where K is the posterior covariance
    and the weights W grow with the acquisition value.
    """
    _, first = np.unique(rows, axis=0, return_index=True)
    candidates = np.sort(first)[:MAX_CANDIDATES]
    rows, values = rows[candidates], values[candidates]
    weights = acquisition_weights(values)
    return rows[greedy_determinant(weights[:, None] * model.covariance(rows) * weights, count)]


def acquisition_weights(values: Floats) -> Floats:
    """Weights between `MIN_WEIGHT` and 1: a logistic function of standardised values, independent of their units."""
    scale = float(values.std())
    standard = (values - values.mean()) / (scale if scale > 0 else 1.0)
    return np.asarray(MIN_WEIGHT + (1 - MIN_WEIGHT) / (1 + np.exp(-standard)))


def greedy_determinant(matrix: Floats, count: int) -> NDArray[np.int64]:
    """Indices of a principal submatrix with a large determinant: each maximises it, given those before.

    This is a Cholesky factorisation with diagonal pivoting: the residual diagonal is the factor by which each index would
    multiply the determinant. Where it is zero, rounding decides, but no index is taken twice.
    """
    residual = matrix.diagonal().copy()
    factor = np.zeros((len(matrix), min(count, len(matrix))))
    chosen: list[int] = []
    for k in range(factor.shape[1]):
        pivot = int(residual.argmax())
        chosen.append(pivot)
        factor[:, k] = (matrix[pivot] - factor @ factor[pivot]) / np.sqrt(max(residual[pivot], 1e-12))
        residual -= factor[:, k] ** 2
        residual[chosen] = -np.inf
    return np.array(chosen, np.int64)
