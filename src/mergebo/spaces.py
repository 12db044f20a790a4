"""What can be varied: permutations, binary choices, numbers and options, alone or together.

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
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo.errors import ArgumentError, NotNumbersError, ShapeError, unknown_choice
from mergebo.permutations import Ints, Seed, generator, invert, item_count, sample, validate, whole_numbers

__all__ = [
    "AnySpace",
    "Binary",
    "Choice",
    "Integer",
    "Permutation",
    "PermutationSpace",
    "Quantity",
    "Real",
    "Space",
    "Variable",
]

Rows: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]

EXACT = 1 << 53
"""Whole numbers up to this are exact as floats, too, as rows with a real variable hold them."""


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

    def decode(self, values: Rows) -> Any:
        """Values of shape `(..., width)` as a user writes them."""
        return values.astype(np.int64)  # rows with a real variable are floats throughout

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
        return names[values.astype(np.int64)]

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
class Quantity(Variable):
    """A number between `low` and `high`, both included; with `log` ratios count instead of differences."""

    low: float
    high: float
    log: bool = False

    called: ClassVar[str]
    value: ClassVar[str]

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            given = getattr(self, name)
            if isinstance(given, bool | np.bool_) or not isinstance(given, int | float | np.integer | np.floating):
                raise NotNumbersError(f"{name} of {self.called} is a number, got {given!r}")
            object.__setattr__(self, name, _plain(given))
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise ArgumentError(
                f"{self.called} runs from a finite low to a larger finite high, got {self.low} to {self.high}"
            )
        if not isinstance(self.log, bool):
            raise ArgumentError(f"log is True or False, got {self.log!r}")
        if self.log and not self.low > 0:
            raise ArgumentError(
                f"with log=True {self.called} runs from a positive low, got low={self.low}; or leave log out"
            )

    @property
    def width(self) -> int:
        return 1

    def to_unit(self, values: ArrayLike) -> Floats:
        """How far values are on the way from low to high, 0 to 1; on that of their logarithms with `log`."""
        low, high = self.ends
        array = np.asarray(values, np.float64)
        return np.asarray(((np.log(array) if self.log else array) - low) / (high - low))

    def from_unit(self, shares: Floats) -> Rows:
        """The value that is so far on the way; beyond the ends, the end."""
        low, high = self.ends
        array = low + np.clip(shares, 0, 1) * (high - low)
        inside = np.clip(np.exp(array) if self.log else array, self.low, self.high)
        return np.where(shares <= 0, self.low, np.where(shares >= 1, self.high, inside))  # the ends exactly

    @property
    def ends(self) -> tuple[float, float]:
        """Where 0 and 1 of the unit scale are: low and high, or their logarithms."""
        return (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)

    def decode(self, values: Rows) -> Any:
        return values[..., 0] if values.ndim > 1 else values[..., 0].item()

    def _inside(self, array: Rows) -> Rows:
        """The same values, each as a vector of one, or an error that shows one that is out of bounds."""
        outside = ~((array >= self.low) & (array <= self.high))
        if outside.any():
            raise ArgumentError(f"expected {self._between}, got {array[outside][0]}")
        return array[..., None]

    @property
    def _between(self) -> str:
        return f"{self.value} between {self.low} and {self.high}"


@dataclass(frozen=True)
class Real(Quantity):
    """A number between `low` and `high`: `Real(20, 80)`; `Real(0.001, 10, log=True)` if ratios count, not differences."""

    called = "a real variable"
    value = "a number"

    @property
    def size(self) -> float:
        return math.inf

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        if self.log:
            return self.from_unit(rng.random((*shape, 1)))
        return rng.uniform(self.low, self.high, (*shape, 1))

    def validate(self, values: ArrayLike) -> Rows:
        try:
            array = np.asarray(values, np.float64)
        except (ValueError, TypeError) as error:
            raise NotNumbersError(f"expected {self._between}: {error}") from error
        return self._inside(array)


@dataclass(frozen=True)
class Integer(Quantity):
    """A whole number between `low` and `high`, both included: `Integer(1, 12)`; with `log` ratios count."""

    called = "an integer variable"
    value = "a whole number"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            given = getattr(self, name)
            if not isinstance(given, int) or abs(given) > EXACT:
                raise NotNumbersError(f"{name} of {self.called} is a whole number within ±2^53, got {given!r}; or take Real")

    @property
    def size(self) -> float:
        return self.high - self.low + 1

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        """Uniform; with `log` each number is as likely as real ones between it and the next."""
        if not self.log:
            return rng.integers(int(self.low), int(self.high) + 1, (*shape, 1))
        real = np.exp(rng.uniform(math.log(self.low), math.log(self.high + 1), (*shape, 1)))
        return np.clip(np.floor(real), self.low, self.high).astype(np.int64)

    def from_unit(self, shares: Floats) -> Rows:
        return np.rint(super().from_unit(shares)).astype(np.int64)

    def validate(self, values: ArrayLike) -> Rows:
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise NotNumbersError(f"expected {self._between}: {error}") from error
        if array.dtype.kind not in "iuf" or not np.all(array == np.rint(array)):
            raise NotNumbersError(f"expected {self._between}, got {values!r}")
        return self._inside(array).astype(np.int64)

    def decode(self, values: Rows) -> Any:
        return super().decode(values.astype(np.int64))


@dataclass(frozen=True, init=False)
class Choice(Variable):
    """One of several options: `Choice(["K", "Na", "Li"])`. Options may be anything that can be compared, and must differ.

    A row holds the number of the option. No option is nearer to one than to another; for what has an order take `Integer`.
    """

    options: tuple[Any, ...]

    def __init__(self, options: Sequence[Any]) -> None:
        if isinstance(options, str) or not isinstance(options, Sequence):
            raise NotNumbersError(f"options are a list such as ['K', 'Na'], got {options!r}")
        object.__setattr__(self, "options", tuple(map(_plain, options)))
        if len(self.options) < 2:
            raise ArgumentError(f"a choice has two options or more, got {list(options)!r}")
        for each in self.options:
            if isinstance(each, np.ndarray) or self._find(each) is None:
                raise ArgumentError(f"an option is known by ==, which does not work for {each!r}")
        twice = [each for k, each in enumerate(self.options) if self._find(each) != k]
        if twice:
            raise ArgumentError(f"options must differ; more than once: {', '.join(map(repr, twice))}")

    def __hash__(self) -> int:
        return hash(("Choice", len(self.options)))  # an option need not have one

    @property
    def width(self) -> int:
        return 1

    @property
    def size(self) -> float:
        return len(self.options)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        return rng.integers(0, len(self.options), (*shape, 1))

    def _find(self, value: Any) -> int | None:
        """The number of an option."""
        return next((k for k, each in enumerate(self.options) if (each == value) is True), None)

    def validate(self, values: Any) -> Rows:
        """Options, nested in lists or arrays if there are many, as their numbers."""
        return self._numbers(values)[..., None]

    def _numbers(self, values: Any) -> Ints:
        number = None if isinstance(values, np.ndarray) else self._find(_plain(values))
        if number is not None:
            return np.array(number)
        if not isinstance(values, list | tuple | np.ndarray):
            raise unknown_choice("an option", values, map(str, self.options))
        parts = [self._numbers(each) for each in values]
        if len({part.shape for part in parts}) > 1:
            raise ShapeError(f"options of many points come in a rectangular array, got {values!r}")
        return np.stack(parts) if parts else np.empty(0, np.int64)

    def decode(self, values: Rows) -> Any:
        numbers = values[..., 0].astype(np.int64)
        if not numbers.ndim:
            return self.options[int(numbers)]
        found = np.empty(numbers.shape, object)
        for index, number in np.ndenumerate(numbers):
            found[index] = self.options[number]
        return found

    def renaming(self, rng: np.random.Generator) -> Ints:
        return sample(len(self.options), seed=rng)

    def rename(self, values: Rows, names: Ints) -> Rows:
        return names[values.astype(np.int64)]

    def restore(self, values: Rows, names: Ints) -> Rows:
        return self.rename(values, invert(names))


def _plain(value: Any) -> Any:
    """A number or text of numpy's as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


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
    def dtype(self) -> type[np.int64] | type[np.float64]:
        """Of rows: floats throughout if there is a real variable, whole numbers if there is none."""
        return np.float64 if self.reals else np.int64

    @cached_property
    def reals(self) -> dict[str, Real]:
        """The real variables by name."""
        return {name: each for name, each in self.variables.items() if isinstance(each, Real)}

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where in a row each variable is."""
        out, start = {}, 0
        for name, variable in self.variables.items():
            out[name] = slice(start, start + variable.width)
            start += variable.width
        return out

    def part(self, name: str, rows: Rows) -> Rows:
        """What a variable is in rows: whole numbers, as compiled code reads them, unless it is real."""
        values = rows[..., self.slices[name]]
        return values if name in self.reals else values.astype(np.int64, copy=False)

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

    def encode(self, points: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Rows:
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
