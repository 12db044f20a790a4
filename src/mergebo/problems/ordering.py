"""Linear ordering, and the order of addition in a chemical experiment."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Rows, Seed
from mergebo.compiled.jit import jit
from mergebo.errors import ArgumentError, ShapeError
from mergebo.permutations import generator, sample
from mergebo.problems.base import Optimum, OrderProblem, Problem, Values
from mergebo.spaces import AnySpace, Permutation, PermutationSpace, Real, Space


@dataclass(frozen=True, eq=False, repr=False)
class LOP(OrderProblem):
    """Linear ordering: minus the sum of `gains[a, b]` over all pairs of items with a before b."""

    gains: NDArray[np.float64]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gains.ndim != 2 or self.gains.shape[0] != self.gains.shape[1]:
            raise ShapeError(f"gains must be a square matrix, got shape {self.gains.shape}")

    @property
    def n(self) -> int:
        return len(self.gains)

    @property
    def _scratch(self) -> int:
        return self.n * self.n

    def _evaluate(self, rows: Rows) -> Values:
        gained = np.empty((len(rows), self.n * (self.n - 1) // 2))
        _gather(rows, self.gains, gained)
        values: Values = -gained.sum(axis=-1)
        return values

    def _describe(self) -> str:
        return f"the best linear order of {self.n} items by {self.n * (self.n - 1) // 2} pairwise gains"


@jit
def _gather(rows: Rows, gains: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """The gains of all pairs of slots, as `np.triu_indices` has them: item by item, which large matrices need to be fast."""
    for t in range(len(rows)):
        k = 0
        for i in range(rows.shape[1]):
            of_item = gains[rows[t, i]]
            for j in range(i + 1, rows.shape[1]):
                out[t, k] = of_item[rows[t, j]]
                k += 1


def planted(name: str, n: int, seed: Seed, noise: float = 0.5) -> LOP:
    """A hidden order: having a before b gains more the further a precedes b in it, plus noise on every pair.

    Gains are 0 to 1 plus `noise` times a normal number. Without noise every pair agrees with the hidden order, which is
    then the optimum.
    """
    if noise < 0:
        raise ArgumentError(f"noise must not be negative, got {noise}")
    rng = generator(seed)
    hidden = sample(n, seed=rng)
    rank = np.argsort(hidden)
    ahead = (rank[None, :] - rank[:, None]) / max(1, n - 1)
    gains = np.clip(ahead, 0, None) + noise * rng.normal(size=(n, n))
    np.fill_diagonal(gains, 0)
    problem = LOP(name, gains)
    if noise:
        return problem
    value = float(problem.evaluate(hidden))
    proof = Optimum(value, True, "every pair of items is in its better order")
    return problem.with_optimum(proof, [hidden])


@dataclass(frozen=True, eq=False, repr=False)
class OrderOfAddition(Problem):
    """What is lost when reagents are added in this order: a small model of a synthesis, for demonstrations.

    Each reagent is worth most at its own best moment (early ones decompose while they wait, late ones dissolve poorly),
    and pairs of reagents help or spoil each other depending on which comes first. The loss is a percentage of the
    yield, 0 at best. With `heated` the temperature matters too: how strongly pairs interact depends on it.
    """

    effects: NDArray[np.float64]
    """effects[a, b]: per cent of yield lost if a is added before b."""
    moments: NDArray[np.float64]
    """Best moment of each reagent, from 0 (first) to 1 (last)."""
    heated: bool = False
    noise: float = 0.0
    """Standard deviation of a measurement, in per cent of yield; see `measure`."""

    @property
    def n(self) -> int:
        return len(self.moments)

    @cached_property
    def space(self) -> AnySpace:
        if self.heated:
            return Space(order=Permutation(self.n), celsius=Real(20, 80))
        return PermutationSpace(self.n)

    @property
    def _scratch(self) -> int:
        return self.n * self.n

    def _evaluate(self, rows: Rows) -> Values:
        pairs, waiting = self._order_losses(rows[:, : self.n].astype(np.int64))
        if not self.heated:
            return pairs + 10 * waiting
        warmth = (rows[:, -1] - 20) / 60  # hot mixtures interact less and decompose more
        return pairs * (1.2 - 0.6 * warmth) + 10 * waiting * (0.5 + 1.5 * warmth**2)

    def _order_losses(self, orders: Rows) -> tuple[Values, Values]:
        """What pairs in this order cost, and by how much reagents miss their moments."""
        earlier, later = np.triu_indices(self.n, 1)
        pairs: Values = self.effects.reshape(-1).take(orders[:, earlier] * self.n + orders[:, later]).sum(axis=-1)
        when = np.arange(self.n) / max(1, self.n - 1)
        waiting: Values = ((when - self.moments[orders]) ** 2).sum(axis=-1)
        return pairs, waiting

    def measure(self, points: object, *, seed: Seed) -> Values:
        """What an experiment would show: the loss plus measurement noise."""
        values = np.asarray(self.evaluate(points))
        measured: Values = values + self.noise * generator(seed).normal(size=values.shape)
        return measured

    def _describe(self) -> str:
        heat = " and its temperature" if self.heated else ""
        return f"the order of adding {self.n} reagents{heat} that loses the least yield"


QUANTITIES = {"celsius": Real(20, 80), "minutes": Real(1, 60, log=True), "catalyst": Real(0.1, 10, log=True)}
"""Temperature, time between two additions, and per cent of catalyst."""


@dataclass(frozen=True, eq=False, repr=False)
class Synthesis(OrderOfAddition):
    """The same with three quantities: at which temperature, how slowly and with how much catalyst reagents are added.

    How much of each quantity is best depends on the order: reagents that are added late want, each in its own measure,
    more of it. What is lost grows with the square of the distance from the best, in parts of the quantity's range. Hot
    mixtures interact less: of what pairs cost, 120 per cent are lost in the cold and 60 in the heat.
    """

    wants: NDArray[np.float64] = field(kw_only=True)
    """wants[q, a]: by how much more the best of quantity q is if a is added last instead of first, in parts of the range."""
    least: NDArray[np.float64] = field(kw_only=True)
    """The best of each quantity if all reagents could be added first."""
    losses: NDArray[np.float64] = field(kw_only=True)
    """Per cent of yield lost for each quantity, if it is off by its whole range."""

    @cached_property
    def space(self) -> AnySpace:
        return Space(order=Permutation(self.n), **QUANTITIES)

    def _evaluate(self, rows: Rows) -> Values:
        pairs, waiting, wanted = self._parts(rows[:, : self.n].astype(np.int64))
        units = [each.to_unit(rows[:, self.n + k]) for k, each in enumerate(QUANTITIES.values())]
        return self._loss(pairs, waiting, wanted, np.stack(units, axis=1))

    def _loss(self, pairs: Values, waiting: Values, wanted: Values, units: Values) -> Values:
        off: Values = (units - wanted) ** 2 @ self.losses
        return pairs * (1.2 - 0.6 * units[:, 0]) + 10 * waiting + off

    def best_quantities(self, orders: Rows) -> Rows:
        """The rows of orders with their best quantities: the loss is a parabola in each."""
        pairs, _, wanted = self._parts(orders)
        units = wanted.copy()
        units[:, 0] += 0.3 * pairs / self.losses[0]
        quantities = [each.from_unit(units[:, k : k + 1]) for k, each in enumerate(QUANTITIES.values())]
        return np.concatenate([orders, *quantities], axis=1)

    def _parts(self, orders: Rows) -> tuple[Values, Values, Values]:
        """What pairs and moments cost, and the best quantities but for the heat that pairs want, 0 to 1."""
        pairs, waiting = self._order_losses(orders)
        late = np.argsort(orders, axis=1) / max(1, self.n - 1)
        return pairs, waiting, self.least + late @ self.wants.T

    def _describe(self) -> str:
        return f"the order of adding {self.n} reagents, heat, pace and catalyst that lose the least yield"


def synthesis(name: str, n: int, seed: Seed, noise: float = 0.0) -> Synthesis:
    """A random synthesis with quantities: the best of each moves over up to half of its range as the order changes."""
    rng = generator(seed)
    plain = reagents(name, n, rng)
    share = rng.dirichlet(np.full(n, 0.5), 3)
    return Synthesis(
        name,
        plain.effects,
        plain.moments,
        noise=noise,
        wants=0.5 * share,
        least=rng.uniform(0.1, 0.4, 3),
        losses=rng.uniform(30, 60, 3),
    )


def reagents(name: str, n: int, seed: Seed, heated: bool = False, noise: float = 0.0) -> OrderOfAddition:
    """A random synthesis: a third of the ordered pairs matter, by up to 6 per cent."""
    rng = generator(seed)
    effects = rng.uniform(0, 6, (n, n)) * (rng.random((n, n)) < 1 / 3)
    np.fill_diagonal(effects, 0)
    return OrderOfAddition(name, effects, rng.random(n), heated, noise)
