"""`Choice`: one of several options without an order."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mergebo._typing import Floats, Ints, Rows
from mergebo.errors import ArgumentError, ArgumentTypeError, ShapeError, UnsupportedError, unknown_choice
from mergebo.permutations import invert, sample
from mergebo.spaces.variable import Variable, as_builtin, copied

__all__ = ["Choice"]


@dataclass(frozen=True, init=False)
class Choice(Variable):
    """One of several options: `Choice(["K", "Na", "Li"])`. Options may be any objects that compare with `==`, all different.

    A row holds the index of the option. Options have no order: all are equally far apart. For an ordered one use `Integer`.
    """

    options: tuple[Any, ...]

    def __init__(self, options: Sequence[Any]) -> None:
        if isinstance(options, str) or not isinstance(options, Sequence):
            raise ArgumentTypeError(f"options are a list such as ['K', 'Na'], got {options!r}")
        object.__setattr__(self, "options", tuple(map(as_builtin, options)))
        if len(self.options) < 2:
            raise ArgumentError(f"a choice needs at least two options, got {list(options)!r}")
        for each in self.options:
            if isinstance(each, np.ndarray) or self._find(each) is None:
                raise ArgumentError(f"options are compared with ==, which does not work for {each!r}")
        twice = [each for k, each in enumerate(self.options) if self._find(each) != k]
        if twice:
            raise ArgumentError(f"options must differ; repeated: {', '.join(map(repr, twice))}")

    def __hash__(self) -> int:
        return hash(("Choice", len(self.options)))  # options need not be hashable

    @property
    def width(self) -> int:
        return 1

    @property
    def log_size(self) -> float:
        return math.log(self.size)

    @property
    def size(self) -> float:
        return len(self.options)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        return rng.integers(0, len(self.options), (*shape, 1))

    def _find(self, value: Any) -> int | None:
        """The index of an option."""
        return next((k for k, each in enumerate(self.options) if (each == value) is True), None)

    def validate(self, values: Any) -> Rows:
        """The indices of options, which may be nested in lists or arrays."""
        return self._numbers(values)[..., None]

    def _numbers(self, values: Any) -> Ints:
        number = None if isinstance(values, np.ndarray) else self._find(as_builtin(values))
        if number is not None:
            return np.array(number)
        if not isinstance(values, list | tuple | np.ndarray):
            raise unknown_choice("an option", values, map(str, self.options))
        parts = [self._numbers(each) for each in values]
        if len({part.shape for part in parts}) > 1:
            raise ShapeError(f"options of many points must form a rectangular array, got {values!r}")
        return np.stack(parts) if parts else np.empty(0, np.int64)

    def decode(self, values: Rows) -> Any:
        numbers = values[..., 0].astype(np.int64)
        if not numbers.ndim:
            return copied(self.options[int(numbers)])
        found = np.empty(numbers.shape, object)
        for index, number in np.ndenumerate(numbers):
            found[index] = copied(self.options[number])
        return found

    def from_cells(self, name: str, cells: Sequence[str]) -> Any:
        texts = [str(option) for option in self.options]
        if cells[0] not in texts:
            raise unknown_choice(name, cells[0], texts)
        return self.options[texts.index(cells[0])]

    def to_data(self, name: str) -> list[Any]:
        for option in self.options:
            try:
                same = json.loads(json.dumps(option)) == option
            except (TypeError, ValueError):
                same = False
            if not same:
                raise UnsupportedError(
                    f"a state must be JSON-serialisable, which the option {option!r} of {name} is not; use strings or "
                    "numbers as options, and look up the objects in the objective"
                )
        return super().to_data(name)

    def enumerate(self) -> Rows:
        return np.arange(len(self.options))[:, None]

    def neighbours(self, value: Rows, move: str = "step") -> Rows:
        """All other options."""
        return np.delete(np.arange(len(self.options)), int(value[0]))[:, None].astype(value.dtype)

    @property
    def unit_width(self) -> int:
        return len(self.options)

    def to_unit(self, values: Rows) -> Floats:
        """A coordinate for each option: 3/4 for the chosen one, 1/4 for the others."""
        return np.asarray(0.25 + 0.5 * (values == np.arange(len(self.options))))

    def from_unit(self, points: Floats) -> Rows:
        """The option with the largest coordinate."""
        return np.asarray(points.argmax(axis=-1)[..., None])

    def sample_labels(self, rng: np.random.Generator) -> Ints:
        return sample(len(self.options), seed=rng)

    def relabel(self, values: Rows, labels: Ints) -> Rows:
        return labels[values.astype(np.int64)]

    def undo_relabel(self, values: Rows, labels: Ints) -> Rows:
        return self.relabel(values, invert(labels))
