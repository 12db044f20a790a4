"""Figure of a Pareto front of two objectives."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from mergebo.errors import extra
from mergebo.pareto import ParetoFront
from mergebo.plots.style import STYLE

with extra("plot"):
    from matplotlib import rc_context
    from matplotlib.figure import Figure

FRONT, OTHERS = "#2166AC", "#B0B0B0"


def draw(front: ParetoFront, path: str | PathLike[str] | None = None, names: Sequence[str] | None = None) -> Figure:
    """The figure, saved if there is a path."""
    first, second = names or ("first objective", "second objective")
    with rc_context(STYLE):
        figure = Figure(figsize=(5.6, 4.4), layout="constrained")
        axes = figure.add_subplot()
        axes.plot(*front.values.T, "o", color=OTHERS, markersize=4, label=f"{len(front.values)} results", zorder=1)
        points = front.points
        # The steps bound the region dominated by the front.
        axes.step(*points.T, where="post" if front.signs[0] > 0 else "pre", color=FRONT, linewidth=1.2, zorder=2)
        axes.plot(*points.T, "o", color=FRONT, markersize=6, label=f"{len(points)} non-dominated", zorder=3)
        axes.set_xlabel(f"{first} ({_goal(front.signs[0])})")
        axes.set_ylabel(f"{second} ({_goal(front.signs[1])})")
        axes.set_title("Pareto front")
        axes.grid(True)
        axes.legend(loc="best")
        if path is not None:
            figure.savefig(path)
    return figure


def _goal(sign: float) -> str:
    return "smaller is better" if sign > 0 else "larger is better"
