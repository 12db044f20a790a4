"""Figure of an explanation: structure probabilities, significant effects, all effects of the main kind, item embedding."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo.errors import extra
from mergebo.explain.effects import REGIONS, SIGNIFICANT_STDS, Effect
from mergebo.explain.report import HEADINGS, Explanation, percent, significant
from mergebo.plots.style import BLUE, GREY, RED, new_figure, truncate

with extra("plot"):
    from matplotlib import colormaps
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

__all__: list[str] = []

BETTER, WORSE, PLAIN = BLUE, RED, GREY
SHADES = colormaps["RdBu"]
"""From worse to better."""
MOST_ITEMS, MOST_EFFECTS = 30, 9
"""Most items and effects that are drawn; of more, the most significant ones."""


def draw(explanation: Explanation, path: str | PathLike[str] | None = None) -> Figure:
    """The figure, saved if there is a path."""
    matrix = explanation.kind not in ("choice", "quantity") and bool(explanation.of_kind(explanation.kind))
    embedding = explanation.embedding is not None
    columns = 1 + matrix + embedding
    width, height = (5.6 * columns, 5.8) if explanation.structures else (7, 1)
    with new_figure(width, height, path) as figure:
        figure.suptitle(_title(explanation), x=0.01, ha="left", fontsize=11)
        if explanation.structures:
            grid = figure.add_gridspec(2, columns, height_ratios=(1, 1.7))
            _structures(figure.add_subplot(grid[0, 0]), explanation)
            _effects(figure.add_subplot(grid[1, 0]), explanation)
            if matrix:
                _matrix(figure.add_subplot(grid[:, 1]), explanation)
            if embedding:
                _embedding(figure.add_subplot(grid[:, -1]), explanation)
    return figure


def _title(explanation: Explanation) -> str:
    if not explanation.structures:
        return explanation.summary
    details = f"{explanation.results} results, {explanation.goal}; leave-one-out R² {percent(explanation.q2)}"
    return f"{explanation.summary}\n{details}"


def _structures(axes: Axes, explanation: Explanation) -> None:
    axes.set_title("Posterior probability of each structure")
    names, probabilities = list(explanation.structures), np.array(list(explanation.structures.values()))
    first = BETTER if explanation.is_informative else PLAIN
    axes.barh(names, probabilities, color=[first, *[PLAIN] * (len(names) - 1)], height=0.7)
    for k, weight in enumerate(probabilities):
        axes.annotate(percent(weight), (weight, k), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set(xlim=(0, 1.18), xticks=[], ylim=(len(names) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)
    axes.spines["bottom"].set_visible(False)


def _effects(axes: Axes, explanation: Explanation) -> None:
    found = significant(explanation.effects) if explanation.is_informative else ()
    shown = (found or explanation.of_kind(explanation.kind))[:MOST_EFFECTS]
    axes.set_title("Most significant effects on the value" if found else "Effects on the value: none significant")
    for k, effect in enumerate(shown):
        colour = (BETTER if effect.better else WORSE) if found else PLAIN
        axes.errorbar(effect.estimate, k, xerr=SIGNIFICANT_STDS * effect.std, fmt="o", color=colour, markersize=5)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(shown)), [truncate(effect.description, 28) for effect in shown], parse_math=False)
    axes.set(ylim=(max(MOST_EFFECTS, len(shown)) - 0.5, -0.5), xlabel="change of the value, with two standard deviations")
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x")


def _matrix(axes: Axes, explanation: Explanation) -> None:
    """Effects of the main kind, items by items or by thirds; uncertain ones are faint."""
    kind = explanation.kind
    effects = explanation.of_kind(kind)
    variable = effects[0].variable
    effects = tuple(effect for effect in effects if effect.variable == variable)
    all_names = explanation.items[variable]
    n = len(all_names)
    directed = any("right before" in effect.description for effect in effects)
    width = len(REGIONS[min(3, n)]) if kind == "position" else n
    gain, certainty = np.full((n, width), np.nan), np.zeros((n, width))
    for effect in effects:
        size = abs(effect.estimate) * (1 if effect.better else -1)
        row, column = effect.where
        gain[row, column] = size
        certainty[row, column] = abs(effect.estimate) / max(SIGNIFICANT_STDS * effect.std, 1e-300)
        if kind == "precedence" or (kind == "adjacency" and not directed):
            gain[column, row] = -size if kind == "precedence" else size
            certainty[column, row] = certainty[row, column]
    items = _shown_items(effects, n)
    net = np.nan_to_num(gain)
    if kind == "precedence":
        items = sorted(items, key=lambda item: -float(net[item, items].sum()))
    elif kind == "position":
        items = sorted(items, key=lambda item: float(net[item, -1] - net[item, 0]))
    across: Any = items if kind != "position" else range(width)
    gain, certainty = gain[np.ix_(items, across)], certainty[np.ix_(items, across)]
    scale = Normalize(-np.nanmax(np.abs(gain)), np.nanmax(np.abs(gain)))
    axes.imshow(_faded(SHADES(scale(np.nan_to_num(gain))), certainty), aspect="auto" if kind == "position" else "equal")
    names = [truncate(all_names[item], 12) for item in items]
    font_size = 9 if len(items) <= 20 else 7
    axes.set_yticks(range(len(items)), names, fontsize=font_size, parse_math=False)
    if kind == "position":
        axes.set_xticks(range(width), REGIONS[min(3, n)])
    else:
        upright = max(map(len, names)) > 2 or len(items) > 16
        axes.set_xticks(range(len(items)), names, fontsize=font_size, rotation=90 if upright else 0, parse_math=False)
    legend = {
        "precedence": "row before column",
        "position": "item in each part",
        "adjacency": "row right before column" if directed else "row next to column",
    }[kind]
    axes.set_title(f"{HEADINGS[kind]}: {legend}" + ("" if len(items) == n else f", {len(items)} of {n} items"))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    bar = axes.figure.colorbar(ScalarMappable(scale, SHADES), ax=axes, shrink=0.6, aspect=30, pad=0.02, location="bottom")
    bar.set_label("worse  ←  effect on the value  →  better;   faint: uncertain", fontsize=9)
    bar.outline.set_visible(False)
    bar.locator = MaxNLocator(5)  # more labels would overlap
    bar.update_ticks()


def _shown_items(effects: tuple[Effect, ...], n: int) -> list[int]:
    """The items that are drawn."""
    if n <= MOST_ITEMS:
        return list(range(n))
    seen: dict[int, None] = {}
    for effect in effects:
        seen.update(dict.fromkeys(effect.where[:1] if effect.kind == "position" else effect.where))
    return sorted(list(seen)[:MOST_ITEMS])


def _faded(colours: NDArray[Any], certainty: NDArray[Any]) -> NDArray[Any]:
    """Colours, the closer to white the less certain."""
    strength = np.clip(certainty, 0.1, 1.0)[..., None] ** 2
    return np.asarray(1 - (1 - colours[..., :3]) * strength)


def _embedding(axes: Axes, explanation: Explanation) -> None:
    """Items at their coordinates, with lines between pairs whose adjacency is significantly better."""
    assert explanation.embedding is not None
    coordinates = explanation.embedding
    axes.set_title("Item embedding")
    good = [effect for effect in explanation.of_kind("adjacency") if effect.lower_bound > 0 and effect.better]
    largest = max((abs(effect.estimate) for effect in good), default=1.0)
    for effect in good:
        width = 4 * abs(effect.estimate) / largest
        axes.plot(*coordinates[list(effect.where)].T, color=BETTER, alpha=0.5, linewidth=width, zorder=1)
    axes.plot(*coordinates.T, ".", markersize=8, color="black", zorder=2)
    for item, (name, point) in enumerate(zip(*explanation.items.values(), coordinates, strict=True)):
        right, up = _label_direction(coordinates, item)
        axes.annotate(
            truncate(name, 12), tuple(point), xytext=(9 * right, 9 * up), textcoords="offset points", fontsize=9,
            ha="left" if right > 0.5 else "right" if right < -0.5 else "center", va="center", zorder=3,
            parse_math=False,
        )  # fmt: skip
    axes.set_aspect("equal")
    axes.margins(0.1)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color("#CCCCCC")


def _label_direction(coordinates: NDArray[Any], item: int) -> tuple[float, float]:
    """The direction in which there is most room for a name."""
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    reach = 0.04 * np.ptp(coordinates, axis=0).max()
    others = np.delete(coordinates, item, axis=0)
    room = np.linalg.norm(coordinates[item] + reach * directions[:, None] - others, axis=2).min(axis=1)
    right, up = directions[room.argmax()]
    return float(right), float(up)
