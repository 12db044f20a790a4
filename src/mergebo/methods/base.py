"""The history of a run, all that methods see, and the protocols of methods."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo._typing import Floats, Rows
from mergebo.errors import ExhaustedError
from mergebo.mean import PriorMean
from mergebo.methods.dataset import Cache, Dataset
from mergebo.spaces import SearchSpace
from mergebo.spaces.variable import MAX_ENUMERATED
from mergebo.transforms import Identity, OutputTransform

if TYPE_CHECKING:
    from mergebo.gp import GP

__all__ = ["BatchMethod", "History", "Method"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class History:
    """Observed rows with their values, in the order of observation, failed rows and pending rows."""

    space: SearchSpace
    rows: Rows
    values: Floats
    failed: Rows
    pending: Rows
    initial: int
    """Size of the initial design: the first observations are those of random rows."""
    noisy: bool = False
    """Whether repeated measurements of a row differ."""
    noise_std: Floats | None = None
    """Standard deviations of the values, nan where unknown; None if all are."""
    prior_mean: PriorMean | None = None
    exponent: int = 0
    """Values and their standard deviations are the observed ones divided by two to this power."""
    cache: Cache = field(default_factory=Cache, repr=False, compare=False)
    """What was computed from earlier histories of the run."""
    succeeded: NDArray[np.bool_] | None = None
    """For each evaluation that ended, in that order, whether it has a value; if None, those that failed came last."""

    def unscaled(self, numbers: ArrayLike) -> Floats:
        """Numbers in the units of the observed values; infinity where they overflow."""
        with np.errstate(over="ignore"):
            return np.asarray(np.ldexp(numbers, self.exponent))

    @cached_property
    def tried(self) -> frozenset[bytes]:
        """All rows that are not to be evaluated again, as bytes. Noisy observations may be repeated."""
        every = np.concatenate([*([] if self.noisy else [self.rows]), self.failed, self.pending])
        return frozenset(row.tobytes() for row in every)

    @cached_property
    def labelled(self) -> History:
        """All evaluations with labels as values: 1 if they succeeded, 0 if they failed."""
        succeeded = self.succeeded
        if succeeded is None:
            succeeded = np.arange(len(self.rows) + len(self.failed)) < len(self.rows)
        rows = np.empty((len(succeeded), self.space.width), self.space.dtype)
        rows[succeeded], rows[~succeeded] = self.rows, self.failed
        return History(
            self.space,
            rows,
            succeeded.astype(np.float64),
            self.failed[:0],
            self.pending,
            self.initial,
            cache=self.cache.of_labels,
        )

    def is_tried(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of the rows are not to be evaluated again; see `tried`."""
        return np.array([row.tobytes() in self.tried for row in rows], bool)

    def best(self, count: int, values: Floats | None = None) -> Rows:
        """The `count` best rows, best first, without repetition; by their values or by others, such as posterior means."""
        order = np.argsort(self.values if values is None else values, kind="stable")
        if self.noisy:
            first = {self.rows[k].tobytes(): k for k in order[::-1]}
            order = np.array([k for k in order if first[self.rows[k].tobytes()] == k], np.int64)
        return self.rows[order[:count]]

    def dataset(self, transform: OutputTransform = Identity()) -> Dataset:
        """The observations, with a transform of their values."""
        return Dataset(
            self.space, self.rows, self.values, self.noise_std, self.noisy, self.prior_mean, transform, self.cache
        )

    def posterior_means(self, model: GP) -> Floats | None:
        """Posterior means at the observed rows if values are noisy; None if they are exact."""
        return model.predict_standardised(self.rows)[0] if self.noisy else None

    def with_pending(self, rows: Rows) -> History:
        """The same with further rows pending."""
        return replace(self, pending=np.concatenate([self.pending, rows]))

    def random_instead(self, what: str, rng: np.random.Generator) -> Rows:
        """A random untried row, for a method that found none itself."""
        logger.info("%s found no untried point after %d results; using a random one", what, len(self.values))
        return self.untried_row(rng)

    def untried_row(self, rng: np.random.Generator, number: int | None = None) -> Rows:
        """A random untried row: uniform, or with the given number in a stratified design."""
        for _ in range(100):
            row = self.space.sample_rows(seed=rng) if number is None else self.space.design_rows(number, seed=rng)
            if row.tobytes() not in self.tried:
                return row
        if self.space.size > MAX_ENUMERATED:  # practically impossible by chance
            raise ExhaustedError("no untried point was found")
        untried = [row for row in self.space.enumerate_rows() if row.tobytes() not in self.tried]
        if not untried and self.noisy:  # a point that is pending rather than none
            failed = {row.tobytes() for row in self.failed}
            untried = [row for row in self.space.enumerate_rows() if row.tobytes() not in failed]
        if not untried:
            raise ExhaustedError(f"all {self.space.size:.0f} points of the space were tried")
        chosen: Rows = untried[rng.integers(len(untried))]
        return chosen


class Method(Protocol):
    """An optimisation method: a function of the history and the generator alone, so nothing else needs to be saved."""

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        """One untried row."""
        ...


@runtime_checkable
class BatchMethod(Method, Protocol):
    """A method that chooses several rows jointly."""

    def propose_batch(self, history: History, count: int, rng: np.random.Generator) -> Rows:
        """Between one and `count` different untried rows."""
        ...


def propose_each(
    propose: Callable[[History, np.random.Generator], Rows], history: History, count: int, rng: np.random.Generator
) -> Rows:
    """`count` rows, one after the other, each with those before it pending; fewer if the space is exhausted."""
    rows = history.pending[:0]
    for _ in range(count):
        try:
            row = propose(history.with_pending(rows), rng)
        except ExhaustedError:
            if not len(rows):
                raise
            break
        rows = np.concatenate([rows, row[None]])
    return rows
