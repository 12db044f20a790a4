"""Spaces as JSON-serialisable data, as a saved state contains them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from mergebo.errors import ArgumentError, UnsupportedError
from mergebo.spaces import Binary, Choice, Integer, Permutation, PermutationSpace, Real, SearchSpace, Space, Variable

Where: TypeAlias = Callable[[Any], object] | Mapping[str, Callable[[Any], object]] | None
"""The predicate of an order, or predicates by the names of their variables."""


def space_to_data(space: SearchSpace) -> dict[str, Any]:
    """The space as plain data; see `space_from_data`."""
    if isinstance(space, PermutationSpace):
        return order_to_data(space.order)
    return {name: _variable_to_data(name, each) for name, each in space.variables.items()}


def _check_options(name: str, choice: Choice) -> None:
    """Raise an error for options that do not survive a round trip through JSON."""
    for option in choice.options:
        try:
            same = json.loads(json.dumps(option)) == option
        except (TypeError, ValueError):
            same = False
        if not same:
            raise UnsupportedError(
                f"a state must be JSON-serialisable, which the option {option!r} of {name} is not; use strings or numbers "
                "as options, and look up the objects in the objective"
            )


def _variable_to_data(name: str, variable: Variable) -> list[Any]:
    kind = type(variable).__name__
    if isinstance(variable, Choice):
        _check_options(name, variable)
    if isinstance(variable, Permutation):
        named = variable.items is not None or variable.options
        return [kind, order_to_data(variable) if named else variable.n]
    return [kind, *(list(each) if isinstance(each, tuple) else each for each in vars(variable).values())]


def order_to_data(order: Permutation) -> dict[str, Any]:
    """Plain data of an order. Dictionaries become lists of pairs, as JSON keys are strings; a predicate becomes `True`."""

    def plain(value: Any) -> Any:
        value = value.items() if isinstance(value, dict) else value
        return value if isinstance(value, str) or not isinstance(value, Iterable) else [plain(each) for each in value]

    options = {name: True if name == "where" else plain(value) for name, value in order.options.items()}
    return {"n": order.n, "items": None if order.items is None else list(order.items), **options}


def space_from_data(data: Mapping[str, Any], where: Where) -> SearchSpace:
    """The space that `space_to_data` wrote; predicates are not stored and must be given again."""
    if "items" in data and "n" in data:
        return PermutationSpace(**_order_options("order", data, where))
    kinds: dict[str, Any] = {kind.__name__: kind for kind in (Permutation, Binary, Integer, Real, Choice)}
    variables = {}
    for name, (kind, *values) in data.items():
        if values and isinstance(values[0], Mapping):
            variables[name] = order_from_data(name, values[0], where)
        else:
            variables[name] = kinds[kind](*values)
    return Space(**variables)


def order_from_data(name: str, data: Mapping[str, Any], where: Where) -> Permutation:
    """The order that `order_to_data` wrote."""
    return Permutation(**_order_options(name, data, where))


def _order_options(name: str, data: Mapping[str, Any], where: Where) -> dict[str, Any]:
    """The data of `order_to_data` as arguments of `Permutation`."""
    if data.get("where"):
        predicate = where.get(name) if isinstance(where, Mapping) else where
        if predicate is None:
            raise ArgumentError(f"{name} had a predicate, which a state does not contain: use from_state(..., where=f)")
        data = {**data, "where": predicate}
    return {**data, **{name: dict(data[name]) for name in ("fixed", "window") if name in data}}
