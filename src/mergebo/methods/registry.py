"""Registry of methods, their descriptions and the published protocols."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mergebo.errors import ArgumentError, unknown_choice
from mergebo.methods.auto import Auto
from mergebo.methods.base import Method
from mergebo.methods.baselines import Genetic, LocalSearch, RandomSearch
from mergebo.methods.models import ModelBased, footrule_orders, mallows_orders, merge_orders, random_orders, slot_orders
from mergebo.methods.turbo import Turbo
from mergebo.similarity import ComparisonSimilarity, KernelSimilarity, Similarity

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

DESCRIPTIONS = {
    "auto": "infers which structure of the orders matters and models it; the default",
    "mergebo": "Gaussian process with the Merge kernel on the order as given (Xie & Chen 2026)",
    "bops-h": "Gaussian process with the Mallows kernel on ranks, invariant to relabelling (Deshwal et al. 2022)",
    "bops-random": "the same with as many random comparisons as Merge has",
    "spearman": "Gaussian process with Spearman's footrule",
    "combo": "Gaussian process with a lengthscale for every slot (Oh et al. 2019)",
    "turbo": "TuRBO-1 on the unit cube, decoded by sorting (Eriksson et al. 2019)",
    "random": "uniform random orders",
    "local-search": "hill climbing with restarts",
    "genetic": "order crossover and mutation",
}
"""One line about each method."""


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
    settings = dict(PROTOCOLS[name])
    if METHODS[method][0] is not ModelBased:
        return {key: settings[key] for key in PROTOCOL_ARGUMENTS}
    if method != "mergebo":  # the only one whose nearest permutation can be found exactly at any n
        settings.pop("search", None)
    return settings


def with_kernel(kernel: Callable[[int], PermutationKernel], **settings: Any) -> tuple[Any, dict[str, Any]]:
    """Bayesian optimisation with a custom kernel for n items, as an entry of `METHODS`.

    After `METHODS["mine"] = with_kernel(MyKernel)`, `minimize(..., method="mine")` uses it. `settings` are fixed settings of
    the method, such as `acquisition="ucb"`. The lengthscale of the kernel is ignored: one is fitted to the observations.
    """

    def orders(n: int) -> Similarity:
        from mergebo.kernels import ComparisonKernel, PermutationKernel

        made = kernel(n)
        plain = isinstance(made, PermutationKernel) and all(
            getattr(type(made), each) is getattr(PermutationKernel, each) for each in ("forward", "_similarity", "distance")
        )
        if not plain:
            raise ArgumentError(
                f"a kernel for n items must be a PermutationKernel, exp(-distance / (2 l^2)), got {type(made).__name__} "
                f"for n = {n}; others go into a BoTorch model (the page on BoTorch shows how)"
            )
        if isinstance(made, ComparisonKernel) and type(made)._distance is ComparisonKernel._distance:
            return ComparisonSimilarity(made.map, made.view)
        return KernelSimilarity(made)

    orders(3)  # reject a wrong kernel now rather than after the initial design
    return ModelBased, {"orders": orders, **settings}


def make_method(name: str, **settings: Any) -> Method:
    """The method with this name; `settings` override its defaults, such as `acquisition="ucb"`."""
    if name not in METHODS:
        raise unknown_choice("method", name, METHODS)
    make, fixed = METHODS[name]
    known = [each for each in inspect.signature(make).parameters if each not in fixed]
    for key in settings:
        if key not in known:
            raise ArgumentError(f"{name} has the settings {', '.join(known) or '(none)'}, got {key}={settings[key]!r}")
    method: Method = make(**fixed, **settings)
    return method
