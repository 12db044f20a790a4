"""Bayesian optimization over permutations, with kernels made from sorting algorithms.

`import mergebo` is cheap: each subpackage is loaded on first use. `mergebo.kernels` requires the extra `mergebo[torch]`,
`mergebo.testing` the extra `mergebo[testing]`.
"""

from __future__ import annotations

import importlib
import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mergebo import (
        acquisition,
        beliefs,
        distances,
        errors,
        experiments,
        explain,
        gp,
        kernels,
        methods,
        pareto,
        permutations,
        problems,
        similarity,
        sorting,
        spaces,
        testing,
    )
    from mergebo._minimize import Result, minimize
    from mergebo.optimizer import Optimizer
    from mergebo.spaces import Binary, Choice, Integer, Permutation, PermutationSpace, Real, Space
    from mergebo.trials import Trial

__version__ = "0.1.0.dev0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless the application configures logging

_NAMES = {
    **dict.fromkeys(("Binary", "Choice", "Integer", "Permutation", "PermutationSpace", "Real", "Space"), "spaces"),
    "Optimizer": "optimizer",
    "Trial": "trials",
    **dict.fromkeys(("Result", "minimize"), "_minimize"),  # not `minimize`, a module that would hide the function
}

__all__ = [
    "Binary",
    "Choice",
    "Integer",
    "Optimizer",
    "Permutation",
    "PermutationSpace",
    "Real",
    "Result",
    "Space",
    "Trial",
    "__version__",
    "acquisition",
    "beliefs",
    "distances",
    "errors",
    "experiments",
    "explain",
    "gp",
    "kernels",
    "methods",
    "minimize",
    "pareto",
    "permutations",
    "problems",
    "similarity",
    "sorting",
    "spaces",
    "testing",
]
_PARTS = {*__all__} - {*_NAMES} - {"__version__"}

for _part, _package in (("kernels", "gpytorch"), ("testing", "hypothesis")):
    if find_spec(_package) is None:  # so that `from mergebo import *` and `help(mergebo)` still work
        __all__.remove(_part)


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"mergebo.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(f"mergebo.{_NAMES[name]}"), name)
    hint = "; use mergebo.minimize(..., direction='maximize')" if name == "maximize" else ""
    raise AttributeError(f"module 'mergebo' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return __all__
