"""Rules, quantities, noise, prior knowledge, batches and several objectives, all at once."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import mergebo as mb
from mergebo.optimizers import METHODS

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
    """Something that depends on everything."""
    place = {item: slot for slot, item in enumerate(point["steps"])}
    tour = list(point["tour"])
    return (
        place["heat"]
        - place["stir"]
        + abs(tour.index(0) - tour.index(3))
        + point["some"][0]
        + float(np.sum(point["picks"]))
        + (point["celsius"] - 40) ** 2 / 400
        + 0.1 * point["pace"]
        + (point["salt"] == "K")
    )


def keeps_rules(point: dict[str, Any]) -> bool:
    """By hand."""
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
def test_every_method_takes_all_of_it_and_goes_on_from_its_state(method: str, noisy: bool) -> None:
    rng = np.random.default_rng(0)

    def go_on(opt: mb.Optimizer, rounds: int) -> list[Any]:
        asked = []
        for _ in range(rounds):
            for trial in reversed(opt.ask(3)):
                assert keeps_rules(trial.point)
                asked.append(trial.point)
                opt.tell(trial, loss(trial.point) + noisy * 0.1 * rng.normal())
        return asked

    one = mb.Optimizer(SPACE, method, seed=1, initial=6, noisy=noisy, **(KNOWN if method in ("auto", "bops-h") else {}))
    go_on(one, 3)
    heuristic = KNOWN["heuristic"] if method in ("auto", "bops-h") else None
    two = mb.Optimizer.from_state(json.loads(json.dumps(one.state())), heuristic=heuristic)
    rng = np.random.default_rng(1)
    first = go_on(one, 2)
    rng = np.random.default_rng(1)
    assert repr(go_on(two, 2)) == repr(first)
    assert one.best is not None
    assert keeps_rules(one.best.point)


def test_two_objectives_with_rules_and_quantities() -> None:
    opt = mb.Optimizer(SPACE, seed=0, initial=5, objectives=2, direction=("minimize", "maximize"))
    for _ in range(12):
        trial = opt.ask()
        assert keeps_rules(trial.point)
        opt.tell(trial, [loss(trial.point), trial.point["celsius"]])
    assert 1 <= len(opt.pareto.trials) <= 12
    assert all(keeps_rules(trial.point) for trial in opt.pareto.trials)
