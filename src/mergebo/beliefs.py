"""What someone believes about good orders before there are results: `before("acid", "base")`, `early("water")`.

A belief is data. A model takes it as a trend that it expects but learns: results that say otherwise override it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Rows
from mergebo.errors import ArgumentError, unknown_choice
from mergebo.permutations import invert
from mergebo.spaces import AnySpace, Permutation

__all__ = ["Belief", "before", "early", "late"]

Kind: TypeAlias = Literal["before", "early", "late"]


@dataclass(frozen=True)
class Belief:
    """Good orders usually have the first item before the second, or the item early or late."""

    kind: Kind
    items: tuple[Any, ...]
    strength: float = 1.0
    """How much it matters beside other beliefs, and beside what no belief says: 1 is the usual, 2 is twice as much."""
    variable: str | None = None
    """Which order it is about, where a space has several."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise unknown_choice("kind of belief", self.kind, get_args(Kind))
        if len(self.items) != (2 if self.kind == "before" else 1) or len(set(self.items)) < len(self.items):
            raise ArgumentError(f"a belief is about one item, or with 'before' about two different ones, got {self.items}")
        if not (np.isfinite(self.strength) and self.strength > 0):
            raise ArgumentError(f"the strength of a belief is a positive number, got {self.strength!r}")

    def __str__(self) -> str:
        first, *others = map(str, self.items)
        return f"{first} before {others[0]}" if others else f"{first} {self.kind}"

    def feature(self, space: AnySpace, rows: Rows) -> NDArray[np.float64]:
        """How much rows are as believed: 1 or -1, or the slots that an item is early or late."""
        name, order = self._order(space)
        ranks = np.minimum(invert(space.part(name, rows)), order.length)  # what is not chosen is behind it all
        slots = [ranks[:, order.number(item, f"an item of the belief '{self}'")] for item in self.items]
        # Not by how many slots the first is before the second: along a chain of beliefs that would cancel out.
        out = np.sign(slots[-1] - slots[0]) if self.kind == "before" else slots[0] if self.kind == "late" else -slots[0]
        return out.astype(np.float64)

    def _order(self, space: AnySpace) -> tuple[str, Permutation]:
        orders = {name: variable for name, variable in space.variables.items() if isinstance(variable, Permutation)}
        if self.variable is None and len(orders) != 1:
            raise ArgumentError(
                f"say which order the belief '{self}' is about, variable=...: the space has {list(orders) or 'none'}"
            )
        if self.variable is not None and self.variable not in orders:
            raise unknown_choice("the variable of a belief", self.variable, orders)
        name = self.variable or next(iter(orders))
        return name, orders[name]

    def to_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return asdict(self) | {"items": list(self.items)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Belief:
        """The belief that `to_data` wrote."""
        return cls(**{**data, "items": tuple(data["items"])})


def before(first: Any, second: Any, *, strength: float = 1.0, variable: str | None = None) -> Belief:
    """Good orders usually have the first item before the second."""
    return Belief("before", (first, second), strength, variable)


def early(item: Any, *, strength: float = 1.0, variable: str | None = None) -> Belief:
    """Good orders usually have the item early."""
    return Belief("early", (item,), strength, variable)


def late(item: Any, *, strength: float = 1.0, variable: str | None = None) -> Belief:
    """Good orders usually have the item late."""
    return Belief("late", (item,), strength, variable)


def check_beliefs(beliefs: Iterable[Any], space: AnySpace) -> tuple[Belief, ...]:
    """Beliefs that fit the space, or an error that shows what is wrong."""
    found = tuple(beliefs) if isinstance(beliefs, Iterable) and not isinstance(beliefs, str) else (beliefs,)
    for each in found:
        if not isinstance(each, Belief):
            raise ArgumentError(f"a belief is such as mb.beliefs.before('a', 'b') or mb.beliefs.early('c'), got {each!r}")
        each.feature(space, space.sample_rows(1, seed=0))
    return found
