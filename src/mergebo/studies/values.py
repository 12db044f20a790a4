r"""The values that a program reports: in its last line, at a key of a JSON object, or where a pattern matches.

Without `keys` and `patterns`, the values are at the end of the last line that the program prints, such as `3.2`,
`loss: 3.2` or `loss=3.2`; several objectives are several words. A result file has `3.2`, `[3.2, 5]`, `{"value": 3.2}` or
`{"values": [3.2, 5]}`.

With `keys`, the last line, or the result file, is a JSON object, such as `{"loss": 3.2}`. With `patterns`, which are regular
expressions, all lines are searched: the last match counts, and of a match its first group, if it has one; `^` and `$` match
at the ends of each line. There is one key or pattern for each objective.

Keys and patterns also read numbers with some units. Percentages are read as they are printed and times in seconds, so `12%`
is 12 and `950ms` is 0.95. Other units are refused, since a program may print `900MB` for one point and `1.1GB` for another.
So are commas: `1,234` may be 1234 or 1.234.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from mergebo._text import excerpt
from mergebo.errors import ArgumentError, unknown_choice

__all__ = ["Reader", "output_lines", "read_line", "read_quantity", "read_result"]

TAIL_BYTES = 64 * 1024
"""Number of bytes kept of the output of a program: the last ones."""
UNITS = {
    "%": Decimal(1),
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "\N{MICRO SIGN}s": Decimal("1e-6"),
    "\N{GREEK SMALL LETTER MU}s": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
}
"""By what a number with a unit is multiplied: times are read in seconds."""
QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\W\d_]+|%)")
COMMAS = re.compile(r"[-+]?\d+(?:,\d+)+(?:\.\d*)?\s*(?:[^\W\d_]+|%)?")


# Numbers


def read_line(line: str, count: int) -> tuple[float, ...]:
    """The last `count` words of a line as numbers; `loss=3.2`, `loss: 3.2` and `loss = 3.2` count as one word.

    >>> read_line("step 7, loss: 0.5 time=3e1", 2)
    (0.5, 30.0)
    """
    words = re.sub(" ?([=:]) ?", r"\1", " ".join(line.split())).split()
    if len(words) < count:
        raise ValueError(f"it has {len(words)} word{'s' * (len(words) != 1)}")
    return tuple(_number(word) for word in words[-count:])


def _number(word: str) -> float:
    """A word as a number; a label may precede it."""
    *labels, text = re.split("[=:]", word)
    try:
        if "_" in text or (labels and labels[-1] and not re.search(r"[^\W\d_]", labels[-1])):
            raise ValueError  # 12:30 is a time of day
        value = float(text)
    except ValueError:
        hint = "; --pattern and --key read numbers with units" if _has_known_unit(text) else ""
        raise ValueError(f"'{excerpt(word, 50)}' is not a number{hint}") from None
    return _finite(value)


def _has_known_unit(text: str) -> bool:
    match = QUANTITY.fullmatch(text)
    return match is not None and match[2] in UNITS


def read_quantity(text: str) -> float:
    """A number, perhaps with a unit; times are read in seconds.

    >>> read_quantity("12 %"), read_quantity("950ms")
    (12.0, 0.95)
    """
    text = text.strip()
    shown = f"'{excerpt(text, 50)}'"
    if match := QUANTITY.fullmatch(text):
        number, unit = match.groups()
        if unit not in UNITS:
            known = ", ".join(filter(str.isascii, UNITS))
            raise ValueError(f"{shown} has the unit {excerpt(unit, 20)!r}; those that can be read are {known}")
        try:
            return _finite(Decimal(number) * UNITS[unit])
        except ArithmeticError:  # beyond all floats
            raise ValueError(f"{shown} is not a finite number") from None
    if COMMAS.fullmatch(text):
        raise ValueError(f"{shown} has a comma, which may separate thousands or decimals; print numbers without commas")
    try:
        if "_" in text:
            raise ValueError
        value = float(text)
    except ValueError:
        raise ValueError(f"{shown} is not a number") from None
    return _finite(value)


def _finite(value: float | Decimal) -> float:
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    return value


def read_result(content: bytes, count: int) -> tuple[float, ...]:
    """The `count` numbers of a result file."""
    data = _json(content)
    if isinstance(data, dict):
        keys = [key for key in ("value", "values") if key in data]
        if len(keys) != 1:
            raise ValueError('an object must have either "value" or "values"; --key names another key')
        data = data[keys[0]]
    numbers = data if isinstance(data, list) else [data]
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
        raise ValueError("it contains something that is not a number")
    if len(numbers) != count:
        raise ValueError(f"it contains {len(numbers)}")
    return tuple(_finite(number) for number in numbers)


def _json(content: bytes | str) -> Any:
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None


# Where they are


def output_lines(tail: bytes | bytearray) -> list[str]:
    """The lines that are not blank; an ellipsis marks output that was cut, so that its first line is never a number."""
    text = ("…" if len(tail) > TAIL_BYTES else "") + tail[-TAIL_BYTES:].decode(errors="replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


@dataclass(frozen=True)
class Reader:
    """How to read `count` values; see the top of this module. Its errors are `ValueError`, with a message for the user."""

    count: int = 1
    patterns: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ArgumentError(f"a program must report at least one value, got values={self.count}")
        if self.patterns and self.keys:
            raise ArgumentError("--pattern and --key are two ways to read the same values; use one of them")
        for option, given in (("--pattern", self.patterns), ("--key", self.keys)):
            if given and len(given) != self.count:
                objectives = "one objective" if self.count == 1 else f"{self.count} objectives"
                raise ArgumentError(f"{option} must be given once for each objective; got {len(given)} for {objectives}")
        for pattern in self.patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ArgumentError(f"--pattern {pattern!r} is not a regular expression of Python: {error}") from None

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [re.compile(pattern, re.MULTILINE) for pattern in self.patterns]

    @property
    def expected(self) -> str:
        """What the program should report."""
        return "a number" if self.count == 1 else f"{self.count} numbers"

    @property
    def instruction(self) -> str:
        """What the program should do, for messages."""
        if self.patterns:
            return f"it should print a line that matches {' and one that matches '.join(map(repr, self.patterns))}"
        if self.keys:
            return f"its last line should be a JSON object with {_quoted(self.keys)}"
        return f"it should print {self.expected} at the end of its last line"

    def read_output(self, tail: bytes | bytearray) -> tuple[float, ...]:
        """The values in what a program printed, which is not blank."""
        lines = output_lines(tail)
        try:
            if self.patterns:
                text = "\n".join(lines[1:] if len(tail) > TAIL_BYTES else lines)
                return tuple(_search(pattern, text) for pattern in self._patterns)
            if self.keys:
                return self._read_keys(lines[-1])
            return read_line(lines[-1], self.count)
        except ValueError as error:
            should = (
                f"the output of the program should match {' and '.join(map(repr, self.patterns))}"
                if self.patterns
                else f"the last line printed by the program should be a JSON object with {_quoted(self.keys)}"
                if self.keys
                else f"the last line printed by the program should end with {self.expected}"
            )
            where = " its last line" if self.patterns else ""
            raise ValueError(f"{should}, but {error}{';' * bool(where)}{where}: {excerpt(lines[-1])}") from None

    def read_file(self, content: bytes) -> tuple[float, ...]:
        """The values in a result file."""
        return self._read_keys(content) if self.keys else read_result(content, self.count)

    def _read_keys(self, content: bytes | str) -> tuple[float, ...]:
        data = _json(content)
        if not isinstance(data, dict):
            raise ValueError("it is not an object, in braces")
        return tuple(_at(data, key) for key in self.keys)


def _quoted(names: Sequence[str]) -> str:
    return " and ".join(json.dumps(name) for name in names)


def _at(data: dict[str, Any], key: str) -> float:
    """The number at a key."""
    if key not in data:
        raise ValueError(str(unknown_choice("--key", key, data)) if data else "it is empty")
    value = data[key]
    if isinstance(value, str):
        return read_quantity(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"at {json.dumps(key)} is {excerpt(json.dumps(value), 50)}, which is not a number")
    return _finite(value)


def _search(pattern: re.Pattern[str], text: str) -> float:
    """The number at the last match of a pattern."""
    matches = list(pattern.finditer(text))
    if not matches:
        raise ValueError(f"{pattern.pattern!r} matches nothing in its last {TAIL_BYTES // 1024} KiB")
    found = matches[-1][1] if pattern.groups else matches[-1][0]
    if found is None:
        raise ValueError(f"the first group of {pattern.pattern!r} is not part of its last match")
    return read_quantity(found)
