"""Methods by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mergebo.errors import ArgumentError, unknown_choice
from mergebo.optimizers.auto import Auto
from mergebo.optimizers.baselines import Genetic, LocalSearch, RandomSearch
from mergebo.optimizers.history import Method
from mergebo.optimizers.models import (
    ModelBased,
    footrule_orders,
    mallows_orders,
    merge_orders,
    random_orders,
    slot_orders,
)
from mergebo.optimizers.turbo import Turbo
from mergebo.surrogate import ByKernel, ByMap, Similarity

if TYPE_CHECKING:
    from mergebo.kernels import PermutationKernel

METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "auto": (Auto, {}),
    "mergebo": (ModelBased, {"orders": merge_orders}),
    "bops-h": (ModelBased, {"orders": mallows_orders}),
    "bops-random": (ModelBased, {"orders": random_orders}),
    "spearman": (ModelBased, {"orders": footrule_orders}),
    "combo": (ModelBased, {"orders": slot_orders}),
    "turbo": (Turbo, {}),
    "random": (RandomSearch, {}),
    "local-search": (LocalSearch, {}),
    "genetic": (Genetic, {}),
}
"""Each name with its class and settings."""

ABOUT = {
    "auto": "finds out which structure matters and uses it; the default",
    "mergebo": "Gaussian process with the Merge kernel on the order as given (Xie & Chen 2026)",
    "bops-h": "Gaussian process with the Mallows kernel on ranks: indifferent to item numbers (Deshwal et al. 2022)",
    "bops-random": "the same with as many random comparisons as Merge has",
    "spearman": "Gaussian process with Spearman's footrule",
    "combo": "a lengthscale for every slot (Oh et al. 2019)",
    "turbo": "TuRBO-1 on the cube, orders read off by sorting (Eriksson et al. 2019)",
    "random": "uniform random orders",
    "local-search": "hill climbing with restarts",
    "genetic": "order crossover and mutation",
}
"""What each is, in a line."""


PROTOCOLS: dict[str, dict[str, Any]] = {
    "paper-low": {
        "budget": 200,
        "initial": 20,
        "design": "uniform",
        "acquisition": "ei",
        "moves": ("swap",),
        "incumbents": 1,
        "randoms": 10,
        "steps": 100,
        "ascent": "steepest",
        "noise": 1e-4,
    },
    "paper-high": {
        "budget": 55,
        "initial": 5,
        "design": "uniform",
        "incumbents": 1,
        "randoms": 10,
        "search": "relaxation",
    },
}
"""The paper's settings, as its published code has them, for `minimize`; expected improvement for all methods alike."""


SHARED = ("budget", "initial", "design")
"""Settings of a protocol that are no method's own."""


def protocol(name: str, method: str) -> dict[str, Any]:
    """What `minimize` takes to run a method under a protocol: `minimize(f, space, method=m, **protocol("paper-low", m))`."""
    if name not in PROTOCOLS:
        raise unknown_choice("protocol", name, PROTOCOLS)
    if method not in METHODS:
        raise unknown_choice("method", method, METHODS)
    settings = dict(PROTOCOLS[name])
    if METHODS[method][0] is not ModelBased:
        return {key: settings[key] for key in SHARED}
    if method != "mergebo":  # the only one whose nearest permutation can be found exactly at any n
        settings.pop("search", None)
    return settings


def with_kernel(kernel: Callable[[int], PermutationKernel], **settings: Any) -> tuple[Any, dict[str, Any]]:
    """Bayesian optimisation with a kernel of one's own for n items, as an entry of `METHODS`.

    `METHODS["mine"] = with_kernel(MyKernel)`, and `minimize(..., method="mine")` uses it; settings are fixed ones of the
    method, such as `acquisition="ucb"`. The kernel's own lengthscale plays no part: one is fitted to the results.
    """

    def orders(n: int) -> Similarity:
        from mergebo.kernels import ComparisonKernel, PermutationKernel

        made = kernel(n)
        plain = isinstance(made, PermutationKernel) and all(
            getattr(type(made), each) is getattr(PermutationKernel, each) for each in ("forward", "_similarity", "distance")
        )
        if not plain:
            raise ArgumentError(
                f"a kernel for n items is a PermutationKernel, exp(-distance / (2 l^2)), got {type(made).__name__} "
                f"for n = {n}; others go into a BoTorch model (the page on BoTorch shows how)"
            )
        if isinstance(made, ComparisonKernel) and type(made)._distance is ComparisonKernel._distance:
            return ByMap(made.map, made.view)
        return ByKernel(made)

    orders(3)  # a wrong kernel is better refused now than after the initial design
    return ModelBased, {"orders": orders, **settings}


def make_method(name: str, **settings: Any) -> Method:
    """The method with this name; settings replace its own, such as `acquisition="ucb"`."""
    if name not in METHODS:
        raise unknown_choice("method", name, METHODS)
    make, fixed = METHODS[name]
    known = [each for each in inspect.signature(make).parameters if each not in fixed]
    for key in settings:
        if key not in known:
            raise ArgumentError(f"{name} has the settings {', '.join(known) or '(none)'}, got {key}={settings[key]!r}")
    method: Method = make(**fixed, **settings)
    return method
