"""What commands print."""

from __future__ import annotations

from mergebo.cli.output import sparkline


def test_sparkline() -> None:
    assert sparkline([]) == ""
    assert sparkline([3.0]) == "▁"
    assert sparkline([2, 2, 2]) == "▁▁▁"
    assert sparkline([0, 7, 3]) == "▁█▄"
    assert sparkline([1e300, -1e300]) == "█▁"
    long = sparkline(range(1000), 40)
    assert (len(long), long[0], long[-1]) == (40, "▁", "█")
    assert list(long) == sorted(long)
