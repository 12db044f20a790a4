"""The command that runs a program for a point, such as `./simulate {order}`, with placeholders for what differs.

| in the command | becomes |
|---|---|
| `{order}`, the name of a variable, as an argument of its own | one argument for each item |
| `--order={order}`, inside an argument | the items, joined by commas |
| `{order:-}` | the items, joined by `-` or any other separator, such as a space: always one argument |
| `{heat}`, the name of a variable that is not a list | its value |
| `{json}` | the whole point as JSON, one argument |
| `{trial}` | the trial number |
| `{result}` | a file for the result of the program; without it, the standard output is read |
| `{{` and `}}` | a brace |

The command is split as a shell would split it, but without a shell and before any value is filled in, so no item name can
become another argument or a command. With `shell=True` it is a command for `/bin/sh`, with pipes and variables; values are
passed as shell variables, which are never executed as code. Placeholders are quoted automatically there, so quotes around
them are an error. Items that begin with `-` look like options: write `./simulate -- {order}`, which most programs accept.

The environment variables `MERGEBO_POINT` and `MERGEBO_TRIAL` hold the point, as JSON, and the trial number, too.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mergebo._text import excerpt
from mergebo.errors import ArgumentError, unknown_choice

__all__ = ["SHELL", "Command", "as_json"]

RESERVED_NAMES = ("json", "trial", "result")
"""Placeholders that are not names of variables."""
SHELL = "/bin/sh"
"""The shell that runs a command with `shell=True`."""
WORD_BOUNDARIES = " \t\n;|&()<>"
"""Characters that end a word in a shell."""
BRACES = "write a literal brace twice, {{ or }}"


# The command and its placeholders


class Placeholder(NamedTuple):
    """`{name}` or `{name:separator}`."""

    name: str
    separator: str | None = None

    def __str__(self) -> str:
        return f"{{{self.name}}}" if self.separator is None else f"{{{self.name}:{self.separator}}}"


class Template(NamedTuple):
    """Texts with placeholders between them; there is one text more than placeholders."""

    texts: list[str]
    placeholders: list[Placeholder]

    def is_separate(self, k: int, boundaries: str) -> bool:
        """Whether placeholder k has only the ends of the template, or one of these characters, on either side."""
        before, after = self.texts[k], self.texts[k + 1]
        begins = before[-1] in boundaries if before else k == 0
        ends = after[0] in boundaries if after else k == len(self.placeholders) - 1
        return begins and ends


_BRACE = re.compile(r"(?P<doubled>\{\{|\}\})|\{(?P<name>[^{}:]*)(?::(?P<separator>[^{}]*))?\}|(?P<lone>[{}])")


def read_template(command: str) -> Template:
    """Parse a command with placeholders.

    >>> read_template("sort --by={order:-} '{{}}'")
    Template(texts=['sort --by=', " '{}'"], placeholders=[Placeholder(name='order', separator='-')])
    """
    if not command.strip():
        raise ArgumentError("the command is empty; it should be like './simulate {order}'")
    if "\0" in command:
        raise ArgumentError(f"the command has a NUL character: {excerpt(command)}")
    template, end = Template([""], []), 0
    for match in _BRACE.finditer(command):
        template.texts[-1] += command[end : match.start()]
        end = match.end()
        if match["lone"]:
            raise ArgumentError(
                f"unmatched {match['lone']} in the command, at the end of '{excerpt(command[:end])}' ({BRACES})"
            )
        if match["doubled"]:
            template.texts[-1] += match["doubled"][0]
        else:
            template.placeholders.append(Placeholder(match["name"], match["separator"]))
            template.texts.append("")
    template.texts[-1] += command[end:]
    return template


def split_template(template: Template) -> list[Template]:
    """Split a command into arguments before values are filled in, so that a placeholder is never split."""
    marks = [f"\0{k}\0" for k in range(len(template.placeholders))]
    marked = "".join(text + mark for text, mark in zip(template.texts, [*marks, ""], strict=True))
    try:
        words = [re.split(r"\0(\d+)\0", word) for word in shlex.split(marked)]
    except ValueError as error:
        raise ArgumentError(f"the quotes in the command do not match: {error}") from None
    return [Template(word[::2], [template.placeholders[int(k)] for k in word[1::2]]) for word in words]


def to_plain(value: Any) -> Any:
    """An array as a list; anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def as_json(point: Mapping[str, Any]) -> str:
    """A point as one line of ASCII, which is safe in any locale."""

    def convert(value: Any) -> Any:
        converted = to_plain(value)
        return str(value) if converted is value else converted

    return json.dumps(dict(point), default=convert)


def fill(placeholder: Placeholder, value: Any, *, separate: bool) -> list[str]:
    """Fill in a placeholder: one argument, or one for each item of a list if the placeholder is an argument of its own."""
    value = to_plain(value)
    if not isinstance(value, list | tuple):
        if placeholder.separator is not None:
            raise ArgumentError(
                f"{placeholder} joins the items of a list, which {placeholder.name} is not; write {{{placeholder.name}}}"
            )
        return [_argument(value)]
    items = [_argument(item) for item in value]
    if separate and placeholder.separator is None:
        return items
    separator = "," if placeholder.separator is None else placeholder.separator
    for item in items:
        # An item that ends in "-" is ambiguous before the separator "--", too: the split would be one character early.
        unambiguous = (item + separator).index(separator) == len(item) if separator else len(item) == 1
        if not unambiguous:
            raise ArgumentError(
                f"{placeholder} joins items by {separator!r}, which is ambiguous with the item {item!r}; write "
                f"{{{placeholder.name}}} as an argument of its own, {{{placeholder.name}:SEPARATOR}} with another "
                f"separator, or {{json}}"
            )
    return [separator.join(items)]


def _argument(value: Any) -> str:
    """A value as an argument."""
    text = str(value)
    try:
        possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise ArgumentError(
            f"{text!r} has a character that is not allowed in an argument of a program; rename the item, or pass {{json}}"
        )
    return text


# Commands for a shell: the quoting around placeholders

_TOKENS = {
    "'": re.compile(r"'"),
    '"': re.compile(r"\\.|\\\Z|[\"`]|\$\(\(|\$[({]|\$\Z", re.DOTALL),
    "": re.compile(r"\\.|\\\Z|['\"`()}]|\$\(\(|\$[({]|\$\Z", re.DOTALL),
}
_CLOSES = {"'": "'", '"': '"', "`": "`", "(": ")", "$(": ")", "$((": ")", "${": "}"}


def check_quoting(template: Template) -> None:
    """Raise an error for placeholders inside quotes, backticks, `${}` or `$(())`, and right after `$` or a backslash.

    Values would not be executed as code there either, but might not arrive as a single argument.
    """
    open_tokens: list[str] = []
    for text, placeholder in zip(template.texts, [*template.placeholders, None], strict=True):
        token, at = "", 0
        while match := _TOKENS[open_tokens[-1] if open_tokens and open_tokens[-1] in _TOKENS else ""].search(text, at):
            token, at = match[0], match.end()
            if open_tokens and token == _CLOSES[open_tokens[-1]]:
                open_tokens.pop()
            elif token == "$((":
                open_tokens += ["$((", "("]
            elif token in _CLOSES:
                open_tokens.append(token)
        if placeholder and token in ("$", "\\"):
            raise ArgumentError(
                f"{placeholder} is right after {token} in the command; a shell variable is written "
                f"${{{{{placeholder.name}}}}}, with double braces"
            )
        inside = open_tokens[-1] if open_tokens else ""
        if placeholder and inside and (inside not in ("(", "$(") or not {"`", "${", "$(("}.isdisjoint(open_tokens)):
            raise ArgumentError(
                f"{placeholder} is inside {inside} in the command; in a shell, placeholders are quoted automatically and "
                "must not be inside quotes, backticks, ${} or $(())"
            )


def shell_text(template: Template, values: list[list[str]]) -> str:
    """A command for a shell in which each placeholder is replaced by shell variables that are assigned before it.

    The values are quoted in the assignments; the command itself never contains a value, so none can be run as code.
    """
    text = template.texts[0]
    assignments: list[str] = []
    for after, arguments in zip(template.texts[1:], values, strict=True):
        names = [f"mergebo_{len(assignments) + k}" for k in range(len(arguments))]
        assignments += [f"{name}={shlex.quote(value)}" for name, value in zip(names, arguments, strict=True)]
        text += " ".join(f'"${{{name}}}"' for name in names) + after
    return " ".join(assignments) + "\n" + text


# The command


@dataclass(frozen=True)
class Command:
    """A command with placeholders, which are listed at the top of this module; with `shell`, it is run in a shell."""

    text: str
    shell: bool = False

    @cached_property
    def template(self) -> Template:
        """The texts and the placeholders; raises the errors of an invalid command."""
        template = read_template(self.text)
        if self.shell:
            check_quoting(template)
        return template

    @cached_property
    def words(self) -> list[Template]:
        """The arguments; a command for a shell is a single text, which the shell splits."""
        return [self.template] if self.shell else split_template(self.template)

    @property
    def writes_file(self) -> bool:
        """Whether the program writes its result to a file."""
        return any(placeholder.name == "result" for placeholder in self.template.placeholders)

    def check_placeholders(self, names: Collection[str], orders: Mapping[str, Collection[Any]]) -> None:
        """Raise an error if the placeholders cannot be filled in.

        `names` are the names of all variables. `orders` maps each variable that is an order, which the command must
        contain, to its items.
        """
        self._check_names(names)
        for word in self.words:
            self._filled(word, {name: list(items) for name, items in orders.items()} | dict.fromkeys(RESERVED_NAMES, ""))
        used = {placeholder.name for placeholder in self.template.placeholders}
        missing = [f"{{{name}}}" for name in orders if name not in used]
        if missing and "json" not in used:
            raise ArgumentError(
                f"the command '{excerpt(self.text)}' does not contain {' and '.join(missing)}; add it, or {{json}} for "
                "the whole point"
            )

    def arguments(self, point: Mapping[str, Any], number: int, result: Path) -> list[str]:
        """The program and its arguments for a point and a trial number."""
        self._check_names(point)
        values = {**point, "json": as_json(point), "trial": number, "result": result}
        if self.shell:
            return [SHELL, "-c", shell_text(self.template, self._filled(self.template, values))]
        arguments = []
        for word in self.words:
            filled = self._filled(word, values)
            if len(filled) == 1 and word.is_separate(0, ""):
                arguments += filled[0]
            else:
                after = (value + text for (value,), text in zip(filled, word.texts[1:], strict=True))
                arguments.append(word.texts[0] + "".join(after))
        return arguments

    def _filled(self, word: Template, values: Mapping[str, Any]) -> list[list[str]]:
        """The arguments for each placeholder of a word that has a value."""
        boundaries = WORD_BOUNDARIES if self.shell else ""
        return [
            fill(placeholder, values[placeholder.name], separate=word.is_separate(k, boundaries))
            for k, placeholder in enumerate(word.placeholders)
            if placeholder.name in values
        ]

    def _check_names(self, names: Collection[str]) -> None:
        known = list(dict.fromkeys([*names, *RESERVED_NAMES]))
        for placeholder in self.template.placeholders:
            if placeholder.name not in known:
                raise ArgumentError(f"{unknown_choice('a placeholder', placeholder.name, known)} ({BRACES})")
            if placeholder.name in RESERVED_NAMES and placeholder.name in names:
                raise ArgumentError(f"{placeholder} has another meaning in a command; rename the variable")
