"""Bayesian optimisation steps shared by all methods with a model: proposals, batches, pending trials and noise."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.acquisition.functions import ACQUISITIONS, AcquisitionFunction, NoisyAcquisition
from mergebo.errors import ExhaustedError
from mergebo.gp import GP
from mergebo.methods.base import History, propose_each
from mergebo.methods.baselines import RandomSearch
from mergebo.methods.batch import Batch, law_batch
from mergebo.neighbours import random_neighbours

logger = logging.getLogger(__name__)

CANDIDATES = 400
"""Candidates of each kind in Thompson sampling: the cost of a joint sample is cubic in their number."""


class BayesianMethod(ABC):
    """A method with a model: fit it, condition it on pending rows, maximise the acquisition function."""

    batch: Batch
    incumbents: int
    moves: tuple[str, ...]

    @abstractmethod
    def _model(self, history: History, rng: np.random.Generator) -> GP:
        """A model of the observations."""

    @abstractmethod
    def _search(self, model: GP, best: float, history: History, rng: np.random.Generator) -> tuple[Rows, Floats]:
        """Untried rows with their acquisition values, best first."""

    def _is_thompson(self, history: History) -> bool:
        """Whether the next row is chosen by Thompson sampling instead of by a search."""
        return self.batch == "thompson" and len(history.pending) > 0

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        """See `Method`."""
        if len(history.values) < 2:
            return history.untried_row(rng)
        if self._is_thompson(history):
            return self._thompson(history, rng)
        model, best = condition_on_pending(self._model(history, rng), history)
        rows, _ = self._search(model, best, history, rng)
        return rows[0] if rows[0].tobytes() not in history.tried else history.random_instead("the search", rng)

    def propose_batch(self, history: History, count: int, rng: np.random.Generator) -> Rows:
        """See `BatchMethod`."""
        if self.batch == "fantasies" or len(history.values) < 2:
            return propose_each(self.propose, history, count, rng)
        if self.batch == "thompson":
            return propose_each(self._thompson, history, count, rng)
        model, best = condition_on_pending(self._model(history, rng), history)
        return fill_batch(model, *self._search(model, best, history, rng), history, count, rng)

    def _thompson(self, history: History, rng: np.random.Generator) -> Rows:
        model, _ = condition_on_pending(self._model(history, rng), history)
        return thompson_candidate(model, history, self.incumbents, self.moves, rng)


def posterior_means(model: GP, history: History) -> Floats | None:
    """Posterior means at the observed rows if values are noisy; None if they are exact."""
    return model.predict_standardised(history.rows)[0] if history.noisy else None


def acquisition_function(acquisition: str, model: GP, history: History) -> AcquisitionFunction:
    """The acquisition function of this name; for noisy values, of the posterior mean after another measurement."""
    function = ACQUISITIONS[acquisition]
    return NoisyAcquisition(function, model.hyperparameters.noise) if history.noisy else function


def revalue_incumbent(
    rows: Rows, values: Floats, function: AcquisitionFunction, model: GP, history: History
) -> tuple[Rows, Floats]:
    """Rows with their acquisition values, best first, where the incumbent of noisy values is valued separately.

    Measuring it again is worth the chance that it falls behind the second best, as in the knowledge gradient. Valued by its
    improvement on itself, it would be measured indefinitely.
    """
    means = posterior_means(model, history)
    if means is None:
        return rows, values
    first = history.rows[means.argmin()]
    others = (history.rows != first).any(axis=1)
    own = (rows == first).all(axis=1)
    if own.any() and others.any():
        _, deviation = model.predict_standardised(rows[own])
        values = values.copy()
        values[own] = function(np.full(len(deviation), means[others].min()), deviation, float(means.min()))
    order = np.argsort(-values, kind="stable")
    return rows[order], values[order]


def condition_on_pending(model: GP, history: History) -> tuple[GP, float]:
    """The model conditioned on its own predictions at pending rows, and the best standardised value, theirs included.

    So neither pending rows nor rows close to them are proposed: the next row has to promise more. Among noisy values the
    best is the best posterior mean, not the luckiest measurement.
    """
    means = posterior_means(model, history)
    best = float((model.y if means is None else means).min())
    if not len(history.pending):
        return model, best
    model = model.fantasize(history.pending)
    return model, min(best, float(model.y[-len(history.pending) :].min()))


def thompson_candidate(
    model: GP, history: History, incumbents: int, moves: tuple[str, ...], rng: np.random.Generator
) -> Rows:
    """The best of some candidates in one posterior sample: neighbours of good rows, and random ones."""
    good = history.best(incumbents, posterior_means(model, history))
    count = -(-CANDIDATES // len(good))
    near = np.concatenate([random_neighbours(row, history.space, moves, count, rng) for row in good])
    candidates = np.concatenate([near, history.space.sample_rows(CANDIDATES, seed=rng)])
    candidates = candidates[~history.is_tried(candidates)]
    if not len(candidates):
        return history.random_instead("Thompson sampling", rng)
    chosen: Rows = candidates[model.sample(candidates, rng).argmin()]
    return chosen


def fill_batch(model: GP, rows: Rows, values: Floats, history: History, count: int, rng: np.random.Generator) -> Rows:
    """The batch of LAW from the rows visited by a search, filled with random rows where too few of them are untried."""
    untried = ~history.is_tried(rows)
    chosen = law_batch(model, rows[untried], values[untried], count) if untried.any() else rows[:0]
    if len(chosen) == count:
        return chosen
    logger.info("the search found %d of %d untried points; using random ones for the rest", len(chosen), count)
    try:
        others = propose_each(RandomSearch().propose, history.with_pending(chosen), count - len(chosen), rng)
    except ExhaustedError:
        if not len(chosen):
            raise
        return chosen
    return np.concatenate([chosen, others])
