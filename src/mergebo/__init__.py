"""Bayesian optimization over permutations, with kernels made from sorting algorithms.

`import mergebo` is light: each part loads when it is first used, and only `mergebo.kernels` needs torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mergebo import errors, kernels, permutations, sorting, testing

__version__ = "0.1.0.dev0"
__all__ = ["__version__", "errors", "kernels", "permutations", "sorting", "testing"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"mergebo.{name}")
    raise AttributeError(f"module 'mergebo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
