"""How alike two points are: normalised distances on rows, and the GPyTorch kernels that they stand for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mergebo.compiled import scans
from mergebo.moves import move_slots, move_table
from mergebo.permutations import DISTANCES, Ints, View, invert
from mergebo.sorting import ComparisonMap, EnumerationMap, MergeMap
from mergebo.spaces import AnySpace, Rows

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

Floats = NDArray[np.float64]


class Similarity(ABC):
    """A factor `exp(-d / (2 l^2))` of a kernel, with its own lengthscale l; d is between 0 and 1.

    A similarity with several lengthscales has as many distances, in front: `(count, A, B)` instead of `(A, B)`.
    """

    @abstractmethod
    def distance(self, a: Rows, b: Rows) -> Floats:
        """Normalised distances between all rows of a and all rows of b, of one variable."""

    def scan(self, centre: Rows, rows: Rows, move: str) -> Floats:
        """Normalised distances of all neighbours of `centre` by one kind of move to all rows, `(moves, rows)`."""
        return self.distance(centre[move_table(len(centre), move)], rows)

    @abstractmethod
    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        """The same factor as a GPyTorch kernel that reads these columns of a point."""


@dataclass(frozen=True)
class ByMap(Similarity):
    """Orders are alike if a sorting algorithm compares them alike."""

    map: ComparisonMap
    view: View = "order"

    def distance(self, a: Rows, b: Rows) -> Floats:
        x, y = self._read(a, b)
        return np.asarray(self.map._distance(x[None], y[None])[0] / max(1, self.map.length))

    def scan(self, centre: Rows, rows: Rows, move: str) -> Floats:
        if isinstance(self.map, EnumerationMap) and self.view == "rank":
            change = _kendall_scan(centre, rows, move)
        elif isinstance(self.map, MergeMap) and move == "swap":
            change = _merge_scan(self.map, *self._read(centre[None], rows))
            if self.view == "rank":
                # Exchanging the items of two slots exchanges the slots of two items.
                slots = np.sort(centre[move_slots(len(centre), move)], axis=1)
                change = change[_triangle(len(centre), *slots.T)]
        else:
            return super().scan(centre, rows, move)
        # Single precision is enough for a scan, and half the memory.
        distances: NDArray[Any] = np.multiply(change, np.float32(1 / max(1, self.map.length)), dtype=np.float32)
        distances += self.distance(centre[None], rows).astype(np.float32)
        return distances

    def _read(self, *rows: Rows) -> tuple[Rows, ...]:
        return tuple(each if self.view == "order" else invert(each) for each in rows)

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import ComparisonKernel

        return ComparisonKernel(self.map, view=self.view, active_dims=columns)


@dataclass(frozen=True)
class Footrule(Similarity):
    """Orders are alike if items are displaced little (Spearman's footrule on ranks)."""

    n: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        footrule = DISTANCES["footrule"]
        return footrule.cross(a, b, view="rank") / max(1, footrule.maximum(self.n))

    def scan(self, centre: Rows, rows: Rows, move: str) -> Floats:
        if move == "reversal":
            return super().scan(centre, rows, move)
        # cost[k, l]: displacement of the item of slot k, were it in slot l.
        slot = np.arange(self.n, dtype=np.int32)
        cost = np.abs(slot[None, :, None] - invert(rows).T[centre][:, None, :].astype(np.int32))
        stays = cost[slot, slot]
        a, b = move_slots(self.n, move).T
        change = cost[a, b] - stays[a]
        if move == "swap":
            change += cost[b, a] - stays[b]
        else:
            # The items between move up by one slot, or down: sums of that, up to each slot.
            nothing = np.zeros((1, len(rows)), np.int32)
            up = np.concatenate([nothing, np.cumsum(cost[slot[1:], slot[:-1]] - stays[1:], axis=0)])
            down = np.concatenate([nothing, np.cumsum(cost[slot[:-1], slot[1:]] - stays[:-1], axis=0)])
            change += np.where((a < b)[:, None], up[b] - up[a], down[a] - down[b])
        largest = max(1, DISTANCES["footrule"].maximum(self.n))
        return np.asarray(self.distance(centre[None], rows) + change / largest, np.float32)

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import SpearmanKernel

        return SpearmanKernel(self.n, view="rank", active_dims=columns)


@dataclass(frozen=True)
class SameSlots(Similarity):
    """Orders are alike if most slots hold the same item; each slot has its own lengthscale.

    That is the diffusion kernel of COMBO (Oh et al. 2019) on one complete graph a slot: with n items it is 1 where two
    orders agree and `(1 - exp(-n beta)) / (1 + (n - 1) exp(-n beta))` where they do not, a number that stands for beta
    as well as beta does.
    """

    n: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray((a.T[:, :, None] != b.T[:, None, :]) / self.n)

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import SlotsKernel

        return SlotsKernel(self.n, active_dims=columns)


@dataclass(frozen=True)
class SameChoices(Similarity):
    """Binary vectors are alike if most choices are the same: an RBF on the bits."""

    choices: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        x, y = a.astype(np.float64), b.astype(np.float64)
        return np.asarray((x.sum(axis=1)[:, None] + y.sum(axis=1)[None] - 2 * (x @ y.T)) / self.choices)

    def scan(self, centre: Rows, rows: Rows, move: str) -> Floats:
        differ = (rows != centre).T  # a flip of choice k makes it like the rows that differ there
        return np.asarray(self.distance(centre[None], rows) + np.where(differ, -1, 1) / self.choices, np.float32)

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels.base import BitsKernel

        return BitsKernel(self.choices, active_dims=columns)


@dataclass(frozen=True)
class Product:
    """A similarity for each variable of a space; the kernel is their product."""

    space: AnySpace
    factors: Mapping[str, Similarity]

    def distances(self, a: Rows, b: Rows) -> Floats:
        """The factors' distances, `(count, A, B)`."""
        slices = self.space.slices
        parts = [factor.distance(a[:, slices[name]], b[:, slices[name]]) for name, factor in self.factors.items()]
        return np.concatenate([part.reshape(-1, len(a), len(b)) for part in parts])

    def scan(self, row: Rows, rows: Rows, variable: str, move: str) -> Floats:
        """The factors' distances of all neighbours by one kind of move of one variable: `(count, moves, rows)`."""
        parts = []
        for name, factor in self.factors.items():
            where = self.space.slices[name]
            if name == variable:
                parts.append(factor.scan(row[where], rows[:, where], move))
            else:
                parts.append(factor.distance(row[None, where], rows[:, where]))
        if len(parts) == 1:
            return parts[0].reshape(-1, *parts[0].shape[-2:])
        count, size = max(part.shape[-2] for part in parts), len(rows)
        shaped = [part.reshape(-1, part.shape[-2], size) for part in parts]
        return np.concatenate([np.broadcast_to(part, (len(part), count, size)) for part in shaped])

    def kernel(self) -> Any:
        """The product as a GPyTorch kernel on whole rows."""
        from gpytorch.kernels import ProductKernel

        columns = [tuple(range(self.space.width))[self.space.slices[name]] for name in self.factors]
        kernels = [factor.kernel(where) for factor, where in zip(self.factors.values(), columns, strict=True)]
        return kernels[0] if len(kernels) == 1 else ProductKernel(*kernels)


SCANNED = 64
"""Rows that are scanned at once: few enough for a scan's tables to stay near the processor."""


def _triangle(n: int, a: Ints, b: Ints) -> Ints:
    """Where the pair a < b stands among all pairs of n."""
    return np.asarray(a * n - a * (a + 1) // 2 + b - a - 1)


def _kendall_scan(centre: Rows, rows: Rows, move: str) -> NDArray[Any]:
    """Changes of the Kendall distance on ranks, for all moves of one kind."""
    n, pairs = len(centre), len(centre) * (len(centre) - 1) // 2
    out: list[NDArray[Any]] = []
    for start in range(0, len(rows), SCANNED):
        ranks = np.ascontiguousarray(invert(rows[start : start + SCANNED]).T.astype(np.int32))
        count = ranks.shape[1]
        if move == "swap":
            swaps = np.empty((pairs, count), np.int16)
            scans.kendall_swaps(centre, ranks, swaps)
            out.append(swaps)
            continue
        insertions = np.empty((n, n, count), np.int16)
        reversals = np.empty((pairs, count), np.int32)  # of long segments: more than 16 bits hold
        scans.kendall_shifts(centre, ranks, insertions, reversals)
        a, b = move_slots(n, move).T
        out.append(insertions[a, b] if move == "insertion" else reversals[_triangle(n, a, b)])
    return np.concatenate(out, axis=1)


@lru_cache(maxsize=64)
def _table_starts(map: MergeMap) -> Ints:
    return scans.table_starts(map.nodes)


def _merge_scan(map: MergeMap, centre: Rows, rows: Rows) -> scans.Changes:
    """Changes of the Hamming distance of merge codes, for all swaps of two slots."""
    n = map.n
    out = np.empty((n * (n - 1) // 2, len(rows)), np.int16)
    starts = _table_starts(map)
    for start in range(0, len(rows), SCANNED):
        bits = np.ascontiguousarray(map._encode(rows[start : start + SCANNED]).T)
        part = np.empty((len(out), bits.shape[1]), np.int16)
        scans.merge_swaps(centre[0], bits, map.nodes, starts, map.padding == "comparison", part)
        out[:, start : start + SCANNED] = part
    return out
