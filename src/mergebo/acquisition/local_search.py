"""Local search over a landscape: steepest ascent or first improvement, from many starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Rows
from mergebo.acquisition.compound import COMPOUND_MOVE_SIZE, best_first, compound_moves, entry_bits
from mergebo.spaces import SearchSpace

__all__ = ["Landscape", "SearchLimits", "local_search"]


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
class SearchLimits:
    """How long local searches go on.

    A search ends at a local maximum, after `steps` steps, or when the last ten steps together improved the value by less
    than `min_improvement`, relative to it. With `screening_steps`, this many steps are made from every start, and only the
    best `survivors` are continued; if `max_full_scans` is given, only these make full scans, at most that many each.
    """

    steps: int = 100
    screening_steps: int | None = None
    survivors: int = 2
    min_improvement: float = 0.0
    max_full_scans: int | None = None


def local_search(
    landscape: Landscape,
    starts: Rows,
    limits: SearchLimits = SearchLimits(),
    *,
    rng: np.random.Generator | None = None,
    sampled_neighbours: int = 64,
    exclude: Callable[[Rows], NDArray[np.bool_]] | None = None,
) -> tuple[Rows, Floats]:
    """Local search from every start: all rows visited with their values, best first.

    By steepest ascent or, given a generator `rng`, by first improvement: of about `sampled_neighbours` random neighbours the
    best one is taken if it is better; a full scan of the neighbourhood is made only if none is. Rows for which `exclude` is
    true (already tried) are passed through but not returned, unless no others were visited.
    """
    run = _Run(landscape, limits, rng, sampled_neighbours)
    start_values = run.visit(starts)
    screening, max_scans = limits.screening_steps, limits.max_full_scans
    start_steps = limits.steps if screening is None else min(screening, limits.steps)
    start_scans = max_scans if screening is None or max_scans is None else 0
    reached = [
        run.ascend(start, float(value), start_steps, start_scans) for start, value in zip(starts, start_values, strict=True)
    ]
    for here, here_value, converged in sorted(reached, key=lambda each: -each[1])[: limits.survivors]:
        if not converged:
            run.ascend(here, here_value, limits.steps - start_steps, max_scans)
    rows, values = np.concatenate(run.rows), np.concatenate(run.values)
    if exclude is not None:
        allowed = ~exclude(rows)
        if allowed.any():
            rows, values = rows[allowed], values[allowed]
    order = np.argsort(-values, kind="stable")
    return rows[order], values[order]


@dataclass
class _Run:
    """The rows visited so far, with their values."""

    landscape: Landscape
    limits: SearchLimits
    rng: np.random.Generator | None
    sampled_neighbours: int
    rows: list[Rows] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)

    def visit(self, rows: Rows, values: Floats | None = None) -> Floats:
        """Record rows with their values, computed unless given."""
        self.rows.append(rows)
        self.values.append(self.value(rows) if values is None else values)
        return self.values[-1]

    def value(self, rows: Rows) -> Floats:
        """Rounded, so that values that differ in the last digits are equal and the first wins on every machine."""
        return np.round(self.landscape.value(rows), 7)

    def ascend(self, here: Rows, here_value: float, steps: int, max_scans: int | None) -> tuple[Rows, float, bool]:
        """The row and value after at most `steps` steps, and whether the search has converged."""
        trace, scans = [here_value], 0
        for _ in range(steps):
            around, values, scanned = self._candidates(here, here_value, max_scans is None or scans < max_scans)
            scans += scanned
            if not len(around):
                return here, here_value, max_scans is None
            self.visit(around, values)
            if not values.max() > here_value:
                return here, here_value, True
            here, here_value = around[values.argmax()], float(values.max())
            trace.append(here_value)
            if len(trace) > 10 and here_value - trace[-11] < self.limits.min_improvement * abs(here_value):
                return here, here_value, True
        return here, here_value, False

    def _candidates(self, here: Rows, here_value: float, may_scan: bool) -> tuple[Rows, Floats, bool]:
        """Candidates for the next row, with their values, and whether they are those of a full scan, if allowed."""
        if self.rng is not None:
            sampled = self.landscape.random_neighbours(here, self.sampled_neighbours, self.rng)
            values = self.value(sampled)
            better = best_first(values, int((values > here_value).sum()))
            if len(better):
                rows, values = sampled[better], values[better]
                together = self._together(here, rows)
                rows, values = rows[:5], values[:5]
                if len(together):
                    rows, values = np.concatenate([rows, together]), np.concatenate([values, self.value(together)])
                return rows, values, False
        around = self.landscape.best_neighbours(here, 5) if may_scan else self.rows[0][:0]
        return around, self.value(around) if len(around) else np.empty(0), True

    def _together(self, here: Rows, better: Rows) -> Rows:
        """Compound moves of a long row from neighbours that are better than it, best first."""
        if len(here) < COMPOUND_MOVE_SIZE:
            return better[:0]
        changes = ((entry_bits(each != here), each.copy) for each in better)
        made = np.array(compound_moves(here, changes, self.landscape.space), here.dtype).reshape(-1, len(here))
        return self.landscape.space.feasible_neighbours(here, made)
