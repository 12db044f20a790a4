"""Mixed spaces, with numeric and categorical variables: points, steps, kernels, gradients, and every method on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mergebo as mb
from mergebo.gp import GP
from mergebo.methods import mallows_kernel
from mergebo.similarity import Product
from mergebo.spaces import Space

MIXED = mb.Space(
    order=mb.Permutation(5),
    picks=mb.Binary(3),
    dose=mb.Integer(1, 50, log=True),
    celsius=mb.Real(20, 80),
    salt=mb.Choice(["K", "Na", None]),
    pace=mb.Real(0.1, 10, log=True),
)


def loss(point: dict[str, Any]) -> float:
    """An objective that depends on all variables."""
    order = float(mb.distances.kendall(point["order"], np.arange(5), view="rank"))
    quantities = ((point["celsius"] - 50) / 20) ** 2 + np.log(point["pace"]) ** 2 + np.log(point["dose"] / 7) ** 2
    return order + float(point["picks"].sum() + quantities + (point["salt"] != "Na"))


def model(how: Any = "product", count: int = 25, space: Space = MIXED) -> GP:
    rows = space.sample_rows(count, seed=0)
    values = np.array([loss(space.decode(row)) for row in rows])
    return GP(Product.of(space, mallows_kernel).combined(how), rows, values)


# --------------------------------------------------------------------------------------------------------------- spaces


# ---------------------------------------------------------------------------------------------------------------- steps


# -------------------------------------------------------------------------------------------------------------- kernels


# --------------------------------------------------------------------------------------------------------------- search


# -------------------------------------------------------------------------------------------------------------- methods


def drive(optimizer: mb.Optimizer, count: int) -> list[list[float]]:
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, loss(trial.point))
    return [optimizer.space.encode(trial.point).tolist() for trial in optimizer.trials]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random", "bops-h", "auto", "local-search", "genetic", "turbo"])
def test_a_small_space_is_exhausted(method: str) -> None:
    space = mb.Space(dose=mb.Integer(1, 4), salt=mb.Choice(["K", "Na"]))
    result = mb.minimize(lambda p: p["dose"] + (p["salt"] == "K"), space, budget=20, method=method, initial=3)
    assert len(result.trials) == 8
    assert result.best.point == {"dose": 1, "salt": "Na"}
    assert result.ended == "all 8 points of the space were tried"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "bops-h"])
def test_two_orders_and_spaces_without_orders(method: str) -> None:
    two = mb.Space(first=mb.Permutation(4), second=mb.Permutation(3), heat=mb.Real(0, 1))

    def value(point: dict[str, Any]) -> float:
        orders = sum(float(mb.distances.kendall(point[name], np.arange(len(point[name])))) for name in ("first", "second"))
        return orders + (point["heat"] - 0.3) ** 2

    found = mb.minimize(value, two, budget=35, method=method, seed=0, initial=12)
    assert found.best.value < 0.2
    numbers = mb.Space(x=mb.Real(-5, 10), y=mb.Integer(0, 15))
    found = mb.minimize(
        lambda p: (p["x"] - 2) ** 2 + (p["y"] - 11) ** 2, numbers, budget=25, method=method, seed=0, initial=8
    )
    assert found.best.value < 0.05


def test_explanations_show_the_effects_of_numbers_and_options() -> None:
    space = mb.Space(dose=mb.Integer(0, 10), heat=mb.Real(0, 1), salt=mb.Choice(["K", "Na", "Li"]))
    optimizer = mb.Optimizer(space, "random", initial=40)
    for trial in optimizer.ask(40):
        point = trial.point
        optimizer.tell(trial, (point["dose"] - 3) ** 2 + 10 * point["heat"] + 5 * (point["salt"] == "Na"))
    found = optimizer.explain()
    most_significant = {effect.variable: effect for effect in found.effects[::-1]}
    assert most_significant["dose"].description == "dose above 6.67"
    assert most_significant["salt"].description == "salt is Na"
    assert most_significant["salt"].estimate == pytest.approx(5, abs=1)
    high = next(effect for effect in found.effects if effect.description == "heat above 0.667")
    assert high.estimate == pytest.approx(5, abs=1)
    assert not high.better
    assert "how much of each quantity" in str(found)
    found.plot()
