"""Searching for the row with the largest acquisition value: steepest ascent through whole neighbourhoods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mergebo.acquisition.device import DeviceScan
from mergebo.acquisition.values import Floats
from mergebo.moves import MOVES, move_slots, neighbourhoods
from mergebo.spaces import AnySpace, Permutation, Rows
from mergebo.surrogate import GP

Score = Callable[[Floats, Floats, float], Floats]

TIES = 30
"""Neighbours that are valued again besides the best ones, if a scan cannot tell them apart."""

COMPOUND = 51
"""Orders of at least so many items are climbed by several swaps at a time."""


def neighbours(row: Rows, space: AnySpace, moves: tuple[str, ...] = ("swap",)) -> Rows:
    """All rows that differ from `row` by one move of one order, or by one flipped choice."""
    found = list(neighbourhoods(row, space, moves))
    return np.concatenate(found) if found else np.empty((0, len(row)), row.dtype)


class Landscape(Protocol):
    """Something to climb."""

    def value(self, rows: Rows) -> Floats:
        """How good rows are; larger is better."""
        ...

    def best_neighbours(self, row: Rows, count: int) -> Rows:
        """At least the `count` best neighbours of a row, if there are so many; which is best is for `value` to say."""
        ...


@dataclass(frozen=True)
class Listed:
    """Any function of rows, over neighbourhoods that are written out: simple, and the oracle of the faster ones."""

    function: Callable[[Rows], Floats]
    space: AnySpace
    moves: tuple[str, ...] = ("swap",)

    def value(self, rows: Rows) -> Floats:
        return self.function(rows)

    def best_neighbours(self, row: Rows, count: int) -> Rows:
        around = neighbours(row, self.space, self.moves)
        return around[_contenders(self.function(around), count)]


@dataclass(frozen=True)
class Acquisition:
    """The acquisition values of a model, with neighbourhoods scanned from increments of distance.

    A scan is in single precision; the best few are valued again in double. From `COMPOUND` items on, one scan also offers
    compounds: the best two, four, eight ... swaps that have no slot in common, made at once. An ascent then takes tens
    of scans where single swaps would take hundreds.
    """

    model: GP
    score: Score
    best: float
    moves: tuple[str, ...] = ("swap",)
    device: DeviceScan | None = None
    """Where neighbourhoods are scanned; here, by compiled code, if None."""

    def value(self, rows: Rows) -> Floats:
        return self.score(*self.model.predict_standardised(rows), self.best)

    def best_neighbours(self, row: Rows, count: int) -> Rows:
        space = self.model.similarity.space
        found: list[Rows] = []
        compounds: list[Rows] = []
        for name, where in space.slices.items():
            variable = space.variables[name]
            kinds = self.moves if isinstance(variable, Permutation) else ("flip",)
            for kind in kinds:
                scanned = self.scan(row, name, kind)
                for k in _contenders(scanned, count):
                    changed = row.copy()
                    if isinstance(variable, Permutation):
                        changed[where] = MOVES[kind](row[where], *move_slots(variable.n, kind)[k].tolist())
                    else:
                        changed[where.start + k] ^= 1
                    found.append(changed)
                if kind == "swap" and where.stop - where.start >= COMPOUND:
                    compounds += self._compounds(row, where, scanned)
        if not found:
            return np.empty((0, len(row)), row.dtype)
        return np.array([*found, *compounds])

    @staticmethod
    def _compounds(row: Rows, where: slice, scanned: Floats) -> list[Rows]:
        """The best swaps without a common slot, made together: two, four, eight ... of them."""
        n = where.stop - where.start
        made, out = row.copy(), []
        taken = np.zeros(n, bool)
        count = 0
        for a, b in move_slots(n, "swap")[np.argsort(-np.round(scanned, 4), kind="stable")[: 8 * n]].tolist():
            if taken[a] or taken[b]:
                continue
            taken[[a, b]] = True
            made[[where.start + a, where.start + b]] = made[[where.start + b, where.start + a]]
            count += 1
            if count > 1 and count & (count - 1) == 0:
                out.append(made.copy())
        return out

    def scan(self, row: Rows, variable: str, move: str) -> Floats:
        """Acquisition values of all neighbours by one kind of move of one variable, in single precision."""
        return self.score(*(self.device or self.model).scan(row, variable, move), self.best)


def _contenders(values: Floats, count: int) -> NDArray[np.int64]:
    """Indices of the `count` largest values and of some that a scan's precision cannot tell from them, in their own order.

    Distances are whole numbers, so ties are common. Which of equals is taken must not hang on the last bit of a float: all
    are handed on, to be compared again in double precision, where the first of equals wins.
    """
    if len(values) <= count:
        return np.arange(len(values))
    top = np.argpartition(-values, count - 1)[:count]
    close = np.flatnonzero(values >= values[top].min() - 1e-3)[:TIES]
    return np.union1d(top, close)


def ascend(
    landscape: Landscape,
    starts: Rows,
    *,
    steps: int = 100,
    probe: int | None = None,
    finalists: int = 2,
    forbidden: Callable[[Rows], NDArray[np.bool_]] | None = None,
) -> tuple[Rows, Floats]:
    """Steepest ascent from every start: what was met on the way with its values, best first.

    With `probe`, every start is climbed so many steps and only the best `finalists` go on to the end. `forbidden` rows
    (already tried) may be passed through but are not returned, unless nothing else was met.
    """

    def value(rows: Rows) -> Floats:
        """Rounded: what differs only in the last digits is equal, and the first of equals wins on every machine."""
        return np.round(landscape.value(rows), 7)

    met, met_values = [starts], [value(starts)]

    def climb(here: Rows, here_value: float, most: int) -> tuple[Rows, float, bool]:
        """Where `most` steps lead, and whether that is a summit."""
        for _ in range(most):
            around = landscape.best_neighbours(here, 5)
            if not len(around):
                return here, here_value, True
            values = value(around)
            met.append(around)
            met_values.append(values)
            if not values.max() > here_value:
                return here, here_value, True
            here, here_value = around[values.argmax()], float(values.max())
        return here, here_value, False

    first = steps if probe is None else min(probe, steps)
    reached = [climb(start, float(height), first) for start, height in zip(starts, met_values[0], strict=True)]
    for here, here_value, summit in sorted(reached, key=lambda each: -each[1])[:finalists]:
        if not summit:
            climb(here, here_value, steps - first)
    rows, every = np.concatenate(met), np.concatenate(met_values)
    if forbidden is not None:
        allowed = ~forbidden(rows)
        if allowed.any():
            rows, every = rows[allowed], every[allowed]
    order = np.argsort(-every, kind="stable")
    return rows[order], every[order]
