"""Local search for the row with the largest acquisition value: steepest ascent or first improvement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from mergebo._typing import Floats, Rows
from mergebo.acquisition.device import DeviceScan
from mergebo.acquisition.functions import AcquisitionFunction, gradient_of
from mergebo.gp import GP
from mergebo.neighbours import (
    MOVES,
    feasible_moves,
    move_slots,
    move_table,
    neighbourhoods,
    other_rows,
    random_neighbours,
    replaced,
    steps,
)
from mergebo.spaces import Binary, Permutation, SearchSpace

CONTINUOUS_STEP_ITERATIONS = 30
"""Largest number of L-BFGS iterations of a continuous step."""

MAX_TIES = 30
"""Largest number of neighbours evaluated again besides the best ones because a scan cannot tell them apart."""

COMPOUND_MOVE_SIZE = 51
"""Width of a row from which on several moves are made at a time."""


def neighbours(row: Rows, space: SearchSpace, moves: tuple[str, ...] = ("swap",)) -> Rows:
    """All rows of the space that differ from `row` by a move of one order or a step of another variable."""
    found = list(neighbourhoods(row, space, moves))
    return np.concatenate(found) if found else np.empty((0, len(row)), row.dtype)


class Landscape(Protocol):
    """A function of rows with neighbourhoods, to be maximised by local search."""

    @property
    def space(self) -> SearchSpace:
        """The space of its rows."""
        ...

    def value(self, rows: Rows) -> Floats:
        """The values of rows; larger is better."""
        ...

    def best_neighbours(self, row: Rows, count: int) -> Rows:
        """At least the `count` best neighbours of a row, if it has that many, in any order."""
        ...

    def random_neighbours(self, row: Rows, count: int, rng: np.random.Generator) -> Rows:
        """About `count` different random neighbours of a row, or all if there are fewer."""
        ...


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
        return random_neighbours(row, self.space, self.moves, count, rng)


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
    device: DeviceScan | None = None
    """Scans neighbourhoods on a torch device; compiled code on the CPU if None."""

    @property
    def space(self) -> SearchSpace:
        return self.model.similarity.space

    def value(self, rows: Rows) -> Floats:
        return self.function(*self.model.predict_standardised(rows), self.best)

    def best_neighbours(self, row: Rows, count: int) -> Rows:
        space = self.space
        found: list[Rows] = []
        compounds: list[Rows] = []
        for name, where in space.slices.items():
            variable = space.variables[name]
            if isinstance(variable, Binary):
                for k in top_k(self.scan(row, name, "flip"), count):
                    changed = row.copy()
                    changed[where.start + k] = 1 - row[where.start + k]
                    found.append(changed)
                continue
            if not isinstance(variable, Permutation):
                found += [*replaced(row, where, steps(variable, row[where]))]  # few, and evaluated again anyway
                continue

            def moved(kind: str, a: int, b: int, where: slice = where) -> Rows:
                changed: Rows = replaced(row, where, MOVES[kind](row[where], a, b)[None])[0]
                return changed

            scans = {kind: self.scan(row, name, kind) for kind in self.moves}
            if variable.is_constrained:
                order = row[where].astype(np.int64)
                scans = {kind: np.where(feasible_moves(order, variable, kind), v, -np.inf) for kind, v in scans.items()}
            needed = count if variable.where is None else 4 * count  # some may not satisfy the predicate
            for kind, scanned in scans.items():
                found += [*replaced(row, where, row[where][move_table(variable.n, kind, top_k(scanned, needed))])]
            if variable.n >= COMPOUND_MOVE_SIZE:
                starts = np.cumsum([0, *map(len, scans.values())])
                best = _best_first(np.round(np.concatenate(list(scans.values())), 4), 8 * variable.n)
                kinds = np.searchsorted(starts, best, side="right") - 1
                slots = np.empty((len(best), 2), np.int64)
                for m, kind in enumerate(self.moves):
                    slots[kinds == m] = move_slots(variable.n, kind)[best[kinds == m] - starts[m]]
                changes = (
                    (_entries(self.moves[m], a, b) << where.start, partial(moved, self.moves[m], a, b))
                    for m, (a, b) in zip(kinds.tolist(), slots.tolist(), strict=True)
                )
                compounds += compound_moves(row, changes, space)
        if space.reals:
            found.append(self.continuous_step(row))
        if not found:
            return np.empty((0, len(row)), row.dtype)
        return other_rows(row, np.array([*found, *compounds]), space)

    def continuous_step(self, row: Rows) -> Rows:
        """The row with its real variables at a local maximum, by L-BFGS, and all others fixed."""
        space, at = self.model.similarity.space, self.model.posterior_along_reals(row)
        columns = {space.slices[name].start: real for name, real in space.reals.items()}

        def loss(units: Floats) -> tuple[float, Floats]:
            mean, deviation, mean_gradient, deviation_gradient = at(units)
            here = np.array([mean]), np.array([deviation]), self.best
            by_mean, by_deviation = gradient_of(self.function)(*here)
            return -float(self.function(*here)[0]), -(by_mean * mean_gradient + by_deviation * deviation_gradient)

        start = np.array([float(real.to_unit(row[column])) for column, real in columns.items()])
        options = {"maxiter": CONTINUOUS_STEP_ITERATIONS}
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * len(start), options=options)
        moved = row.copy()
        moved[list(columns)] = [real.from_unit(unit) for real, unit in zip(columns.values(), found.x, strict=True)]
        return moved

    def random_neighbours(self, row: Rows, count: int, rng: np.random.Generator) -> Rows:
        return random_neighbours(row, self.space, self.moves, count, rng)

    def scan(self, row: Rows, variable: str, move: str) -> Floats:
        """Acquisition values of all neighbours by one kind of move of one variable, in single precision."""
        return self.function(*(self.device or self.model).scan(row, variable, move), self.best)


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


def _best_first(values: Floats, count: int) -> NDArray[np.int64]:
    """Indices of the `count` largest values, largest first, equal ones in ascending order."""
    least = np.partition(values, -count)[-count] if count < len(values) else -np.inf
    among = np.flatnonzero((values >= least) & (values > -np.inf))
    return among[np.argsort(-values[among], kind="stable")][:count]


def _entries(kind: str, a: int, b: int) -> int:
    """The slots that a move may change, as bits."""
    return 1 << a | 1 << b if kind == "swap" else (2 << max(a, b)) - (1 << min(a, b))


def _bits(entries: NDArray[np.bool_]) -> int:
    """The entries that are true, as bits."""
    return int.from_bytes(np.packbits(entries, bitorder="little").tobytes(), "little")


def compound_moves(row: Rows, changes: Iterable[tuple[int, Callable[[], Rows]]], space: SearchSpace) -> list[Rows]:
    """Compound moves of a row: the first two, four, eight ... disjoint changes, made at once.

    A change is a bit mask of the entries that it uses, to find overlaps fast (most changes overlap), and the changed row,
    computed only if the change is made. Changes that are feasible one by one need not be so together; a change that makes
    the row infeasible is left out.
    """
    made, out = row.copy(), []
    used = count = 0
    for entries, changed in changes:
        if used & entries:
            continue
        single = changed()
        together = np.where(single != row, single, made)
        if space.is_constrained and not len(space.feasible_rows(together[None], check_predicate=False)):
            continue
        made = together
        used |= entries
        count += 1
        if count > 1 and count & (count - 1) == 0:
            out.append(made)
    return out


def local_search(
    landscape: Landscape,
    starts: Rows,
    *,
    steps: int = 100,
    screening_steps: int | None = None,
    survivors: int = 2,
    exclude: Callable[[Rows], NDArray[np.bool_]] | None = None,
    rng: np.random.Generator | None = None,
    sampled_neighbours: int = 64,
    min_improvement: float = 0.0,
    max_full_scans: int | None = None,
) -> tuple[Rows, Floats]:
    """Local search from every start: all rows visited with their values, best first.

    By steepest ascent or, given a generator `rng`, by first improvement: of about `sampled_neighbours` random neighbours the
    best one is taken if it is better; a full scan of the neighbourhood is made only if none is, at most `max_full_scans`
    times per search. A search ends at a local maximum, after `steps` steps, or when the last ten steps together improved the
    value by less than `min_improvement`, relative to it.

    With `screening_steps`, this many steps are made from every start, and only the best `survivors` are continued; if
    `max_full_scans` is given, only these make full scans. Rows for which `exclude` is true (already tried) are passed
    through but not returned, unless no others were visited.
    """

    def value(rows: Rows) -> Floats:
        """Rounded, so that values that differ in the last digits are equal and the first wins on every machine."""
        return np.round(landscape.value(rows), 7)

    visited, visited_values = [starts], [value(starts)]

    def neighbours_of(here: Rows, here_value: float, may_scan: bool) -> tuple[Rows, Floats, bool]:
        """Candidates for the next row, with their values, and whether they are those of a full scan, if allowed."""
        if rng is not None:
            sampled = landscape.random_neighbours(here, sampled_neighbours, rng)
            values = value(sampled)
            better = _best_first(values, int((values > here_value).sum()))
            if len(better):
                together = []
                if len(here) >= COMPOUND_MOVE_SIZE:
                    changes = ((_bits(each != here), each.copy) for each in sampled[better])
                    made = np.array(compound_moves(here, changes, landscape.space), here.dtype).reshape(-1, len(here))
                    together = list(other_rows(here, made, landscape.space))
                best, best_values = sampled[better[:5]], values[better[:5]]
                if not together:
                    return best, best_values, False
                all_values = np.concatenate([best_values, value(np.array(together))])
                return np.concatenate([best, together]), all_values, False
        around = landscape.best_neighbours(here, 5) if may_scan else starts[:0]
        return around, value(around) if len(around) else np.empty(0), True

    def ascend(here: Rows, here_value: float, max_steps: int, max_scans: int | None) -> tuple[Rows, float, bool]:
        """The row and value after at most `max_steps` steps, and whether the search has converged."""
        trace, scans = [here_value], 0
        for _ in range(max_steps):
            around, values, scanned = neighbours_of(here, here_value, max_scans is None or scans < max_scans)
            scans += scanned
            if not len(around):
                return here, here_value, max_scans is None
            visited.append(around)
            visited_values.append(values)
            if not values.max() > here_value:
                return here, here_value, True
            here, here_value = around[values.argmax()], float(values.max())
            trace.append(here_value)
            if len(trace) > 10 and here_value - trace[-11] < min_improvement * abs(here_value):
                return here, here_value, True
        return here, here_value, False

    start_steps = steps if screening_steps is None else min(screening_steps, steps)
    start_scans = max_full_scans if screening_steps is None or max_full_scans is None else 0
    reached = [
        ascend(start, float(start_value), start_steps, start_scans)
        for start, start_value in zip(starts, visited_values[0], strict=True)
    ]
    for here, here_value, converged in sorted(reached, key=lambda each: -each[1])[:survivors]:
        if not converged:
            ascend(here, here_value, steps - start_steps, max_full_scans)
    rows, values = np.concatenate(visited), np.concatenate(visited_values)
    if exclude is not None:
        allowed = ~exclude(rows)
        if allowed.any():
            rows, values = rows[allowed], values[allowed]
    order = np.argsort(-values, kind="stable")
    return rows[order], values[order]
