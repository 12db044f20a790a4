"""Figures of a report. A method has the same colour and line style in all of them; the palette is colour-blind safe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mergebo._typing import Floats
from mergebo.errors import extra
from mergebo.experiments.formatting import quoted_figure
from mergebo.experiments.metrics import simple_regret
from mergebo.experiments.protocols import method_row
from mergebo.experiments.runs import CaseRuns, method_order
from mergebo.experiments.statistics import Estimate
from mergebo.plots.style import GREY, new_figure

with extra("plot"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

__all__: list[str] = []

LINES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)))
MARKERS = ("o", "s", "D", "^", "v")
"""Lines and markers distinguish methods of the same colour."""


def styles(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour, line and marker of each method."""
    found: dict[str, dict[str, Any]] = {}
    used: dict[str, int] = {}
    for method in sorted(methods, key=method_order):
        colour = method_row(method).colour
        k = used[colour] = used.get(colour, -1) + 1
        found[method] = {"color": colour, "linestyle": LINES[k % len(LINES)], "marker": MARKERS[k % len(MARKERS)]}
    return found


def convergence(group: str, runs: Sequence[CaseRuns], style_of: Mapping[str, dict[str, Any]]) -> tuple[Figure, str]:
    """Convergence curves, mean and one standard deviation over runs, with the caption.

    They show the regret on a logarithmic axis; for several instances, relative to the regret of random search with the
    full budget; without a reference, the best value on a linear axis.
    """
    methods = [method for method in style_of if any(method in each.records for each in runs)]
    label, quantity = _measure(runs)
    curves = {
        method: np.concatenate([_curve(each, method, label) for each in runs if method in each.records])
        for method in methods
    }
    means = {method: curve.mean(axis=0) for method, curve in curves.items()}
    deviations = {method: curve.std(axis=0, ddof=min(1, len(curve) - 1)) for method, curve in curves.items()}
    initial, budget = runs[0].case.initial, runs[0].case.budget
    logarithmic = label != "best value"
    with new_figure(6.4, 4.2) as figure:
        axes = figure.add_subplot()
        floor = _logarithmic(axes, list(means.values()), list(deviations.values())) if logarithmic else -np.inf
        evaluations = np.arange(1, budget + 1)
        for method in methods:
            style = {key: style_of[method][key] for key in ("color", "linestyle")}
            mean, deviation = means[method], deviations[method]
            low, middle, high = (np.maximum(each, floor) for each in (mean - deviation, mean, mean + deviation))
            axes.fill_between(evaluations, low, high, color=style["color"], alpha=0.1, linewidth=0)
            axes.plot(evaluations, middle, label=method, linewidth=1.8, **style)
        axes.axvline(initial + 0.5, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))
        axes.set(title=group, xlabel="evaluations", ylabel=label, xlim=(1, budget))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.grid(True, which="major")
        _legend_below(figure, axes)
    seeds = sorted({len(each.records[method]) for each in runs for method in each.records})
    runs_each = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    of = f"{len(runs)} instances with {runs_each} seeds each" if len(runs) > 1 else f"{runs_each} seeds"
    bottom = (
        " A curve along the bottom has reached the reference." if min(each.min() for each in means.values()) <= floor else ""
    )
    return figure, (
        f"{group}: {quantity} after each evaluation. Mean and one standard deviation over {of}; the initial design is "
        f"to the left of the dotted line.{bottom}"
    )


def _logarithmic(axes: Axes, means: Sequence[Floats], deviations: Sequence[Floats]) -> float:
    """Make the regret axis logarithmic. Returns its lower limit, which is below every mean that is not zero."""
    positive = np.concatenate([mean[mean > 0] for mean in means])
    least, most = (float(positive.min()), float(positive.max())) if len(positive) else (1.0, 1.0)
    floor, top = least / 2, 2 * most
    if all((mean > 0).all() for mean in means):
        floor = max(floor, min(float((mean - sd).min()) for mean, sd in zip(means, deviations, strict=True)))
    top = min(top, max(float((mean + sd).max()) for mean, sd in zip(means, deviations, strict=True)))
    floor, top = 0.95 * floor, 1.05 * max(top, most)
    axes.set_yscale("log")
    axes.set_ylim(floor, top)
    marks = (1, 1.5, 2, 3, 4, 6, 8) if top < 8 * floor else (1, 2, 5) if top < 1e3 * floor else (1,)
    # Within a factor of two the axis is nearly linear and has at most one of those marks.
    axes.yaxis.set_major_locator(LogLocator(subs=marks) if top > 2 * floor else MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: quoted_figure(value)))
    return floor


def _measure(runs: Sequence[CaseRuns]) -> tuple[str, str]:
    """What the convergence curves show: the label of the axis, and the text in the caption."""
    if any(each.reference_value is None for each in runs):
        return "best value", "best value"
    if len(runs) == 1:
        return "regret", "simple regret"
    return "regret / regret of random search", "simple regret, relative to that of random search with the full budget,"


def _curve(runs: CaseRuns, method: str, label: str) -> Floats:
    best = runs.best(method)
    if runs.reference_value is None or label == "best value":
        return best
    regret = simple_regret(best, runs.reference_value)
    if label == "regret":
        return regret
    random_regret = runs.random_at(runs.case.budget) - runs.reference_value
    return regret / random_regret if random_regret > 0 else regret


def rank_plot(ranks: Mapping[str, Estimate], style_of: Mapping[str, dict[str, Any]]) -> Figure:
    """Mean ranks with their intervals, the best at the top."""
    methods = sorted(ranks, key=lambda method: ranks[method].mean)
    with new_figure(6.4, 0.9 + 0.36 * len(methods)) as figure:
        axes = figure.add_subplot()
        for y, method in enumerate(methods):
            _dot(axes, ranks[method].mean, y, ranks[method].interval, style_of[method])
            axes.annotate(
                f"{ranks[method].mean:.2f}", (ranks[method].mean, y), xytext=(0, 6), textcoords="offset points",
                ha="center", va="bottom", fontsize=8,
            )  # fmt: skip
        axes.set_yticks(range(len(methods)), methods)
        axes.set(xlabel="mean rank (1 is best)", xlim=(0.8, len(methods) + 0.2), ylim=(len(methods) - 0.4, -0.8))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.grid(True, axis="x")
    return figure


def score_plot(scores: Mapping[str, Mapping[str, Estimate]], style_of: Mapping[str, dict[str, Any]]) -> Figure:
    """Scores by class and method, with standard errors."""
    methods = [method for method in style_of if any(method in row for row in scores.values())]
    step = 0.8 / max(1, len(methods))
    with new_figure(6.4, 1.3 + max(0.34, 0.085 * len(methods)) * len(scores)) as figure:
        axes = figure.add_subplot()
        for y, row in enumerate(scores.values()):
            if y % 2:
                axes.axhspan(y - 0.5, y + 0.5, color="#F5F5F5", linewidth=0)
            for k, method in enumerate(methods):
                if method in row:
                    value = row[method]
                    bar = None if value.error is None else (value.mean - value.error, value.mean + value.error)
                    at = y + (k - (len(methods) - 1) / 2) * step
                    _dot(
                        axes,
                        value.mean,
                        at,
                        bar,
                        style_of[method],
                        size=4.5,
                        label=method if method not in axes.get_legend_handles_labels()[1] else None,
                    )
        axes.axvline(0, color=GREY, linewidth=0.8)
        axes.axvline(1, color=GREY, linewidth=0.8)
        axes.set_yticks(range(len(scores)), list(scores))
        axes.tick_params(axis="y", length=0)
        axes.set(xlabel="score (0: random search, 1: reference)", ylim=(len(scores) - 0.5, -0.5))
        axes.grid(True, axis="x")
        _legend_below(figure, axes)
    return figure


def _dot(
    axes: Axes,
    x: float,
    y: float,
    bar: tuple[float, float] | None,
    style: Mapping[str, Any],
    size: float = 6,
    label: str | None = None,
) -> None:
    """A point with an error bar."""
    reach = None if bar is None else np.array([[max(0.0, x - bar[0])], [max(0.0, bar[1] - x)]])
    axes.errorbar(x, y, xerr=reach, fmt=style["marker"], color=style["color"], markersize=size, elinewidth=1.3, label=label)


def _legend_below(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = min(4, max(1, 88 // (8 + max(map(len, labels)))))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9, handlelength=2.6)
