"""Constraints, mixed variables, noise, prior knowledge, batches and several objectives together."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import mergebo as mb
from mergebo.methods import METHODS

pytestmark = pytest.mark.slow

STEPS = mb.Permutation(
    items=["heat", "acid", "base", "salt", "stir"],
    before=[("acid", "base")],
    window={"salt": (1, 3)},
    apart=[("heat", "acid")],
)
SPACE = mb.Space(
    steps=STEPS,
    tour=mb.Permutation(5, symmetry=("cycle", "reversal")),
    some=mb.Permutation(5, choose=2),
    picks=mb.Binary(3),
    celsius=mb.Real(20, 80),
    pace=mb.Integer(1, 9),
    salt=mb.Choice(["K", "Na"]),
)


def loss(point: dict[str, Any]) -> float:
    """An objective that depends on all variables."""
    slots = {item: slot for slot, item in enumerate(point["steps"])}
    tour = list(point["tour"])
    return (
        slots["heat"]
        - slots["stir"]
        + abs(tour.index(0) - tour.index(3))
        + point["some"][0]
        + float(np.sum(point["picks"]))
        + (point["celsius"] - 40) ** 2 / 400
        + 0.1 * point["pace"]
        + (point["salt"] == "K")
    )


def is_feasible(point: dict[str, Any]) -> bool:
    """The constraints, checked one by one."""
    steps = point["steps"]
    slot = {item: k for k, item in enumerate(steps)}
    return (
        sorted(steps) == sorted(STEPS.items or ())
        and slot["acid"] < slot["base"]
        and 1 <= slot["salt"] <= 3
        and abs(slot["heat"] - slot["acid"]) != 1
        and len(set(point["some"])) == len(point["some"]) == 2
        and 20 <= point["celsius"] <= 80
        and point["pace"] in range(1, 10)
    )


KNOWN: dict[str, Any] = {
    "beliefs": [mb.beliefs.before("heat", "stir", variable="steps")],
    "heuristic": lambda point: point["pace"] + point["celsius"] / 40,
}


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("mergebo", "bops-random", "combo")])
@pytest.mark.parametrize("noisy", [False, True])
def test_every_method_supports_all_of_it_and_resumes_from_its_state(method: str, noisy: bool) -> None:
    rng = np.random.default_rng(0)

    def advance(opt: mb.Optimizer, rounds: int) -> list[Any]:
        proposed = []
        for _ in range(rounds):
            for trial in reversed(opt.ask(3)):
                assert is_feasible(trial.point)
                proposed.append(trial.point)
                opt.tell(trial, loss(trial.point) + noisy * 0.1 * rng.normal())
        return proposed

    one = mb.Optimizer(SPACE, method, seed=1, initial=6, noisy=noisy, **(KNOWN if method in ("auto", "bops-h") else {}))
    advance(one, 3)
    heuristic = KNOWN["heuristic"] if method in ("auto", "bops-h") else None
    two = mb.Optimizer.from_state(json.loads(json.dumps(one.state())), heuristic=heuristic)
    rng = np.random.default_rng(1)
    first = advance(one, 2)
    rng = np.random.default_rng(1)
    assert repr(advance(two, 2)) == repr(first)
    assert one.best is not None
    assert is_feasible(one.best.point)


def test_two_objectives_with_constraints_and_mixed_variables() -> None:
    opt = mb.Optimizer(SPACE, seed=0, initial=5, objectives=2, direction=("minimize", "maximize"))
    for _ in range(12):
        trial = opt.ask()
        assert is_feasible(trial.point)
        opt.tell(trial, [loss(trial.point), trial.point["celsius"]])
    assert 1 <= len(opt.pareto.trials) <= 12
    assert all(is_feasible(trial.point) for trial in opt.pareto.trials)
