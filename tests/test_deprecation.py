"""The decorators `deprecated` and `experimental`, and the removal of deprecated names."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.version import Version

import mergebo
from mergebo._deprecation import deprecated, experimental
from mergebo.errors import ExperimentalWarning

TEXT = "deprecated since mergebo 0.2 and will be removed in 0.4"


@deprecated(since="0.2", removed_in="0.4", instead="mb.double")
def twice(x: int, *, times: int = 2) -> int:
    """Double a number.

    Or more.
    """
    return x * times


@experimental(since="0.3")
def untested() -> int:
    return 1


class Plain:
    @deprecated(since="0.2", removed_in="0.4")
    def method(self) -> int:
        return 1

    @property
    @deprecated(since="0.2", removed_in="0.4")
    def old(self) -> int:
        return 2

    @classmethod
    @deprecated(since="0.2", removed_in="0.4")
    def make(cls) -> Plain:
        return cls()


@deprecated(since="0.2", removed_in="0.4")
@dataclass(frozen=True)
class Old:
    """An old class."""

    n: int


@deprecated(since="0.2", removed_in="0.4")
class Base(ABC):
    """An abstract class that records its subclasses."""

    subclasses: list[str] = []  # noqa: RUF012

    def __init_subclass__(cls, /, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        Base.subclasses.append(cls.__name__)

    @abstractmethod
    def method(self) -> int: ...


def caught(use: Callable[[], object], category: type[Warning] = DeprecationWarning) -> str:
    """The message of the single warning of a call, which must point to the line of the call in this file."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        use()
    (warning,) = record
    assert warning.category is category
    lines, start = inspect.getsourcelines(use)
    assert warning.filename == __file__
    assert start <= warning.lineno < start + len(lines)
    return str(warning.message)


def test_function() -> None:
    assert caught(lambda: twice(2)) == f"twice is {TEXT}; use mb.double instead"
    assert twice.__doc__ == f"Double a number.\n\nThis is {TEXT}; use mb.double instead.\n\nOr more."
    assert str(inspect.signature(twice)) == "(x: 'int', *, times: 'int' = 2) -> 'int'"
    with pytest.warns(DeprecationWarning, match="twice"):
        assert twice(2, times=3) == 6


def test_experimental() -> None:
    text = "experimental since mergebo 0.3; it may change in any release"
    assert caught(lambda: untested(), ExperimentalWarning) == f"untested is {text}"
    assert untested.__doc__ == f"This is {text}."


def test_methods() -> None:
    plain = Plain()
    assert caught(lambda: plain.method()) == f"Plain.method is {TEXT}"
    assert caught(lambda: plain.old) == f"Plain.old is {TEXT}"
    assert caught(lambda: Plain.make()) == f"Plain.make is {TEXT}"


def test_class() -> None:
    assert caught(lambda: Old(3)) == f"Old is {TEXT}"
    assert Old.__doc__ == f"An old class.\n\nThis is {TEXT}."
    assert str(inspect.signature(Old)) == "(n: 'int') -> None"
    with pytest.warns(DeprecationWarning, match="Old"):
        old = Old(3)
    assert isinstance(old, Old)
    assert copy.deepcopy(old) == pickle.loads(pickle.dumps(old)) == old  # no warning: the code does not use its name


def test_subclass_of_class() -> None:
    def define() -> None:
        @dataclass(frozen=True)
        class Mine(Old):  # its __init__ does not call that of Old
            m: int

        assert Mine(1, 2).n == 1

    assert caught(define) == f"Old is {TEXT}"


def test_subclass_of_abstract_class_with_init_subclass() -> None:
    def define() -> None:
        class Mine(Base):
            def method(self) -> int:
                return 1

        assert Mine().method() == 1

    assert caught(define) == f"Base is {TEXT}"
    assert Base.subclasses == ["Mine"]


def removals(source: str) -> list[tuple[str, str]]:
    """`since` and `removed_in` of every use of the decorator in a source file."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", None)) == "deprecated":
            settings = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords}
            found.append((settings["since"], settings["removed_in"]))
    return found


def may_exist(since: str, removed_in: str, version: str) -> bool:
    """Whether a deprecation follows the policy of docs/releasing.md and is not due for removal in this version."""
    first, last = Version(since), Version(removed_in)
    at_least_two = last.major > first.major or last.minor - first.minor >= 2
    return at_least_two and Version(Version(version).base_version) < last


def test_removals_are_found() -> None:
    assert removals(Path(__file__).read_text()).count(("0.2", "0.4")) == 6


@pytest.mark.parametrize(
    ("since", "removed_in", "version", "expected"),
    [
        ("0.2", "0.4", "0.3.7", True),
        ("0.2", "0.4", "0.4.0", False),
        ("0.2", "0.4", "0.4.0.dev0", False),
        ("0.2", "0.4", "1.0.0", False),
        ("0.2", "0.3", "0.2.0", False),
        ("0.9", "1.0", "0.9.1", True),
        ("0.9", "0.11", "0.10.0", True),
    ],
)
def test_policy(since: str, removed_in: str, version: str, expected: bool) -> None:
    assert may_exist(since, removed_in, version) is expected


@pytest.mark.slow
def test_nothing_deprecated_is_overdue() -> None:
    for path in Path(mergebo.__file__).parent.rglob("*.py"):
        for since, removed_in in removals(path.read_text()):
            assert may_exist(since, removed_in, mergebo.__version__), f"{path}: since {since}, to be removed in {removed_in}"
