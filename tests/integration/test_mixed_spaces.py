"""Methods in spaces with numeric and categorical variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mergebo as mb


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
