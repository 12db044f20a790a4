"""A space with all types of variables, an objective on it and a model of the objective."""

from __future__ import annotations

from typing import Any

import numpy as np

import mergebo as mb
from mergebo.gp import GP
from mergebo.methods import mallows_kernel
from mergebo.similarity import Product

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


def model(how: Any = "product", count: int = 25) -> GP:
    """A model of random results whose kernel is a product, a sum, or both."""
    rows = MIXED.sample_rows(count, seed=0)
    values = np.array([loss(MIXED.decode(row)) for row in rows])
    return GP(Product.of(MIXED, mallows_kernel).combined(how), rows, values)
