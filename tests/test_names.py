"""Calls as text."""

from __future__ import annotations

import pytest

from mergebo._names import read_call, split_calls, write_call
from mergebo.errors import ArgumentError


def test_calls_round_trip() -> None:
    assert read_call("mergebo") == ("mergebo", {})
    assert read_call(write_call("a-b", {"x": 1, "y": "z", "w": (1, 2)})) == ("a-b", {"x": 1, "y": "z", "w": (1, 2)})
    assert split_calls("a, b(c=1,d=2),e") == ["a", "b(c=1,d=2)", "e"]
    for wrong in ("a(", "a(1)", "a(b=c)", "a b"):
        with pytest.raises(ArgumentError, match=r"(has|have) the form"):
            read_call(wrong)
