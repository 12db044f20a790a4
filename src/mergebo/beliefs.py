"""Prior beliefs of the user about good orders: `before("acid", "base")`, `early("water")`.

A belief is data. A model uses it as a feature of its mean function with a prior on the weight, which observations override.
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
from mergebo.spaces import Permutation, SearchSpace
from mergebo.spaces.items import as_item, to_lists, to_tuples

__all__ = ["Belief", "before", "early", "late"]

Kind: TypeAlias = Literal["before", "early", "late"]


@dataclass(frozen=True)
class Belief:
    """Good orders usually have the first item before the second, or the item early or late."""

    kind: Kind
    items: tuple[Any, ...]
    strength: float = 1.0
    """Relative to other beliefs and to the residual: 1 by default, 2 is twice as strong."""
    variable: str | None = None
    """The order that it refers to, if the space has several."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(map(as_item, self.items)))
        if self.kind not in get_args(Kind):
            raise unknown_choice("kind of belief", self.kind, get_args(Kind))
        if len(self.items) != (2 if self.kind == "before" else 1) or len(set(self.items)) < len(self.items):
            raise ArgumentError(f"a belief has one item, or two different ones for 'before', got {self.items}")
        if not (np.isfinite(self.strength) and self.strength > 0):
            raise ArgumentError(f"the strength of a belief is a positive number, got {self.strength!r}")

    def __str__(self) -> str:
        first, *others = map(str, self.items)
        return f"{first} before {others[0]}" if others else f"{first} {self.kind}"

    def feature(self, space: SearchSpace, rows: Rows) -> NDArray[np.float64]:
        """How well rows agree with the belief: 1 or -1 for `before`, otherwise a number of slots."""
        name, order = self._order(space)
        ranks = np.minimum(invert(space.part(name, rows)), order.length)  # items that are not chosen count as last
        slots = [ranks[:, order.number(item, f"an item of the belief '{self}'")] for item in self.items]
        # The sign, not the distance: along a chain of beliefs distances would cancel out.
        out = np.sign(slots[-1] - slots[0]) if self.kind == "before" else slots[0] if self.kind == "late" else -slots[0]
        return out.astype(np.float64)

    def _order(self, space: SearchSpace) -> tuple[str, Permutation]:
        orders = space.permutations
        if self.variable is None and len(orders) != 1:
            raise ArgumentError(
                f"name the order of the belief '{self}', variable=...: the space has {list(orders) or 'none'}"
            )
        if self.variable is not None and self.variable not in orders:
            raise unknown_choice("the variable of a belief", self.variable, orders)
        name = self.variable or next(iter(orders))
        return name, orders[name]

    def to_data(self) -> dict[str, Any]:
        """The belief as JSON-serialisable data."""
        return asdict(self) | {"items": to_lists(self.items)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Belief:
        """The belief that `to_data` wrote."""
        return cls(**{**data, "items": to_tuples(data["items"])})


def before(first: Any, second: Any, *, strength: float = 1.0, variable: str | None = None) -> Belief:
    """Good orders usually have the first item before the second."""
    return Belief("before", (first, second), strength, variable)


def early(item: Any, *, strength: float = 1.0, variable: str | None = None) -> Belief:
    """Good orders usually have the item early."""
    return Belief("early", (item,), strength, variable)


def late(item: Any, *, strength: float = 1.0, variable: str | None = None) -> Belief:
    """Good orders usually have the item late."""
    return Belief("late", (item,), strength, variable)


def check_beliefs(beliefs: Iterable[Any], space: SearchSpace) -> tuple[Belief, ...]:
    """The beliefs as a tuple; raises an error if one does not fit the space."""
    found = tuple(beliefs) if isinstance(beliefs, Iterable) and not isinstance(beliefs, str) else (beliefs,)
    for each in found:
        if not isinstance(each, Belief):
            raise ArgumentError(f"a belief is, e.g., mb.beliefs.before('a', 'b') or mb.beliefs.early('c'), got {each!r}")
        each.feature(space, space.sample_rows(1, seed=0))
    return found
