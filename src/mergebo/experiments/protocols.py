"""Protocols: the settings under which published methods were compared."""

from __future__ import annotations

from typing import Any

from mergebo.errors import unknown_choice
from mergebo.methods.registry import METHODS
from mergebo.methods.single_kernel import SingleKernel, merge_kernel

__all__ = ["PROTOCOLS", "protocol"]

PROTOCOLS: dict[str, dict[str, Any]] = {
    "paper-low": {
        "budget": 200,
        "initial": 20,
        "design": "uniform",
        "acquisition": "ei",
        "moves": ("swap",),
        "incumbents": 1,
        "random_starts": 10,
        "steps": 100,
        "ascent": "steepest",
        "noise": 1e-4,
    },
    "paper-high": {
        "budget": 55,
        "initial": 5,
        "design": "uniform",
        "incumbents": 1,
        "random_starts": 10,
        "search": "relaxation",
    },
}
"""The settings of the paper's published code, for `minimize`; expected improvement for all methods."""

PROTOCOL_ARGUMENTS = ("budget", "initial", "design")
"""Settings of a protocol that belong to `minimize` and not to the method."""


def protocol(name: str, method: str) -> dict[str, Any]:
    """Arguments of `minimize` for a method under a protocol: `minimize(f, space, method=m, **protocol("paper-low", m))`."""
    if name not in PROTOCOLS:
        raise unknown_choice("protocol", name, PROTOCOLS)
    if method not in METHODS:
        raise unknown_choice("method", method, METHODS)
    settings, info = dict(PROTOCOLS[name]), METHODS[method]
    if info.make is not SingleKernel:
        return {key: settings[key] for key in PROTOCOL_ARGUMENTS}
    if info.fixed["kernel"] is not merge_kernel:  # the only one whose nearest permutation can be found exactly at any n
        settings.pop("search", None)
    return settings
