"""The methods by name, with what other modules need to know of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from mergebo.errors import ArgumentError, ArgumentTypeError, unknown_choice
from mergebo.methods.auto import Auto
from mergebo.methods.base import Method
from mergebo.methods.baselines import Genetic, LocalSearch, RandomSearch
from mergebo.methods.single_kernel import (
    SingleKernel,
    footrule_kernel,
    mallows_kernel,
    merge_kernel,
    random_kernel,
    slot_kernel,
)
from mergebo.methods.turbo import Turbo

__all__ = ["METHODS", "MethodInfo", "make_method", "register"]


@dataclass(frozen=True)
class MethodInfo:
    """A method with a name."""

    name: str
    description: str
    """One line."""
    make: Callable[..., Method]
    """Its class, or another function that makes it from its settings."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings that make it what it is, which cannot be changed."""

    @property
    def settings(self) -> list[str]:
        """Names of the settings that can be changed."""
        return [each for each in signature(self.make).parameters if each not in self.fixed]

    def __call__(self, **settings: Any) -> Method:
        """The method with these settings, others at their defaults."""
        known = self.settings
        for key, value in settings.items():
            if key not in known:
                raise ArgumentError(f"{self.name} has the settings {', '.join(known) or '(none)'}, got {key}={value!r}")
        return self.make(**self.fixed, **settings)


def _single(name: str, description: str, kernel: Any) -> MethodInfo:
    return MethodInfo(name, description, SingleKernel, {"kernel": kernel})


METHODS = {
    each.name: each
    for each in (
        MethodInfo("auto", "infers which structure of the orders matters and models it; the default", Auto),
        _single("mergebo", "Gaussian process with the Merge kernel on the order as given (Xie & Chen 2026)", merge_kernel),
        _single(
            "bops-h",
            "Gaussian process with the Mallows kernel on ranks, invariant to relabelling (Deshwal et al. 2022)",
            mallows_kernel,
        ),
        _single("bops-random", "the same with as many random comparisons as Merge has", random_kernel),
        _single("spearman", "Gaussian process with Spearman's footrule", footrule_kernel),
        _single("combo", "Gaussian process with a lengthscale for every slot (Oh et al. 2019)", slot_kernel),
        MethodInfo("turbo", "TuRBO-1 on the unit cube, decoded by sorting (Eriksson et al. 2019)", Turbo),
        MethodInfo("random", "uniform random orders", RandomSearch),
        MethodInfo("local-search", "hill climbing with restarts", LocalSearch),
        MethodInfo("genetic", "order crossover and mutation", Genetic),
    )
}
"""All methods with a name; `register` adds one."""


def register(name: str, make: Callable[..., Method], description: str = "", **fixed: Any) -> None:
    """Give a method a name, for `mergebo bench` and for saved states: `register("ends", SingleKernel, kernel=EndsKernel)`.

    `make` is its class, or another function that makes it from settings; those in `fixed` cannot be changed.
    """
    if not callable(make):
        raise ArgumentTypeError(f"a method is registered with its class or a function that makes it, got {make!r}")
    found = MethodInfo(name, description, make, fixed)
    found()  # raise the errors of a wrong kernel now rather than after the initial design
    METHODS[name] = found


def make_method(method: str | Method, **settings: Any) -> Method:
    """The method with this name; `settings` override its defaults, such as `acquisition="ucb"`. Objects stay as they are."""
    if isinstance(method, str):
        if method not in METHODS:
            raise unknown_choice("method", method, METHODS)
        return METHODS[method](**settings)
    if isinstance(method, type) or not callable(getattr(method, "propose", None)):
        raise ArgumentTypeError(
            f"a method is a name such as 'auto' or an object with `propose`, such as mergebo.methods.Auto(); got {method!r}"
        )
    if settings:
        raise ArgumentError(f"settings belong to the method that was given, {method!r}; got {', '.join(settings)} as well")
    return method


def method_to_data(method: Method) -> tuple[str, dict[str, Any]] | None:
    """The name and the settings of a method as plain data, if it can be made from them again."""
    if not dataclasses.is_dataclass(method):
        return None
    values = {each.name: (getattr(method, each.name), each.default) for each in dataclasses.fields(method)}
    for info in METHODS.values():
        if info.make is type(method) and all(values[name][0] == value for name, value in info.fixed.items()):
            changed = {
                name: value for name, (value, default) in values.items() if name not in info.fixed and value != default
            }
            try:
                json.dumps(changed)
            except TypeError:
                return None
            return info.name, changed
    return None
