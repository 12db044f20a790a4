"""Decorators for deprecated and experimental names.

Both put a notice below the first paragraph of the docstring, and warn at each use; the warning points to the caller's line.
Creating an instance of a class and defining a subclass are uses. The decorators go above `@dataclass`, but below
`@property`, `@classmethod` and `@staticmethod`.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from mergebo.errors import ExperimentalWarning

__all__ = ["deprecated", "experimental"]

Target = TypeVar("Target", bound=Callable[..., Any])


def deprecated(*, since: str, removed_in: str, instead: str | None = None) -> Callable[[Target], Target]:
    """Mark a function, method or class that a later version removes.

    `since` is the version that deprecates it, such as "0.2"; `removed_in` is the one without it, such as "0.4"; `instead` is
    what to use, as users write it.
    """
    text = f"deprecated since mergebo {since} and will be removed in {removed_in}"
    return lambda target: _marked(target, f"{text}; use {instead} instead" if instead else text, DeprecationWarning)


def experimental(*, since: str) -> Callable[[Target], Target]:
    """Mark a function, method or class, new in version `since`, that may change or disappear in any release."""
    text = f"experimental since mergebo {since}; it may change in any release"
    return lambda target: _marked(target, text, ExperimentalWarning)


def _marked(target: Target, text: str, category: type[Warning]) -> Target:
    """`target` with the notice in its docstring, warning when it is used."""
    summary, _, rest = inspect.cleandoc(target.__doc__ or "").partition("\n\n")
    target.__doc__ = "\n\n".join(part for part in (summary, f"This is {text}.", rest) if part)
    message = f"{target.__qualname__} is {text}"
    if isinstance(target, type):
        _warn_of_class(target, message, category)
        return target

    @functools.wraps(target)
    def warning(*args: Any, **kwargs: Any) -> Any:
        _warn(message, category)
        return target(*args, **kwargs)

    return cast("Target", warning)


def _warn_of_class(target: type[Any], message: str, category: type[Warning]) -> None:
    """Warn when the class is instantiated or subclassed, but not when a subclass is instantiated."""
    init = target.__init__
    init_subclass = vars(target).get("__init_subclass__")

    @functools.wraps(init)
    def warning_init(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is target:
            _warn(message, category)
        init(self, *args, **kwargs)

    def warning_init_subclass(cls: type[Any], /, **kwargs: Any) -> None:
        _warn(message, category)
        if init_subclass is None:
            super(target, cls).__init_subclass__(**kwargs)
        else:
            init_subclass.__func__(cls, **kwargs)

    target.__init__ = warning_init
    target.__init_subclass__ = classmethod(warning_init_subclass)  # type: ignore[assignment]


def _warn(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside of this module and of `abc`, whose metaclass is between a subclass and this one."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__") in (__name__, "abc"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
