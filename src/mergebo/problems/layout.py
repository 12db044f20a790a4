"""Chip layout problems: cells in a row, and rectangular modules on a floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Ints, Rows, Seed
from mergebo.compiled.jit import jit
from mergebo.errors import ArgumentError
from mergebo.permutations import as_generator
from mergebo.problems.base import OrderProblem

__all__ = ["CellPlacement", "FloorPlan"]


def half_perimeter(nets: tuple[Ints, ...], *coordinates: NDArray[np.float64]) -> Floats:
    """Wirelength: the extent of the pins of each net along each axis; `coordinates` are `(count, modules)` per axis."""
    pins = np.concatenate(nets)
    starts = np.cumsum([0, *(len(net) for net in nets[:-1])])
    total = np.zeros(len(coordinates[0]))
    for axis in coordinates:
        at = axis[:, pins]
        total += (np.maximum.reduceat(at, starts, axis=1) - np.minimum.reduceat(at, starts, axis=1)).sum(axis=1)
    return total


def random_nets(n: int, rng: np.random.Generator) -> tuple[Ints, ...]:
    """A netlist with pins on every module: one net from each to a few others, mostly near it in a hidden order."""
    hidden = rng.permutation(n)
    nets = []
    for k in range(n):
        pins = 1 + min(n - 1, int(rng.integers(1, 4)))
        far = np.abs(np.arange(n) - k)
        weights = np.where(far == 0, 0.0, np.exp(-far / (n / 8)))
        others = rng.choice(n, pins - 1, replace=False, p=weights / weights.sum()) if n > 1 else np.empty(0, np.int64)
        nets.append(hidden[[k, *others]])
    return tuple(nets)


@dataclass(frozen=True, eq=False, repr=False)
class CellPlacement(OrderProblem):
    """Half-perimeter wirelength of cells of different widths, placed side by side in one row in the given order."""

    widths: NDArray[np.float64]
    nets: tuple[Ints, ...]

    @property
    def n(self) -> int:
        return len(self.widths)

    @property
    def _scratch(self) -> int:
        return 4 * sum(map(len, self.nets))

    def _evaluate(self, rows: Rows) -> Floats:
        widths = self.widths[rows]
        centres = np.empty(rows.shape)
        np.put_along_axis(centres, rows, np.cumsum(widths, axis=1) - widths / 2, axis=1)
        return half_perimeter(self.nets, centres)

    def _describe(self) -> str:
        return f"the row of {self.n} cells with the shortest wires in {len(self.nets)} nets"


def random_cells(name: str, n: int, seed: Seed) -> CellPlacement:
    """Cells 1 to 8 wide with a random netlist."""
    rng = as_generator(seed)
    return CellPlacement(name, rng.integers(1, 9, n).astype(np.float64), random_nets(n, rng))


@dataclass(frozen=True, eq=False, repr=False)
class FloorPlan(OrderProblem):
    """Area of the bounding box plus `wire_weight` times the half-perimeter wirelength of modules packed in the given order.

    Each module in turn, never rotated, is placed at the lowest position on the skyline of those before it, and the leftmost
    of these (skyline bottom-left). Widths and heights are integers; the floor is `floor` wide and open at the top.
    """

    widths: Ints
    heights: Ints
    nets: tuple[Ints, ...]
    floor: int
    wire_weight: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.widths.max() > self.floor:
            raise ArgumentError(f"the widest module ({self.widths.max()}) is wider than the floor ({self.floor})")

    @property
    def n(self) -> int:
        return len(self.widths)

    def _evaluate(self, rows: Rows) -> Floats:
        left, bottom = self.pack(rows)
        right, top = left + self.widths, bottom + self.heights
        area = right.max(axis=1) * top.max(axis=1)
        wires = half_perimeter(self.nets, left + self.widths / 2, bottom + self.heights / 2)
        total: Floats = area + self.wire_weight * wires
        return total

    def pack(self, rows: Rows) -> tuple[Ints, Ints]:
        """The left and bottom coordinates of every module, `(count, n)` each."""
        return _pack(self.widths, self.heights, self.floor, rows.astype(np.int64))

    def _describe(self) -> str:
        return f"the tightest packing of {self.n} modules on a floor {self.floor} wide, with short wires"


@jit
def _pack(widths: Ints, heights: Ints, floor: int, orders: Ints) -> tuple[Ints, Ints]:
    left, bottom = np.empty_like(orders), np.empty_like(orders)
    skyline = np.empty(floor, np.int64)
    for k in range(len(orders)):
        skyline[:] = 0
        for module in orders[k]:
            width, at = widths[module], 0
            low = skyline[:width].max()
            for x in range(1, floor - width + 1):
                height = 0
                for column in range(x, x + width):
                    height = max(height, skyline[column])
                    if height >= low:
                        break
                if height < low:  # the first of the lowest: bottom, then left
                    low, at = height, x
            left[k, module], bottom[k, module] = at, low
            skyline[at : at + width] = low + heights[module]
    return left, bottom


def random_modules(name: str, n: int, seed: Seed) -> FloorPlan:
    """Modules 2 to 9 wide and high, a random netlist, and a floor about as wide as a square of their area."""
    rng = as_generator(seed)
    widths, heights = rng.integers(2, 10, (2, n))
    floor = max(int(widths.max()), int(np.ceil(1.1 * np.sqrt((widths * heights).sum()))))
    return FloorPlan(name, widths, heights, random_nets(n, rng), floor)
