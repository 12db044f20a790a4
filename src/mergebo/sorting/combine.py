"""Composite maps: concatenations, and maps of relabelled items and slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mergebo._typing import Bits, Floats, Ints
from mergebo.errors import ArgumentTypeError, ShapeError, UnsupportedError
from mergebo.permutations import invert, validate
from mergebo.sorting.base import ComparisonMap
from mergebo.sorting.textbook import Algorithm

__all__ = ["Concatenation", "Relabelled"]


@dataclass(frozen=True)
class Concatenation(ComparisonMap):
    """The bits of several maps, one after the other: `MergeMap(n) + RandomComparisons(n, k)`."""

    parts: tuple[ComparisonMap, ...]

    @classmethod
    def of(cls, *maps: ComparisonMap) -> Concatenation:
        """Join maps of the same n; nested concatenations are flattened."""
        parts: list[ComparisonMap] = []
        for part in maps:
            if not isinstance(part, ComparisonMap):
                raise ArgumentTypeError(f"only comparison maps can be added to one, got {part!r}")
            parts.extend(part.parts if isinstance(part, Concatenation) else [part])
        if len({part.n for part in parts}) > 1:
            raise ShapeError(f"maps that are added must have the same n, got {[part.n for part in parts]}")
        return cls(tuple(parts))

    @property
    def n(self) -> int:  # type: ignore[override]  # derived from the parts
        return self.parts[0].n

    @property
    def length(self) -> int:
        return sum(part.length for part in self.parts)

    @property
    def lossless(self) -> bool:
        return any(part.lossless for part in self.parts)

    def algorithm(self) -> Algorithm:
        for part in self.parts:
            yield from part.algorithm()

    def _encode(self, rows: Ints) -> Bits:
        out = np.empty((len(rows), self.length), np.uint8)
        start = 0
        for part in self.parts:
            out[:, start : start + part.length] = part._encode(rows)
            start += part.length
        return out

    def _decode(self, rows: Bits) -> Ints:
        start = 0
        for part in self.parts:
            if part.lossless:
                return self._verified(part._decode(rows[:, start : start + part.length]), rows)
            start += part.length
        raise AssertionError("decode is only called on a lossless map")


@dataclass(frozen=True)
class Relabelled(ComparisonMap):
    """`map` reading `items[order[slots[k]]]` in slot k: the same sorting algorithm after relabelling items and slots."""

    map: ComparisonMap
    items: tuple[int, ...]
    slots: tuple[int, ...]

    @classmethod
    def of(cls, map: ComparisonMap, items: ArrayLike | None, slots: ArrayLike | None) -> Relabelled:
        """Check the relabellings; None is the identity."""
        identity = tuple(range(map.n))
        new_items, new_slots = (
            identity if labels is None else tuple(validate(labels, n=map.n).tolist()) for labels in (items, slots)
        )
        return cls(map, new_items, new_slots)

    @property
    def n(self) -> int:  # type: ignore[override]  # derived from the map
        return self.map.n

    @property
    def length(self) -> int:
        return self.map.length

    @property
    def lossless(self) -> bool:
        return self.map.lossless

    def algorithm(self) -> Algorithm:
        if self.items != tuple(range(self.n)):
            raise UnsupportedError(
                f"{type(self.map).__name__} with relabelled items compares other values than one without, so their sum "
                "has no exact projection; project with one of the maps alone, or relabel slots instead of items"
            )
        inner = self.map.algorithm()
        try:
            i, j = next(inner)
            while True:
                i, j = inner.send((yield self.slots[i], self.slots[j]))
        except StopIteration:
            return

    def _relabel(self, rows: Ints) -> Ints:
        return np.asarray(self.items)[rows[:, list(self.slots)]]

    def _undo_relabel(self, relabelled: Ints) -> Ints:
        return invert(self.items)[relabelled[:, invert(self.slots)]]

    def _encode(self, rows: Ints) -> Bits:
        return self.map._encode(self._relabel(rows))

    def _decode(self, rows: Bits) -> Ints:
        return self._undo_relabel(self.map._decode(rows))

    def _project(self, rows: Floats, limit: int) -> Ints:
        return self._undo_relabel(self.map._project(rows, limit))
