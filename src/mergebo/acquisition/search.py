"""Searching for the row with the largest acquisition value: steepest ascent or first improvement, by neighbourhoods."""

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
from mergebo.acquisition.values import Score, slopes_of
from mergebo.moves import (
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
from mergebo.spaces import AnySpace, Binary, Permutation
from mergebo.surrogate import GP

SETTLING = 30
"""Steps along the gradient that real numbers take at most."""

TIES = 30
"""Neighbours that are valued again besides the best ones, if a scan cannot tell them apart."""

COMPOUND = 51
"""Rows of at least so many numbers are climbed by several moves at a time."""

SOME = 64
"""About so many neighbours are valued together by first improvement."""


def neighbours(row: Rows, space: AnySpace, moves: tuple[str, ...] = ("swap",)) -> Rows:
    """All rows of the space that differ from `row` by a move of one order or a step of another variable."""
    found = list(neighbourhoods(row, space, moves))
    return np.concatenate(found) if found else np.empty((0, len(row)), row.dtype)


class Landscape(Protocol):
    """Something to climb."""

    @property
    def space(self) -> AnySpace:
        """The space of its rows."""
        ...

    def value(self, rows: Rows) -> Floats:
        """How good rows are; larger is better."""
        ...

    def best_neighbours(self, row: Rows, count: int) -> Rows:
        """At least the `count` best neighbours of a row, if there are so many; which is best is for `value` to say."""
        ...

    def random_neighbours(self, row: Rows, count: int, rng: np.random.Generator) -> Rows:
        """About `count` different random neighbours of a row, or as many as there are."""
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

    def random_neighbours(self, row: Rows, count: int, rng: np.random.Generator) -> Rows:
        return random_neighbours(row, self.space, self.moves, count, rng)


@dataclass(frozen=True)
class Acquisition:
    """The acquisition values of a model, with neighbourhoods scanned from increments of distance.

    A scan is in single precision; the best few are valued again in double. From `COMPOUND` items on, one scan also offers
    compounds: the best two, four, eight ... moves that have no slot in common, made at once. An ascent then takes tens
    of scans where single moves would take hundreds.

    Among the neighbours is the row whose real numbers have followed the gradient as far as it leads. So an ascent moves
    orders and numbers by turns, and ends where neither can be bettered.
    """

    model: GP
    score: Score
    best: float
    moves: tuple[str, ...] = ("swap",)
    device: DeviceScan | None = None
    """Where neighbourhoods are scanned; here, by compiled code, if None."""

    @property
    def space(self) -> AnySpace:
        return self.model.similarity.space

    def value(self, rows: Rows) -> Floats:
        return self.score(*self.model.predict_standardised(rows), self.best)

    def best_neighbours(self, row: Rows, count: int) -> Rows:
        space = self.space
        found: list[Rows] = []
        compounds: list[Rows] = []
        for name, where in space.slices.items():
            variable = space.variables[name]
            if isinstance(variable, Binary):
                for k in _contenders(self.scan(row, name, "flip"), count):
                    changed = row.copy()
                    changed[where.start + k] = 1 - row[where.start + k]
                    found.append(changed)
                continue
            if not isinstance(variable, Permutation):
                found += [*replaced(row, where, steps(variable, row[where]))]  # few, and valued anyway
                continue

            def moved(kind: str, a: int, b: int, where: slice = where) -> Rows:
                changed: Rows = replaced(row, where, MOVES[kind](row[where], a, b)[None])[0]
                return changed

            scans = {kind: self.scan(row, name, kind) for kind in self.moves}
            if variable.ruled:
                order = row[where].astype(np.int64)
                scans = {kind: np.where(feasible_moves(order, variable, kind), v, -np.inf) for kind, v in scans.items()}
            wanted = count if variable.where is None else 4 * count  # some may not satisfy the predicate
            for kind, scanned in scans.items():
                found += [*replaced(row, where, row[where][move_table(variable.n, kind, _contenders(scanned, wanted))])]
            if variable.n >= COMPOUND:
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
                compounds += _compounds(row, changes, space)
        if space.reals:
            found.append(self.settled(row))
        if not found:
            return np.empty((0, len(row)), row.dtype)
        return other_rows(row, np.array([*found, *compounds]), space)

    def settled(self, row: Rows) -> Rows:
        """The row with its real numbers where a climb along the gradient leads, and all else as it is."""
        space, at = self.model.similarity.space, self.model.along_reals(row)
        places = {space.slices[name].start: real for name, real in space.reals.items()}

        def loss(units: Floats) -> tuple[float, Floats]:
            mean, deviation, mean_slope, deviation_slope = at(units)
            here = np.array([mean]), np.array([deviation]), self.best
            by_mean, by_deviation = slopes_of(self.score)(*here)
            return -float(self.score(*here)[0]), -(by_mean * mean_slope + by_deviation * deviation_slope)

        start = np.array([float(real.to_unit(row[where])) for where, real in places.items()])
        options = {"maxiter": SETTLING}
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * len(start), options=options)
        settled = row.copy()
        settled[list(places)] = [real.from_unit(unit) for real, unit in zip(places.values(), found.x, strict=True)]
        return settled

    def random_neighbours(self, row: Rows, count: int, rng: np.random.Generator) -> Rows:
        return random_neighbours(row, self.space, self.moves, count, rng)

    def scan(self, row: Rows, variable: str, move: str) -> Floats:
        """Acquisition values of all neighbours by one kind of move of one variable, in single precision."""
        return self.score(*(self.device or self.model).scan(row, variable, move), self.best)


def _contenders(values: Floats, count: int) -> NDArray[np.int64]:
    """Indices of the `count` largest values and of some that a scan's precision cannot tell from them, in their own order.

    Distances are whole numbers, so ties are common. Which of equals is taken must not hang on the last bit of a float: all
    are handed on, to be compared again in double precision, where the first of equals wins. Minus infinity is no contender.
    """
    count = min(count, int((values > -np.inf).sum()))
    if len(values) <= count:
        return np.arange(len(values))
    if not count:
        return np.empty(0, np.int64)
    top = np.argpartition(-values, count - 1)[:count]
    close = np.flatnonzero(values >= values[top].min() - 1e-3)[:TIES]
    return np.union1d(top, close)


def _best_first(values: Floats, count: int) -> NDArray[np.int64]:
    """Indices of the `count` largest values, largest first, equal ones in their own order."""
    least = np.partition(values, -count)[-count] if count < len(values) else -np.inf
    among = np.flatnonzero((values >= least) & (values > -np.inf))
    return among[np.argsort(-values[among], kind="stable")][:count]


def _entries(kind: str, a: int, b: int) -> int:
    """The slots that a move may change, as bits."""
    return 1 << a | 1 << b if kind == "swap" else (2 << max(a, b)) - (1 << min(a, b))


def _bits(entries: NDArray[np.bool_]) -> int:
    """The entries that are true, as bits."""
    return int.from_bytes(np.packbits(entries, bitorder="little").tobytes(), "little")


def _compounds(row: Rows, changes: Iterable[tuple[int, Callable[[], Rows]]], space: AnySpace) -> list[Rows]:
    """Several changes of a row made at once, those that do not meet: two, four, eight ... of them.

    A change is the bits of the entries that it takes, which tell at once whether it meets others (most do), and the row with
    it, worked out only if it is made. Changes that keep the rules of a space one by one need not do so together; one that
    does not is left out.
    """
    made, out = row.copy(), []
    taken = count = 0
    for entries, changed in changes:
        if taken & entries:
            continue
        alone = changed()
        together = np.where(alone != row, alone, made)
        if space.ruled and not len(space.kept(together[None], asked=False)):
            continue
        made = together
        taken |= entries
        count += 1
        if count > 1 and count & (count - 1) == 0:
            out.append(made)
    return out


def ascend(
    landscape: Landscape,
    starts: Rows,
    *,
    steps: int = 100,
    probe: int | None = None,
    finalists: int = 2,
    forbidden: Callable[[Rows], NDArray[np.bool_]] | None = None,
    first: np.random.Generator | None = None,
    enough: float = 0.0,
    wholes: int | None = None,
) -> tuple[Rows, Floats]:
    """Climb from every start: what was met on the way with its values, best first.

    Steepest ascent, or with a generator as `first` first improvement: of `SOME` random neighbours the best one is taken if
    it is better, and the whole neighbourhood is looked at only if none is, at most `wholes` times a climb. Either way a
    climb ends where no neighbour is better, after `steps` steps, or when ten steps have together gained less than `enough`
    of the value.

    With `probe`, every start is climbed so many steps and only the best `finalists` go on to the end; if `wholes` is given,
    whole neighbourhoods are for these alone. `forbidden` rows (already tried) may be passed through but are not returned,
    unless nothing else was met.
    """

    def value(rows: Rows) -> Floats:
        """Rounded: what differs only in the last digits is equal, and the first of equals wins on every machine."""
        return np.round(landscape.value(rows), 7)

    met, met_values = [starts], [value(starts)]

    def look(here: Rows, here_value: float, whole: bool) -> tuple[Rows, Floats, bool]:
        """Rows to go on to, with their values, and whether the whole neighbourhood was looked at for them, as it may."""
        if first is not None:
            some = landscape.random_neighbours(here, SOME, first)
            values = value(some)
            better = _best_first(values, int((values > here_value).sum()))
            if len(better):
                together = []
                if len(here) >= COMPOUND:
                    changes = ((_bits(each != here), each.copy) for each in some[better])
                    made = np.array(_compounds(here, changes, landscape.space), here.dtype).reshape(-1, len(here))
                    together = list(other_rows(here, made, landscape.space))
                kept, kept_values = some[better[:5]], values[better[:5]]
                if not together:
                    return kept, kept_values, False
                every_value = np.concatenate([kept_values, value(np.array(together))])
                return np.concatenate([kept, together]), every_value, False
        around = landscape.best_neighbours(here, 5) if whole else starts[:0]
        return around, value(around) if len(around) else np.empty(0), True

    def climb(here: Rows, here_value: float, most: int, wholes: int | None) -> tuple[Rows, float, bool]:
        """Where `most` steps lead, and whether to stay there."""
        trace, looked = [here_value], 0
        for _ in range(most):
            around, values, whole = look(here, here_value, wholes is None or looked < wholes)
            looked += whole
            if not len(around):
                return here, here_value, wholes is None
            met.append(around)
            met_values.append(values)
            if not values.max() > here_value:
                return here, here_value, True
            here, here_value = around[values.argmax()], float(values.max())
            trace.append(here_value)
            if len(trace) > 10 and here_value - trace[-11] < enough * abs(here_value):
                return here, here_value, True
        return here, here_value, False

    start_steps = steps if probe is None else min(probe, steps)
    start_wholes = wholes if probe is None or wholes is None else 0
    reached = [
        climb(start, float(height), start_steps, start_wholes) for start, height in zip(starts, met_values[0], strict=True)
    ]
    for here, here_value, summit in sorted(reached, key=lambda each: -each[1])[:finalists]:
        if not summit:
            climb(here, here_value, steps - start_steps, wholes)
    rows, every = np.concatenate(met), np.concatenate(met_values)
    if forbidden is not None:
        allowed = ~forbidden(rows)
        if allowed.any():
            rows, every = rows[allowed], every[allowed]
    order = np.argsort(-every, kind="stable")
    return rows[order], every[order]
