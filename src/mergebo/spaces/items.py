"""`Items`: the names of the items of an order, and their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mergebo._typing import Ints
from mergebo.errors import ArgumentTypeError, NotAPermutationError, unknown_choice
from mergebo.spaces.variable import as_builtin

__all__: list[str] = []

PLAIN = frozenset({str, np.str_, int, float, bool, type(None)})
"""Types whose equal values have equal hashes, also across these types, so that a dictionary lookup agrees with `==`."""


def as_item(name: Any) -> Any:
    """The name of an item, with builtins for NumPy's numbers and texts; an error for what JSON cannot be made to carry."""
    found = as_builtin(name)
    if isinstance(found, tuple):
        return tuple(map(as_item, found))
    if found is None or isinstance(found, str | int) or (isinstance(found, float) and math.isfinite(found)):
        return found
    raise ArgumentTypeError(
        f"items are texts, finite numbers or tuples of them, so that they can be stored, got {name!r}; use a name for it, "
        "and look the object up in the objective"
    )


def to_lists(names: Any) -> Any:
    """Names as JSON has them, with lists for tuples; also in pairs and other lists of names."""
    return [*map(to_lists, names)] if isinstance(names, list | tuple) else names


def to_tuples(data: Any) -> Any:
    """The inverse of `to_lists`."""
    return tuple(map(to_tuples, data)) if isinstance(data, list | tuple) else data


@dataclass(frozen=True)
class Items:
    """The items of an order, numbered from 0; some may have equal names."""

    names: Sequence[Any]
    """The names; the numbers themselves if the items have none."""

    def number(self, item: Any, what: str = "an item") -> int:
        """The number of an item; the first of several equal ones."""
        found = self._find(item)
        if found is None:
            raise unknown_choice(what, item, map(str, self.names))
        return found

    def _find(self, item: Any) -> int | None:
        """The number of an item; None for anything else."""
        if self._first and _is_plain(item):
            return self._first.get(item)
        return next((number for number, name in enumerate(self.names) if _is_same(name, item)), None)

    def numbers(self, points: Any) -> Any:
        """Item numbers of names in arbitrarily nested lists."""
        if isinstance(points, np.ndarray) and points.dtype.kind in "iuf":
            return points
        if not isinstance(points, list | tuple | np.ndarray):
            return self.number(points)
        if PLAIN.issuperset(map(type, points)):
            found = [*map(self._first.get, points)]
            if None not in found:
                return found
        return [self._numbers_inside(each) for each in points]

    def _numbers_inside(self, points: Any) -> Any:
        """The numbers of what is in a list: an item, which may be a tuple, or a list in JSON; or a list of items."""
        if self._has_tuples and isinstance(points, list | tuple) and (number := self._find(to_tuples(points))) is not None:
            return number
        return self.numbers(points)

    @cached_property
    def _has_tuples(self) -> bool:
        """Whether any item is a tuple."""
        return any(isinstance(name, tuple) for name in self.names)

    @cached_property
    def _first(self) -> dict[Any, int]:
        """The number of each name, the first of equal ones; empty if some are not plain, so that `==` must be used."""
        if isinstance(self.names, range) or not all(map(_is_plain, self.names)):
            return {}
        return {name: k for k, name in reversed([*enumerate(self.names)])}

    def copies_of(self, item: Any, what: str) -> tuple[int, ...]:
        """The numbers of an item, several if it repeats; `what` says in an error where the item is named."""
        found = tuple(k for k, name in enumerate(self.names) if _is_same(name, item))
        if not found or isinstance(item, bool):
            raise unknown_choice(f"an item of {what}", item, map(str, self.names))
        return found

    @cached_property
    def copies(self) -> tuple[Ints, Ints]:
        """The first copy of each item, `(n,)`, and all copies of each first one, padded with -1."""
        n = len(self.names)
        first = np.arange(n) if isinstance(self.names, range) else np.array([self.number(name) for name in self.names])
        copies = np.full((n, np.bincount(first).max()), -1)
        for each in np.unique(first):
            same = np.flatnonzero(first == each)
            copies[each, : len(same)] = same
        return first, copies

    @property
    def repeat(self) -> bool:
        """Whether some items are equal."""
        return bool(self.copies[1].shape[1] > 1)

    def check_counts(self, row: Ints, hint_missing: bool) -> None:
        """Check that the items of an order exist, and that none is used more often than it has copies."""
        n, (first, copies) = len(self.names), self.copies
        if row.min() < 0 or row.max() >= n:
            raise NotAPermutationError(f"items are 0..{n - 1}, got {row[(row < 0) | (row >= n)][0]}")
        counts, most = np.bincount(first[row], minlength=n), (copies >= 0).sum(axis=1)
        for item in np.flatnonzero(counts > most).tolist():
            missing = [str(self.names[k]) for k in np.flatnonzero(counts < most).tolist()]
            hint = f"; missing: {', '.join(missing)}" if hint_missing else ""
            name = self.names[item]
            raise NotAPermutationError(f"{name!r} occurs {counts[item]} times, at most {most[item]} allowed{hint}")


def _is_plain(name: Any) -> bool:
    """Whether a name is `PLAIN`, or a tuple of such."""
    return type(name) in PLAIN or (type(name) is tuple and all(map(_is_plain, name)))


def _is_same(name: Any, item: Any) -> bool:
    """Whether two names are equal or the same object; not if comparing them is an error, as of `Decimal` and `np.int64`."""
    try:
        return name is item or bool(name == item)
    except (TypeError, ValueError):
        return False
