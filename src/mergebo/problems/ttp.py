"""The travelling thief: a tour and a knapsack that depend on each other (Bonyadi et al. 2013, Polyakovskiy et al. 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Ints, Rows, Seed
from mergebo.errors import ArgumentError, ShapeError, unknown_choice
from mergebo.permutations import as_generator
from mergebo.problems.base import Problem
from mergebo.spaces import Binary, Permutation, Space

__all__ = ["TTP"]

Overweight: TypeAlias = Literal["repair", "penalty"]


@dataclass(frozen=True, eq=False, repr=False)
class TTP(Problem):
    """Rent times travelling time minus the profit of the stolen items: the negative of the usual objective, to be minimised.

    The thief leaves the depot (city 0), visits all cities in the order of `route` and returns. `route` is a
    cyclic tour: it may start anywhere, the thief starts at the depot. In each city he takes the items selected by `picks`;
    with load W he travels at `max_speed - W (max_speed - min_speed) / capacity`. Distances are Euclidean, rounded up.

    A plan that is too heavy is repaired (`overweight="repair"`): the items of least profit per weight are dropped until the
    rest fits, and the plan has the value of the repaired one. With `"penalty"` its value is worse than that of every
    feasible plan.
    """

    coordinates: NDArray[np.float64]
    profits: NDArray[np.float64]
    weights: NDArray[np.float64]
    cities: Ints
    """The city that each item is in."""
    capacity: float
    rent: float
    min_speed: float = 0.1
    max_speed: float = 1.0
    overweight: Overweight = "repair"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.profits) == len(self.weights) == len(self.cities):
            raise ShapeError(
                f"every item has a profit, weight and city; got {len(self.profits)}, {len(self.weights)}, {len(self.cities)}"
            )
        if self.cities.size and not 0 <= self.cities.min() <= self.cities.max() < len(self.coordinates):
            raise ArgumentError(
                f"items are in cities 0..{len(self.coordinates) - 1}, got {self.cities.min()}..{self.cities.max()}"
            )
        if not (self.weights > 0).all():
            light = int(np.argmin(self.weights > 0))
            raise ArgumentError(f"weights must be above 0; that of item {light} is {self.weights[light]:g}")
        if not self.capacity > 0:
            raise ArgumentError(f"capacity must be above 0, got {self.capacity}")
        if not 0 < self.min_speed <= self.max_speed:
            raise ArgumentError(f"speeds must satisfy 0 < min <= max, got {self.min_speed} and {self.max_speed}")
        if self.overweight not in get_args(Overweight):
            raise unknown_choice("overweight", self.overweight, get_args(Overweight))

    @property
    def n(self) -> int:
        """Number of cities."""
        return len(self.coordinates)

    @cached_property
    def space(self) -> Space:
        return Space(route=Permutation(self.n), picks=Binary(len(self.profits)))

    @property
    def _scratch(self) -> int:
        return 4 * self.space.width

    @cached_property
    def by_worth(self) -> Ints:
        """Items by decreasing profit per weight."""
        return np.argsort(-self.profits / self.weights, kind="stable")

    @cached_property
    def _by_city(self) -> tuple[Ints, Ints, Ints]:
        """Items sorted by city, the start of each city's items, and the cities that have any."""
        order = np.argsort(self.cities, kind="stable")
        cities, starts = np.unique(self.cities[order], return_index=True)
        return order, starts, cities

    def repair(self, picks: Rows) -> Rows:
        """Feasible plans: from each, the items of least profit per weight are dropped until the rest fits."""
        sorted_picks = picks[:, self.by_worth]
        carried = np.cumsum(sorted_picks * self.weights[self.by_worth], axis=1)
        repaired = np.empty_like(picks)
        repaired[:, self.by_worth] = sorted_picks & (carried <= self.capacity)
        return repaired

    def _evaluate(self, rows: Rows) -> Floats:
        picks = rows[:, self.n :]
        load = picks @ self.weights
        heavy = load > self.capacity
        if heavy.any():
            picks = picks.copy()
            picks[heavy] = self.repair(picks[heavy])
        values = self.rent * self._times(rows[:, : self.n], picks) - picks @ self.profits
        if self.overweight == "penalty":
            # An upper bound for feasible plans: every leg crosses the whole map at minimum speed, without any profit.
            extent = np.hypot(*np.ptp(self.coordinates, axis=0))
            values[heavy] = self.rent * self.n * np.ceil(extent + 1) / self.min_speed + (load - self.capacity)[heavy]
        return values

    def _times(self, routes: Rows, picks: Rows) -> Floats:
        """Travelling times of feasible plans."""
        items, starts, cities = self._by_city
        gained = np.zeros(routes.shape)
        if items.size:
            gained[:, cities] = np.add.reduceat((picks * self.weights)[:, items], starts, axis=1)
        depot = (routes == 0).argmax(axis=1)
        tours = np.take_along_axis(routes, (depot[:, None] + np.arange(self.n)) % self.n, axis=1)
        carried = np.cumsum(np.take_along_axis(gained, tours, axis=1), axis=1)
        x, y = self.coordinates.T
        steps = np.ceil(np.hypot(*(np.roll(axis[tours], -1, axis=1) - axis[tours] for axis in (x, y))))
        slowing = (self.max_speed - self.min_speed) / self.capacity
        times: Floats = (steps / (self.max_speed - slowing * carried)).sum(axis=1)
        return times

    def _describe(self) -> str:
        return f"the most profitable theft of {len(self.profits)} items on a round tour of {self.n} cities"


Kind: TypeAlias = Literal["uncorrelated", "similar-weights", "bounded-strongly-correlated"]


def knapsack_items(kind: Kind, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Profits and weights generated as in Polyakovskiy et al. (2014), after Martello, Pisinger and Toth (1999).

    Uncorrelated: both uniform on 1..1000. Similar weights: weights on 1000..1010. Bounded strongly correlated: base
    items with weight w on 1..1000 and profit w + 100, each available up to 1..10 times, as bundles of 1, 2, 4, ... and
    the rest.
    """
    if kind == "bounded-strongly-correlated":
        bundles: list[tuple[int, int]] = []
        while len(bundles) < count:
            weight, remaining, bundle = int(rng.integers(1, 1001)), int(rng.integers(1, 11)), 1
            while remaining:
                size = min(bundle, remaining)
                bundles.append((size * (weight + 100), size * weight))
                remaining -= size
                bundle *= 2
        return np.array(bundles[:count], np.float64).T
    if kind not in get_args(Kind):
        raise unknown_choice("kind", kind, get_args(Kind))
    low, high = (1, 1000) if kind == "uncorrelated" else (1000, 1010)
    return np.stack([rng.integers(1, 1001, count), rng.integers(low, high + 1, count)]).astype(np.float64)


def thief(
    name: str,
    coordinates: NDArray[np.float64],
    tour: Ints,
    *,
    kind: Kind,
    per_city: int,
    fill: int,
    seed: Seed,
) -> TTP:
    """An instance as in that paper: `per_city` items in every city but the depot, capacity `fill`/11 of all weights.

    The rent is such that a greedy knapsack on a good `tour` breaks even.
    """
    n = len(coordinates)
    count = per_city * (n - 1)
    profits, weights = knapsack_items(kind, count, as_generator(seed))
    capacity = float(weights.sum() * fill // 11)
    draft = TTP(name, coordinates, profits, weights, np.arange(count) % (n - 1) + 1, capacity, 1.0)
    picks = draft.repair(np.ones((1, count), np.int64))
    rent = float(np.round((picks @ draft.profits)[0] / draft._times(tour[None], picks)[0], 2))
    return TTP(name, coordinates, profits, weights, draft.cities, capacity, rent)
