"""What every problem does: the conformance suite, and relabelling."""

from __future__ import annotations

import pytest

from mergebo import problems
from mergebo.permutations import invert, sample
from mergebo.testing import ProblemSuite
from problem_helpers import Brew


class TestBrew(ProblemSuite):
    def make(self) -> problems.Problem:
        return Brew("brew")


def _suite(name: str) -> type[ProblemSuite]:
    title = "".join(part.capitalize() for part in "".join(c if c.isalnum() else " " for c in name).split())
    return type(f"Test{title}", (ProblemSuite,), {"make": lambda self: problems.get(name)})


globals().update({suite.__name__: suite for suite in map(_suite, problems.available())})

SMALL = ["tsp:random(n=1)", "tsp:random(n=2)", "qap:nug-like(n=5)", "floorplan:random(n=2)", "cells:random(n=1)"]
SMALL += ["flowshop:random(n=5,machines=2)", "lop:planted(n=6,noise=0.0)", "addition:random(n=3)", "ttp:random(n=5)"]
globals().update({suite.__name__: suite for suite in map(_suite, SMALL)})


def test_relabelling_changes_items_not_slots() -> None:
    problem = problems.get("lop:planted(n=6)")
    relabelled = problem.relabelled(3)
    (names,) = relabelled.names
    order = sample(6, seed=0)
    assert relabelled.evaluate(order) == problem.evaluate(names[order])
    assert relabelled.evaluate(invert(names)[order]) == pytest.approx(problem.evaluate(order))
    assert relabelled.name == "lop:planted(n=6,seed=0,noise=0.5)~3"
