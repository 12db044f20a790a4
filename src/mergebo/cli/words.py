"""Spaces in the words of the command line: items, rules and quantities."""

from __future__ import annotations

import csv
import functools
import inspect
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from mergebo.cli.screen import visible
from mergebo.errors import ArgumentError, MergeboError, unknown_choice

if TYPE_CHECKING:
    from mergebo.spaces import Space, Variable

ORDER = "order"
"""What the order is called."""
RESERVED = frozenset({"trial", "state", "value", "noise", "reason", "json", "result"})
"""Names that mean something else: columns of a table, and placeholders of a command."""
NONE: Any = ()

WHAT, RULES, MORE = "What to order", "Rules that every order keeps", "Quantities beside the order"


def read_items(given: str) -> list[str]:
    """Items from a file, one in a line, or separated by commas; one with a comma in it is put in quotes."""
    path = Path(given)
    try:
        there = path.is_file()
    except (OSError, ValueError):  # too long for a name, or with a character that no name has
        there = False
    if there:
        try:
            lines = path.read_text(encoding="utf-8-sig").split("\n")
        except UnicodeDecodeError as error:
            raise ArgumentError(f"{given} is not a text file in UTF-8: {error}") from error
        except OSError as error:
            raise ArgumentError(f"{given} cannot be read: {error.strerror}") from error
        found = [line.strip() for line in lines if line.strip()]
    else:
        found = _listed(f"--items {given!r}", given)
    for item in found:
        if visible(item) != item:
            raise ArgumentError(f"the item {item!r} has a character that cannot be shown")
    if len(found) > 1:
        return found
    why = f"{given} has no two lines" if there else f"there is no file {given!r}, and no comma between two items"
    raise ArgumentError(f"{why}; items are a,b,c or a file with one item in a line")


def read_number(text: str, what: str, error: type[MergeboError], hint: str = "") -> float:
    """A finite number, or an error that says what should be one, for nan and infinity with a hint."""
    try:
        value = float(text)
    except ValueError:
        raise error(f"{what} is a number, got {text!r}") from None
    if not math.isfinite(value):
        raise error(f"{what} is a finite number, got {text!r}{hint}")
    return value


def _listed(what: str, text: str) -> list[str]:
    """What is separated by commas, perhaps in quotes."""
    try:
        found = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise ArgumentError(
            f"{what} cannot be read ({error}); what has commas or quotes in it is written in quotes, and quotes in that "
            """twice: 'salt,"acid, dry","5"" pipe"'"""
        ) from error
    return [each.strip() for each in found if each.strip()]


def _option(panel: str, text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel)


@dataclass(frozen=True)
class Words:
    """What was said about a space: the options of every command that begins a study."""

    items: Annotated[str, _option(WHAT, "What is put in order: `a,b,c`, or a file with one item in a line.")]
    repeated: Annotated[bool, _option(WHAT, "Items may be there more than once.", "--repeated")] = False
    choose: Annotated[
        int | None, typer.Option(help="How many of the items an order has; all otherwise.", rich_help_panel=WHAT, min=1)
    ] = None
    symmetry: Annotated[list[str], _option(WHAT, "`cycle`: a round; `reversal`: the same backwards. Repeatable.")] = NONE
    before: Annotated[list[str], _option(RULES, "`acid:base`: acid comes before base. Repeatable, as are all of these.")] = (
        NONE
    )
    fixed: Annotated[list[str], _option(RULES, "`water:0`: water is in slot 0, the first.")] = NONE
    window: Annotated[list[str], _option(RULES, "`water:2-5`: water is in one of the slots 2 to 5.")] = NONE
    adjacent: Annotated[list[str], _option(RULES, "`acid:base`: they are neighbours.")] = NONE
    apart: Annotated[list[str], _option(RULES, "`acid:base`: they are not neighbours.")] = NONE
    real: Annotated[list[str], _option(MORE, "`heat=20:80`, or `time=0.1:100:log` if ratios count. Repeatable.")] = NONE
    integer: Annotated[list[str], _option(MORE, "`cycles=1:40`, or `cycles=1:1000:log`.")] = NONE
    choice: Annotated[list[str], _option(MORE, "`salt=K,Na,Li`: one of them.")] = NONE
    binary: Annotated[list[str], _option(MORE, "`picks=12`: twelve times yes or no.")] = NONE

    def space(self) -> Space:
        """The space, or an error that says which word is wrong."""
        from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, Space

        items = read_items(self.items)
        twice = [item for item, count in Counter(items).items() if count > 1]
        if twice and not self.repeated:
            raise ArgumentError(f"more than once there is {', '.join(map(repr, twice))}; if that is meant, say --repeated")
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
        for option, made, words in (
            ("--real", lambda text: _bounds(Real, float, text), self.real),
            ("--integer", lambda text: _bounds(Integer, int, text), self.integer),
            ("--choice", lambda text: Choice(_listed("it", text)), self.choice),
            ("--binary", lambda text: Binary(int(text)), self.binary),
        ):
            for word in words:
                name, equals, text = word.partition("=")
                try:
                    if not equals:
                        raise ValueError("there is no name=")
                    name = _name(name.strip())
                    variable = made(text)
                except (MergeboError, ValueError) as error:
                    raise ArgumentError(f"{option} {word!r} cannot be read ({error}); {EXAMPLES[option]}") from error
                if name in variables:
                    raise ArgumentError(f"two variables are called {name!r}: {option} {word!r}; call one of them otherwise")
                variables[name] = variable
        return Space(**variables)

    @staticmethod
    def _pairs(option: str, words: Iterable[str], items: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of items that are written with a colon between them, of which items may have some themselves."""
        return [_split(option, word, items, lambda text: text if text in items else None) for word in words]

    @staticmethod
    def _slots(option: str, words: Iterable[str], items: Sequence[str], read: Callable[[str], Any]) -> list[tuple[str, Any]]:
        return [_split(option, word, items, read) for word in words]


def about_a_space(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of `Words` in the place of its parameter `words`."""
    own, hints = inspect.signature(command), get_type_hints(Words, include_extras=True)
    options = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[each.name],
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
        )
        for each in fields(Words)
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        words = Words(**{each.name: given.pop(each.name) for each in options})
        command(words=words, **given)

    known = get_type_hints(command, include_extras=True)
    rest = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=known[each.name])
        for each in own.parameters.values()
        if each.name != "words"
    ]
    run.__signature__ = inspect.Signature([*options, *rest])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in (*options, *rest)}
    return run


EXAMPLES = {
    "--before": "it reads like --before acid:base",
    "--adjacent": "it reads like --adjacent acid:base",
    "--apart": "it reads like --apart acid:base",
    "--fixed": "it reads like --fixed water:0, slots are counted from 0",
    "--window": "it reads like --window water:2-5, slots are counted from 0",
    "--real": "it reads like --real temperature=20:80, or time=0.1:100:log",
    "--integer": "it reads like --integer cycles=1:40, or cycles=1:1000:log",
    "--choice": "it reads like --choice salt=K,Na,Li",
    "--binary": "it reads like --binary picks=12",
}


def _split(option: str, word: str, items: Sequence[str], read: Callable[[str], Any]) -> tuple[str, Any]:
    """An item, a colon and something that can be read; both may have colons in them."""
    places = [k for k, character in enumerate(word) if character == ":"]
    halves = [(word[:k].strip(), word[k + 1 :].strip()) for k in places]
    found = [(item, value) for item, text in halves if item in items and (value := read(text)) is not None]
    if len(found) == 1:
        return found[0]
    if found:
        ways = " or ".join(f"{item!r} and {value!r}" for item, value in found)
        raise ArgumentError(f"{option} {word!r} can be read as {ways}; rename an item")
    for half in halves[0] if len(halves) == 1 else ():
        if half not in items and (half == halves[0][0] or option in ("--before", "--adjacent", "--apart")):
            raise unknown_choice(f"an item of {option} {word!r}", half, items)
    raise ArgumentError(f"{option} {word!r} cannot be read; {EXAMPLES[option]}")


def _name(name: str) -> str:
    """The name of a quantity, which is also a placeholder of a command and a column of a table."""
    if name in RESERVED:
        raise ValueError(f"{name!r} is something else in commands and tables; call it otherwise")
    if not re.fullmatch(r"[\w.-]+", name):
        raise ValueError(f"a name has letters, digits, and the characters _ . - but is not empty, got {name!r}")
    return name


def _slot(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _window(text: str) -> tuple[int, int] | None:
    first, dash, last = text.partition("-")
    return (int(first), int(last)) if dash and first.isdecimal() and last.isdecimal() else None


Made = TypeVar("Made")


def _bounds(made: Callable[..., Made], number: Callable[[str], Any], text: str) -> Made:
    """`low:high`, or `low:high:log`."""
    low, between, rest = text.partition(":")
    if not between:
        raise ValueError("there is no low:high")
    high, colon, scale = rest.partition(":")
    if colon and scale != "log":
        raise ValueError(f"{scale!r} is not 'log'")
    return made(number(low), number(high), log=bool(colon))
