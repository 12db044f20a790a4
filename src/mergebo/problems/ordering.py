"""Linear ordering, and the order of addition in a chemical experiment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mergebo.errors import ArgumentError, ShapeError
from mergebo.permutations import Seed, generator, sample
from mergebo.problems.base import Optimum, OrderProblem, Problem, Values
from mergebo.spaces import AnySpace, Permutation, PermutationSpace, Real, Rows, Space


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
        earlier, later = np.triu_indices(self.n, 1)
        values: Values = -self.gains.reshape(-1).take(rows[:, earlier] * self.n + rows[:, later]).sum(axis=-1)
        return values

    def _describe(self) -> str:
        return f"the best linear order of {self.n} items by {self.n * (self.n - 1) // 2} pairwise gains"


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
        orders = rows[:, : self.n].astype(np.int64)
        earlier, later = np.triu_indices(self.n, 1)
        pairs: Values = self.effects.reshape(-1).take(orders[:, earlier] * self.n + orders[:, later]).sum(axis=-1)
        when = np.arange(self.n) / max(1, self.n - 1)
        waiting: Values = ((when - self.moments[orders]) ** 2).sum(axis=-1)
        if not self.heated:
            return pairs + 10 * waiting
        warmth = (rows[:, -1] - 20) / 60  # hot mixtures interact less and decompose more
        return pairs * (1.2 - 0.6 * warmth) + 10 * waiting * (0.5 + 1.5 * warmth**2)

    def measure(self, points: object, *, seed: Seed) -> Values:
        """What an experiment would show: the loss plus measurement noise."""
        values = np.asarray(self.evaluate(points))
        measured: Values = values + self.noise * generator(seed).normal(size=values.shape)
        return measured

    def _describe(self) -> str:
        heat = " and its temperature" if self.heated else ""
        return f"the order of adding {self.n} reagents{heat} that loses the least yield"


def reagents(name: str, n: int, seed: Seed, heated: bool = False, noise: float = 0.0) -> OrderOfAddition:
    """A random synthesis: a third of the ordered pairs matter, by up to 6 per cent."""
    rng = generator(seed)
    effects = rng.uniform(0, 6, (n, n)) * (rng.random((n, n)) < 1 / 3)
    np.fill_diagonal(effects, 0)
    return OrderOfAddition(name, effects, rng.random(n), heated, noise)
