"""The matplotlib style of figures."""

from __future__ import annotations

from typing import Any

STYLE: dict[Any, Any] = {
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
"""`rcParams` for drawing and saving figures; with a fixed hash salt, so that the same figure gives the same file."""


def truncate(text: str, most: int) -> str:
    """Shorten a text to at most `most` characters.

    >>> truncate("hydrochloric acid", 8)
    'hydroch…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"
