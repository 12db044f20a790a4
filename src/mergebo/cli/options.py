"""Options that several commands share: storages and studies, methods, and what defines a search space."""

from __future__ import annotations

import csv
import functools
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from mergebo._text import DEFAULT_STORAGE as DEFAULT_STORAGE
from mergebo._text import ORDER, escape_control
from mergebo.errors import ArgumentError, MergeboError, unknown_choice

if TYPE_CHECKING:
    from mergebo.optimizer import Direction
    from mergebo.spaces import Space, Variable

Storage = Annotated[
    str,
    typer.Option(
        envvar="MERGEBO_STORAGE",
        help="Storage of the studies: `sqlite:///file.db`, `postgresql://user@host/db`, `mysql://...` or `journal:///file.log`.",
    ),
]
Name = Annotated[str, typer.Option("--study", envvar="MERGEBO_STUDY", help="Name of the study, if the storage has several.")]

Directions = Annotated[
    list[str] | None,
    typer.Option("--direction", help="`minimize` (the default) or `maximize`; once for each objective."),
]
Method = Annotated[str, typer.Option(help="Optimization method; `mergebo methods` lists them.")]
Initial = Annotated[int, typer.Option(min=1, help="Number of initial points, before the model is used.")]
Noisy = Annotated[bool, typer.Option("--noisy", help="Values are noisy: repeated evaluations of a point differ.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed; the same seed and results give the same points.")]

RESERVED = frozenset({"trial", "state", "value", "noise", "reason", "json", "result"})
"""Names of table columns and of placeholders in commands, which variables may not have."""
NONE: Any = ()

ITEMS, CONSTRAINTS, VARIABLES = "Items", "Constraints", "Other variables"
"""Panels of the help text."""


def read_items(text: str) -> list[str]:
    """Read items, from a file with one item per line or separated by commas; an item with a comma is quoted."""
    path = Path(text)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):  # too long for a file name, or with a character that file names do not have
        is_file = False
    if is_file:
        try:
            lines = path.read_text(encoding="utf-8-sig").split("\n")
        except UnicodeDecodeError as error:
            raise ArgumentError(f"{text} is not a text file in UTF-8: {error}") from error
        except OSError as error:
            raise ArgumentError(f"{text} cannot be read: {error.strerror}") from error
        items = [line.strip() for line in lines if line.strip()]
    else:
        items = _split_commas(f"--items {text!r}", text)
    for item in items:
        if escape_control(item) != item:
            raise ArgumentError(f"the item {item!r} has a character that cannot be shown")
    if len(items) > 1:
        return items
    problem = (
        f"{text} has fewer than two items" if is_file else f"{text!r} is neither a file nor a list of two items or more"
    )
    raise ArgumentError(f"{problem}; items are a,b,c or a file with one item per line")


def _split_commas(what: str, text: str) -> list[str]:
    """Split a text at its commas; parts may be quoted."""
    try:
        parts = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise ArgumentError(
            f"{what} cannot be read ({error}); quote what contains commas or quotes, and double the quotes inside: "
            """'salt,"acid, dry","5"" pipe"'"""
        ) from error
    parts = [part.strip() for part in parts]
    if not all(parts):
        raise ArgumentError(f"{what} has an empty part between its commas; remove the surplus comma")
    return parts


def _option(panel: str, text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel)


@dataclass(frozen=True)
class SpaceOptions:
    """The options that define a space, shared by the commands that create a study."""

    items: Annotated[str, _option(ITEMS, "The items to order: `a,b,c`, or a file with one item per line.")]
    repeated: Annotated[bool, _option(ITEMS, "Allow items that occur more than once.", "--repeated")] = False
    choose: Annotated[
        int | None, typer.Option(help="Number of items in an order; all of them by default.", rich_help_panel=ITEMS, min=1)
    ] = None
    symmetry: Annotated[
        list[str],
        _option(ITEMS, "`cycle`: rotated orders are equivalent; `reversal`: reversed orders are equivalent. Repeatable."),
    ] = NONE
    before: Annotated[
        list[str], _option(CONSTRAINTS, "`acid:base`: acid comes before base. Repeatable, like all constraints.")
    ] = NONE
    fixed: Annotated[list[str], _option(CONSTRAINTS, "`water:0`: water is in slot 0, the first one.")] = NONE
    window: Annotated[list[str], _option(CONSTRAINTS, "`water:2-5`: water is in one of slots 2 to 5.")] = NONE
    adjacent: Annotated[list[str], _option(CONSTRAINTS, "`acid:base`: acid and base are next to each other.")] = NONE
    apart: Annotated[list[str], _option(CONSTRAINTS, "`acid:base`: acid and base are not next to each other.")] = NONE
    real: Annotated[
        list[str], _option(VARIABLES, "`heat=20:80`, or `time=0.1:10:log` for a log scale. Repeatable, like all variables.")
    ] = NONE
    integer: Annotated[list[str], _option(VARIABLES, "`cycles=1:40`, or `cycles=1:1000:log` for a log scale.")] = NONE
    choice: Annotated[list[str], _option(VARIABLES, "`salt=K,Na,Li`: one of these options.")] = NONE
    binary: Annotated[list[str], _option(VARIABLES, "`picks=12`: twelve 0/1 variables.")] = NONE

    def space(self) -> Space:
        """The space; raises an error that names the invalid option."""
        from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, Space

        items = read_items(self.items)
        duplicates = [item for item, count in Counter(items).items() if count > 1]
        if duplicates and not self.repeated:
            raise ArgumentError(f"duplicate items: {', '.join(map(repr, duplicates))}; use --repeated if this is intended")
        variables: dict[str, Variable] = {
            ORDER: Permutation(
                items=items,
                choose=self.choose,
                symmetry=self.symmetry,  # type: ignore[arg-type]
                before=self._pairs("--before", self.before, items),
                adjacent=self._pairs("--adjacent", self.adjacent, items),
                apart=self._pairs("--apart", self.apart, items),
                fixed=dict(self._slots("--fixed", self.fixed, items, _slot)),
                window=dict(self._slots("--window", self.window, items, _window)),
            )
        }
        for option, parse, arguments in (
            ("--real", lambda text: _bounds(Real, float, text), self.real),
            ("--integer", lambda text: _bounds(Integer, int, text), self.integer),
            ("--choice", lambda text: Choice(_split_commas(repr(text), text)), self.choice),
            ("--binary", lambda text: Binary(int(text)), self.binary),
        ):
            for argument in arguments:
                name, equals, text = argument.partition("=")
                try:
                    if not equals:
                        raise ValueError("name= is missing")
                    name = _name(name.strip())
                    variable = parse(text)
                except (MergeboError, ValueError) as error:
                    raise ArgumentError(f"invalid {option} {argument!r} ({error}); {EXAMPLES[option]}") from error
                if name in variables:
                    raise ArgumentError(f"two variables are called {name!r}: {option} {argument!r}; rename one of them")
                variables[name] = variable
        return Space(**variables)

    @staticmethod
    def _pairs(option: str, arguments: Iterable[str], items: Sequence[str]) -> list[tuple[str, str]]:
        """Parse pairs of items, separated by a colon; items may contain colons, too."""
        return [_split(option, argument, items, lambda text: text if text in items else None) for argument in arguments]

    @staticmethod
    def _slots(
        option: str, arguments: Iterable[str], items: Sequence[str], parse: Callable[[str], Any]
    ) -> list[tuple[str, Any]]:
        """Parse items with a slot or window."""
        return [_split(option, argument, items, parse) for argument in arguments]


def with_space_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `SpaceOptions`, which it gets as its parameter `options`."""
    own, hints = inspect.signature(command), get_type_hints(SpaceOptions, include_extras=True)
    options = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[each.name],
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
        )
        for each in fields(SpaceOptions)
    ]

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        space_options = SpaceOptions(**{each.name: arguments.pop(each.name) for each in options})
        command(options=space_options, **arguments)

    own_hints = get_type_hints(command, include_extras=True)
    rest = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=own_hints[each.name])
        for each in own.parameters.values()
        if each.name != "options"
    ]
    run.__signature__ = inspect.Signature([*options, *rest])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in (*options, *rest)}
    return run


EXAMPLES = {
    "--before": "use it like --before acid:base",
    "--adjacent": "use it like --adjacent acid:base",
    "--apart": "use it like --apart acid:base",
    "--fixed": "use it like --fixed water:0; slots are counted from 0",
    "--window": "use it like --window water:2-5; slots are counted from 0",
    "--real": "use it like --real temperature=20:80, or time=0.1:10:log",
    "--integer": "use it like --integer cycles=1:40, or cycles=1:1000:log",
    "--choice": "use it like --choice salt=K,Na,Li",
    "--binary": "use it like --binary picks=12",
}


def _split(option: str, argument: str, items: Sequence[str], parse: Callable[[str], Any]) -> tuple[str, Any]:
    """Split an argument into an item and something that `parse` accepts, at a colon; both may contain colons."""
    colons = [k for k, character in enumerate(argument) if character == ":"]
    halves = [(argument[:k].strip(), argument[k + 1 :].strip()) for k in colons]
    found = [(item, value) for item, text in halves if item in items and (value := parse(text)) is not None]
    if len(found) == 1:
        return found[0]
    if found:
        readings = " or ".join(f"{item!r} and {value!r}" for item, value in found)
        raise ArgumentError(f"{option} {argument!r} is ambiguous: {readings}; rename an item")
    for half in halves[0] if len(halves) == 1 else ():
        if half not in items and (half == halves[0][0] or option in ("--before", "--adjacent", "--apart")):
            raise unknown_choice(f"an item of {option} {argument!r}", half, items)
    raise ArgumentError(f"invalid {option} {argument!r}; {EXAMPLES[option]}")


def _name(name: str) -> str:
    """Check the name of a variable, which is also a placeholder of a command and a column of a table."""
    if name in RESERVED:
        raise ValueError(f"{name!r} is reserved in commands and tables; choose another name")
    if not re.fullmatch(r"[\w.-]+", name):
        raise ValueError(f"a name consists of letters, digits, '_', '.' and '-', got {name!r}")
    return name


def _slot(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _window(text: str) -> tuple[int, int] | None:
    first, dash, last = text.partition("-")
    return (int(first), int(last)) if dash and first.isdecimal() and last.isdecimal() else None


NumericVariable = TypeVar("NumericVariable")


def _bounds(variable: Callable[..., NumericVariable], number: Callable[[str], Any], text: str) -> NumericVariable:
    """Parse `low:high`, or `low:high:log`."""
    low, first_colon, rest = text.partition(":")
    if not first_colon:
        raise ValueError("low:high is missing")
    high, second_colon, scale = rest.partition(":")
    if second_colon and scale != "log":
        raise ValueError(f"{scale!r} is not 'log'")
    return variable(number(low), number(high), log=bool(second_colon))


def check_directions(given: Sequence[str] | None) -> list[Direction]:
    """The directions of the objectives, `minimize` by default."""
    from mergebo.optimizer import Direction

    known: tuple[Direction, ...] = get_args(Direction)
    for each in given or ():
        if each not in known:
            raise unknown_choice("--direction", each, known)
    return [known[known.index(each)] for each in given or ("minimize",)]
