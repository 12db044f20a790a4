"""Plots of a study: its results, and what the model has learned from them."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from mergebo._text import ORDER, format_numbers, point_text
from mergebo.errors import UnsupportedError, extra
from mergebo.explain import Explanation
from mergebo.explain.effects import item_names
from mergebo.plots.style import STYLE, truncate

with extra("plot"):
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

from mergebo.spaces import Permutation, SearchSpace

__all__ = ["PLOTS", "page"]

GOOD_SHARE = 0.2
"""Fraction of the trials whose orders count as good."""
MAX_LABELLED = 100
"""Number of items above which the axes have no labels."""
BLUE, GREY = "#2166AC", "0.7"


class Study(Protocol):
    """What plots need of a study; `mergebo.studies.Study` has it."""

    @property
    def name(self) -> str: ...

    @property
    def space(self) -> SearchSpace: ...

    @property
    def directions(self) -> Sequence[str]: ...

    def trials(self) -> Sequence[Any]: ...

    def completed(self) -> Sequence[Any]: ...

    def best_trials(self) -> Sequence[Any]: ...

    def best_so_far(self, trials: Iterable[Any]) -> Sequence[float]: ...

    def point(self, trial: Any) -> Mapping[str, Any] | None: ...

    def data(self, trial: Any) -> Mapping[str, Any]: ...

    def explain(self, objective: int) -> Explanation: ...


def convergence(study: Study) -> Figure:
    """Plot every value and the best so far; with several objectives, the first against the second."""
    done = study.completed()
    with rc_context(STYLE):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.add_subplot()
        values = np.array([trial.values for trial in done])
        if len(study.directions) > 1:
            best = [trial.number for trial in study.best_trials()]
            front = np.array([trial.number in best for trial in done])
            axes.plot(*values[~front, :2].T, "o", color=GREY, markersize=4, label="each trial")
            axes.plot(*values[front, :2].T, "o", color=BLUE, label="Pareto front")
            axes.set(xlabel=f"first objective ({study.directions[0]})", ylabel=f"second objective ({study.directions[1]})")
            axes.grid(True)
        else:
            numbers = [trial.number for trial in done]
            axes.plot(numbers, values[:, 0], "o", color=GREY, markersize=4, label="each trial")
            axes.step(numbers, study.best_so_far(done), where="post", color=BLUE, linewidth=2, label="best so far")
            axes.set(xlabel="trial", ylabel=f"value ({study.directions[0]})")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
            axes.grid(True, axis="y")
        axes.set_title(f"{truncate(study.name, 40)}: {len(done)} results", parse_math=False)
        axes.legend()
    return figure


def precedence(study: Study) -> Figure:
    """Plot how often each item comes before each other one in the good orders."""
    order = _order(study)
    if order.symmetry:
        raise UnsupportedError("`precedence` is undefined for orders with a symmetry; see `neighbours`")
    slots, which = good_slots(study)
    before = np.mean(slots[:, :, None] < slots[:, None, :], axis=0)
    rank = np.argsort(slots.mean(axis=0), kind="stable")
    return _pairs(order, before, rank, f"Row before column\nin {which}", "RdBu")


def neighbours(study: Study) -> Figure:
    """Plot how often two items are next to each other in the good orders."""
    order = _order(study)
    slots, which = good_slots(study)
    distance = np.abs(slots[:, :, None] - slots[:, None, :])
    adjacent = (distance == 1) | (("cycle" in order.symmetry) & (distance == order.length - 1))
    adjacent &= np.maximum(slots[:, :, None], slots[:, None, :]) < order.length
    rank = np.argsort(slots[0], kind="stable")  # that of the best order, so that its neighbours are next to the diagonal
    return _pairs(order, adjacent.mean(axis=0), rank, f"Row next to column\nin {which}", "Blues")


def positions(study: Study) -> Figure:
    """Plot how often each item is in each slot in the good orders."""
    order = _order(study)
    if order.symmetry:
        raise UnsupportedError("`positions` is undefined for orders with a symmetry; see `neighbours`")
    slots, which = good_slots(study)
    shares = np.stack([(slots == slot).mean(axis=0) for slot in range(order.length)], axis=1)
    rank = np.argsort(slots.mean(axis=0), kind="stable")
    names = item_names(order)
    columns = list(map(str, range(order.length)))
    figure = _heatmap(shares[rank], [names[k] for k in rank], columns, f"Item in each slot\nin {which}", "Blues")
    figure.axes[0].set_xlabel("slot, counted from 0")
    return figure


def model(study: Study) -> Figure:
    """Plot what the model has learned about the first objective."""
    return study.explain(0).plot()


PLOTS: dict[str, Callable[[Study], Figure]] = {
    "convergence": convergence,
    "precedence": precedence,
    "positions": positions,
    "neighbours": neighbours,
    "model": model,
}
"""The plots of a study by name."""


def _order(study: Study) -> Permutation:
    order: Any = study.space.variables[ORDER]
    return order  # type: ignore[no-any-return]


def good_slots(study: Study) -> tuple[Any, str]:
    """The slot of every item in each good order, the best first, and a description of these orders.

    Items that are not chosen come after all slots.
    """
    sign = -1 if study.directions[0] == "maximize" else 1
    ranked = sorted(study.completed(), key=lambda trial: sign * trial.values[0])
    if len(study.directions) > 1:
        best = [trial.number for trial in study.best_trials()]
        good = [trial for trial in ranked if trial.number in best]
        which = f"the {len(good)} orders on the Pareto front" if len(good) > 1 else "the only order on the Pareto front"
    else:
        good = ranked[: max(3, round(GOOD_SHARE * len(ranked)))]
        which = f"the best {len(good)} orders" if len(good) > 1 else "the only order"
    order = _order(study)
    slots = np.full((len(good), order.n), order.n)
    for k, trial in enumerate(good):
        point = study.point(trial)
        assert point is not None
        slots[k, order.validate(point[ORDER])[: order.length]] = np.arange(order.length)
    return slots, which


def _pairs(order: Permutation, data: Any, rank: Any, title: str, colours: str) -> Figure:
    """A heat map with a cell for each pair of items."""
    np.fill_diagonal(data, np.nan)
    names = item_names(order)
    ranked = [names[k] for k in rank]
    return _heatmap(data[np.ix_(rank, rank)], ranked, ranked, title, colours)


def _heatmap(data: Any, rows: list[str], columns: list[str], title: str, colours: str) -> Figure:
    """A heat map of shares between 0 and 1."""
    with rc_context(STYLE):
        side = min(12.0, 2.5 + 0.3 * len(rows))
        figure = Figure(figsize=(side + 1, side), layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(data, cmap=colours, vmin=0, vmax=1, aspect="auto")
        axes.set_title(title)
        for axis, names in ((axes.yaxis, rows), (axes.xaxis, columns)):
            labels = names if len(names) <= MAX_LABELLED else []
            size = min(10.0, 500 / len(names))  # as large as there is room for
            axis.set_ticks(range(len(labels)), [truncate(each, 16) for each in labels], fontsize=size, parse_math=False)
        if max(map(len, columns)) > 2:
            axes.tick_params(axis="x", rotation=90)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        bar = figure.colorbar(image, ax=axes, shrink=0.7, pad=0.02)
        bar.set_label("share of these orders")
        bar.outline.set_visible(False)
    return figure


# ------------------------------------------------------------------------------------------------------------------ page


def page(study: Study, which: Iterable[str]) -> str:
    """A self-contained HTML page with plots, an explanation of the model, and all trials."""
    best = [f"<b>{format_numbers(t.values)}</b> {html.escape(point_text(study.point(t)))}" for t in study.best_trials()[:5]]
    parts = [f"<h1>{html.escape(study.name)}</h1>", f"<p>Best: {'; '.join(best)}</p>"]
    for name in which:
        if name == "model":
            for objective, direction in enumerate(study.directions):
                suffix = f" of objective {objective + 1} ({direction})" if len(study.directions) > 1 else ""
                explanation = study.explain(objective)
                parts.append(f"<h2>model{suffix}</h2>{_image(name, explanation.plot())}")
                parts.append(f"<pre>{html.escape(str(explanation))}</pre>")
            continue
        try:
            parts.append(f"<h2>{name}</h2>{_image(name, PLOTS[name](study))}")
        except UnsupportedError:  # a plot that is undefined for these orders
            continue
    parts.append(f"<h2>trials</h2>{_table(study)}")
    return PAGE.format(title=html.escape(study.name), body="\n".join(parts))


def _image(name: str, figure: Figure) -> str:
    svg = io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    data = base64.b64encode(svg.getvalue()).decode()
    return f'<img alt="{name}" src="data:image/svg+xml;base64,{data}">'


def _table(study: Study) -> str:
    rows = []
    for trial in map(study.data, study.trials()):
        text = f"{trial.get('reason', '')} {point_text(trial['point'])}".strip()
        values = trial["value"] if isinstance(trial["value"], list) else [trial["value"]]
        value = format_numbers(values) if trial["state"] == "done" else trial["state"]
        rows.append(f"<tr><td>{trial['trial']}</td><td>{value}</td><td>{html.escape(text)}</td></tr>")
    return f"<table><tr><th>trial</th><th>value</th><th>order</th></tr>{''.join(rows)}</table>"


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }}
img {{ max-width: 100%; height: auto }} pre {{ overflow-x: auto; background: #f6f6f6; padding: 1rem }}
table {{ border-collapse: collapse; display: block; overflow-x: auto }} td, th {{ padding: .1rem .8rem; text-align: left }}
td:nth-child(-n+2) {{ text-align: right; font-variant-numeric: tabular-nums }}
</style>
<body>
{body}
</body></html>
"""
