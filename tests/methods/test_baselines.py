"""Methods without a model."""

from __future__ import annotations

import numpy as np
import pytest

import mergebo as mb


@pytest.mark.slow
@pytest.mark.parametrize("method", ["local-search", "genetic"])
def test_other_methods_beat_random_search(method: str) -> None:
    problem = mb.problems.get("tsp:random(n=12,seed=2)")

    def mean(name: str) -> float:
        runs = [mb.minimize(problem.evaluate, problem.space, budget=150, method=name, seed=s) for s in range(6)]
        return float(np.mean([run.best.value for run in runs]))

    assert mean(method) < mean("random")
