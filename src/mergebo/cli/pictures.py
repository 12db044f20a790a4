"""Pictures of a study: of its results, and of what the model makes of them."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from mergebo.cli.screen import STATES, best_so_far, numbers, point_text
from mergebo.cli.studies import REASON
from mergebo.cli.words import ORDER
from mergebo.errors import UnsupportedError, extra
from mergebo.look import LOOK, short
from mergebo.optimizers.explanation import item_names

with extra("plot"):
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from mergebo.cli.studies import Study
    from mergebo.spaces import Permutation

GOOD = 0.2
"""The share of the trials whose orders count as good ones."""
NAMED = 100
"""Items that have names in a picture."""
BLUE, GREY = "#2166AC", "0.7"


def convergence(study: Study) -> Figure:
    """Every value, and the best so far; with several objectives, the first against the second."""
    done = study.done()
    with rc_context(LOOK):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.add_subplot()
        values = np.array([trial.values for trial in done])
        if len(study.directions) > 1:
            best = [trial.number for trial in study.optuna.best_trials]
            front = np.array([trial.number in best for trial in done])
            axes.plot(*values[~front, :2].T, "o", color=GREY, markersize=4, label="each trial")
            axes.plot(*values[front, :2].T, "o", color=BLUE, label="no other beats these")
            axes.set(xlabel=f"first objective ({study.directions[0]})", ylabel=f"second objective ({study.directions[1]})")
            axes.grid(True)
        else:
            places = [trial.number for trial in done]
            axes.plot(places, values[:, 0], "o", color=GREY, markersize=4, label="each trial")
            axes.step(places, best_so_far(study, done), where="post", color=BLUE, linewidth=2, label="best so far")
            axes.set(xlabel="trial", ylabel=f"value ({study.directions[0]})")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
            axes.grid(True, axis="y")
        axes.set_title(f"{short(study.name, 40)}: {len(done)} results", parse_math=False)
        axes.legend()
    return figure


def precedence(study: Study) -> Figure:
    """How often each item comes before each other one in the good orders."""
    order = _order(study)
    if order.symmetry:
        raise UnsupportedError("an order that is the same from another slot on or backwards has no before; see `neighbours`")
    slots, which = _good_slots(study)
    before = np.mean(slots[:, :, None] < slots[:, None, :], axis=0)
    rank = np.argsort(slots.mean(axis=0), kind="stable")
    return _pairs(order, before, rank, f"Row before column\nin {which}", "RdBu")


def neighbours(study: Study) -> Figure:
    """How often two items are next to each other in the good orders."""
    order = _order(study)
    slots, which = _good_slots(study)
    gap = np.abs(slots[:, :, None] - slots[:, None, :])
    beside = (gap == 1) | (("cycle" in order.symmetry) & (gap == order.length - 1))
    beside &= np.maximum(slots[:, :, None], slots[:, None, :]) < order.length
    rank = np.argsort(slots[0], kind="stable")  # along the best order, where neighbours are beside the diagonal
    return _pairs(order, beside.mean(axis=0), rank, f"Row next to column\nin {which}", "Blues")


def positions(study: Study) -> Figure:
    """How often each item is in each slot in the good orders."""
    order = _order(study)
    if order.symmetry:
        raise UnsupportedError("an order that is the same from another slot on or backwards has no slots; see `neighbours`")
    slots, which = _good_slots(study)
    there = np.stack([(slots == slot).mean(axis=0) for slot in range(order.length)], axis=1)
    rank = np.argsort(slots.mean(axis=0), kind="stable")
    names = item_names(order)
    columns = list(map(str, range(order.length)))
    figure = _heat(there[rank], [names[k] for k in rank], columns, f"Item in each slot\nin {which}", "Blues")
    figure.axes[0].set_xlabel("slot, the first is 0")
    return figure


def model(study: Study) -> Figure:
    """What the model believes of the first objective."""
    return study.read()[0].explain(0).plot()


DRAWN: dict[str, Callable[[Study], Figure]] = {
    "convergence": convergence,
    "precedence": precedence,
    "positions": positions,
    "neighbours": neighbours,
    "model": model,
}


def _order(study: Study) -> Permutation:
    order: Any = study.space.variables[ORDER]
    return order  # type: ignore[no-any-return]


def _good_slots(study: Study) -> tuple[Any, str]:
    """The slot of every item in each good order, the best first, and which orders these are.

    Items that are not chosen are after all slots.
    """
    sign = -1 if study.directions[0] == "maximize" else 1
    ranked = sorted(study.done(), key=lambda trial: sign * trial.values[0])
    if len(study.directions) > 1:
        best = [trial.number for trial in study.optuna.best_trials]
        good = [trial for trial in ranked if trial.number in best]
        which = f"{len(good)} orders that none beats" if len(good) > 1 else "the order that beats all"
    else:
        good = ranked[: max(3, round(GOOD * len(ranked)))]
        which = f"the best {len(good)} orders" if len(good) > 1 else "the only order"
    order = _order(study)
    slots = np.full((len(good), order.n), order.n)
    for k, trial in enumerate(good):
        point = study.point(trial)
        assert point is not None
        slots[k, order.validate(point[ORDER])[: order.length]] = np.arange(order.length)
    return slots, which


def _pairs(order: Permutation, data: Any, rank: Any, title: str, colours: str) -> Figure:
    """Items by items."""
    np.fill_diagonal(data, np.nan)
    names = item_names(order)
    ranked = [names[k] for k in rank]
    return _heat(data[np.ix_(rank, rank)], ranked, ranked, title, colours)


def _heat(data: Any, rows: list[str], columns: list[str], title: str, colours: str) -> Figure:
    """Shares as colours."""
    with rc_context(LOOK):
        side = min(12.0, 2.5 + 0.3 * len(rows))
        figure = Figure(figsize=(side + 1, side), layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(data, cmap=colours, vmin=0, vmax=1, aspect="auto")
        axes.set_title(title)
        for axis, names in ((axes.yaxis, rows), (axes.xaxis, columns)):
            named = names if len(names) <= NAMED else []
            size = min(10.0, 500 / len(names))  # as large as there is room for
            axis.set_ticks(range(len(named)), [short(each, 16) for each in named], fontsize=size, parse_math=False)
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
    """Pictures, what the model says, and all trials on one page that needs nothing else."""
    best = [f"<b>{numbers(t.values)}</b> {html.escape(point_text(study.point(t)))}" for t in study.optuna.best_trials[:5]]
    parts = [f"<h1>{html.escape(study.name)}</h1>", f"<p>Best: {'; '.join(best)}</p>"]
    for name in which:
        if name == "model":
            opt, _ = study.read()
            for objective, direction in enumerate(study.directions):
                said = f" of objective {objective + 1} ({direction})" if len(study.directions) > 1 else ""
                explanation = opt.explain(objective)
                parts.append(f"<h2>model{said}</h2>{_image(name, explanation.plot())}")
                parts.append(f"<pre>{html.escape(str(explanation))}</pre>")
            continue
        try:
            parts.append(f"<h2>{name}</h2>{_image(name, DRAWN[name](study))}")
        except UnsupportedError:  # a picture that means nothing for orders like these
            continue
    parts.append(f"<h2>trials</h2>{_table(study)}")
    return PAGE.format(title=html.escape(study.name), body="\n".join(parts))


def _image(name: str, figure: Figure) -> str:
    picture = io.BytesIO()
    figure.savefig(picture, format="svg", metadata={"Date": None})
    data = base64.b64encode(picture.getvalue()).decode()
    return f'<img alt="{name}" src="data:image/svg+xml;base64,{data}">'


def _table(study: Study) -> str:
    rows = []
    for trial in study.trials():
        state = STATES[trial.state.name]
        said = f"{trial.user_attrs.get(REASON, '')} {point_text(study.point(trial))}".strip()
        value = numbers(trial.values) if state == "done" else state
        rows.append(f"<tr><td>{trial.number}</td><td>{value}</td><td>{html.escape(said)}</td></tr>")
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
