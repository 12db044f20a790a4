"""What an optimiser knows: which rows were tried and what came of it. Methods see nothing else."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo._typing import Floats, Rows
from mergebo.errors import ExhaustedError
from mergebo.optimizers.knowledge import Knowledge
from mergebo.spaces import AnySpace, Binary, Choice, Integer, Permutation

logger = logging.getLogger(__name__)

ENUMERABLE = 50_000
"""Spaces of at most so many points are listed to find the last ones that were not tried."""


@dataclass(frozen=True)
class History:
    """Rows with their values, in the order in which results came; rows that failed; rows whose results are awaited."""

    space: AnySpace
    rows: Rows
    values: Floats
    failed: Rows
    pending: Rows
    initial: int
    """Size of the initial design: the first results are those of random rows."""
    noisy: bool = False
    """Whether another measurement of a row would give another value."""
    errors: Floats | None = None
    """Standard deviations of the values, nan where they are not known; None if none is."""
    knowledge: Knowledge | None = None
    exponent: int = 0
    """Values and their deviations are what was told, divided by two to this power."""

    def unscaled(self, numbers: ArrayLike) -> Floats:
        """Numbers in the unit of what was told; beyond the largest one, infinity."""
        with np.errstate(over="ignore"):
            return np.asarray(np.ldexp(numbers, self.exponent))

    @cached_property
    def tried(self) -> frozenset[bytes]:
        """Every row that need not be tried again, as bytes; a noisy result may be worth another measurement."""
        every = np.concatenate([*([] if self.noisy else [self.rows]), self.failed, self.pending])
        return frozenset(row.tobytes() for row in every)

    def is_tried(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of the rows were tried or are pending."""
        return np.array([row.tobytes() in self.tried for row in rows], bool)

    def best(self, count: int, values: Floats | None = None) -> Rows:
        """The `count` best rows, best first, none twice; by their values or by others, such as what a model expects."""
        order = np.argsort(self.values if values is None else values, kind="stable")
        if self.noisy:
            first = {self.rows[k].tobytes(): k for k in order[::-1]}
            order = np.array([k for k in order if first[self.rows[k].tobytes()] == k], np.int64)
        return self.rows[order[:count]]

    def awaiting(self, rows: Rows) -> History:
        """The same with further rows pending."""
        return replace(self, pending=np.concatenate([self.pending, rows]))

    def random_instead(self, what: str, rng: np.random.Generator) -> Rows:
        """A random untried row, for a method that found none of its own."""
        logger.info("%s found no untried point after %d results; using a random one", what, len(self.values))
        return self.fresh_row(rng)

    def fresh_row(self, rng: np.random.Generator, place: int | None = None) -> Rows:
        """A random row that was not tried: a uniform one, or one for this place of a spread design."""
        for _ in range(100):
            row = self.space.sample_rows(seed=rng) if place is None else self.space.spread_rows(place, seed=rng)
            if row.tobytes() not in self.tried:
                return row
        if self.space.size > ENUMERABLE:  # cannot happen by chance
            raise ExhaustedError("no untried point was found")
        left = [row for row in every_row(self.space) if row.tobytes() not in self.tried]
        if not left and self.noisy:  # rather the same point twice at a time than none
            broken = {row.tobytes() for row in self.failed}
            left = [row for row in every_row(self.space) if row.tobytes() not in broken]
        if not left:
            raise ExhaustedError(f"all {self.space.size:.0f} points of the space were tried")
        chosen: Rows = left[rng.integers(len(left))]
        return chosen


def every_row(space: AnySpace) -> Rows:
    """All rows of a small space."""
    parts: list[list[tuple[int, ...]]] = []
    for variable in space.variables.values():
        match variable:
            case Permutation():
                parts.append([tuple(row) for row in variable.every_row().tolist()])
            case Binary(count):
                parts.append(list(itertools.product((0, 1), repeat=count)))
            case Integer(low, high):
                parts.append([(value,) for value in range(int(low), int(high) + 1)])
            case Choice(options):
                parts.append([(number,) for number in range(len(options))])
            case _:
                raise ExhaustedError(f"{variable} has no list of values")
    return np.array([sum(each, ()) for each in itertools.product(*parts)], np.int64)


class Method(Protocol):
    """How the next row is chosen: a function of the history and the generator alone, so nothing else needs to be saved."""

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        """One row that was not tried."""
        ...


@runtime_checkable
class BatchMethod(Method, Protocol):
    """A method with its own way to choose several rows together."""

    def propose_batch(self, history: History, count: int, rng: np.random.Generator) -> Rows:
        """At most `count` different rows, at least one, that were not tried."""
        ...


def propose_each(
    propose: Callable[[History, np.random.Generator], Rows], history: History, count: int, rng: np.random.Generator
) -> Rows:
    """`count` rows one after the other, each while those before it are pending; fewer where no more are left."""
    rows = history.pending[:0]
    for _ in range(count):
        try:
            row = propose(history.awaiting(rows), rng)
        except ExhaustedError:
            if not len(rows):
                raise
            break
        rows = np.concatenate([rows, row[None]])
    return rows
