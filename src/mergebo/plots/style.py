"""The style that all figures share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any

from mergebo.errors import extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STYLE"]

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

BLUE, RED, GREY, PALE_GREY = "#2166AC", "#B2182B", "#8C8C8C", "#B0B0B0"


@contextmanager
def new_figure(width: float, height: float, path: str | PathLike[str] | None = None) -> Iterator[Figure]:
    """An empty figure to draw in, in this style and outside pyplot; saved at the end if there is a path."""
    with extra("plot"):
        from matplotlib import rc_context
        from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        if path is not None:
            figure.savefig(path)


def truncate(text: str, most: int) -> str:
    """Shorten a text to at most `most` characters.

    >>> truncate("hydrochloric acid", 8)
    'hydroch…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"
