"""The order of addition in a chemical experiment, alone and with quantities that depend on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Rows, Seed
from mergebo.permutations import as_generator
from mergebo.problems.base import Problem
from mergebo.spaces import Permutation, PermutationSpace, Real, SearchSpace, Space

__all__ = ["OrderOfAddition", "Synthesis"]


@dataclass(frozen=True, eq=False, repr=False)
class OrderOfAddition(Problem):
    """Loss of yield for an order of adding reagents: a small model of a synthesis, for demonstrations.

    Each reagent has an optimal moment (early ones decompose while they wait, late ones dissolve poorly), and pairs of
    reagents interact depending on which comes first. The loss is a percentage of the yield, 0 at best. With `heated` the
    temperature is a variable, too, and scales the interactions.
    """

    effects: NDArray[np.float64]
    """effects[a, b]: percentage of yield lost if a is added before b."""
    moments: NDArray[np.float64]
    """Optimal moment of each reagent, from 0 (first) to 1 (last)."""
    heated: bool = False
    noise: float = 0.0
    """Standard deviation of a measurement, in percent of yield; see `measure`."""

    @property
    def n(self) -> int:
        return len(self.moments)

    @cached_property
    def space(self) -> SearchSpace:
        if self.heated:
            return Space(order=Permutation(self.n), celsius=Real(20, 80))
        return PermutationSpace(self.n)

    @property
    def _scratch(self) -> int:
        return self.n * self.n

    def _evaluate(self, rows: Rows) -> Floats:
        pairs, waiting = self._order_losses(rows[:, : self.n].astype(np.int64))
        if not self.heated:
            return pairs + 10 * waiting
        warmth = (rows[:, -1] - 20) / 60  # hot mixtures interact less and decompose more
        return pairs * (1.2 - 0.6 * warmth) + 10 * waiting * (0.5 + 1.5 * warmth**2)

    def _order_losses(self, orders: Rows) -> tuple[Floats, Floats]:
        """The loss by pairs, and the squared deviations of reagents from their optimal moments."""
        earlier, later = np.triu_indices(self.n, 1)
        pairs: Floats = self.effects.reshape(-1).take(orders[:, earlier] * self.n + orders[:, later]).sum(axis=-1)
        when = np.arange(self.n) / max(1, self.n - 1)
        waiting: Floats = ((when - self.moments[orders]) ** 2).sum(axis=-1)
        return pairs, waiting

    def measure(self, points: object, *, seed: Seed) -> Floats:
        """A simulated experiment: the loss plus measurement noise."""
        values = np.asarray(self.evaluate(points))
        measured: Floats = values + self.noise * as_generator(seed).normal(size=values.shape)
        return measured

    def _describe(self) -> str:
        heat = " and its temperature" if self.heated else ""
        return f"the order of adding {self.n} reagents{heat} that loses the least yield"


QUANTITIES = {"celsius": Real(20, 80), "minutes": Real(1, 60, log=True), "catalyst": Real(0.1, 10, log=True)}
"""Temperature, time between two additions, and percentage of catalyst."""


@dataclass(frozen=True, eq=False, repr=False)
class Synthesis(OrderOfAddition):
    """`OrderOfAddition` with three quantities: temperature, time between additions, and amount of catalyst.

    The optimum of each quantity depends on the order: a reagent increases it more the later it is added. The loss
    grows with the squared distance from the optimum, relative to the range of the quantity. Hot mixtures interact less: the
    loss by pairs is scaled from 120 % (cold) to 60 % (hot).
    """

    wants: NDArray[np.float64] = field(kw_only=True)
    """wants[q, a]: increase of the optimum of quantity q if a is added last instead of first, relative to its range."""
    least: NDArray[np.float64] = field(kw_only=True)
    """The optimum of each quantity if all reagents could be added first, relative to its range."""
    losses: NDArray[np.float64] = field(kw_only=True)
    """Percentage of yield lost if a quantity is off by its whole range."""

    @cached_property
    def space(self) -> SearchSpace:
        return Space(order=Permutation(self.n), **QUANTITIES)

    def _evaluate(self, rows: Rows) -> Floats:
        pairs, waiting, optimum = self._parts(rows[:, : self.n].astype(np.int64))
        units = [each.to_unit(rows[:, self.n + k]) for k, each in enumerate(QUANTITIES.values())]
        return self._loss(pairs, waiting, optimum, np.stack(units, axis=1))

    def _loss(self, pairs: Floats, waiting: Floats, optimum: Floats, units: Floats) -> Floats:
        off: Floats = (units - optimum) ** 2 @ self.losses
        return pairs * (1.2 - 0.6 * units[:, 0]) + 10 * waiting + off

    def best_quantities(self, orders: Rows) -> Rows:
        """The rows of orders with their optimal quantities; the loss is quadratic in each."""
        pairs, _, optimum = self._parts(orders)
        units = optimum.copy()
        units[:, 0] += 0.3 * pairs / self.losses[0]
        quantities = [each.from_unit(units[:, k : k + 1]) for k, each in enumerate(QUANTITIES.values())]
        return np.concatenate([orders, *quantities], axis=1)

    def _parts(self, orders: Rows) -> tuple[Floats, Floats, Floats]:
        """The losses by pairs and by moments, and the optimal quantities (0 to 1) without the effect of heat on pairs."""
        pairs, waiting = self._order_losses(orders)
        late = np.argsort(orders, axis=1) / max(1, self.n - 1)
        return pairs, waiting, self.least + late @ self.wants.T

    def _describe(self) -> str:
        return f"the order of adding {self.n} reagents, heat, pace and catalyst that lose the least yield"


def synthesis(name: str, n: int, seed: Seed, noise: float = 0.0) -> Synthesis:
    """A random synthesis with quantities whose optima vary over up to half of their range with the order."""
    rng = as_generator(seed)
    plain = reagents(name, n, rng)
    fraction = rng.dirichlet(np.full(n, 0.5), 3)
    return Synthesis(
        name,
        plain.effects,
        plain.moments,
        noise=noise,
        wants=0.5 * fraction,
        least=rng.uniform(0.1, 0.4, 3),
        losses=rng.uniform(30, 60, 3),
    )


def reagents(name: str, n: int, seed: Seed, heated: bool = False, noise: float = 0.0) -> OrderOfAddition:
    """A random synthesis: a third of the ordered pairs interact, by up to 6 percent."""
    rng = as_generator(seed)
    effects = rng.uniform(0, 6, (n, n)) * (rng.random((n, n)) < 1 / 3)
    np.fill_diagonal(effects, 0)
    return OrderOfAddition(name, effects, rng.random(n), heated, noise)
