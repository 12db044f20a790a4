"""Numbers, lists and counts as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mergebo._typing import Floats
from mergebo.experiments.statistics import Estimate

__all__: list[str] = []

EMPTY = "\N{EN DASH}"
"""The text of an empty cell."""

THIN = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"


def format_number(number: float | None, digits: int = 3) -> str:
    """A number with `digits` significant digits, in scientific notation only if it is very small.

    >>> format_number(14923.0).replace(THIN, " "), format_number(0.07671), format_number(2.0)
    ('14 900', '0.0767', '2')
    """
    if number is None or not math.isfinite(number):
        return EMPTY
    rounded = float(f"{number:.{digits}g}")
    if rounded == 0:
        return "0"
    size = math.floor(math.log10(abs(rounded)))
    if size < -4:
        return f"{rounded:.{digits - 1}e}".replace("-", MINUS)
    decimals = 0 if rounded == int(rounded) else max(0, digits - 1 - size)
    return f"{rounded:,.{decimals}f}".replace(",", THIN).replace("-", MINUS)


def quoted_figure(number: float | None) -> str:
    """A published number, with all its digits.

    >>> quoted_figure(0.013), quoted_figure(38.3 * 1e5).replace(THIN, " ")
    ('0.013', '3 830 000')
    """
    return EMPTY if number is None else f"{number:,.9g}".replace(",", THIN)


def mean_and_std(values: Floats, digits: int = 3) -> str:
    """Mean ± standard deviation of values."""
    deviation = f" ± {format_number(float(values.std(ddof=1)))}" if len(values) > 1 else ""
    return format_number(float(values.mean()), digits) + deviation


def format_score(value: Estimate | None, sign: str = "") -> str:
    """A score ± its standard error; `sign="+"` for a difference of scores."""
    if value is None:
        return EMPTY
    error = f" ± {value.error:.2f}" if value.error is not None else ""
    return format_fixed(value.mean, sign) + error


def part_of(count: int, total: int) -> str:
    """A count, followed by the total if that is larger.

    >>> part_of(3, 5), part_of(5, 5)
    ('3 of 5', '5')
    """
    return str(count) if count == total else f"{count} of {total}"


def format_fixed(number: float, sign: str = "") -> str:
    """A number with two decimals; `sign="+"` always shows the sign."""
    return f"{round(number, 2) + 0.0:{sign}.2f}".replace("-", MINUS)


def p_value(p: float) -> str:
    """A p-value, or `<0.001`.

    >>> p_value(0.0213), p_value(1e-9), p_value(1.0)
    ('0.021', '<0.001', '1')
    """
    return "<0.001" if p < 0.001 else format_number(p, 2)


def join_words(parts: Sequence[str]) -> str:
    """Words joined by commas and "and".

    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things, in the singular or the plural.

    >>> counted(1, "class", "classes"), counted(3, "problem")
    ('1 class', '3 problems')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def ranges(numbers: Sequence[int]) -> str:
    """Sorted integers, with runs of them as ranges.

    >>> ranges([0, 1, 2, 5])
    '0-2, 5'
    """
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)
