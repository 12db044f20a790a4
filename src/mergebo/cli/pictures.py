"""Pictures of a study: of its results, and of what the model makes of them."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from mergebo.cli.screen import best_so_far, numbers, point_text
from mergebo.cli.words import ORDER
from mergebo.look import LOOK

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from mergebo.cli.studies import Study

GOOD = 0.2
"""The share of the trials whose orders count as good ones."""
NAMED = 40
"""Items that have names in a picture."""


def convergence(study: Study) -> Figure:
    """Every value, and the best so far; with two objectives, one against the other."""
    done = _done(study)
    with rc_context(LOOK):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.add_subplot()
        values = np.array([trial.values for trial in done])
        if len(study.directions) > 1:
            best = [trial.number for trial in study.optuna.best_trials]
            front = np.array([trial.number in best for trial in done])
            axes.plot(*values[~front, :2].T, "o", color="0.7", markersize=4)
            axes.plot(*values[front, :2].T, "o", color="#2166AC", label="no other beats these")
            axes.set(xlabel=f"first objective ({study.directions[0]})", ylabel=f"second objective ({study.directions[1]})")
        else:
            places = [trial.number for trial in done]
            axes.plot(places, values[:, 0], "o", color="0.7", markersize=4, label="each trial")
            axes.step(places, best_so_far(study, done), where="post", color="#2166AC", linewidth=2, label="best so far")
            axes.set(xlabel="trial", ylabel=f"value ({study.directions[0]})")
        axes.set_title(f"{study.name}: {len(done)} results")
        axes.legend()
        axes.grid(True, axis="y")
    return figure


def precedence(study: Study) -> Figure:
    """How often each item comes before each other one in the good orders."""
    slots, names, count = _good_slots(study)
    before = np.mean(slots[:, :, None] < slots[:, None, :], axis=0)
    np.fill_diagonal(before, np.nan)
    rank = np.argsort(-np.nan_to_num(before).sum(axis=1), kind="stable")
    return _heat(
        before[np.ix_(rank, rank)],
        [names[k] for k in rank],
        [names[k] for k in rank],
        f"Row before column, in the best {count} orders",
        "share of these orders",
        "RdBu",
        (0, 1),
    )


def positions(study: Study) -> Figure:
    """How often each item is in each slot in the good orders."""
    slots, names, count = _good_slots(study)
    width = int(slots[slots < len(names)].max()) + 1 if (slots < len(names)).any() else len(names)
    there = np.stack([(slots == slot).mean(axis=0) for slot in range(width)], axis=1)
    rank = np.argsort(slots.mean(axis=0), kind="stable")
    title = f"Item in each slot, in the best {count} orders"
    return _heat(
        there[rank],
        [names[k] for k in rank],
        list(map(str, range(width))),
        title,
        "share of these orders",
        "Blues",
        (0, None),
    )


def model(study: Study) -> Figure:
    """What the model believes of the first objective."""
    opt, _ = study.read()
    return opt.explain(0).plot()


DRAWN: dict[str, Callable[[Study], Figure]] = {
    "convergence": convergence,
    "precedence": precedence,
    "positions": positions,
    "model": model,
}


def _done(study: Study) -> list[FrozenTrial]:
    return [trial for trial in study.trials() if trial.state.name == "COMPLETE"]


def _good_slots(study: Study) -> tuple[Any, list[str], int]:
    """The slot of every item in each good order, items' names, and how many orders these are.

    Items that are not chosen are after all slots; copies of an item are told apart.
    """
    sign = -1 if study.directions[0] == "maximize" else 1
    done = sorted(_done(study), key=lambda trial: sign * trial.values[0])
    count = min(len(done), max(3, round(GOOD * len(done))))
    order: Any = study.space.variables[ORDER]
    slots = np.full((count, order.n), order.n)
    for k, trial in enumerate(done[:count]):
        point = study.point(trial)
        assert point is not None
        row = order.validate(point[ORDER])[: order.length]
        slots[k, row] = np.arange(order.length)
    return slots, list(map(str, order.names)), count


def _heat(
    data: Any, rows: list[str], columns: list[str], title: str, label: str, colours: str, ends: tuple[Any, Any]
) -> Figure:
    with rc_context(LOOK):
        side = min(9.0, 2.5 + 0.3 * min(len(rows), NAMED))
        figure = Figure(figsize=(side + 1, side), layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(data, cmap=colours, vmin=ends[0], vmax=ends[1], aspect="auto")
        axes.set_title(title)
        if len(rows) <= NAMED:
            axes.set_yticks(range(len(rows)), [each[:16] for each in rows])
        if len(columns) <= NAMED:
            upright = max(map(len, columns)) > 2
            axes.set_xticks(range(len(columns)), [each[:16] for each in columns], rotation=90 if upright else 0)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        bar = figure.colorbar(image, ax=axes, shrink=0.7, pad=0.02)
        bar.set_label(label)
        bar.outline.set_visible(False)
    return figure


# ------------------------------------------------------------------------------------------------------------------ page


def page(study: Study, which: Iterable[str]) -> str:
    """Pictures, what the model says, and all trials on one page that needs nothing else."""
    parts = [f"<h1>{html.escape(study.name)}</h1>"]
    best = study.optuna.best_trials
    parts.append(
        "<p>Best: "
        + "; ".join(f"<b>{numbers(t.values)}</b> {html.escape(point_text(study.point(t)))}" for t in best[:5])
        + "</p>"
    )
    for name in which:
        picture = io.BytesIO()
        DRAWN[name](study).savefig(picture, format="svg")
        data = base64.b64encode(picture.getvalue()).decode()
        parts.append(f'<h2>{name}</h2><img alt="{name}" src="data:image/svg+xml;base64,{data}">')
        if name == "model":
            parts.append(f"<pre>{html.escape(str(study.read()[0].explain(0)))}</pre>")
    rows = "".join(
        f"<tr><td>{trial.number}</td><td>{numbers(trial.values) or trial.state.name.lower()}</td>"
        f"<td>{html.escape(point_text(study.point(trial)))}</td></tr>"
        for trial in study.trials()
    )
    parts.append(f"<h2>trials</h2><table><tr><th>trial</th><th>value</th><th>order</th></tr>{rows}</table>")
    return PAGE.format(title=html.escape(study.name), body="\n".join(parts))


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
