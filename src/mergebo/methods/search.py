"""Searches for the row with the largest acquisition value, among untried rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias, get_args

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.acquisition import (
    AcquisitionFunction,
    AcquisitionNeighbourhood,
    Feasibility,
    Relaxation,
    SearchLimits,
    local_search,
)
from mergebo.acquisition.compound import COMPOUND_MOVE_SIZE
from mergebo.errors import ArgumentError, ArgumentTypeError, require, unknown_choice
from mergebo.gp import GP
from mergebo.methods.base import History
from mergebo.methods.tours import improve_tours
from mergebo.neighbours import MOVES
from mergebo.spaces import SearchSpace

__all__ = ["AcquisitionSearch", "NeighbourhoodSearch", "RelaxationSearch", "ThompsonSampling"]

Ascent: TypeAlias = Literal["auto", "steepest", "first"]

LARGE_WIDTH = 200
"""Width of a point from which on `ascent="auto"` is first improvement, since full scans take long there."""
MAX_SCANNED_ITEMS = 2000
"""The most items in all full scans of one local search together, if their number is limited at all.

More scans find higher maxima, but take far longer: a neighbourhood grows with the square of the number of items.
"""
CANDIDATES = 400
"""Candidates of each kind in Thompson sampling: the cost of a joint sample is cubic in their number."""


class AcquisitionSearch(Protocol):
    """What maximises the acquisition function."""

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves of orders that it uses."""
        ...

    @property
    def incumbents(self) -> int:
        """How many of the best rows it starts from."""
        ...

    def maximise(
        self,
        model: GP,
        function: AcquisitionFunction,
        best: float,
        history: History,
        rng: np.random.Generator,
        feasibility: Feasibility | None = None,
    ) -> tuple[Rows, Floats]:
        """Rows with their acquisition values, best first, untried ones if there are any.

        `best` is the best value so far; `feasibility`, if evaluations have failed, weights the values.
        """
        ...


@dataclass(frozen=True)
class NeighbourhoodSearch:
    """Local search from the `incumbents` best rows and `random_starts` random ones, by the `moves`.

    By steepest ascent (`ascent="steepest"`) or by first improvement (`"first"`), which scans a whole neighbourhood only if
    none of some random neighbours is better. `"auto"` is first improvement for points of at least `LARGE_WIDTH` numbers,
    where it finds equally good points in a fraction of the time, and steepest ascent for others.
    """

    moves: tuple[str, ...] = ("swap",)
    incumbents: int = 1
    random_starts: int = 10
    ascent: Ascent = "auto"
    limits: SearchLimits = SearchLimits()
    large_limits: SearchLimits = SearchLimits(screening_steps=3, min_improvement=1e-3)
    """Limits for points of at least `large_width` numbers: only the best searches go on, and only as long as it pays."""
    large_width: int = COMPOUND_MOVE_SIZE
    improve_tours: bool = False
    """Whether half of the starts are first improved by 2-opt, where the model knows the cost of adjacent pairs."""
    device: str | None = None
    """Torch device such as `"cuda"` for neighbourhood scans; compiled code on the CPU if None."""

    def __post_init__(self) -> None:
        _check_starts(self.moves, self.incumbents, self.random_starts)
        if self.ascent not in get_args(Ascent):
            raise unknown_choice("ascent", self.ascent, get_args(Ascent))
        if self.device is not None:
            require("torch", "torch", "botorch")  # fail now rather than after the initial design

    def maximise(
        self,
        model: GP,
        function: AcquisitionFunction,
        best: float,
        history: History,
        rng: np.random.Generator,
        feasibility: Feasibility | None = None,
    ) -> tuple[Rows, Floats]:
        space, scanner = history.space, None
        if self.device is not None:
            from mergebo.kernels import DeviceScan

            scanner = DeviceScan(model, self.device)
        landscape = AcquisitionNeighbourhood(model, function, best, self.moves, scanner, feasibility)
        good, random = history.best(self.incumbents, history.posterior_means(model)), self.random_starts
        if self.improve_tours:
            others = improve_tours(model, np.concatenate([good[:1], space.sample_rows(random, seed=rng)]))
        else:
            others = space.sample_rows(random, seed=rng)
        found = local_search(
            landscape,
            np.concatenate([good, others]),
            self.limits_for(space),
            rng=rng if self.ascent == "first" or (self.ascent == "auto" and space.width >= LARGE_WIDTH) else None,
            exclude=history.is_tried,
        )
        return revalue_incumbent(*found, function, model, history)

    def limits_for(self, space: SearchSpace) -> SearchLimits:
        """The limits for points of a space."""
        limits = self.limits if space.width < self.large_width else self.large_limits
        if limits.max_full_scans is None:
            return limits
        items = max((variable.n for variable in space.permutations.values()), default=1)
        return replace(limits, max_full_scans=max(1, min(limits.max_full_scans, MAX_SCANNED_ITEMS // max(1, items))))


@dataclass(frozen=True)
class RelaxationSearch:
    """The paper's continuous relaxation: gradients over real features, then a projection to the nearest row."""

    moves: tuple[str, ...] = ("swap",)
    incumbents: int = 1
    random_starts: int = 10
    steps: int = 100

    def __post_init__(self) -> None:
        _check_starts(self.moves, self.incumbents, self.random_starts)

    def maximise(
        self,
        model: GP,
        function: AcquisitionFunction,
        best: float,
        history: History,
        rng: np.random.Generator,
        feasibility: Feasibility | None = None,
    ) -> tuple[Rows, Floats]:
        space = history.space
        good = history.best(self.incumbents, history.posterior_means(model))
        starts = np.concatenate([good, space.sample_rows(self.random_starts, seed=rng)])
        ends = space.feasible_rows(Relaxation(model, best, function).maximise(starts, self.steps), repair=True)
        landscape = AcquisitionNeighbourhood(model, function, best, self.moves, feasibility=feasibility)
        found = local_search(landscape, ends if len(ends) else starts, SearchLimits(steps=0), exclude=history.is_tried)
        return revalue_incumbent(*found, function, model, history)


@dataclass(frozen=True)
class ThompsonSampling:
    """The best of some candidates in one posterior sample: neighbours of good rows, and random ones."""

    moves: tuple[str, ...] = ("swap",)
    incumbents: int = 1

    def __post_init__(self) -> None:
        _check_starts(self.moves, self.incumbents)

    def maximise(
        self,
        model: GP,
        function: AcquisitionFunction,
        best: float,
        history: History,
        rng: np.random.Generator,
        feasibility: Feasibility | None = None,
    ) -> tuple[Rows, Floats]:
        good = history.best(self.incumbents, history.posterior_means(model))
        count = -(-CANDIDATES // len(good))
        near = np.concatenate([history.space.random_neighbours(row, self.moves, count, rng) for row in good])
        candidates = np.concatenate([near, history.space.sample_rows(CANDIDATES, seed=rng)])
        candidates = candidates[~history.is_tried(candidates)]
        if feasibility is not None:  # a sample of what is feasible, too
            succeeds = np.log(rng.random(len(candidates))) < feasibility.log_probability(candidates)
            candidates = candidates[succeeds] if succeeds.any() else candidates
        if not len(candidates):
            return candidates, np.empty(0)
        sample = model.sample(candidates, rng)
        order = np.argsort(sample, kind="stable")
        return candidates[order], -sample[order]


def _check_starts(moves: tuple[str, ...], incumbents: int, random_starts: int = 0) -> None:
    """Raise the errors of wrong settings."""
    if isinstance(moves, str) or not isinstance(moves, Sequence):
        raise ArgumentTypeError(f"moves are a list such as ['swap', 'insertion'], got {moves!r}")
    for each in moves:
        if each not in MOVES:
            raise unknown_choice("a move", each, MOVES)
    for name, count in (("incumbents", incumbents), ("random_starts", random_starts)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ArgumentError(f"{name} must be a number of starts of the search, at least 0, got {count!r}")
    if incumbents + random_starts < 1:
        raise ArgumentError("a search needs at least one start: incumbents and random_starts are both 0")


def revalue_incumbent(
    rows: Rows, values: Floats, function: AcquisitionFunction, model: GP, history: History
) -> tuple[Rows, Floats]:
    """Rows with their acquisition values, best first, where the incumbent of noisy values is valued separately.

    Measuring it again is worth the chance that it falls behind the second best, as in the knowledge gradient. Valued by its
    improvement on itself, it would be measured indefinitely.
    """
    means = history.posterior_means(model)
    if means is None:
        return rows, values
    first = history.rows[means.argmin()]
    others = (history.rows != first).any(axis=1)
    own = (rows == first).all(axis=1)
    if own.any() and others.any():
        _, deviation = model.predict_standardised(rows[own])
        values = values.copy()
        values[own] = function.value(np.full(len(deviation), means[others].min()), deviation, float(means.min()))
    order = np.argsort(-values, kind="stable")
    return rows[order], values[order]
