"""What can be varied: permutations, binary choices and real numbers, alone or together.

A **point** is what a user sees: an order for a `PermutationSpace`, a dictionary of variables for a `Space`. A **row** is the
same as one flat array, which is what problems evaluate and models read. `encode` turns points into rows and checks them,
`decode` turns rows into points; both take one or many.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo.errors import ArgumentError, NotNumbersError, ShapeError, unknown_choice
from mergebo.permutations import Ints, Seed, generator, invert, item_count, sample, validate, whole_numbers

__all__ = ["AnySpace", "Binary", "Permutation", "PermutationSpace", "Real", "Space", "Variable"]

Rows: TypeAlias = NDArray[Any]


class Variable(ABC):
    """One part of a point: `width` numbers of a row."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers of a row it takes."""

    @property
    @abstractmethod
    def size(self) -> float:
        """How many values there are; infinite for a real variable."""

    @abstractmethod
    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        """Uniform random values, `(*shape, width)`."""

    def spread(self, places: Ints, rng: np.random.Generator) -> Rows:
        """Values for these places of an initial design, `(*places.shape, width)`; uniform random ones by default."""
        return self.sample(places.shape, rng)

    @abstractmethod
    def validate(self, values: ArrayLike) -> Rows:
        """Values of shape `(..., width)` as an array, or an error that shows what is wrong."""

    # A renaming says what is called what without changing what there is; see `Problem.relabelled`.

    def renaming(self, rng: np.random.Generator) -> Ints:
        """A random renaming, as a permutation of the names; nothing by default."""
        return np.empty(0, np.int64)

    def rename(self, values: Rows, names: Ints) -> Rows:
        """Values under their new names, said in the old ones."""
        return values

    def restore(self, values: Rows, names: Ints) -> Rows:
        """The inverse of `rename`."""
        return values


@dataclass(frozen=True)
class Permutation(Variable):
    """An order of n items: which item is in each slot."""

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", item_count(self.n))

    @property
    def width(self) -> int:
        return self.n

    @property
    def size(self) -> float:
        return math.factorial(self.n) if self.n < 150 else math.inf

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        return sample(self.n, shape, seed=rng)

    def validate(self, values: ArrayLike) -> Rows:
        return validate(values, n=self.n)

    def renaming(self, rng: np.random.Generator) -> Ints:
        return sample(self.n, seed=rng)

    def rename(self, values: Rows, names: Ints) -> Rows:
        return names[values.astype(np.int64)]  # rows with a real variable are floats throughout

    def restore(self, values: Rows, names: Ints) -> Rows:
        return self.rename(values, invert(names))


@dataclass(frozen=True)
class Binary(Variable):
    """`count` choices of 0 or 1."""

    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", item_count(self.count))

    @property
    def width(self) -> int:
        return self.count

    @property
    def size(self) -> float:
        return 2.0**self.count if self.count < 1000 else math.inf

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        return rng.integers(0, 2, (*shape, self.count))

    def spread(self, places: Ints, rng: np.random.Generator) -> Rows:
        """All zeros first, then all ones, then every share of ones alike: uniform values are about half ones throughout."""
        share = np.where(places < 2, places, rng.random(places.shape))
        return (rng.random((*places.shape, self.count)) < share[..., None]).astype(np.int64)

    def validate(self, values: ArrayLike) -> Rows:
        array = np.asarray(values)
        if array.dtype.kind != "b":
            array = whole_numbers(values, "a binary vector")
        if array.ndim == 0 or array.shape[-1] != self.count:
            raise ShapeError(f"expected {self.count} choices of 0 or 1, got an array of shape {array.shape}")
        if array.size and (array.min() < 0 or array.max() > 1):
            raise ArgumentError(f"choices are 0 or 1, got {array[(array != 0) & (array != 1)][0]}")
        return array.astype(np.int64)

    def renaming(self, rng: np.random.Generator) -> Ints:
        return sample(self.count, seed=rng)

    def rename(self, values: Rows, names: Ints) -> Rows:
        return values[..., names]

    def restore(self, values: Rows, names: Ints) -> Rows:
        return values[..., invert(names)]


@dataclass(frozen=True)
class Real(Variable):
    """A number between `low` and `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise ArgumentError(
                f"a real variable runs from a finite low to a larger finite high, got {self.low} to {self.high}"
            )

    @property
    def width(self) -> int:
        return 1

    @property
    def size(self) -> float:
        return math.inf

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        return rng.uniform(self.low, self.high, (*shape, 1))

    def validate(self, values: ArrayLike) -> Rows:
        try:
            array = np.asarray(values, np.float64)[..., None]
        except (ValueError, TypeError) as error:
            raise NotNumbersError(f"expected a number between {self.low} and {self.high}: {error}") from error
        outside = ~((array >= self.low) & (array <= self.high))
        if outside.any():
            raise ArgumentError(f"expected a number between {self.low} and {self.high}, got {array[outside][0]}")
        return array


class AnySpace(ABC):
    """What all spaces share: a row is the variables' values, one variable after the other."""

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
        """How many points there are."""
        return math.prod(variable.size for variable in self.variables.values())

    @property
    def slices(self) -> dict[str, slice]:
        """Where in a row each variable is."""
        out, start = {}, 0
        for name, variable in self.variables.items():
            out[name] = slice(start, start + variable.width)
            start += variable.width
        return out

    def sample_rows(self, size: int | tuple[int, ...] = (), *, seed: Seed) -> Rows:
        """Uniform random rows, `(*size, width)`."""
        rng = generator(seed)
        shape = (size,) if isinstance(size, int) else tuple(size)
        return np.concatenate([variable.sample(shape, rng) for variable in self.variables.values()], axis=-1)

    def spread_rows(self, places: ArrayLike, *, seed: Seed) -> Rows:
        """Random rows for these places of an initial design: uniform, but for binary choices; see `Binary.spread`."""
        rng = generator(seed)
        return np.concatenate([variable.spread(np.asarray(places), rng) for variable in self.variables.values()], axis=-1)

    def sample(self, size: int | tuple[int, ...] = (), *, seed: Seed) -> Any:
        """Uniform random points; `seed` is a number or the caller's own generator."""
        return self.decode(self.sample_rows(size, seed=seed))

    @abstractmethod
    def encode(self, points: Any) -> Rows:
        """Points, one or many, as checked rows."""

    @abstractmethod
    def decode(self, rows: Rows) -> Any:
        """Rows as points."""


@dataclass(frozen=True, init=False)
class PermutationSpace(AnySpace):
    """All orders of n items: `PermutationSpace(15)` or `PermutationSpace(items=["base", "acid", "salt"])`.

    A point is an order; many points are an array `(..., n)`. With named items a point is a list of names in order, and
    orders of item numbers are understood too.
    """

    n: int
    items: tuple[Any, ...] | None

    def __init__(self, n: int | None = None, *, items: Sequence[Any] | None = None) -> None:
        if items is not None:
            if isinstance(items, str) or not isinstance(items, Sequence):
                raise NotNumbersError(f"items is a list of names such as ['base', 'acid'], got {items!r}")
            twice = [name for name, count in Counter(items).items() if count > 1]
            if twice:
                raise ArgumentError(f"items must differ; more than once: {', '.join(map(repr, twice))}")
            if n is not None and n != len(items):
                raise ShapeError(f"n={n} does not fit {len(items)} items; give one of the two")
            n = len(items)
        if n is None:
            raise ArgumentError("say how many items, PermutationSpace(15), or which, PermutationSpace(items=[...])")
        object.__setattr__(self, "n", item_count(n))
        object.__setattr__(self, "items", None if items is None else tuple(items))

    @property
    def variables(self) -> Mapping[str, Variable]:
        return {"order": Permutation(self.n)}

    def encode(self, points: Any) -> Rows:
        return validate(points if self.items is None else self._numbers(points), n=self.n)

    def _numbers(self, points: Any) -> Any:
        """Names as item numbers, however deep they are nested."""
        assert self.items is not None
        if isinstance(points, np.ndarray) and points.dtype.kind in "iuf":
            return points
        if isinstance(points, list | tuple | np.ndarray):
            return [self._numbers(point) for point in points]
        try:
            return self.items.index(points)
        except ValueError:
            raise unknown_choice("an item", points, map(str, self.items)) from None

    def decode(self, rows: Rows) -> Any:
        if self.items is None:
            return rows
        if rows.ndim > 1:
            return [self.decode(row) for row in rows]
        return [self.items[item] for item in rows]


class Space(AnySpace):
    """Several variables together: `Space(route=Permutation(280), picks=Binary(837))`.

    A point is a dictionary of values by name. Many points are a list of such dictionaries, or one dictionary of arrays.
    """

    def __init__(self, **variables: Variable) -> None:
        if not variables:
            raise ArgumentError("a space has at least one variable: Space(route=Permutation(5))")
        for name, variable in variables.items():
            if not isinstance(variable, Variable):
                raise NotNumbersError(f"{name} must be a variable such as Permutation(5) or Binary(3), got {variable!r}")
        self._variables = MappingProxyType(variables)

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._variables

    def encode(self, points: Mapping[str, ArrayLike] | Sequence[Mapping[str, ArrayLike]]) -> Rows:
        if not isinstance(points, Mapping):
            if isinstance(points, str) or not isinstance(points, Sequence):
                example = dict.fromkeys(self.variables, "...")
                raise NotNumbersError(f"a point is a dictionary such as {example}, many are a list of them; got {points!r}")
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
                raise ShapeError(f"all variables must come in equal numbers: {name} has {part.shape[:-1]}, others {shape}")
        return np.concatenate(parts, axis=-1)

    def decode(self, rows: Rows) -> dict[str, Any]:
        out = {}
        for name, where in self.slices.items():
            values = rows[..., where]
            variable = self.variables[name]
            out[name] = values[..., 0] if isinstance(variable, Real) else values.astype(np.int64)
        return out

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
