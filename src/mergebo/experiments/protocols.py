"""What experiments know of each method: its settings under the published protocols, its colour, and the package it needs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mergebo._names import read_call
from mergebo.errors import extra, require, unknown_choice
from mergebo.methods.registry import METHODS
from mergebo.methods.single_kernel import SingleKernel
from mergebo.plots.style import GREY

__all__ = ["PROTOCOLS", "protocol"]

PROTOCOLS: dict[str, dict[str, Any]] = {
    "paper-low": {"budget": 200, "initial": 20, "design": "uniform"},
    "paper-high": {"budget": 55, "initial": 5, "design": "uniform"},
}
"""The settings of `minimize` for all methods in the paper's published code; `protocol` adds those of each method."""

_KERNEL: dict[str, dict[str, Any]] = {
    "paper-low": {
        "acquisition": "ei",
        "moves": ("swap",),
        "incumbents": 1,
        "random_starts": 10,
        "steps": 100,
        "ascent": "steepest",
        "noise": 1e-4,
    },
    "paper-high": {"incumbents": 1, "random_starts": 10},
}
"""The settings of methods with one kernel; expected improvement for all of them."""

# Of Merge alone the nearest permutation can be found exactly at any n.
_MERGE = {**_KERNEL, "paper-high": {**_KERNEL["paper-high"], "search": "relaxation"}}


@dataclass(frozen=True)
class MethodRow:
    """What the experiments know of a method or competitor, apart from how it works."""

    name: str
    colour: str = GREY
    """In figures, whatever its settings; after Okabe and Ito, and Tol."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Its settings by protocol."""
    extra: str = ""
    """The extra of mergebo that it needs."""
    package: str = ""
    """The package of that extra."""

    def check_installed(self) -> None:
        """Raise an error if its package is not installed."""
        if self.package:
            require(self.extra, self.package)

    def load(self) -> None:
        """Import its package."""
        if self.package:
            with extra(self.extra):
                importlib.import_module(self.package)


METHOD_ROWS = {
    row.name: row
    for row in (
        MethodRow("auto", "#CC3311"),
        MethodRow("mergebo", "#0072B2", _MERGE),
        MethodRow("bops-h", "#D55E00", _KERNEL),
        MethodRow("bops-random", "#CC79A7", _KERNEL),
        MethodRow("spearman", "#009E73", _KERNEL),
        MethodRow("combo", "#56B4E9", _KERNEL),
        MethodRow("turbo", "#E69F00", extra="torch", package="torch"),
        MethodRow("random"),
        MethodRow("local-search", "#000000"),
        MethodRow("genetic", "#882255"),
        MethodRow("random-bits"),
        MethodRow("pymoo-ga", "#882255", extra="bench", package="pymoo"),
        MethodRow("optuna-tpe", "#999933"),
        MethodRow("optuna-gp", "#999933", extra="torch", package="torch"),
    )
}


def method_row(method: str) -> MethodRow:
    """The row of a method, whatever its settings; registered methods without one are grey."""
    name, _ = read_call(method)
    if name in METHOD_ROWS:
        return METHOD_ROWS[name]
    one_kernel = name in METHODS and METHODS[name].make is SingleKernel
    return MethodRow(name, settings=_KERNEL if one_kernel else {})


def protocol(name: str, method: str) -> dict[str, Any]:
    """Arguments of `minimize` for a method under a protocol: `minimize(f, space, method=m, **protocol("paper-low", m))`."""
    if name not in PROTOCOLS:
        raise unknown_choice("protocol", name, PROTOCOLS)
    if method not in METHODS:
        raise unknown_choice("method", method, METHODS)
    return {**PROTOCOLS[name], **method_row(method).settings.get(name, {})}
