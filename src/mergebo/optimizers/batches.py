"""Several points at once: rules by which the members of a batch are chosen."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Rows
from mergebo.surrogate import GP

Batch: TypeAlias = Literal["fantasies", "thompson", "law"]
"""One after the other, each taken to come out as expected; one draw from the posterior each; a determinantal choice."""

CONSIDERED = 400
"""The most promising rows among which a determinantal choice is made."""
LEAST_WEIGHT = 0.01
"""Of a row that promises nothing: the determinant wants all weights positive."""


def law(model: GP, rows: Rows, values: Floats, count: int) -> Rows:
    """The batch of LAW (Oh et al. 2022) from rows with their acquisition values, best first: promising and diverse.

    That is the greedy choice of a large determinant of `W K W`: K is the posterior covariance, and W holds weights that grow
    with the acquisition value.
    """
    _, first = np.unique(rows, axis=0, return_index=True)
    kept = np.sort(first)[:CONSIDERED]
    rows, values = rows[kept], values[kept]
    weights = acquisition_weights(values)
    return rows[greedy_determinant(weights[:, None] * model.covariance(rows) * weights, count)]


def acquisition_weights(values: Floats) -> Floats:
    """Between `LEAST_WEIGHT` and 1: a logistic function of standardised values, which no acquisition's units change."""
    scale = float(values.std())
    standard = (values - values.mean()) / (scale if scale > 0 else 1.0)
    return np.asarray(LEAST_WEIGHT + (1 - LEAST_WEIGHT) / (1 + np.exp(-standard)))


def greedy_determinant(matrix: Floats, count: int) -> NDArray[np.int64]:
    """Indices of a principal submatrix with a large determinant: each the one that makes it largest, given those before.

    A partial Cholesky factorisation whose next pivot is the largest: what is left on the diagonal is by how much each
    index would multiply the determinant. Where nothing is left, rounding decides, but no index is taken twice.
    """
    left = matrix.diagonal().copy()
    factor = np.zeros((len(matrix), min(count, len(matrix))))
    chosen: list[int] = []
    for k in range(factor.shape[1]):
        pivot = int(left.argmax())
        chosen.append(pivot)
        factor[:, k] = (matrix[pivot] - factor @ factor[pivot]) / np.sqrt(max(left[pivot], 1e-12))
        left -= factor[:, k] ** 2
        left[chosen] = -np.inf
    return np.array(chosen, np.int64)
