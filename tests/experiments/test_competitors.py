"""Other tools, and the control without a model."""

from __future__ import annotations

import numpy as np
import pytest

from mergebo import permutations
from mergebo.experiments import Job
from mergebo.experiments.competitors import BudgetExhausted, decode_coins, optuna_tpe
from mergebo.experiments.jobs import run_job
from mixed_space import MIXED, loss


@pytest.mark.slow
def test_competitors_support_binary_variables_where_possible() -> None:
    job = Job("ttp:random(n=6,seed=1)", "optuna-tpe", 0, 8, 4)
    assert len(run_job(job).values) == 8
    assert len(run_job(Job(job.problem, "random-bits", 0, 8, 4)).values) == 8
    with pytest.raises(NotImplementedError, match="orders alone"):
        run_job(Job(job.problem, "pymoo-ga", 0, 8, 4))


@pytest.mark.slow
def test_random_bits_are_not_uniform_orders() -> None:
    """The reason for the suite `numbering`: orders decoded from random bits are correlated with the numbering."""
    rng = np.random.default_rng(0)
    decoded = np.array([decode_coins(100, rng) for _ in range(300)])
    uniform = permutations.sample(100, 300, seed=0)
    assert (permutations.validate(decoded) == decoded).all()
    steps = [np.abs(np.diff(orders, axis=1)).mean() for orders in (decoded, uniform)]
    assert steps[0] < 0.95 * steps[1]


def test_optuna_has_native_numbers_and_options() -> None:
    """The initial design comes first, unchanged, and later points are in the space."""
    seen: list[np.ndarray] = []

    def objective(row: np.ndarray) -> float:
        if len(seen) == 16:
            raise BudgetExhausted
        seen.append(row)
        return loss(MIXED.decode(row))

    design = MIXED.sample_rows(12, seed=0)
    with pytest.raises(BudgetExhausted):
        optuna_tpe(MIXED, objective, design, 0)
    np.testing.assert_allclose(seen[:12], design, rtol=1e-12)
    MIXED.encode([MIXED.decode(row) for row in seen])
    assert len({tuple(row) for row in seen}) == 16
