"""Spaces as JSON-serialisable data, as a saved state contains them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from mergebo.errors import unknown_choice
from mergebo.spaces.permutation import Permutation
from mergebo.spaces.space import PermutationSpace, SearchSpace, Space
from mergebo.spaces.variable import Predicate, Variable

__all__: list[str] = []

Where: TypeAlias = Predicate | Mapping[str, Predicate] | None
"""The predicate of an order, or predicates by the names of their variables."""


def space_to_data(space: SearchSpace) -> dict[str, Any]:
    """The space as plain data; see `space_from_data`."""
    if isinstance(space, PermutationSpace):
        return space.order.arguments_to_data()
    return {name: [type(each).__name__, *each.to_data(name)] for name, each in space.variables.items()}


def space_from_data(data: Mapping[str, Any], where: Where) -> SearchSpace:
    """The space that `space_to_data` wrote; predicates are not stored and must be given again."""

    def predicate(name: str) -> Predicate | None:
        return where.get(name) if isinstance(where, Mapping) else where

    if "items" in data and "n" in data:
        return PermutationSpace(**Permutation.arguments_from_data("order", data, predicate("order")))
    variables = {}
    for name, (kind, *arguments) in data.items():
        if kind not in Variable.kinds:
            raise unknown_choice(f"the kind of the variable {name}", kind, Variable.kinds)
        variables[name] = Variable.kinds[kind].from_data(name, arguments, predicate(name))
    return Space(**variables)
