"""Caches do not change results, and belong to the optimizer."""

from __future__ import annotations

import gc
from dataclasses import replace

import numpy as np
import pytest

import mergebo as mb
from mergebo.gp import GP
from mergebo.methods import Auto, History
from mergebo.methods.dataset import Cache
from method_helpers import make_history


@pytest.mark.slow
def test_proposals_do_not_depend_on_caches() -> None:
    known = make_history("tsp:random(n=10,seed=3)", 32)

    def proposal(history: History) -> list[int]:
        found: list[int] = Auto().propose(history, np.random.default_rng(1)).tolist()
        return found

    first = proposal(known)
    assert proposal(known) == first
    assert proposal(replace(known, cache=Cache())) == first


@pytest.mark.slow
def test_caches_belong_to_the_optimizer_and_are_freed_with_it() -> None:
    problem = mb.problems.get("tsp:random(n=8,seed=3)")
    optimizer = mb.minimize(problem.evaluate, problem.space, budget=12, initial=8).optimizer
    gc.collect()
    before = sum(type(each) is GP for each in gc.get_objects())
    assert before > 0
    del optimizer
    gc.collect()
    assert not any(type(each) is GP for each in gc.get_objects())
