"""Points and numbers as text."""

from __future__ import annotations

import pytest

from mergebo import errors
from mergebo._text import escape_control, format_number, format_numbers, point_text, read_number


def test_format_number() -> None:
    assert [format_number(each) for each in (None, 3.0, -0.0, 0.1 + 0.2, 1234567.0, 1e20, 12345.678)] == [
        "",
        "3",
        "0",
        "0.3",
        "1234567",
        "1e+20",
        "12345.7",
    ]
    assert format_number(float("nan")) == "nan"
    assert format_number(float("-inf")) == "-inf"
    assert format_numbers([1.0, 2.5]) == "1, 2.5"
    assert format_numbers(None) == ""


@pytest.mark.parametrize(
    ("text", "number"),
    [("58,2", 58.2), ("58.2", 58.2), ("-0,5", -0.5), (",5", 0.5), ("1,5e3", 1500), ("0,123", 0.123), ("1234,567", 1234.567)],
)
def test_numbers_may_have_a_decimal_comma(text: str, number: float) -> None:
    assert read_number(text, "a value") == number


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,234", "got '1,234', which may be 1.234 or 1234; write one of these"),
        ("-12,345", "which may be -12.345 or -12345; write one of these"),
        ("1,234,567", "got '1,234,567'"),
        ("58.2%", "got '58.2%'; write it without the unit: 58.2"),
        ("58,2 %", "write it without the unit: 58,2"),
        ("3.2s", "write it without the unit: 3.2"),
        ("1.2.3", "got '1.2.3'"),
        ("5 6", "got '5 6'"),
    ],
)
def test_numbers_that_are_ambiguous_or_have_a_unit(text: str, message: str) -> None:
    with pytest.raises(errors.ArgumentError, match=r"a value must be a number") as caught:
        read_number(text, "a value")
    assert str(caught.value).endswith(message)


def test_point_text() -> None:
    assert point_text(None) == ""
    assert point_text({"order": ["b", "[/]"]}) == "b → [/]"
    point = {"order": ["a"], "heat": 1 / 3, "k": 7, "s": "K", "p": [0, 1, 1], "q": [2, 3]}
    assert point_text(point) == "a   (heat = 0.333333, k = 7, s = K, p = 011, q = [2, 3])"


def test_control_characters_are_escaped() -> None:
    assert escape_control("größe 🎈 👨‍👩‍👧") == "größe 🎈 👨‍👩‍👧"
    assert escape_control("a\tb\x1b[31m\n\udcff") == "a\\tb\\x1b[31m\\n\\udcff"
