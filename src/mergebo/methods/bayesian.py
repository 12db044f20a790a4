"""Bayesian optimisation: a model, an acquisition function and a search, with batches, pending trials and noise."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

import numpy as np

from mergebo._timing import phase
from mergebo._typing import Floats, Rows
from mergebo.acquisition import AcquisitionFunction, AfterMeasurement, Exploring, Feasibility, LogExpectedImprovement
from mergebo.errors import ExhaustedError, unknown_choice
from mergebo.gp import GP
from mergebo.methods.base import History, propose_each
from mergebo.methods.baselines import RandomSearch
from mergebo.methods.batch import Batch, law_batch
from mergebo.methods.exploration import check_exploration, exploration_factor
from mergebo.methods.models import AveragedBuilder, ModelBuilder
from mergebo.methods.search import AcquisitionSearch, NeighbourhoodSearch, ThompsonSampling

__all__ = ["Bayesian"]

logger = logging.getLogger(__name__)
RECENT = 10
"""Number of the latest evaluations whose failures make a search more cautious."""
CAUTION = 2.0
"""What each of them adds to the power to which the probability of success is raised: the search goes where that probability
is overestimated, above all to the boundary of what succeeds."""


@dataclass(frozen=True)
class Bayesian:
    """Build a model of the observations, condition it on pending rows, and propose the maximum of the acquisition function.

    The points of a batch are chosen one after the other, each conditioned on the expected values of those before
    (`batch="fantasies"`), by Thompson sampling (`"thompson"`), or jointly, promising and diverse (`"law"`, Oh et al. 2022).
    """

    model: ModelBuilder
    acquisition: AcquisitionFunction = LogExpectedImprovement()
    search: AcquisitionSearch = NeighbourhoodSearch()
    batch: Batch = "fantasies"
    exploration: float | None = 1.0
    """Factor by which the acquisition function sees standard deviations multiplied; None to derive it from the size of the
    space and the model."""

    def __post_init__(self) -> None:
        check_exploration(self.exploration)
        if self.batch not in get_args(Batch):
            raise unknown_choice("batch", self.batch, get_args(Batch))

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        """See `Method`."""
        return self._propose(history, rng, self._thompson if self.batch == "thompson" and len(history.pending) else None)

    def propose_batch(self, history: History, count: int, rng: np.random.Generator) -> Rows:
        """See `BatchMethod`."""
        if self.batch == "fantasies" or len(history.values) < 2:
            return propose_each(self.propose, history, count, rng)
        if self.batch == "thompson":
            return propose_each(lambda known, rng: self._propose(known, rng, self._thompson), history, count, rng)
        model, rows, values = self._candidates(history, rng, self.search)
        return _fill_batch(model, rows, values, history, count, rng)

    @property
    def _thompson(self) -> ThompsonSampling:
        return ThompsonSampling(self.search.moves, max(1, self.search.incumbents))

    def _propose(self, history: History, rng: np.random.Generator, search: AcquisitionSearch | None) -> Rows:
        """The best untried row by a search: this one, or the method's own."""
        if len(history.values) < 2:
            return history.untried_row(rng)
        _, rows, _ = self._candidates(history, rng, search or self.search)
        if len(rows) and rows[0].tobytes() not in history.tried:
            best: Rows = rows[0]
            return best
        return history.random_instead("the search", rng)

    def _candidates(self, history: History, rng: np.random.Generator, search: AcquisitionSearch) -> tuple[GP, Rows, Floats]:
        """The model, and rows with their acquisition values, best first."""
        with phase("fit"):
            model = self.model.build(history, rng)
            feasibility = feasibility_of(self.model, history, rng)
        model, best = condition_on_pending(model, history)
        factor = exploration_factor(model) if self.exploration is None else self.exploration
        function = self.acquisition if factor == 1 else Exploring(self.acquisition, factor)
        if history.noisy:
            function = AfterMeasurement(function, model.hyperparameters.noise)
        return model, *search.maximise(model, function, best, history, rng, feasibility)


@dataclass(frozen=True)
class Preset(ABC):
    """Settings of one method that stand for a `Bayesian`: `bayesian()` shows its model, acquisition function and search."""

    def __post_init__(self) -> None:
        self._made  # noqa: B018 (raises the errors of wrong settings)

    @abstractmethod
    def bayesian(self) -> Bayesian:
        """The method with these settings."""

    @cached_property
    def _made(self) -> Bayesian:
        return self.bayesian()

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        """See `Method`."""
        return self._made.propose(history, rng)

    def propose_batch(self, history: History, count: int, rng: np.random.Generator) -> Rows:
        """See `BatchMethod`."""
        return self._made.propose_batch(history, count, rng)


def feasibility_of(builder: ModelBuilder, history: History, rng: np.random.Generator) -> Feasibility | None:
    """The probability of success, from models of the labels of all evaluations by the same builder; None if none failed."""
    if not len(history.failed):
        return None
    labelled = history.labelled
    proposed = labelled.values[history.initial :]
    caution = 1.0 + CAUTION * float(np.count_nonzero(proposed[-RECENT:] == 0))
    if isinstance(builder, AveragedBuilder):
        models, weights = zip(*builder.weighed(labelled), strict=True)
        return Feasibility(models, weights, caution)
    return Feasibility((builder.build(labelled, rng),), (1.0,), caution)


def condition_on_pending(model: GP, history: History) -> tuple[GP, float]:
    """The model conditioned on its own predictions at pending rows, and the best standardised value, theirs included.

    So neither pending rows nor rows close to them are proposed: the next row has to promise more. Among noisy values the
    best is the best posterior mean, not the luckiest measurement.
    """
    means = history.posterior_means(model)
    best = float((model.y if means is None else means).min())
    if not len(history.pending):
        return model, best
    model = model.fantasize(history.pending)
    return model, min(best, float(model.y[-len(history.pending) :].min()))


def _fill_batch(model: GP, rows: Rows, values: Floats, history: History, count: int, rng: np.random.Generator) -> Rows:
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
