"""What methods with a model share: how rows are proposed, one or several, drawn or searched, pending ones and noise."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.acquisition.values import ACQUISITIONS, NoisyScore, Score
from mergebo.errors import ExhaustedError
from mergebo.moves import random_neighbours
from mergebo.optimizers.baselines import RandomSearch
from mergebo.optimizers.batches import Batch, law
from mergebo.optimizers.history import History, propose_each
from mergebo.surrogate import GP

logger = logging.getLogger(__name__)

CANDIDATES = 400
"""Of each kind, for Thompson sampling: a joint draw of them costs the cube of their number."""


class Modelled(ABC):
    """A method with a model: fit, take pending rows into account, search."""

    batch: Batch
    incumbents: int
    moves: tuple[str, ...]

    @abstractmethod
    def _model(self, history: History, rng: np.random.Generator) -> GP:
        """A model of the results."""

    @abstractmethod
    def _search(self, model: GP, best: float, history: History, rng: np.random.Generator) -> tuple[Rows, Floats]:
        """Untried rows with their acquisition values, best first."""

    def _draws(self, history: History) -> bool:
        """Whether the next row is the best of a draw from the posterior, instead of the one that a search finds."""
        return self.batch == "thompson" and len(history.pending) > 0

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        """See `Method`."""
        if len(history.values) < 2:
            return history.fresh_row(rng)
        if self._draws(history):
            return self._drawn(history, rng)
        model, best = with_pending(self._model(history, rng), history)
        rows, _ = self._search(model, best, history, rng)
        return rows[0] if rows[0].tobytes() not in history.tried else history.random_instead("the search", rng)

    def propose_batch(self, history: History, count: int, rng: np.random.Generator) -> Rows:
        """See `BatchMethod`."""
        if self.batch == "fantasies" or len(history.values) < 2:
            return propose_each(self.propose, history, count, rng)
        if self.batch == "thompson":
            return propose_each(self._drawn, history, count, rng)
        model, best = with_pending(self._model(history, rng), history)
        return law_or_fresh(model, *self._search(model, best, history, rng), history, count, rng)

    def _drawn(self, history: History, rng: np.random.Generator) -> Rows:
        model, _ = with_pending(self._model(history, rng), history)
        return best_drawn(model, history, self.incumbents, self.moves, rng)


def expected(model: GP, history: History) -> Floats | None:
    """What a model expects at the rows that were tried, where values are noisy; None where they are what they are."""
    return model.predict_standardised(history.rows)[0] if history.noisy else None


def score_of(acquisition: str, model: GP, history: History) -> Score:
    """The acquisition function of this name; where values are noisy, that of what another measurement would tell."""
    score = ACQUISITIONS[acquisition]
    return NoisyScore(score, model.hyperparameters.noise) if history.noisy else score


def reconsidered(rows: Rows, values: Floats, score: Score, model: GP, history: History) -> tuple[Rows, Floats]:
    """Rows with their acquisition values, best first, once the best of noisy rows is valued as what it is.

    To measure it again can only show that it is not the best: its chance to fall behind the next best counts, as in the
    knowledge gradient. It would be measured for ever if it were to improve on itself.
    """
    means = expected(model, history)
    if means is None:
        return rows, values
    first = history.rows[means.argmin()]
    others = (history.rows != first).any(axis=1)
    own = (rows == first).all(axis=1)
    if own.any() and others.any():
        _, deviation = model.predict_standardised(rows[own])
        values = values.copy()
        values[own] = score(np.full(len(deviation), means[others].min()), deviation, float(means.min()))
    order = np.argsort(-values, kind="stable")
    return rows[order], values[order]


def with_pending(model: GP, history: History) -> tuple[GP, float]:
    """The model after it has seen what it expects of pending rows, and the best standardised value, theirs included.

    So what is awaited is not proposed again, nor anything close to it: the next row has to promise more than that.
    Among noisy values the best is the best expected one, not the luckiest.
    """
    means = expected(model, history)
    best = float((model.y if means is None else means).min())
    if not len(history.pending):
        return model, best
    model = model.with_points(history.pending)
    return model, min(best, float(model.y[-len(history.pending) :].min()))


def best_drawn(model: GP, history: History, incumbents: int, moves: tuple[str, ...], rng: np.random.Generator) -> Rows:
    """The best of some candidates in one draw from the posterior: neighbours of good rows, and random ones."""
    good = history.best(incumbents, expected(model, history))
    some = -(-CANDIDATES // len(good))
    near = np.concatenate([random_neighbours(row, history.space, moves, some, rng) for row in good])
    candidates = np.concatenate([near, history.space.sample_rows(CANDIDATES, seed=rng)])
    candidates = candidates[~history.is_tried(candidates)]
    if not len(candidates):
        return history.random_instead("Thompson sampling", rng)
    chosen: Rows = candidates[model.sample(candidates, rng).argmin()]
    return chosen


def law_or_fresh(model: GP, rows: Rows, values: Floats, history: History, count: int, rng: np.random.Generator) -> Rows:
    """The batch of LAW from rows that a search met; random rows where it met too few that were not tried."""
    new = ~history.is_tried(rows)
    chosen = law(model, rows[new], values[new], count) if new.any() else rows[:0]
    if len(chosen) == count:
        return chosen
    logger.info("the search found %d of %d untried points; using random ones for the rest", len(chosen), count)
    try:
        others = propose_each(RandomSearch().propose, history.awaiting(chosen), count - len(chosen), rng)
    except ExhaustedError:
        if not len(chosen):
            raise
        return chosen
    return np.concatenate([chosen, others])
