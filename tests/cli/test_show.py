"""`mergebo show`."""

from __future__ import annotations

import pytest

from cli_helpers import (
    works,
)


@pytest.mark.slow
def test_show_is_short_and_has_the_best() -> None:
    works("new", "--items", "a,b,c,d,e", "--method", "random", "--direction", "maximize")
    works("ask", "-k", 6)
    for trial, value in enumerate([1, 5, 2, 3, 4, 0]):
        works("tell", trial, value)
    output = works("show", "--last", 2).out
    assert "the last 2 of 6 trials, and the best" in output
    rows = [line.split()[0] for line in output.splitlines() if "→" in line]
    assert rows == ["1", "4", "5"]
    assert "best so far  1 ▁█████ 5" in output
    assert [line.split()[0] for line in works("show", "--all").out.splitlines() if "→" in line] == list("012345")
    assert "From 6 results (larger is better)" in works("show", "--explain").out
