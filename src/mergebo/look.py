"""How figures look."""

from __future__ import annotations

from typing import Any

LOOK: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "grid.color": "#E4E4E4",
    "legend.frameon": False,
    "svg.hashsalt": "mergebo",
    "figure.dpi": 150,
}
"""Settings under which figures are drawn and saved; the same ones give the same file."""


def short(text: str, most: int) -> str:
    """The beginning of a text, where there is no room for more.

    >>> short("hydrochloric acid", 8)
    'hydroch…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"
