"""Search spaces: one permutation, or several variables together.

A **point** is what users see: an order for a `PermutationSpace`, a dictionary of variables for a `Space`. A **row** is the
same point as one flat array, which problems evaluate and models read. `encode` validates points and turns them into rows,
`decode` turns rows into points; both accept one or many.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mergebo._typing import Floats, Rows, Seed
from mergebo.errors import ArgumentError, ArgumentTypeError, ShapeError, unknown_choice
from mergebo.permutations import as_generator
from mergebo.spaces.binary import Binary
from mergebo.spaces.numbers import Real
from mergebo.spaces.permutation import Permutation
from mergebo.spaces.variable import Variable, check_enumerable

__all__ = ["PermutationSpace", "SearchSpace", "Space"]


class SearchSpace(ABC):
    """Base class of spaces: a row concatenates the values of all variables."""

    @property
    @abstractmethod
    def variables(self) -> Mapping[str, Variable]:
        """The variables by name, in the order in which a row holds them."""

    @property
    def width(self) -> int:
        """Length of a row."""
        return sum(variable.width for variable in self.variables.values())

    @property
    def size(self) -> float:
        """Number of points."""
        return math.prod(variable.size for variable in self.variables.values())

    @property
    def log_size(self) -> float:
        """The logarithm of the number of points; see `Variable.log_size`."""
        return sum(variable.log_size for variable in self.variables.values())

    @property
    def dtype(self) -> type[np.int64] | type[np.float64]:
        """The type of rows: float64 if any variable has floats, otherwise int64."""
        return np.float64 if any(each.dtype is np.float64 for each in self.variables.values()) else np.int64

    @cached_property
    def permutations(self) -> dict[str, Permutation]:
        """The orders by name."""
        return {name: each for name, each in self.variables.items() if isinstance(each, Permutation)}

    @property
    def single_permutation(self) -> Permutation | None:
        """The order, if it is the only variable: then rows are orders of item numbers."""
        return next(iter(self.permutations.values())) if self.permutations and len(self.variables) == 1 else None

    @cached_property
    def binaries(self) -> dict[str, Binary]:
        """The binary variables by name."""
        return {name: each for name, each in self.variables.items() if isinstance(each, Binary)}

    @cached_property
    def reals(self) -> dict[str, Real]:
        """The real variables by name; not those of subclasses, whose similarity may be another one."""
        return {name: each for name, each in self.variables.items() if type(each) is Real}

    @cached_property
    def slices(self) -> dict[str, slice]:
        """The slice of a row that holds each variable."""
        out, start = {}, 0
        for name, variable in self.variables.items():
            out[name] = slice(start, start + variable.width)
            start += variable.width
        return out

    def part(self, name: str, rows: Rows) -> Rows:
        """The values of a variable in rows, of its own type: compiled code expects int64."""
        return rows[..., self.slices[name]].astype(self.variables[name].dtype, copy=False)

    def replace_part(self, name: str, row: Rows, values: Rows) -> Rows:
        """Copies of a row, with one variable set to each of the values."""
        changed = np.tile(row, (len(values), 1))
        changed[:, self.slices[name]] = values
        return changed

    def sample_rows(self, size: int | tuple[int, ...] = (), *, seed: Seed) -> Rows:
        """Uniform random rows, `(*size, width)`."""
        rng = as_generator(seed)
        shape = (size,) if isinstance(size, int) else tuple(size)
        return np.concatenate([variable.sample(shape, rng) for variable in self.variables.values()], axis=-1)

    def design_rows(self, index: ArrayLike, *, seed: Seed) -> Rows:
        """The rows `index` of a random initial design: uniform except for binary variables, see `Binary.stratified`."""
        rng = as_generator(seed)
        return np.concatenate([variable.stratified(np.asarray(index), rng) for variable in self.variables.values()], axis=-1)

    @cached_property
    def is_constrained(self) -> bool:
        """Whether any variable is constrained; see `feasible_rows`."""
        return any(variable.is_constrained for variable in self.variables.values())

    def feasible_rows(self, rows: Rows, *, repair: bool = False, check_predicate: bool = True) -> Rows:
        """The feasible rows in canonical form; with `repair` the others are repaired if possible.

        Predicates are evaluated unless `check_predicate` is false.
        """
        if not self.is_constrained:
            return rows
        rows = rows.copy()
        feasible = np.ones(len(rows), bool)
        for name, where in self.slices.items():
            variable = self.variables[name]
            if variable.is_constrained:
                values = variable.canonical(rows[:, where])
                rows[:, where] = variable.repair(values) if repair else values
                checked = rows[feasible][:, where]
                feasible[feasible] = variable.is_feasible(checked, check_predicate=check_predicate)
        return rows[feasible]

    def enumerate_rows(self) -> Rows:
        """All feasible rows of a small space; raises `ExhaustedError` if there are too many."""
        check_enumerable(self, self.size)
        parts = [variable.enumerate() for variable in self.variables.values()]
        index = np.meshgrid(*(np.arange(len(part)) for part in parts), indexing="ij")
        return np.concatenate([part[each.ravel()] for part, each in zip(parts, index, strict=True)], axis=1)

    def neighbourhoods(self, row: Rows, moves: Iterable[str]) -> Iterator[Rows]:
        """All feasible rows that differ from `row` by one move of one variable: an array for each variable and kind of move.

        Orders are moved by `moves`.
        """
        moves = tuple(moves)
        for name, variable in self.variables.items():
            for move in variable.move_kinds(moves):
                values = variable.neighbours(row[self.slices[name]], move)
                yield self.feasible_neighbours(row, self.replace_part(name, row, values))

    def random_neighbours(self, row: Rows, moves: Iterable[str], count: int, rng: np.random.Generator) -> Rows:
        """About `count` of the rows in `neighbourhoods`, equally many of each kind, without listing the others.

        Steps of real numbers are of any size.
        """
        moves = tuple(moves)
        kinds = [(name, move) for name, each in self.variables.items() for move in each.move_kinds(moves)]
        found = [np.empty((0, len(row)), row.dtype)]
        for name, move in kinds:
            values = self.variables[name].random_neighbours(row[self.slices[name]], move, -(-count // len(kinds)), rng)
            found.append(self.replace_part(name, row, values))
        return self.feasible_neighbours(row, np.concatenate(found))

    def crossover(self, a: Rows, b: Rows, rng: np.random.Generator) -> Rows:
        """A child of two rows; it need not be feasible."""
        parts = self.slices.items()
        return np.concatenate([self.variables[name].crossover(a[where], b[where], rng) for name, where in parts])

    def to_unit(self, rows: Rows) -> Floats:
        """Rows as points of the unit cube, `(..., dimensions)`."""
        return np.concatenate([each.to_unit(rows[..., self.slices[name]]) for name, each in self.variables.items()], axis=-1)

    def from_unit(self, points: Floats) -> Rows:
        """Points of the unit cube as rows, which need not be feasible."""
        ends = np.cumsum([each.unit_width for each in self.variables.values()])
        parts = zip(self.variables.values(), np.split(points, ends[:-1], axis=-1), strict=True)
        return np.concatenate([variable.from_unit(part) for variable, part in parts], axis=-1)

    def feasible_neighbours(self, row: Rows, changed: Rows) -> Rows:
        """The feasible ones of the changed rows, in canonical form and without those equivalent to `row`."""
        if not self.is_constrained:
            return changed
        feasible = self.feasible_rows(changed)
        return np.asarray(feasible[(feasible != row).any(axis=1)])

    def sample(self, size: int | tuple[int, ...] = (), *, seed: Seed) -> Any:
        """Uniform random points; `seed` is an integer or a generator."""
        return self.decode(self.sample_rows(size, seed=seed))

    @abstractmethod
    def encode(self, points: Any) -> Rows:
        """Points, one or many, as validated rows."""

    @abstractmethod
    def decode(self, rows: Rows) -> Any:
        """Rows as points."""


@dataclass(frozen=True, init=False, repr=False)
class PermutationSpace(SearchSpace):
    """All orders of n items: `PermutationSpace(15)`, or `PermutationSpace(["base", "acid", "salt"])` with names.

    A point is an order; many points are an array `(..., n)`. With named items a point is a list of names in order, and
    orders of item numbers are accepted too. Constraints and other options are those of `Permutation`.
    """

    order: Permutation

    def __init__(self, n: int | Sequence[Any] | None = None, **options: Any) -> None:
        object.__setattr__(self, "order", Permutation(n, **options))

    def __repr__(self) -> str:
        return repr(self.order).replace("Permutation", "PermutationSpace", 1)

    @property
    def n(self) -> int:
        """Number of items."""
        return self.order.n

    @property
    def items(self) -> tuple[Any, ...] | None:
        """Names of the items, if they have any."""
        return self.order.items

    @property
    def variables(self) -> Mapping[str, Variable]:
        return {"order": self.order}

    def encode(self, points: Any) -> Rows:
        return self.order.validate(points)

    def decode(self, rows: Rows) -> Any:
        return self.order.decode(rows)


class Space(SearchSpace):
    """Several variables together: `Space(route=Permutation(280), picks=Binary(837))`.

    A point is a dictionary of values by name. Many points are a list of such dictionaries, or one dictionary of arrays.
    """

    def __init__(self, /, *unnamed: Variable, **variables: Variable) -> None:
        if unnamed:
            raise ArgumentTypeError(f"each variable of a space has a name: Space(order={unnamed[0]!r})")
        if not variables:
            raise ArgumentError("a space has at least one variable: Space(route=Permutation(5))")
        for name, variable in variables.items():
            if not isinstance(variable, Variable):
                raise ArgumentTypeError(f"{name} must be a variable such as Permutation(5) or Binary(3), got {variable!r}")
        self._variables = MappingProxyType(variables)

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._variables

    def encode(self, points: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Rows:
        if not isinstance(points, Mapping):
            if isinstance(points, str) or not isinstance(points, Sequence):
                example = dict.fromkeys(self.variables, "...")
                raise ArgumentTypeError(
                    f"a point is a dictionary such as {example}, many are a list of them; got {points!r}"
                )
            return np.stack([self.encode(point) for point in points]) if len(points) else np.empty((0, self.width))
        for name in points:
            if name not in self.variables:
                raise unknown_choice("a variable of the point", name, self.variables)
        missing = [name for name in self.variables if name not in points]
        if missing:
            raise ArgumentError(f"the point has no value for {', '.join(missing)}")
        parts = [variable.validate(points[name]) for name, variable in self.variables.items()]
        shape = parts[0].shape[:-1]
        for name, part in zip(self.variables, parts, strict=True):
            if part.shape[:-1] != shape:
                raise ShapeError(f"all variables need the same batch shape: {name} has {part.shape[:-1]}, others {shape}")
        return np.concatenate(parts, axis=-1)

    def decode(self, rows: Rows) -> dict[str, Any]:
        return {name: self.variables[name].decode(rows[..., where]) for name, where in self.slices.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and list(self.variables.items()) == list(other.variables.items())

    def __hash__(self) -> int:
        return hash(tuple(self.variables.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _space, (dict(self.variables),)

    def __repr__(self) -> str:
        return f"Space({', '.join(f'{name}={variable}' for name, variable in self.variables.items())})"


def _space(variables: dict[str, Variable]) -> Space:
    return Space(**variables)
