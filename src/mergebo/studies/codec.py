"""Variables as parameters of an Optuna study, and rows as their values.

Optuna has numerical and categorical parameters. An order of n items is represented by n integers, its Lehmer code, as
Optuna's FAQ recommends: digit k is at most n - 1 - k, and every code is an order, so any sampler can be used.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial

from mergebo._typing import Rows
from mergebo.errors import ArgumentError, MergeboError
from mergebo.permutations import lehmer_decode, lehmer_encode
from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, Space, Variable
from mergebo.spaces.items import to_lists
from mergebo.spaces.variable import as_builtin
from mergebo.studies.attributes import ORDER_DEFINITION
from mergebo.studies.trials import params_of

__all__ = ["NumbersCodec", "ParameterCodec", "SpaceCodec", "codec_of"]


@dataclass(frozen=True)
class ParameterCodec(ABC):
    """A variable and the parameters of a study that represent it."""

    variable: Variable
    parameters: Mapping[str, BaseDistribution]
    """The distribution of each parameter, by name, in the order in which `encode` and `decode` have them."""

    @abstractmethod
    def to_rows(self, numbers: Sequence[Sequence[Any]]) -> Rows:
        """The variable's part of a row, `(count, width)`, for the values of the parameters of several trials."""

    @abstractmethod
    def from_row(self, values: Rows) -> list[Any]:
        """The values of the parameters for the variable's part of a row."""

    def is_inside(self, rows: Rows) -> NDArray[np.bool_]:
        """Which parts are within the bounds of the variable; Optuna stores parameters beyond them if they are enqueued."""
        return np.ones(len(rows), bool)

    @property
    def definition(self) -> dict[str, Any] | None:
        """What a study has to store about the variable, since the parameters do not contain it; None if they do."""
        return None

    def readable(self, values: Rows) -> list[Any] | None:
        """The variable's part of a row as people read it, for trial attributes; None if the parameters can be read."""
        return None

    @cached_property
    def required(self) -> frozenset[str]:
        """The parameters that a trial must have. Those with a single value may be left out."""
        return frozenset(name for name, each in self.parameters.items() if not each.single())

    def values_in(self, given: Mapping[str, Any]) -> list[Any]:
        """The values of the parameters in those of a trial; 0 for parameters with a single value that it lacks."""
        return [given[name] if name in given or name in self.required else 0 for name in self.parameters]


class OrderCodec(ParameterCodec):
    """An order as its Lehmer code. An infeasible order is repaired if possible."""

    variable: Permutation

    def to_rows(self, numbers: Sequence[Sequence[Any]]) -> Rows:
        order = self.variable
        digits = np.zeros((len(numbers), order.n), np.int64)  # those of items that are not chosen, or are left out, are 0
        digits[:, : len(self.parameters)] = numbers
        return order.repair(order.canonical(lehmer_decode(digits)))

    def from_row(self, values: Rows) -> list[Any]:
        digits: list[int] = lehmer_encode(values.astype(np.int64)).tolist()
        return digits[: len(self.parameters)]

    @property
    def definition(self) -> dict[str, Any] | None:
        order = self.variable
        if order.items is None and not order.options:
            return None
        return order.arguments_to_data()

    def readable(self, values: Rows) -> list[Any] | None:
        return [to_lists(as_builtin(item)) for item in self.variable.decode(values)]


class NumbersCodec(ParameterCodec):
    """Numbers as they are."""

    def to_rows(self, numbers: Sequence[Sequence[Any]]) -> Rows:
        return np.array(numbers)

    def from_row(self, values: Rows) -> list[Any]:
        reals = any(isinstance(each, FloatDistribution) for each in self.parameters.values())
        numbers: list[Any] = values.astype(np.float64 if reals else np.int64).tolist()
        return numbers

    def is_inside(self, rows: Rows) -> NDArray[np.bool_]:
        low, high = np.array([(each.low, each.high) for each in self.parameters.values()]).T  # type: ignore[attr-defined]
        return np.asarray(((rows >= low) & (rows <= high)).all(axis=1))


class OptionCodec(ParameterCodec):
    """The index of an option as the option itself."""

    @property
    def distribution(self) -> BaseDistribution:
        """The distribution of the only parameter."""
        return next(iter(self.parameters.values()))

    def to_rows(self, numbers: Sequence[Sequence[Any]]) -> Rows:
        return np.array([[self.distribution.to_internal_repr(value)] for (value,) in numbers])

    def from_row(self, values: Rows) -> list[Any]:
        return [self.distribution.to_external_repr(float(values[0]))]


class GridCodec(OptionCodec):
    """An integer that counts the steps of a discretised number."""

    @property
    def grid(self) -> tuple[float, float]:
        """The lowest value and the step."""
        return self.distribution.low, self.distribution.step  # type: ignore[attr-defined]

    def to_rows(self, numbers: Sequence[Sequence[Any]]) -> Rows:
        low, step = self.grid
        return np.rint((np.array(numbers) - low) / step)

    def from_row(self, values: Rows) -> list[Any]:
        low, step = self.grid
        return [min(low + step * int(values[0]), self.distribution.high)]  # type: ignore[attr-defined]

    def is_inside(self, rows: Rows) -> NDArray[np.bool_]:
        return np.asarray(((rows >= self.variable.low) & (rows <= self.variable.high)).all(axis=1))  # type: ignore[attr-defined]


@singledispatch
def codec_of(variable: Variable, name: str) -> ParameterCodec:
    """The parameters that represent a variable with this name.

    A new kind of variable registers its own, `@codec_of.register`; nothing else here depends on the kind.
    """
    raise ArgumentError(f"{variable} cannot be represented by parameters of Optuna; register a codec: @codec_of.register")


@codec_of.register
def _(variable: Permutation, name: str) -> ParameterCodec:
    return OrderCodec(variable, {f"{name}{k}": IntDistribution(0, variable.n - 1 - k) for k in range(variable.length)})


@codec_of.register
def _(variable: Binary, name: str) -> ParameterCodec:
    return NumbersCodec(variable, {f"{name}{k}": IntDistribution(0, 1) for k in range(variable.count)})


@codec_of.register
def _(variable: Integer, name: str) -> ParameterCodec:
    return NumbersCodec(variable, {name: IntDistribution(int(variable.low), int(variable.high), log=variable.log)})


@codec_of.register
def _(variable: Real, name: str) -> ParameterCodec:
    return NumbersCodec(variable, {name: FloatDistribution(variable.low, variable.high, log=variable.log)})


@codec_of.register
def _(variable: Choice, name: str) -> ParameterCodec:
    options = variable.options
    storable = all(each is None or isinstance(each, bool | int | float | str) for each in options)
    choices = options if storable else [f"{number}: {each}" for number, each in enumerate(options)]
    return OptionCodec(variable, {name: CategoricalDistribution(choices)})


@dataclass(frozen=True)
class SpaceCodec:
    """The variables of a space, each with its parameters."""

    parts: Mapping[str, ParameterCodec]

    def __post_init__(self) -> None:
        for name, count in Counter(name for part in self.parts.values() for name in part.parameters).items():
            if count > 1:
                raise ArgumentError(f"two variables would have the parameter {name!r}; rename one of them")

    @classmethod
    def of(cls, variables: Mapping[str, Variable]) -> SpaceCodec:
        """The codec of variables of mergebo."""
        return cls({name: codec_of(variable, name) for name, variable in variables.items()})

    @classmethod
    def infer(cls, search_space: Mapping[str, BaseDistribution], known: SpaceCodec) -> SpaceCodec:
        """The codec of a study's parameters: known variables first, then Lehmer codes, then each remaining parameter."""
        parts: dict[str, ParameterCodec] = {}
        remaining = dict(search_space)

        def take(name: str, part: ParameterCodec) -> None:
            if part.required and all(remaining.get(key) == part.parameters[key] for key in part.required):
                while name in parts:
                    name += "'"
                parts[name] = part
                for key in part.parameters:
                    remaining.pop(key, None)

        for name, part in known.parts.items():
            take(name, part)
        for name, part in _lehmer_codes(remaining):
            take(name, part)
        for name, distribution in list(remaining.items()):
            if not distribution.single():
                take(name, _inferred(name, distribution))
        return cls(parts)

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """All parameters."""
        return {name: each for part in self.parts.values() for name, each in part.parameters.items()}

    @cached_property
    def required(self) -> frozenset[str]:
        """The parameters that a trial must have."""
        return frozenset().union(*(part.required for part in self.parts.values()))

    @cached_property
    def space(self) -> Space:
        """The space of the variables."""
        return Space(**{name: part.variable for name, part in self.parts.items()})

    def rows(self, trials: Sequence[Mapping[str, Any]]) -> Rows:
        """The rows for the parameters of several trials, which have all that are required."""
        parts = [part.to_rows([part.values_in(given) for given in trials]) for part in self.parts.values()]
        return np.concatenate(parts, axis=1).astype(self.space.dtype)

    def row_of(self, trial: FrozenTrial) -> Rows | None:
        """The row of a trial; None if it lacks parameters."""
        given = params_of(trial)
        return self.rows([given])[0] if given.keys() >= self.required else None

    def is_feasible(self, row: Rows) -> bool:
        """Whether a row satisfies the constraints of the space: an order may be infeasible if it could not be repaired."""
        return len(self.space.feasible_rows(row[None])) == 1

    def are_valid(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows belong to the space. The point of a stored trial may be older than a constraint."""
        valid = np.ones(len(rows), bool)
        for name, part in self.parts.items():
            values = self.space.part(name, rows)
            valid &= part.is_inside(values) & part.variable.is_feasible(values)
        return valid

    @property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """The study attributes with what the parameters do not contain, such as the items of orders."""
        found = ((ORDER_DEFINITION + name, part.definition) for name, part in self.parts.items())
        return {key: definition for key, definition in found if definition is not None}

    def readable(self, row: Rows) -> dict[str, Any]:
        """The trial attributes with what people cannot read in the parameters: the orders, as the names of their items."""
        found = ((name, part.readable(self.space.part(name, row))) for name, part in self.parts.items())
        return {name: value for name, value in found if value is not None}

    def why_invalid(self, params: Mapping[str, Any]) -> str | None:
        """Why parameters are not those of a point of the space; None if they are."""
        try:
            rows = self.rows([params])
            if self.are_valid(rows)[0]:
                return None
            self.space.encode(self.space.decode(rows[0]))
        except (MergeboError, ValueError, TypeError) as error:
            return str(error)
        return f"{dict(params)} are not the parameters of a point of {self.space}"

    def params(self, row: ArrayLike) -> dict[str, Any]:
        """The parameters for a row."""
        row = np.asarray(row)
        found: dict[str, Any] = {}
        for name, part in self.parts.items():
            found |= dict(zip(part.parameters, part.from_row(self.space.part(name, row)), strict=True))
        return found


def _inferred(name: str, distribution: BaseDistribution) -> ParameterCodec:
    """A parameter of a study with the corresponding variable."""
    own = {name: distribution}
    match distribution:
        case CategoricalDistribution(choices=choices):
            try:
                return OptionCodec(Choice(choices), own)
            except ArgumentError:  # options that are equal, such as 1 and True
                return OptionCodec(Choice(range(len(choices))), own)
        case FloatDistribution(low=low, high=high, step=None, log=log):
            return NumbersCodec(Real(low, high, log), own)
        case IntDistribution(low=low, high=high, step=1, log=log):
            return NumbersCodec(Integer(low, high, log), own)
        case IntDistribution(low=low, high=high, step=step) | FloatDistribution(low=low, high=high, step=step):
            assert step is not None
            return GridCodec(Integer(0, round((high - low) / step)), own)
    raise ArgumentError(f"the distribution of the parameter {name} is not supported: {distribution}")


def _lehmer_codes(search_space: Mapping[str, BaseDistribution]) -> Iterator[tuple[str, ParameterCodec]]:
    """Find Lehmer codes: parameters numbered from 0 or 1 on, each with one value less than the one before."""
    series: dict[tuple[str, str], dict[int, str]] = {}
    for name in search_space:
        if numbered := re.fullmatch(r"(.*?)(\d+)(\D*)", name):
            prefix, number, suffix = numbered.groups()
            series.setdefault((prefix, suffix), {})[int(number)] = name
    for (prefix, suffix), names in series.items():
        digits = {names[k]: search_space[names[k]] for k in sorted(names)}
        n = len(digits) + (not any(each.single() for each in digits.values()))  # the last digit, 0, may be left out
        expected = [IntDistribution(0, high) for high in range(n - 1, n - 1 - len(digits), -1)]
        numbered_from = [*range(len(names))], [*range(1, len(names) + 1)]
        if n > 2 and list(digits.values()) == expected and sorted(names) in numbered_from:
            yield (prefix + suffix).strip("_.-[]() ") or "order", OrderCodec(Permutation(n), digits)
