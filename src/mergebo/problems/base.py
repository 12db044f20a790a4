"""The base classes of benchmark problems: immutable data, an exact objective to minimise, and the known optimum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from mergebo._typing import Floats, Ints, Rows
from mergebo.spaces import PermutationSpace, SearchSpace

__all__ = ["Optimum", "OrderProblem", "Problem", "Relabelled"]

CHUNK = 1 << 20
"""Numbers that an evaluation may hold in memory besides its input and result: small enough for the cache."""


@dataclass(frozen=True)
class Optimum:
    """The minimum of a problem, or the best known value."""

    value: float
    proved: bool
    source: str

    def __str__(self) -> str:
        return f"{self.value:g} ({'proved' if self.proved else 'best known'}; {self.source})"


def _frozen(value: Any) -> Any:
    """A read-only copy of an array or of a tuple of arrays."""
    if isinstance(value, tuple):
        return tuple(_frozen(each) for each in value)
    if not isinstance(value, np.ndarray):
        return value
    copy = np.array(value)
    copy.setflags(write=False)
    return copy


@dataclass(frozen=True, eq=False, repr=False)
class Problem(ABC):
    """An objective over a space, to be minimised.

    `evaluate` accepts and validates points, one or many; subclasses implement `_evaluate` on valid rows (see
    `spaces`). Arrays inside a problem are read-only.
    """

    name: str
    """`family:instance`, for `problems.get`."""
    optimum: Optimum | None = field(default=None, kw_only=True)
    optimizers: tuple[tuple[float, ...], ...] = field(default=(), kw_only=True)
    """Rows with the value `optimum.value`, if any are known."""

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, _frozen(getattr(self, each.name)))

    @property
    @abstractmethod
    def space(self) -> SearchSpace:
        """The search space."""

    @abstractmethod
    def _evaluate(self, rows: Rows) -> Floats:
        """Values of valid rows `(count, width)`."""

    def describe(self) -> str:
        """A one-line description of the problem."""
        known = f"optimum {self.optimum}" if self.optimum else "optimum unknown"
        return f"{self.name}: {self._describe()}; {known}"

    @abstractmethod
    def _describe(self) -> str:
        """A phrase that describes what is minimised."""

    @property
    def _scratch(self) -> int:
        """Numbers in memory while evaluating one row; large batches are evaluated in chunks that fit the cache."""
        return self.space.width

    def evaluate(self, points: Any) -> Floats:
        """The values of points, one or many; smaller is better."""
        return self.evaluate_rows(self.space.encode(points))

    def evaluate_rows(self, rows: Rows) -> Floats:
        """The values of valid rows `(..., width)`."""
        flat = rows.reshape(-1, rows.shape[-1])
        step = max(1, CHUNK // max(1, self._scratch))
        chunks = [self._evaluate(flat[k : k + step]) for k in range(0, len(flat), step)]
        values = np.concatenate(chunks).astype(np.float64) if chunks else np.empty(0)
        reshaped: Floats = values.reshape(rows.shape[:-1])[()]
        return reshaped

    def relabelled(self, seed: int) -> Relabelled:
        """The same problem with randomly relabelled items, so that their numbers carry no information."""
        rng = np.random.default_rng(seed)
        names = tuple(variable.sample_labels(rng) for variable in self.space.variables.values())
        return Relabelled(f"{self.name}~{seed}", self, names).with_optimum(self.optimum, self.optimizers)

    def with_optimum(self, optimum: Optimum | None, optimizers: Any = ()) -> Self:
        """A copy with this optimum."""
        return replace(self, optimum=optimum, optimizers=tuple(tuple(row) for row in optimizers))

    def __repr__(self) -> str:
        return f"<{self.describe()}>"


@dataclass(frozen=True, eq=False, repr=False)
class OrderProblem(Problem):
    """A problem whose points are orders."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of items."""

    @cached_property
    def space(self) -> PermutationSpace:
        return PermutationSpace(self.n)


@dataclass(frozen=True, eq=False, repr=False)
class Relabelled(Problem):
    """`problem` with permuted labels: item i here is item names[i] there."""

    problem: Problem
    names: tuple[Ints, ...]

    @property
    def space(self) -> SearchSpace:
        return self.problem.space

    def _evaluate(self, rows: Rows) -> Floats:
        return self.problem._evaluate(self.to_original(rows))

    def _describe(self) -> str:
        return f"{self.problem._describe()}, items relabelled at random"

    @property
    def _scratch(self) -> int:
        return self.problem._scratch

    def to_original(self, rows: Rows) -> Rows:
        """Rows of this problem as rows of the original one."""
        return self._each("relabel", rows)

    def from_original(self, rows: Rows) -> Rows:
        """Rows of the original problem as rows of this one."""
        return self._each("undo_relabel", rows)

    def _each(self, operation: str, rows: Rows) -> Rows:
        space = self.space
        parts = [
            getattr(space.variables[variable], operation)(rows[..., where], names)
            for (variable, where), names in zip(space.slices.items(), self.names, strict=True)
        ]
        return np.concatenate(parts, axis=-1)

    def with_optimum(self, optimum: Optimum | None, optimizers: Any = ()) -> Self:
        rows = [self.from_original(np.array(row, self.space.dtype)) for row in optimizers]
        return super().with_optimum(optimum, rows)
