"""`mergebo methods` and `mergebo problems`."""

from __future__ import annotations

from cli_helpers import (
    refused,
    works,
)


def test_methods_and_problems_are_listed() -> None:
    assert "auto" in works("methods").out
    assert works("methods", "--json").json["random"] == "uniform random orders"
    (first, *_) = works("problems", "lop", "--json").json
    assert first["name"].startswith("lop:")
    assert first["numbers"] > 0
    output = works("problems", "flowshop").out
    assert "flowshop:ta001" in output
    assert "…" not in output  # names are not truncated
    assert "must be one of" in refused("problems", "tps")
