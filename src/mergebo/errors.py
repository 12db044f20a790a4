"""The exceptions of mergebo.

All derive from `MergeboError`, so that a caller can catch everything with one clause. Each is also a subclass of the fitting
builtin, so that generic handlers work too. Messages show the offending values and how to fix them.
"""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = [
    "AccidentError",
    "ArgumentError",
    "ArgumentTypeError",
    "CancelledError",
    "ConstraintError",
    "ExhaustedError",
    "ExperimentalWarning",
    "InstanceFileError",
    "InvalidCodeError",
    "MergeboError",
    "MissingExtraError",
    "NotAPermutationError",
    "ProgramError",
    "RecordFileError",
    "SearchLimitError",
    "ShapeError",
    "SlotError",
    "StorageError",
    "TableError",
    "TrialError",
    "UnsupportedError",
    "extra",
    "require",
    "unknown_choice",
]


class MergeboError(Exception):
    """Base class of all errors raised by mergebo."""


class NotAPermutationError(MergeboError, ValueError):
    """A row does not hold each of 0..n-1 exactly once."""


class ArgumentTypeError(MergeboError, TypeError):
    """An argument of the wrong type."""


class ShapeError(MergeboError, ValueError):
    """An array has the wrong shape or an invalid size."""


class SlotError(MergeboError, IndexError):
    """A slot number outside 0..n-1."""


class ArgumentError(MergeboError, ValueError):
    """An argument has an invalid value."""


class ConstraintError(MergeboError, ValueError):
    """An order violates the constraints of its space, or the constraints are infeasible."""


class ExhaustedError(MergeboError, RuntimeError):
    """Every point of the space has been tried."""


class TrialError(MergeboError, ValueError):
    """An observation for an unknown or already completed trial, or one that is not a number."""


class InvalidCodeError(MergeboError, ValueError):
    """Bits that are not the code of any permutation under this comparison map."""


class UnsupportedError(MergeboError, NotImplementedError):
    """The object does not support this operation; the message gives the reason."""


class InstanceFileError(MergeboError, ValueError):
    """A malformed problem file; the message gives the file, the line and the error."""


class RecordFileError(MergeboError, ValueError):
    """A malformed line in a file of recorded runs; the message gives the file and the line."""


class StorageError(MergeboError, RuntimeError):
    """A study storage that cannot be opened, or a study in it that is missing or of another kind."""


class TableError(MergeboError, ValueError):
    """A malformed table of results; the message gives the file, the lines and the error."""


class SearchLimitError(MergeboError, RuntimeError):
    """An exact search reached its limit before it could prove its answer."""


class ProgramError(MergeboError, RuntimeError):
    """The user's program did not report a value; the message shows what it did instead."""


class AccidentError(ProgramError):
    """The user's program ended in a way that says nothing about the point, such as a signal of the system."""


class CancelledError(MergeboError, RuntimeError):
    """An evaluation was stopped on request before it returned a value; the trial has not failed."""


class MissingExtraError(MergeboError, ImportError):
    """A package is not installed; the message names the extra of mergebo that provides it."""


class ExperimentalWarning(UserWarning):
    """An experimental feature, which may change or be removed in any release."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Context for imports that need an extra of mergebo: a missing package raises an error with the `pip install` to run."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a package").partition(".")[0]
        raise MissingExtraError(f"{package} is not installed; get it with: pip install 'mergebo[{name}]'") from error


def require(name: str, *packages: str) -> None:
    """Raise an error if a package of an extra is not installed. Imports nothing, so it is a cheap check in advance."""
    with extra(name):
        for package in packages:
            if importlib.util.find_spec(package) is None:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def unknown_choice(what: str, given: object, choices: Iterable[str]) -> ArgumentError:
    """The error for a name that is not among `choices`; suggests the closest match."""
    names = list(choices)
    close = difflib.get_close_matches(str(given), names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return ArgumentError(f"{what} must be one of {', '.join(map(repr, names))}, got {given!r}{hint}")
