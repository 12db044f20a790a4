"""How much a search explores: the factor by which acquisition functions see posterior standard deviations multiplied.

Expected improvement is too greedy in spaces of orders. The union bound behind the regret bound of GP-UCB (Srinivas et al.
2010) multiplies deviations by `sqrt(2 log |X|)`, where |X| is the number of points; Wang & de Freitas (2014) do the same
inside expected improvement. The factor here has the same form, with a smaller constant. The constants were found by
experiment: see docs/auto.md.
"""

from __future__ import annotations

import math
from functools import singledispatch

from mergebo.errors import ArgumentError
from mergebo.gp import GP
from mergebo.mean import PathLengthMean, SumMean
from mergebo.similarity import Adjacency, Positions, Similarity, SlotDistances

__all__: list[str] = []

PRECEDENCE, LAYOUT = 0.35, 0.2
"""Multiples of `sqrt(log |X|)` for models of precedence, and of positions and slot distances."""


@singledispatch
def exploration_rate(similarity: Similarity) -> float:
    """The multiple of `sqrt(log |X|)` for models with this similarity of orders. Register one for a new similarity."""
    return PRECEDENCE


@exploration_rate.register
def _(similarity: Positions | SlotDistances) -> float:
    return LAYOUT


@exploration_rate.register
def _(similarity: Adjacency) -> float:
    return 0.0


def exploration_factor(model: GP) -> float:
    """The factor for a model, at least 1: it grows with the number of points, and depends on what the model reads.

    It is 1 for models of adjacent pairs, which soon have an item embedding, and for those that have one. And it is 1 where
    there are binary variables, whose number of ones can be far from all that was observed: there, more exploration has cost
    something on the travelling thief.
    """
    if model.similarity.space.binaries or any(
        isinstance(part, PathLengthMean) for part in SumMean.parts_of(model.mean_function)
    ):
        return 1.0
    space = model.similarity.space
    rate = max((exploration_rate(model.similarity.factors[name]) for name in space.permutations), default=LAYOUT)
    return max(1.0, rate * math.sqrt(space.log_size))


def check_exploration(given: float | None) -> None:
    """Raise an error unless this is a factor, or None."""
    if given is None:
        return
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < math.inf:
        raise ArgumentError(
            f"exploration must be a factor of standard deviations, above 0, such as 2.0, or None to derive it; got {given!r}"
        )
