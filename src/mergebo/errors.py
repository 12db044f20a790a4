"""Every error that mergebo raises on purpose.

One root, `MergeboError`, so that a caller can catch everything of ours; each error is also the builtin that fits, so that
code which never heard of mergebo catches it too. Messages show the offending values and the way out.
"""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = [
    "ArgumentError",
    "ExhaustedError",
    "ExperimentalWarning",
    "InstanceFileError",
    "InvalidCodeError",
    "MergeboError",
    "MissingExtraError",
    "NotAPermutationError",
    "NotNumbersError",
    "ProgramError",
    "RecordFileError",
    "RuleError",
    "SearchLimitError",
    "ShapeError",
    "SlotError",
    "StoppedError",
    "StorageError",
    "TableError",
    "TrialError",
    "UnsupportedError",
    "extra",
    "require",
    "unknown_choice",
]


class MergeboError(Exception):
    """Root of all errors raised by mergebo."""


class NotAPermutationError(MergeboError, ValueError):
    """A row does not hold each of 0..n-1 exactly once."""


class NotNumbersError(MergeboError, TypeError):
    """Something that cannot be read as an array of whole numbers."""


class ShapeError(MergeboError, ValueError):
    """An array has the wrong shape, or a size that cannot be."""


class SlotError(MergeboError, IndexError):
    """A slot number outside 0..n-1."""


class ArgumentError(MergeboError, ValueError):
    """An option has a value that is not among the possible ones."""


class RuleError(MergeboError, ValueError):
    """An order that breaks a rule of its space, or rules that no order keeps."""


class ExhaustedError(MergeboError, RuntimeError):
    """There is no point left that was not tried."""


class TrialError(MergeboError, ValueError):
    """A result for a trial that is unknown or has one already, or a result that is not a number."""


class InvalidCodeError(MergeboError, ValueError):
    """Bits that no permutation has under the map that should decode them."""


class UnsupportedError(MergeboError, NotImplementedError):
    """The object has no such operation, for a reason that the message gives."""


class InstanceFileError(MergeboError, ValueError):
    """A problem file that cannot be read; the message gives the file, the line and what is wrong there."""


class RecordFileError(MergeboError, ValueError):
    """A file of results with a line that cannot be read; the message gives the file and the line."""


class StorageError(MergeboError, RuntimeError):
    """A storage of studies that cannot be opened, or a study in it that is not there or not what was expected."""


class TableError(MergeboError, ValueError):
    """A table of results that cannot be read; the message gives the file, the lines and what is wrong there."""


class SearchLimitError(MergeboError, RuntimeError):
    """An exact search was stopped at its limit before it had proved its answer."""


class ProgramError(MergeboError, RuntimeError):
    """The user's program did not report a value; the message says what it did instead."""


class StoppedError(MergeboError, RuntimeError):
    """Stopped on request before there was a value, which is no failure of what was tried."""


class MissingExtraError(MergeboError, ImportError):
    """A package that is not installed; the message says which extra of mergebo brings it."""


class ExperimentalWarning(UserWarning):
    """Something is used that may change or disappear in any release."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Around the imports of what an extra of mergebo brings: a package that is missing is an error with the way out."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a package").partition(".")[0]
        raise MissingExtraError(f"{package} is not installed; get it with: pip install 'mergebo[{name}]'") from error


def require(name: str, *packages: str) -> None:
    """An error if a package of an extra is not installed; none is loaded. For checks before anything is run."""
    with extra(name):
        for package in packages:
            if importlib.util.find_spec(package) is None:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def unknown_choice(what: str, given: object, choices: Iterable[str]) -> ArgumentError:
    """The error for a name that is not among `choices`, with the nearest name as a hint."""
    names = list(choices)
    close = difflib.get_close_matches(str(given), names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return ArgumentError(f"{what} must be one of {', '.join(map(repr, names))}, got {given!r}{hint}")
