"""Methods without a model: random search, local search, a genetic algorithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mergebo._typing import Rows
from mergebo.methods.base import History
from mergebo.neighbours import MOVES

__all__ = ["Genetic", "LocalSearch", "RandomSearch"]

SAMPLED_NEIGHBOURS = 64
"""Number of random neighbours sampled to find an untried one."""


@dataclass(frozen=True)
class RandomSearch:
    """Uniform random points without repetition."""

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        return history.untried_row(rng)


@dataclass(frozen=True)
class LocalSearch:
    """Hill climbing with restarts: a random neighbour of the incumbent; a restart after `patience` failures.

    Swaps, insertions and reversals of an order, flips of binary choices, other options and steps of numbers of all sizes
    are equally likely. By default, `patience` is the width of a point, at least 10.
    """

    moves: tuple[str, ...] = tuple(MOVES)
    patience: int | None = None

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        patience = self.patience or max(10, history.space.width)
        here = self._incumbent(history, patience)
        if here is not None:
            around = history.space.random_neighbours(history.rows[here], self.moves, SAMPLED_NEIGHBOURS, rng)
            around = around[~history.is_tried(around)]
            if len(around):
                chosen: Rows = around[rng.integers(len(around))]
                return chosen
        return history.untried_row(rng)

    @staticmethod
    def _incumbent(history: History, patience: int) -> int | None:
        """Index of the best observation since the last restart, replayed from the history; None if a restart is due."""
        values, first = history.values, min(history.initial, len(history.values))
        here = int(values[:first].argmin()) if first else None
        failures = 0
        for k in range(first, len(values)):
            if here is None or values[k] < values[here]:
                here, failures = k, 0
            else:
                failures += 1
                if failures >= patience:
                    here, failures = None, 0
        return here


@dataclass(frozen=True)
class Genetic:
    """A steady-state genetic algorithm: order crossover of two good points, then a random move.

    An infeasible child is repaired to a nearby feasible order; if that fails another one is made.
    """

    population: int = 20
    mutation: float = 0.5

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        parents = history.best(self.population)
        for _ in range(20 if len(parents) > 1 else 0):
            # Binary tournaments: the better of two sampled parents, which are sorted by value.
            a, b = (parents[rng.integers(len(parents), size=2).min()] for _ in range(2))
            child = history.space.crossover(a, b, rng)
            if history.space.is_constrained:
                repaired = history.space.feasible_rows(child[None], repair=True)
                if not len(repaired):
                    continue
                child = repaired[0]
            if rng.random() < self.mutation:
                around = history.space.random_neighbours(child, ("swap",), 1, rng)
                child = around[rng.integers(len(around))] if len(around) else child
            if child.tobytes() not in history.tried:
                return child
        return history.random_instead("crossover", rng)
