"""Neighbourhoods of rows by acquisition value: scanned ones, and the exhaustive one that they are tested against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from mergebo._typing import Floats, Rows
from mergebo.acquisition.compound import COMPOUND_MOVE_SIZE, best_first, changed_slots, compound_moves
from mergebo.acquisition.feasibility import Feasibility
from mergebo.acquisition.functions import AcquisitionFunction
from mergebo.gp import GP
from mergebo.neighbours import MOVES, move_slots, move_table
from mergebo.spaces import Binary, Permutation, SearchSpace, Variable

__all__ = ["AcquisitionNeighbourhood", "ExhaustiveNeighbourhood", "Scanner", "neighbours", "scanned_neighbours"]

CONTINUOUS_STEP_ITERATIONS = 30
"""Largest number of L-BFGS iterations of a continuous step."""

MAX_TIES = 30
"""Largest number of neighbours evaluated again besides the best ones because a scan cannot tell them apart."""


def neighbours(row: Rows, space: SearchSpace, moves: tuple[str, ...] = ("swap",)) -> Rows:
    """All rows of the space that differ from `row` by a move of one order or a step of another variable."""
    found = list(space.neighbourhoods(row, moves))
    return np.concatenate(found) if found else np.empty((0, len(row)), row.dtype)


@dataclass(frozen=True)
class ExhaustiveNeighbourhood:
    """Any function of rows, with neighbourhoods computed explicitly: the test oracle of faster implementations."""

    function: Callable[[Rows], Floats]
    space: SearchSpace
    moves: tuple[str, ...] = ("swap",)

    def value(self, rows: Rows) -> Floats:
        return self.function(rows)

    def best_neighbours(self, row: Rows, count: int) -> Rows:
        around = neighbours(row, self.space, self.moves)
        return around[top_k(self.function(around), count)]

    def random_neighbours(self, row: Rows, count: int, rng: np.random.Generator) -> Rows:
        return self.space.random_neighbours(row, self.moves, count, rng)


class Scanner(Protocol):
    """What computes the posterior at all neighbours of a row: a `GP` on the CPU, or its scan on another device."""

    def scan(self, row: Rows, variable: str, move: str) -> tuple[Floats, Floats]:
        """Means and standard deviations of all neighbours by one kind of move of one variable."""
        ...


@dataclass(frozen=True)
class AcquisitionNeighbourhood:
    """The acquisition values of a model, with neighbourhoods scanned by incremental distance updates.

    Scans are in single precision; the best few neighbours are evaluated again in double. From `COMPOUND_MOVE_SIZE` items
    on, a scan also yields compound moves: the best two, four, eight ... disjoint moves, made at once. A search then takes
    tens of scans where single moves would take hundreds.

    One of the neighbours is the row after a continuous step of its real variables, by L-BFGS. So a local search alternates
    between moves of orders and steps of numbers, and ends where neither improves the value.
    """

    model: GP
    function: AcquisitionFunction
    best: float
    moves: tuple[str, ...] = ("swap",)
    scanner: Scanner | None = None
    """What scans neighbourhoods; the model itself if None."""
    feasibility: Feasibility | None = None
    """The probability that an evaluation succeeds, by which values are weighted; None if none has failed."""

    @property
    def space(self) -> SearchSpace:
        return self.model.similarity.space

    def value(self, rows: Rows) -> Floats:
        values = self.function.value(*self.model.predict_standardised(rows), self.best)
        if self.feasibility is None:
            return values
        return self.function.weighted(values, self.feasibility.log_probability(rows))

    def best_neighbours(self, row: Rows, count: int) -> Rows:
        single: list[Rows] = []
        compound: list[Rows] = []
        for name, variable in self.space.variables.items():
            found, together = scanned_neighbours(variable, self, name, row, count)
            single += [*found]
            compound += together
        if self.space.reals:
            single.append(self.continuous_step(row))
        if not single:
            return np.empty((0, len(row)), row.dtype)
        return self.space.feasible_neighbours(row, np.array([*single, *compound]))

    def continuous_step(self, row: Rows) -> Rows:
        """The row with its real variables at a local maximum, by L-BFGS, and all others fixed."""
        space, at = self.model.similarity.space, self.model.posterior_along_reals(row)
        log_probability_at = None if self.feasibility is None else self.feasibility.along_reals(row)
        columns = {space.slices[name].start: real for name, real in space.reals.items()}

        def loss(units: Floats) -> tuple[float, Floats]:
            mean, deviation, mean_gradient, deviation_gradient = at(units)
            here = np.array([mean]), np.array([deviation]), self.best
            by_mean, by_deviation = self.function.gradient(*here)
            value = self.function.value(*here)
            gradient = by_mean * mean_gradient + by_deviation * deviation_gradient
            if log_probability_at is not None:
                log_probability, by_units = log_probability_at(units)
                by_value, by_log_probability = self.function.weighted_gradient(float(value[0]), log_probability)
                value = self.function.weighted(value, np.array([log_probability]))
                gradient = by_value * gradient + by_log_probability * by_units
            return -float(value[0]), -gradient

        start = np.array([float(real.to_unit(row[column])) for column, real in columns.items()])
        options = {"maxiter": CONTINUOUS_STEP_ITERATIONS}
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * len(start), options=options)
        moved = row.copy()
        moved[list(columns)] = [real.from_unit(unit) for real, unit in zip(columns.values(), found.x, strict=True)]
        return moved

    def random_neighbours(self, row: Rows, count: int, rng: np.random.Generator) -> Rows:
        return self.space.random_neighbours(row, self.moves, count, rng)

    def scan(self, row: Rows, variable: str, move: str) -> Floats:
        """Acquisition values of all neighbours by one kind of move of one variable, in single precision."""
        values = self.function.value(*(self.scanner or self.model).scan(row, variable, move), self.best)
        if self.feasibility is None:
            return values
        return self.function.weighted(values, self.feasibility.scan(row, variable, move))


def top_k(values: Floats, count: int) -> NDArray[np.int64]:
    """Indices of the `count` largest values and of some indistinguishable in a scan's precision, in ascending order.

    Distances are integers, so ties are common. Which of equal neighbours is chosen must not depend on the last bit of a
    float: all are returned, to be compared in double precision, where the first one wins. Minus infinity is left out.
    """
    count = min(count, int((values > -np.inf).sum()))
    if len(values) <= count:
        return np.arange(len(values))
    if not count:
        return np.empty(0, np.int64)
    top = np.argpartition(-values, count - 1)[:count]
    close = np.flatnonzero(values >= values[top].min() - 1e-3)[:MAX_TIES]
    return np.union1d(top, close)


@singledispatch
def scanned_neighbours(
    variable: Variable, at: AcquisitionNeighbourhood, name: str, row: Rows, count: int
) -> tuple[Rows, list[Rows]]:
    """At least the `count` best neighbours of a row by one variable, if there are that many, and compound moves.

    By default all of them: they are few, and evaluated again anyway. Kinds with many neighbours register a scan.
    """
    return at.space.replace_part(name, row, variable.neighbours(row[at.space.slices[name]])), []


@scanned_neighbours.register
def _(variable: Binary, at: AcquisitionNeighbourhood, name: str, row: Rows, count: int) -> tuple[Rows, list[Rows]]:
    which = top_k(at.scan(row, name, "flip"), count) + at.space.slices[name].start
    found = np.tile(row, (len(which), 1))
    found[np.arange(len(which)), which] = 1 - row[which]
    return found, []


@scanned_neighbours.register
def _(variable: Permutation, at: AcquisitionNeighbourhood, name: str, row: Rows, count: int) -> tuple[Rows, list[Rows]]:
    where = at.space.slices[name]
    scans = {move: at.scan(row, name, move) for move in at.moves}
    if variable.is_constrained:
        order = row[where].astype(np.int64)
        scans = {move: np.where(variable.feasible_moves(order, move), v, -np.inf) for move, v in scans.items()}
    needed = count if variable.where is None else 4 * count  # some may not satisfy the predicate
    best = [row[where][move_table(variable.n, move, top_k(scanned, needed))] for move, scanned in scans.items()]
    found = at.space.replace_part(name, row, np.concatenate([row[None, where][:0], *best]))
    return found, _compound_moves(variable, scans, at.space, name, row) if variable.n >= COMPOUND_MOVE_SIZE else []


def _compound_moves(variable: Permutation, scans: dict[str, Floats], space: SearchSpace, name: str, row: Rows) -> list[Rows]:
    """Compound moves of one order, from the scans of its single moves."""
    moves, where = list(scans), space.slices[name]

    def moved(move: str, a: int, b: int) -> Rows:
        changed: Rows = space.replace_part(name, row, MOVES[move](row[where], a, b)[None])[0]
        return changed

    starts = np.cumsum([0, *map(len, scans.values())])
    best = best_first(np.round(np.concatenate(list(scans.values())), 4), 8 * variable.n)
    kinds = np.searchsorted(starts, best, side="right") - 1
    slots = np.empty((len(best), 2), np.int64)
    for m, move in enumerate(moves):
        slots[kinds == m] = move_slots(variable.n, move)[best[kinds == m] - starts[m]]
    changes = (
        (changed_slots(moves[m], a, b) << where.start, partial(moved, moves[m], a, b))
        for m, (a, b) in zip(kinds.tolist(), slots.tolist(), strict=True)
    )
    return compound_moves(row, changes, space)
