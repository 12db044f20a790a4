"""Competitors in the benchmarks: other tools that optimise permutations, and a control without any model.

A competitor gets the space, the objective (a function of rows), the initial rows and a seed, and runs until the objective
raises `BudgetExhausted`. The tools need the extra `mergebo[bench]`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np

from mergebo._typing import Ints, Rows
from mergebo.errors import UnsupportedError, extra, require
from mergebo.spaces import Binary, Permutation, SearchSpace, Variable

__all__ = ["COMPETITORS", "BudgetExhausted"]

Objective: TypeAlias = Callable[[Rows], float]


class BudgetExhausted(Exception):  # noqa: N818 - not an error
    """The evaluation budget is spent."""


def random_bits(space: SearchSpace, objective: Objective, design: Rows, seed: int) -> None:
    """A control without a model: orders decoded from random bits, and uniform random choices."""
    rng = np.random.default_rng([seed, 1])
    for row in design:
        objective(row)
    while True:
        objective(np.concatenate([_random_value(variable, rng) for variable in space.variables.values()]))


@singledispatch
def _random_value(variable: Variable, rng: np.random.Generator) -> Ints:
    """A value decoded from random bits."""
    raise UnsupportedError(f"random bits decode to orders and binary choices, not to {variable}")


@_random_value.register
def _(variable: Permutation, rng: np.random.Generator) -> Ints:
    return decode_coins(variable.n, rng)


@_random_value.register
def _(variable: Binary, rng: np.random.Generator) -> Ints:
    return rng.integers(0, 2, variable.count)


def decode_coins(n: int, rng: np.random.Generator) -> Ints:
    """The order that merge sort infers if each comparison is answered by a coin flip.

    Random merge bits decode like this if bits that belong to no order are ignored where they are redundant. The result is a
    riffle of riffles, not a uniform order: every merge ends with a run of one half.
    """

    def sort(slots: list[int]) -> list[int]:
        if len(slots) == 1:
            return slots
        left, right = sort(slots[: len(slots) // 2]), sort(slots[len(slots) // 2 :])
        taken: list[int] = []
        while left and right:
            taken.append((right if rng.integers(2) else left).pop(0))
        return taken + left + right

    order = np.empty(n, np.int64)
    order[sort(list(range(n)))] = np.arange(n)
    return order


def optuna_tpe(space: SearchSpace, objective: Objective, design: Rows, seed: int) -> None:
    """Optuna's default sampler on Lehmer codes."""
    import optuna

    _optuna(optuna.samplers.TPESampler(seed=seed), space, objective, design)


def optuna_gp(space: SearchSpace, objective: Objective, design: Rows, seed: int) -> None:
    """Optuna's Gaussian process sampler on Lehmer codes. It needs torch."""
    require("torch", "torch")
    import optuna

    _optuna(optuna.samplers.GPSampler(seed=seed), space, objective, design)


def _optuna(sampler: Any, space: SearchSpace, objective: Objective, design: Rows) -> None:
    """The recipe in Optuna's FAQ: digit k of an order's Lehmer code is an integer from 0 to n-1-k.

    Numbers and options are Optuna's own. In place of an infeasible point a nearby feasible one is evaluated.
    """
    import optuna

    from mergebo.integrations.optuna import params, suggest
    from mergebo.studies.storage import log_level

    with log_level(optuna.logging.WARNING):
        study = optuna.create_study(sampler=sampler)
    for row in design:
        study.enqueue_trial(params(space, space.decode(row)))
    while True:
        trial = study.ask()
        study.tell(trial, objective(space.encode(suggest(trial, space)).astype(space.dtype)))


def pymoo_ga(space: SearchSpace, objective: Objective, design: Rows, seed: int) -> None:
    """The genetic algorithm of pymoo for permutations, with the initial design as its first population."""
    with extra("bench"):
        from pymoo.algorithms.soo.nonconvex.ga import GA
        from pymoo.core.problem import ElementwiseProblem
        from pymoo.operators.crossover.ox import OrderCrossover
        from pymoo.operators.mutation.inversion import InversionMutation
        from pymoo.optimize import minimize

    if space.single_permutation is None:
        raise UnsupportedError(f"pymoo's permutation operators work on orders alone, not on {space}")

    class Orders(ElementwiseProblem):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(n_var=space.width, n_obj=1, xl=0, xu=space.width - 1, vtype=int)

        def _evaluate(self, x: Any, out: dict[str, Any], *args: object, **kwargs: object) -> None:
            out["F"] = objective(np.asarray(x, np.int64))

    genetic = GA(
        pop_size=len(design),
        sampling=design,
        crossover=OrderCrossover(),
        mutation=InversionMutation(),
        eliminate_duplicates=True,
    )
    minimize(Orders(), genetic, termination=("n_gen", 10**9), seed=seed)


COMPETITORS: dict[str, Callable[[SearchSpace, Objective, Rows, int], None]] = {
    "optuna-tpe": optuna_tpe,
    "optuna-gp": optuna_gp,
    "pymoo-ga": pymoo_ga,
    "random-bits": random_bits,
}
"""Competitors by name."""
