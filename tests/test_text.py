"""Points and numbers as text."""

from __future__ import annotations

from mergebo._text import escape_control, format_number, format_numbers, point_text


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


def test_point_text() -> None:
    assert point_text(None) == ""
    assert point_text({"order": ["b", "[/]"]}) == "b → [/]"
    point = {"order": ["a"], "heat": 1 / 3, "k": 7, "s": "K", "p": [0, 1, 1], "q": [2, 3]}
    assert point_text(point) == "a   (heat = 0.333333, k = 7, s = K, p = 011, q = [2, 3])"


def test_control_characters_are_escaped() -> None:
    assert escape_control("größe 🎈 👨‍👩‍👧") == "größe 🎈 👨‍👩‍👧"
    assert escape_control("a\tb\x1b[31m\n\udcff") == "a\\tb\\x1b[31m\\n\\udcff"
