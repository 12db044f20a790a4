"""Figures for the docs, from computations of the library and committed results. Run by `make pictures`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from numpy.typing import NDArray

import mergebo as mb
from mergebo.experiments.figures import styles
from mergebo.experiments.metrics import normalised_score
from mergebo.experiments.runs import CaseRuns, read_records, sections
from mergebo.plots.style import STYLE

IMAGES = Path(__file__).parent / "images"
RESULTS = Path(__file__).parent / "results"
METHODS = ("auto", "bops-h", "mergebo", "local-search", "genetic", "optuna-tpe", "random")
"""Methods in the figure of scores."""
COLOURS = colormaps["tab10"]


def box(axes: Axes, x: float, y: float, text: str, colour: object, size: float = 0.8, fontsize: int = 11) -> None:
    """Draw a box with text, centred at (x, y)."""
    shape = FancyBboxPatch(
        (x - size / 2, y - size / 2),
        size,
        size,
        boxstyle="round,pad=0,rounding_size=0.12",
        facecolor=colour,
        edgecolor="none",
    )
    axes.add_patch(shape)
    axes.text(x, y, text, ha="center", va="center", color="white", fontsize=fontsize, fontweight="bold")


def order_or_rank() -> Figure:
    """Two orders, and the same two after relabelling the items: the distance of the ranks is invariant."""
    first, second = np.array([2, 0, 3, 1, 4]), np.array([0, 2, 3, 4, 1])
    labels = np.array([3, 0, 4, 2, 1])
    with rc_context(STYLE):
        figure = Figure(figsize=(10, 2.9), layout="constrained")
        for panel, (title, pair) in enumerate(
            (("two orders", (first, second)), ("the same two, items relabelled", (labels[first], labels[second])))
        ):
            axes = figure.add_subplot(1, 2, panel + 1)
            for row, order in enumerate(pair):
                y = 3.2 - 1.2 * row
                for slot, item in enumerate(order):
                    original = item if panel == 0 else int(np.flatnonzero(labels == item)[0])
                    box(axes, slot, y, str(item), COLOURS(original))
                ranks = mb.permutations.invert(order)
                axes.text(5.1, y + 0.17, "order  " + " ".join(map(str, order)), family="monospace", fontsize=10, va="center")
                axes.text(5.1, y - 0.2, "rank   " + " ".join(map(str, ranks)), family="monospace", fontsize=10, va="center")
            for slot in range(5):
                axes.text(slot, 3.85, f"slot {slot}", ha="center", fontsize=8, color="0.5")
            for line, view in enumerate(("rank", "order")):
                distance = int(mb.distances.kendall(*pair, view=view))
                axes.text(-0.4, 0.95 - 0.5 * line, f'Kendall distance, view="{view}":  {distance}', fontsize=12)
            axes.set(xlim=(-0.6, 8.4), ylim=(0, 4.3), aspect="equal", title=title)
            axes.axis("off")
    return figure


def merge_steps(order: tuple[int, ...] = (4, 2, 7, 5, 3, 6, 0, 1)) -> Figure:
    """Merge sort of eight numbers: the comparisons of every merge, and the code that they form."""
    code = mb.sorting.MergeMap(len(order)).encode(order)
    with rc_context(STYLE):
        figure = Figure(figsize=(11, 5.6), layout="constrained")
        axes = figure.add_subplot()
        bits = iter(code.tolist())
        levels = {1: 3.9, 2: 2.6, 4: 1.3, 8: 0.0}
        for slot, number in enumerate(order):
            box(axes, slot, levels[1], str(number), "0.45")

        def merge(low: int, high: int) -> list[int]:
            """Draw the merge of a range of slots below those of its halves, and return the sorted numbers."""
            if high - low == 1:
                return [order[low]]
            middle = low + (high - low) // 2
            left, right = merge(low, middle), merge(middle, high)
            sizes, y = high - low, levels[high - low]
            outcomes = [next(bits) for _ in range(sizes - 1)]
            taken, a, b = [], list(left), list(right)
            for slot in range(sizes):
                redundant = not (a and b)
                from_right = bool(b) and (not a or b[0] < a[0])
                taken.append((b if from_right else a).pop(0))
                box(axes, low + slot, y, str(taken[-1]), COLOURS(1 if from_right else 0))
                if slot < sizes - 1:
                    shade = "0.7" if redundant else "black"
                    axes.text(
                        low + slot, y - 0.58, str(outcomes[slot]), ha="center", fontsize=12, family="monospace", color=shade
                    )
            axes.plot([low - 0.4, high - 0.6], [y + 0.62, y + 0.62], color="0.8", linewidth=1)
            return taken

        merge(0, len(order))
        for y, text in zip(levels.values(), ("the order", "pairs", "fours", "all"), strict=True):
            axes.text(-0.75, y, text, ha="right", va="center", color="0.4")
        axes.text(8.0, 2.6, "blue: taken from the left half\norange: from the right half", fontsize=10, va="center")
        axes.text(
            8.0,
            1.5,
            "below: the outcomes of the\ncomparisons, 1 if the left\nnumber is the larger one;\n"
            "grey: redundant, since one\nhalf is exhausted",
            fontsize=10,
            va="center",
        )
        axes.text(-0.4, -1.25, "code  " + " ".join(map(str, code)), family="monospace", fontsize=13)
        axes.set(xlim=(-2, 11.2), ylim=(-1.5, 4.6), aspect="equal")
        axes.set_title(f"Merge sort takes {len(code)} comparisons; there are {len(order) * (len(order) - 1) // 2} pairs")
        axes.axis("off")
    return figure


def gain() -> Figure:
    """Scores of the methods on all problems of `holdout` with up to 50 items, over the evaluations and by class."""
    (section,) = (each for each in sections(read_records(RESULTS / "holdout")) if each.title.endswith("20 + 80 evaluations"))
    style = styles(METHODS)
    ends: list[tuple[float, str]] = []
    with rc_context(STYLE):
        figure = Figure(figsize=(11, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        for method in METHODS:
            curves = {runs: score_curve(runs, method) for runs in section.with_all(*METHODS)}
            mean = np.mean(list(curves.values()), axis=0)
            colour, first = style[method]["color"], section.runs[0].case.initial
            left.plot(
                np.arange(first, len(mean) + 1), mean[first - 1 :], color=colour, linewidth=3 if method == "auto" else 1.8
            )
            ends.append((float(mean[-1]), method))
            groups = list(dict.fromkeys(runs.case.group for runs in curves))
            scores = [np.mean([curve[-1] for runs, curve in curves.items() if runs.case.group == group]) for group in groups]
            right.plot(
                scores, range(len(groups)), style[method]["marker"], color=colour, markersize=8 if method == "auto" else 5
            )
        height = -np.inf
        for end, method in sorted(ends):  # keep labels apart where lines end close to each other
            height = max(end, height + 0.045)
            left.text(101.5, height, f"{method}  {end:.2f}", color=style[method]["color"], va="center", fontsize=11)
        left.set(xlim=(20, 100), ylim=(None, 1), xlabel="evaluations", title="mean over all problems")
        left.set_ylabel("score (0: 100 random orders, 1: best known)")
        left.spines[["top", "right"]].set_visible(False)
        right.set_yticks(range(len(groups)), groups)
        right.invert_yaxis()
        right.axvline(0, color="0.6", linewidth=0.8)
        right.set(xlabel="score after 100 evaluations", title="by class")
        right.grid(True, axis="x")
    return figure


def score_curve(runs: CaseRuns, method: str) -> NDArray[np.float64]:
    """The mean score after each evaluation; 0 is what random search reaches with the full budget."""
    assert runs.reference_value is not None
    return normalised_score(runs.best(method), runs.random[-1], runs.reference_value).mean(axis=0)


if __name__ == "__main__":
    gain().savefig(IMAGES / "gain.png")
    order_or_rank().savefig(IMAGES / "order-or-rank.png")
    merge_steps().savefig(IMAGES / "merge-steps.png")
