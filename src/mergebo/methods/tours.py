"""Tour search on the pairwise costs that a model implies, to improve the starts of an acquisition search."""

from __future__ import annotations

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.compiled.adjacency import two_opt
from mergebo.gp import GP
from mergebo.mean import PathLengthMean, SumMean
from mergebo.similarity import Adjacency

__all__: list[str] = []


def improve_tours(model: GP, rows: Rows) -> Rows:
    """Rows whose orders are improved by 2-opt on the pairwise costs that the model implies, if it models adjacency.

    Near a row the posterior mean is about a sum over adjacent pairs. Single moves find few of the costly pairs in a long
    order. A row that would become infeasible stays as it was.
    """
    original, rows, first = rows, rows.copy(), 0
    for name, factor in model.similarity.factors.items():
        if isinstance(factor, Adjacency) and factor.choose is None:
            where, known = model.similarity.space.slices[name], model.similarity.space.part(name, model.rows)
            rate = 0.5 / model.hyperparameters.lengthscales[first] ** 2 / factor.n
            for row, weights in zip(rows, rate * model.alpha * model.cross(rows), strict=True):
                costs = _pair_sums(factor, known, weights)
                for part in SumMean.parts_of(model.mean_function):
                    if isinstance(part, PathLengthMean):
                        costs += part.costs
                order = row[where].astype(np.int64)
                two_opt(order, costs, factor.directed, factor.cyclic)
                row[where] = order
        first += factor.num_lengthscales
    space = model.similarity.space
    if space.is_constrained:
        rows = np.concatenate([(*space.feasible_rows(row[None]), old)[:1] for row, old in zip(rows, original, strict=True)])
    return rows


def _pair_sums(pairs: Adjacency, orders: Rows, weights: Floats) -> Floats:
    """For each pair of items the sum of the weights of the orders in which they are adjacent, `(n, n)`."""
    sums = np.zeros((pairs.n, pairs.n))
    steps = pairs.n if pairs.cyclic else pairs.n - 1
    following = np.roll(orders, -1, axis=1)[:, :steps]
    np.add.at(sums, (orders[:, :steps], following), np.repeat(weights[:, None], steps, axis=1))
    return sums if pairs.directed else sums + sums.T
