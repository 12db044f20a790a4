"""Simulated annealing and steepest descent, for problems of any kind."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from mergebo._typing import Rows, Seed
from mergebo.neighbours import MOVES
from mergebo.permutations import as_generator
from mergebo.problems.base import Problem
from mergebo.spaces import Binary, Choice, Numeric, Permutation, Variable

__all__: list[str] = []


def random_neighbours(rows: Rows, problem: Problem, rng: np.random.Generator) -> Rows:
    """A random neighbour of each row: a move of an order, one flipped bit, another option, or a step of a number."""
    out = rows.copy()
    name = rng.choice(list(problem.space.variables))
    block = out[:, problem.space.slices[name]]
    block[:] = _random_step(problem.space.variables[name], block, rng)
    return out


@singledispatch
def _random_step(variable: Variable, values: Rows, rng: np.random.Generator) -> Rows:
    """A random neighbour of each value of a variable, `(count, width)`."""
    return np.concatenate([variable.random_neighbours(value, "step", 1, rng) for value in values])


@_random_step.register
def _(variable: Permutation, values: Rows, rng: np.random.Generator) -> Rows:
    count, width = values.shape
    i, j = np.sort(rng.integers(0, width, (2, count)), axis=0)[:, :, None]
    slot = np.arange(width)
    inside = (slot >= i) & (slot <= j)
    kind = rng.integers(0, 4, (count, 1))
    source = np.where(kind == 0, np.where(slot == i, j, np.where(slot == j, i, slot)), slot)  # swap
    source = np.where((kind == 1) & inside, i + j - slot, source)  # reversal
    source = np.where((kind == 2) & inside, np.where(slot == j, i, slot + 1), source)  # insertion to the right
    source = np.where((kind == 3) & inside, np.where(slot == i, j, slot - 1), source)  # insertion to the left
    return np.take_along_axis(values, source, axis=1)


@_random_step.register
def _(variable: Binary, values: Rows, rng: np.random.Generator) -> Rows:
    count, width = values.shape
    flipped, which = values.copy(), (np.arange(count), rng.integers(0, width, count))
    flipped[which] = 1 - flipped[which]
    return flipped


@_random_step.register
def _(variable: Choice, values: Rows, rng: np.random.Generator) -> Rows:
    options = len(variable.options)
    return np.asarray((values + rng.integers(1, options, (len(values), 1))) % options)


@_random_step.register
def _(variable: Numeric, values: Rows, rng: np.random.Generator) -> Rows:
    steps = 0.5 ** rng.uniform(1, 10) * rng.normal(size=(len(values), 1))
    return variable.from_unit(variable.to_unit(values) + steps)


def anneal(
    problem: Problem,
    *,
    seed: Seed,
    chains: int = 32,
    steps: int = 20_000,
    start: Rows | None = None,
    initial_temperature: float = 0.3,
) -> tuple[float, Rows]:
    """The best row found by parallel chains of simulated annealing.

    `initial_temperature` is relative to the standard deviation of random values.
    """
    rng = as_generator(seed)
    rows = problem.space.sample_rows(chains, seed=rng)
    values = problem.evaluate_rows(rows)
    scale = max(float(values.std()), 1e-9)
    if start is not None:
        rows = np.tile(start, (chains, 1))
        values = problem.evaluate_rows(rows)
    best, best_row = float(values.min()), rows[values.argmin()].copy()
    for temperature in scale * initial_temperature * np.geomspace(1, 1e-3, steps):
        moved = random_neighbours(rows, problem, rng)
        moved_values = problem.evaluate_rows(moved)
        accepted = rng.random(chains) < np.exp(np.minimum(0, (values - moved_values) / temperature))
        rows[accepted], values[accepted] = moved[accepted], moved_values[accepted]
        if values.min() < best:
            best, best_row = float(values.min()), rows[values.argmin()].copy()
    return best, best_row


def steepest_descent(problem: Problem, row: Rows) -> tuple[float, Rows]:
    """Steepest descent over all swaps, insertions, reversals and flips to a local optimum."""
    value = float(problem.evaluate_rows(row))
    while True:
        best, best_value = row, value
        for around in problem.space.neighbourhoods(row, MOVES):
            values = problem.evaluate_rows(around)
            if len(values) and values.min() < best_value:
                best, best_value = around[values.argmin()], float(values.min())
        if not best_value < value:
            return value, row
        row, value = best, best_value
