"""Numbers: `Real` and `Integer`, on a linear or a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mergebo._text import read_integer, read_number
from mergebo._typing import Floats, Rows
from mergebo.errors import ArgumentError, ArgumentTypeError, ExhaustedError
from mergebo.spaces.variable import Variable, as_builtin, check_enumerable

__all__ = ["Integer", "Numeric", "Real"]

MAX_EXACT_INTEGER = 1 << 53
"""The largest integer up to which floats are exact: rows with a real variable are floats throughout."""
FINEST_STEP = 7
"""Steps of a real number are 1/2, 1/4, ... 2^-FINEST_STEP of its range."""


@dataclass(frozen=True)
class Numeric(Variable):
    """A number between `low` and `high`, both included; with `log=True` on a logarithmic scale."""

    low: float
    high: float
    log: bool = False

    called: ClassVar[str]
    value: ClassVar[str]

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            given = getattr(self, name)
            if isinstance(given, bool | np.bool_) or not isinstance(given, int | float | np.integer | np.floating):
                raise ArgumentTypeError(f"{name} of {self.called} is a number, got {given!r}")
            object.__setattr__(self, name, as_builtin(given))
        try:
            extent = float(self.high) - float(self.low)
        except OverflowError:
            extent = math.inf
        if not (math.isfinite(extent) and self.low < self.high):
            raise ArgumentError(
                f"{self.called} needs a finite low and a larger finite high, got {self.low} and {self.high}"
                + (", whose difference is too large for a float" if self.low < self.high < math.inf else "")
            )
        if not isinstance(self.log, bool):
            raise ArgumentError(f"log is True or False, got {self.log!r}")
        if self.log and not self.low > 0:
            raise ArgumentError(f"with log=True {self.called} needs a positive low, got low={self.low}")

    @property
    def width(self) -> int:
        return 1

    def to_unit(self, values: ArrayLike) -> Floats:
        """Values of any shape, scaled to 0 (low) to 1 (high), by their logarithms with `log`."""
        low, high = self.ends
        array = np.asarray(values, np.float64)
        return np.asarray(((np.log(array) if self.log else array) - low) / (high - low))

    def from_unit(self, points: Floats) -> Rows:
        """The inverse of `to_unit`; what lies outside 0 to 1 is clipped."""
        low, high = self.ends
        array = low + np.clip(points, 0, 1) * (high - low)
        inside = np.clip(np.exp(array) if self.log else array, self.low, self.high)
        return np.where(points <= 0, self.low, np.where(points >= 1, self.high, inside))  # exact at the ends

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds that 0 and 1 of the unit scale stand for: low and high, or their logarithms."""
        return (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)

    def decode(self, values: Rows) -> Any:
        return values[..., 0] if values.ndim > 1 else values[..., 0].item()

    def _inside(self, array: Rows) -> Rows:
        """The values with a last axis of length 1; raises an error that shows one that is out of bounds."""
        outside = ~((array >= self.low) & (array <= self.high))
        if outside.any():
            raise ArgumentError(f"expected {self._between}, got {array[outside][0]}")
        return array[..., None]

    @property
    def _between(self) -> str:
        return f"{self.value} between {self.low} and {self.high}"


@dataclass(frozen=True)
class Real(Numeric):
    """A number between `low` and `high`: `Real(20, 80)`; `Real(0.001, 10, log=True)` on a logarithmic scale."""

    dtype = np.float64
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
            raise ArgumentTypeError(f"expected {self._between}: {error}") from error
        return self._inside(array)

    def from_cells(self, name: str, cells: Sequence[str]) -> float:
        return read_number(cells[0], name)

    def enumerate(self) -> Rows:
        raise ExhaustedError(f"{self} has infinitely many points, too many to enumerate")

    def neighbours(self, value: Rows, move: str = "step") -> Rows:
        """The values a half, a quarter, an eighth ... of the range up or down, or at its end."""
        sizes = 0.5 ** np.arange(1, FINEST_STEP + 1)
        found = np.unique(self.from_unit(self.to_unit(value) + np.concatenate([-sizes, sizes])))
        return found[found != value, None]

    def random_neighbours(self, value: Rows, move: str, count: int, rng: np.random.Generator) -> Rows:
        """The values after normal steps of all sizes."""
        sizes = 0.5 ** rng.uniform(1, FINEST_STEP + 1, count)
        return self.from_unit(self.to_unit(value) + sizes * rng.normal(size=count))[:, None]


@dataclass(frozen=True)
class Integer(Numeric):
    """An integer between `low` and `high`, both included: `Integer(1, 12)`; with `log=True` on a logarithmic scale."""

    called = "an integer variable"
    value = "an integer"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            given = getattr(self, name)
            if not isinstance(given, int) or abs(given) > MAX_EXACT_INTEGER:
                raise ArgumentTypeError(
                    f"{name} of {self.called} is an integer within ±2^53, got {given!r}; otherwise use Real"
                )

    @property
    def size(self) -> float:
        return self.high - self.low + 1

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        """Uniform; with `log` each integer has the probability of the real numbers from it to the next."""
        if not self.log:
            return rng.integers(int(self.low), int(self.high) + 1, (*shape, 1))
        real = np.exp(rng.uniform(math.log(self.low), math.log(self.high + 1), (*shape, 1)))
        return np.clip(np.floor(real), self.low, self.high).astype(np.int64)

    def from_unit(self, points: Floats) -> Rows:
        return np.rint(super().from_unit(points)).astype(np.int64)

    def validate(self, values: ArrayLike) -> Rows:
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise ArgumentTypeError(f"expected {self._between}: {error}") from error
        if array.dtype.kind not in "iuf" or not np.all(array == np.rint(array)):
            raise ArgumentTypeError(f"expected {self._between}, got {values!r}")
        return self._inside(array).astype(np.int64)

    def decode(self, values: Rows) -> Any:
        return super().decode(values.astype(np.int64))

    def from_cells(self, name: str, cells: Sequence[str]) -> int:
        return read_integer(cells[0], name)

    def enumerate(self) -> Rows:
        check_enumerable(self, self.size)
        return np.arange(int(self.low), int(self.high) + 1)[:, None]

    def neighbours(self, value: Rows, move: str = "step") -> Rows:
        """The values 1, 2, 4, 8 ... up or down."""
        sizes = 2 ** np.arange(int(self.high - self.low).bit_length())
        around = int(value[0]) + np.concatenate([-sizes[::-1], sizes])
        return around[(around >= self.low) & (around <= self.high), None].astype(value.dtype)
