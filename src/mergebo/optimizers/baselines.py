"""Methods without a model: random search, hill climbing, a genetic algorithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mergebo._typing import Rows
from mergebo.moves import MOVES, random_neighbours
from mergebo.optimizers.history import History
from mergebo.spaces import AnySpace, Permutation

SOME = 64
"""Random neighbours that are drawn to find one that was not tried."""


@dataclass(frozen=True)
class RandomSearch:
    """Uniform random points, none twice."""

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        return history.fresh_row(rng)


@dataclass(frozen=True)
class LocalSearch:
    """Restarted hill climbing: a random neighbour of the best point of this climb; after `patience` misses a new climb.

    Swaps, insertions and reversals of an order, flips of choices, other options and steps of numbers of all sizes are
    equally likely. `patience` is n by default.
    """

    moves: tuple[str, ...] = tuple(MOVES)
    patience: int | None = None

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        patience = self.patience or max(10, history.space.width)
        here = self._climb(history, patience)
        if here is not None:
            around = random_neighbours(history.rows[here], history.space, self.moves, SOME, rng)
            around = around[~history.is_tried(around)]
            if len(around):
                chosen: Rows = around[rng.integers(len(around))]
                return chosen
        return history.fresh_row(rng)

    @staticmethod
    def _climb(history: History, patience: int) -> int | None:
        """The best result of the current climb, found by going through the history; None if a new climb is due."""
        values, first = history.values, min(history.initial, len(history.values))
        here = int(values[:first].argmin()) if first else None
        misses = 0
        for k in range(first, len(values)):
            if here is None or values[k] < values[here]:
                here, misses = k, 0
            else:
                misses += 1
                if misses >= patience:
                    here, misses = None, 0
        return here


@dataclass(frozen=True)
class Genetic:
    """A steady-state genetic algorithm: order crossover of two good points, then a random move.

    A child that breaks rules is sorted anew, as close to itself as they allow; if that fails another one is made.
    """

    population: int = 20
    mutation: float = 0.5

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        parents = history.best(self.population)
        for _ in range(20 if len(parents) > 1 else 0):
            # Binary tournaments: of two drawn parents the better one, which comes first.
            a, b = (parents[rng.integers(len(parents), size=2).min()] for _ in range(2))
            child = crossover(a, b, history.space, rng)
            if history.space.ruled:
                mended = history.space.kept(child[None], closest=True)
                if not len(mended):
                    continue
                child = mended[0]
            if rng.random() < self.mutation:
                around = random_neighbours(child, history.space, ("swap",), 1, rng)
                child = around[rng.integers(len(around))] if len(around) else child
            if child.tobytes() not in history.tried:
                return child
        return history.random_instead("crossover", rng)


def crossover(a: Rows, b: Rows, space: AnySpace, rng: np.random.Generator) -> Rows:
    """A child of two rows: order crossover (Davis 1985) of orders, a coin for every other number."""
    child = a.copy()
    for name, where in space.slices.items():
        match space.variables[name]:
            case Permutation(n):
                first, last = np.sort(rng.integers(0, n + 1, 2))
                kept = a[where][first:last]
                rest = b[where][~np.isin(b[where], kept)]  # in b's order, around the segment that a gives
                child[where] = np.concatenate([rest[:first], kept, rest[first:]])
            case _:
                coin = rng.random(where.stop - where.start) < 0.5
                child[where] = np.where(coin, a[where], b[where])
    return child
