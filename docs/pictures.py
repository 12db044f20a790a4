"""Pictures of orders, ranks and merge sort for the docs, drawn from what the library computes. Run by `make pictures`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

import mergebo as mb
from mergebo.look import LOOK

IMAGES = Path(__file__).parent / "images"
SHADES = colormaps["tab10"]


def box(axes: Axes, x: float, y: float, text: str, colour: object, size: float = 0.8, fontsize: int = 11) -> None:
    """A box with a text in it, its centre at (x, y)."""
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
    """Two orders, and the same two with the items renamed: one distance does not notice."""
    first, second = np.array([2, 0, 3, 1, 4]), np.array([0, 2, 3, 4, 1])
    names = np.array([3, 0, 4, 2, 1])
    with rc_context(LOOK):
        figure = Figure(figsize=(10, 2.9), layout="constrained")
        for place, (title, pair) in enumerate(
            (("two orders", (first, second)), ("the same two, items renamed", (names[first], names[second])))
        ):
            axes = figure.add_subplot(1, 2, place + 1)
            for row, order in enumerate(pair):
                y = 3.2 - 1.2 * row
                for slot, item in enumerate(order):
                    original = item if place == 0 else int(np.flatnonzero(names == item)[0])
                    box(axes, slot, y, str(item), SHADES(original))
                ranks = mb.permutations.invert(order)
                axes.text(5.1, y + 0.17, "order  " + " ".join(map(str, order)), family="monospace", fontsize=10, va="center")
                axes.text(5.1, y - 0.2, "rank   " + " ".join(map(str, ranks)), family="monospace", fontsize=10, va="center")
            for slot in range(5):
                axes.text(slot, 3.85, f"slot {slot}", ha="center", fontsize=8, color="0.5")
            for line, view in enumerate(("rank", "order")):
                distance = int(mb.permutations.kendall(*pair, view=view))
                axes.text(-0.4, 0.95 - 0.5 * line, f'Kendall distance, view="{view}":  {distance}', fontsize=12)
            axes.set(xlim=(-0.6, 8.4), ylim=(0, 4.3), aspect="equal", title=title)
            axes.axis("off")
    return figure


def merge_steps(order: tuple[int, ...] = (4, 2, 7, 5, 3, 6, 0, 1)) -> Figure:
    """Merge sort of eight numbers: every merge with its comparisons, and how the bits become one code."""
    code = mb.sorting.MergeMap(len(order)).encode(order)
    with rc_context(LOOK):
        figure = Figure(figsize=(11, 5.6), layout="constrained")
        axes = figure.add_subplot()
        bits = iter(code.tolist())
        levels = {1: 3.9, 2: 2.6, 4: 1.3, 8: 0.0}
        for slot, number in enumerate(order):
            box(axes, slot, levels[1], str(number), "0.45")

        def merge(low: int, high: int) -> list[int]:
            """Draws the merge of a range of slots, below those of its halves, and gives the sorted numbers."""
            if high - low == 1:
                return [order[low]]
            middle = low + (high - low) // 2
            left, right = merge(low, middle), merge(middle, high)
            sizes, y = high - low, levels[high - low]
            own = [next(bits) for _ in range(sizes - 1)]
            taken, a, b = [], list(left), list(right)
            for slot in range(sizes):
                known = not (a and b)
                from_right = bool(b) and (not a or b[0] < a[0])
                taken.append((b if from_right else a).pop(0))
                box(axes, low + slot, y, str(taken[-1]), SHADES(1 if from_right else 0))
                if slot < sizes - 1:
                    shade = "0.7" if known else "black"
                    axes.text(
                        low + slot, y - 0.58, str(own[slot]), ha="center", fontsize=12, family="monospace", color=shade
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
            "below: the answers to the\ncomparisons, 1 if the left\nnumber is the larger one;\n"
            "grey: known already, for one\nhalf is used up",
            fontsize=10,
            va="center",
        )
        axes.text(-0.4, -1.25, "code  " + " ".join(map(str, code)), family="monospace", fontsize=13)
        axes.set(xlim=(-2, 11.2), ylim=(-1.5, 4.6), aspect="equal")
        axes.set_title(f"Merge sort asks {len(code)} questions; all pairs would be {len(order) * (len(order) - 1) // 2}")
        axes.axis("off")
    return figure


if __name__ == "__main__":
    order_or_rank().savefig(IMAGES / "order-or-rank.png")
    merge_steps().savefig(IMAGES / "merge-steps.png")
