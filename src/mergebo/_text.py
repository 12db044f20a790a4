"""Points and numbers as text for people, and numbers from text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mergebo.errors import ArgumentError, MergeboError

DEFAULT_STORAGE = "sqlite:///mergebo.db"
"""The storage of the command line unless another one is given: a file in the current folder."""

ORDER = "order"
"""The name of the variable that holds the order, in studies of the command line."""

DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
"""A number with a decimal comma, as in tables of some locales."""
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
"""A number whose comma may be a decimal one, or one that separates thousands."""
WITH_UNIT = re.compile(r"([-+]?\d+(?:[.,]\d+)?) ?(?:%|[^\W\d_].*)")
"""A number with a unit, such as 58.2%."""


def format_number(value: float | None) -> str:
    """A number as people write it: integers with all digits, others with six."""
    if value is None:
        return ""
    return f"{value + 0:.0f}" if abs(value) < 1e15 and value == round(value) else f"{value:.6g}"


def format_numbers(values: Iterable[float] | None) -> str:
    """Numbers, separated by commas."""
    return ", ".join(map(format_number, values or ()))


def order_text(items: Sequence[Any]) -> str:
    """An order as text."""
    return " → ".join(map(str, items))


def point_text(point: Mapping[str, Any] | None) -> str:
    """A point as text: its order, then the other variables by name."""
    if point is None:
        return ""
    rest = ", ".join(f"{name} = {_short(value)}" for name, value in point.items() if name != ORDER)
    if ORDER not in point:
        return rest
    return order_text(point[ORDER]) + (f"   ({rest})" if rest else "")


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "".join(map(str, value)) if set(value) <= {0, 1} else str(value)
    return format_number(value) if isinstance(value, float) else str(value)


def escape_control(text: str) -> str:
    r"""Escape the characters that would disturb a terminal or cannot be encoded; names must not contain any.

    >>> print(escape_control("größe\x1b[31m"))
    größe\x1b[31m
    """
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", lambda match: match[0].encode("unicode_escape").decode(), text)


def excerpt(text: str, limit: int = 200) -> str:
    """The end of a text, with unprintable characters escaped."""
    end = text[-limit - 1 :]
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in end)
    return escaped if len(escaped) <= limit else "…" + escaped[1 - limit :]


def decimal_point(text: str) -> str:
    """A number with a decimal comma as one with a decimal point; any other text as it is."""
    return text.replace(",", ".") if DECIMAL_COMMA.fullmatch(text) else text


def read_number(text: str, what: str, error: type[MergeboError] = ArgumentError, hint: str = "") -> float:
    """Parse a finite number, which may have a decimal comma.

    `what` names it in the error, and `hint` ends the error for nan and infinity.
    """
    if THOUSANDS.fullmatch(text):
        readings = f"{text.replace(',', '.')} or {text.replace(',', '')}"
        raise error(f"{what} must be a number, got {text!r}, which may be {readings}; write one of these")
    try:
        value = float(decimal_point(text))
    except ValueError:
        number = WITH_UNIT.fullmatch(text)
        way_out = f"; write it without the unit: {number[1]}" if number else ""
        raise error(f"{what} must be a number, got {text!r}{way_out}") from None
    if not math.isfinite(value):
        raise error(f"{what} must be a finite number, got {text!r}{hint}")
    return value


def read_integer(text: str, what: str) -> int:
    """Parse an integer; `what` names it in the error."""
    value = read_number(text, what)
    if value != int(value):
        raise ArgumentError(f"{what} must be an integer, got {text!r}")
    return int(value)
