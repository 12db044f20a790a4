"""Figure of a Pareto front of two objectives."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from mergebo.errors import extra
from mergebo.pareto import ParetoFront
from mergebo.plots.style import BLUE, PALE_GREY, new_figure

with extra("plot"):
    from matplotlib.figure import Figure

__all__: list[str] = []


def draw(front: ParetoFront, path: str | PathLike[str] | None = None, names: Sequence[str] | None = None) -> Figure:
    """The figure, saved if there is a path."""
    first, second = names or ("first objective", "second objective")
    with new_figure(5.6, 4.4, path) as figure:
        axes = figure.add_subplot()
        axes.plot(*front.values.T, "o", color=PALE_GREY, markersize=4, label=f"{len(front.values)} results", zorder=1)
        points = front.points
        # The steps bound the region dominated by the front.
        axes.step(*points.T, where="post" if front.signs[0] > 0 else "pre", color=BLUE, linewidth=1.2, zorder=2)
        axes.plot(*points.T, "o", color=BLUE, markersize=6, label=f"{len(points)} non-dominated", zorder=3)
        axes.set_xlabel(f"{first} ({_goal(front.signs[0])})")
        axes.set_ylabel(f"{second} ({_goal(front.signs[1])})")
        axes.set_title("Pareto front")
        axes.grid(True)
        axes.legend(loc="best")
    return figure


def _goal(sign: float) -> str:
    return "smaller is better" if sign > 0 else "larger is better"
