"""What the library asks of a variable: everything about a kind of variable that needs no model is one of these methods.

What a model, a table of a report or a command needs to know of a kind, such as its similarity, is registered there with
`functools.singledispatch`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo._typing import Floats, Ints, Rows
from mergebo.errors import ExhaustedError

__all__ = ["Variable"]

Predicate: TypeAlias = Callable[[Any], object]
"""Whether a value is feasible."""

MAX_DISTINCT = 10
"""Number of values of an ordinary variable that are far apart, at most."""
MAX_ENUMERATED = 50_000
"""Largest number of points of a space that are enumerated."""


class Variable(ABC):
    """One part of a point: `width` numbers of a row.

    Values are arrays `(..., width)`, the variable's part of rows; users see what `decode` makes of them.
    """

    kinds: ClassVar[dict[str, type[Variable]]] = {}
    """All kinds of variables by the names of their classes, under which states store them."""
    dtype: ClassVar[type[np.int64] | type[np.float64]] = np.int64
    """The type of values; rows are floats throughout if one of their variables has floats."""

    def __init_subclass__(cls) -> None:
        Variable.kinds[cls.__name__] = cls

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of entries in a row."""

    @property
    @abstractmethod
    def size(self) -> float:
        """Number of values; infinite for a real variable."""

    @property
    def log_size(self) -> float:
        """The logarithm of the number of values that are so far apart that one tells little of the next; an estimate."""
        return math.log(min(self.size, MAX_DISTINCT))

    # Sampling.

    @abstractmethod
    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        """Uniform random values, `(*shape, width)`."""

    def stratified(self, index: Ints, rng: np.random.Generator) -> Rows:
        """Values of the points `index` of a stratified design, `(*index.shape, width)`; uniform by default."""
        return self.sample(index.shape, rng)

    @abstractmethod
    def enumerate(self) -> Rows:
        """All feasible values in canonical form, `(size, width)`; raises `ExhaustedError` if there are too many."""

    # Values as a user writes them, as cells of a table and as data of a state.

    @abstractmethod
    def validate(self, values: ArrayLike) -> Rows:
        """What a user wrote, of shape `(..., width)`, as an array; raises an error that shows what is wrong."""

    def decode(self, values: Rows) -> Any:
        """Values of shape `(..., width)` as a user writes them."""
        return values.astype(np.int64)  # rows with a real variable are floats throughout

    def columns(self, name: str) -> list[str]:
        """The columns of a table that hold a value: the variable's name, numbered from 1 if there are several."""
        return [name] if self.width == 1 else [f"{name} {k + 1}" for k in range(self.width)]

    def to_cells(self, value: Any) -> list[Any]:
        """A user's value as the cells of these columns."""
        return [value]

    @abstractmethod
    def from_cells(self, name: str, cells: Sequence[str]) -> Any:
        """The user's value in cells of text; raises an error that shows a cell that is wrong, with the variable's name."""

    def to_data(self, name: str) -> list[Any]:
        """The arguments that make this variable, JSON-serialisable; raises an error with its `name` if they are not."""
        return [list(each) if isinstance(each, tuple) else each for each in vars(self).values()]

    @classmethod
    def from_data(cls, name: str, arguments: Sequence[Any], where: Predicate | None) -> Variable:
        """The variable that `to_data` wrote. A predicate is not stored and must be given again."""
        return cls(*arguments)

    # Constraints, and a canonical form of equivalent values.

    @property
    def is_constrained(self) -> bool:
        """Whether some values of the right type are infeasible, or equivalent to others."""
        return False

    def canonical(self, values: Rows) -> Rows:
        """The representatives of the equivalence classes of these values, `(count, width)`."""
        return values

    def is_feasible(self, values: Rows, *, check_predicate: bool = True) -> NDArray[np.bool_]:
        """Which values in canonical form are feasible; the predicate is evaluated only if `check_predicate`."""
        return np.ones(len(values), bool)

    def repair(self, values: Rows) -> Rows:
        """Feasible values near these, in canonical form; unchanged if none is found."""
        return values

    # Searching. A neighbour is one move away; orders have moves of several kinds, other variables have steps.

    def move_kinds(self, moves: Iterable[str]) -> tuple[str, ...]:
        """The kinds of moves to a neighbour, if a search moves orders by `moves`."""
        return ("step",)

    @abstractmethod
    def neighbours(self, value: Rows, move: str = "step") -> Rows:
        """The values one move away from a single value, `(count, width)`; not all need be feasible."""

    def random_neighbours(self, value: Rows, move: str, count: int, rng: np.random.Generator) -> Rows:
        """At most `count` random values one move away, without repeats."""
        every = self.neighbours(value, move)
        return np.asarray(every[rng.choice(len(every), min(len(every), count), replace=False)])

    def crossover(self, a: Rows, b: Rows, rng: np.random.Generator) -> Rows:
        """A child of two values; by default, each number is that of either parent."""
        return np.where(rng.random(self.width) < 0.5, a, b)

    # The unit cube, for methods on real vectors.

    @property
    def unit_width(self) -> int:
        """Number of coordinates in the unit cube."""
        return self.width

    @abstractmethod
    def to_unit(self, values: Rows) -> Floats:
        """Values as points of the unit cube, `(..., unit_width)`."""

    @abstractmethod
    def from_unit(self, points: Floats) -> Rows:
        """The values that points of the unit cube stand for: the inverse of `to_unit`, defined everywhere."""

    # A relabelling permutes the labels and leaves the objective the same; see `Problem.relabelled`.

    def sample_labels(self, rng: np.random.Generator) -> Ints:
        """A random relabelling, as a permutation of the labels; empty by default."""
        return np.empty(0, np.int64)

    def relabel(self, values: Rows, labels: Ints) -> Rows:
        """Values of the relabelled variable in the original labels."""
        return values

    def undo_relabel(self, values: Rows, labels: Ints) -> Rows:
        """The inverse of `relabel`."""
        return values


def check_enumerable(what: object, size: float) -> None:
    """Raise an error if there are too many points to enumerate."""
    if size > MAX_ENUMERATED:
        many = "infinitely many" if size == np.inf else f"{size:.3g}"
        raise ExhaustedError(f"{what} has {many} points, too many to enumerate (the limit is {MAX_ENUMERATED})")


def as_builtin(value: Any) -> Any:
    """A NumPy scalar as the builtin type, also in tuples; anything else as it is."""
    if type(value) is tuple:
        return tuple(map(as_builtin, value))
    return value.item() if isinstance(value, np.generic) else value


def copied(value: Any) -> Any:
    """A copy of an array or of nested lists, tuples, sets and dictionaries; other objects are not copied."""
    if type(value) is dict:
        return {name: copied(each) for name, each in value.items()}
    if type(value) in (list, tuple, set):
        return type(value)(map(copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value
