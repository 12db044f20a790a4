"""The initial design: the first points of a run, before there is a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from mergebo._typing import Rows
from mergebo.errors import ArgumentError, unknown_choice
from mergebo.methods.base import History

__all__: list[str] = []

Design: TypeAlias = Literal["stratified", "uniform"]

PRIOR_CANDIDATES = 8
"""Random points of which every other point of the initial design is the best by the prior mean."""


@dataclass(frozen=True)
class InitialDesign:
    """Random points, the same for every method with the same seed.

    Orders are uniform. Of binary choices, the first point has none, the second all, and the others a random share; with
    `kind="uniform"` each is 1 with probability 1/2.
    """

    size: int
    kind: Design = "stratified"

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise ArgumentError(f"a run starts with at least one random point, got initial={self.size!r}")
        if self.kind not in get_args(Design):
            raise unknown_choice("design", self.kind, get_args(Design))

    def row(self, number: int, history: History, rng: np.random.Generator) -> Rows:
        """The untried row with this number: a random one, or every other time the best of several by the prior mean."""
        stratum = number if self.kind == "stratified" else None
        if history.prior_mean is None or number % 2:
            return history.untried_row(rng, stratum)
        rows = np.array([history.untried_row(rng, stratum) for _ in range(PRIOR_CANDIDATES)])
        best: Rows = rows[history.prior_mean.prior(rows).argmin()]
        return best
