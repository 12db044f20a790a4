"""Reports of benchmark runs: a page, tables for LaTeX and metrics as JSON. `mergebo bench report DIR` writes them."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mergebo.errors import extra, require, unknown_choice
from mergebo.experiments.comparison import mean_ranks, mean_score
from mergebo.experiments.findings import caveats, findings, setup
from mergebo.experiments.jobs import Record
from mergebo.experiments.report_metrics import metrics, timings, versions
from mergebo.experiments.report_tables import further_tables, main_tables
from mergebo.experiments.runs import CaseRuns, SuiteRuns, read_records, sections
from mergebo.experiments.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["page", "report"]


@dataclass(frozen=True)
class Drawing:
    """A figure in a report."""

    path: str
    """Path of the PNG, relative to the folder of the report."""
    title: str
    caption: str
    source: str
    """The figure as a data URI."""


@dataclass(frozen=True)
class Chapter:
    """The section of a report on one suite."""

    title: str
    description: str
    setup: list[tuple[str, str]]
    findings: list[str]
    caveats: list[str]
    tables: list[Table]
    figures: list[Drawing]
    curves: list[Drawing]
    further: list[Table]


def report(folder: str | Path, focal: str = "", *, progress: bool = False) -> Path:
    """Write the report on a folder of records into that folder; returns the path of the page.

    The other methods are compared with the focal method, by default auto or mergebo.
    `report.html` is self-contained; `report.md` shows `figures/*.png`; `tables.tex` has all tables; `metrics.json` has
    all numbers, which do not depend on the order of the records; `timings.json` has those that depend on the machine.
    """
    require("bench", "jinja2")  # before anything is simulated
    from rich.console import Console
    from rich.progress import track

    target = Path(folder)
    records = read_records(target)
    found = sections(records, focal)
    _check_method(folder, focal, found)
    (target / "figures").mkdir(exist_ok=True)
    bar: dict[str, Any] = {"console": Console(stderr=True), "transient": True, "disable": not progress}
    for runs in track([runs for section in found for runs in section.runs], "simulating random search", **bar):
        _ = runs.random  # simulated and cached: this takes most of the time for large problems
    chapters = _chapters(track(found, "tables and figures", **bar), found, target)
    for name in ("report.html", "report.md"):
        (target / name).write_text(_rendered(name, chapters, records), encoding="utf-8")
    tables = [table.titled(each.title) for each in chapters for table in (*each.tables, *each.further)]
    (target / "tables.tex").write_text("\n".join(table.latex() for table in tables), encoding="utf-8")
    _write_json(target / "metrics.json", metrics(records, focal))
    _write_json(target / "timings.json", timings(records))
    return target / "report.html"


def page(folder: str | Path, focal: str = "") -> str:
    """The text of `report.html`; writes nothing.

    The values of random search are read from `metrics.json` if it has them for the same case, and simulated otherwise.
    """
    records = read_records(folder)
    found = [_with_saved_random(section, Path(folder)) for section in sections(records, focal)]
    _check_method(folder, focal, found)
    return _rendered("report.html", _chapters(found, found), records)


def _check_method(folder: str | Path, focal: str, found: Sequence[SuiteRuns]) -> None:
    known = sorted({method for section in found for method in section.methods})
    if focal and focal not in known:
        raise unknown_choice(f"method in {folder}", focal, known)


def _with_saved_random(section: SuiteRuns, folder: Path) -> SuiteRuns:
    """The section with the values of random search in `metrics.json`, for cases that have not changed."""
    path = folder / "metrics.json"
    suites = json.loads(path.read_text(encoding="utf-8"))["suites"] if path.exists() else {}
    cases = suites.get(section.title, {}).get("cases", {})

    def known(runs: CaseRuns) -> dict[int, float]:
        case = json.loads(json.dumps({**asdict(runs.case), "reference": runs.reference_value}))
        saved = cases.get(section.label(runs), {})
        if any(saved.get(key) != value for key, value in case.items()):
            return {}
        return {int(budget): value for budget, value in saved["random"].items()}

    return replace(section, runs=tuple(replace(runs, simulated=known(runs)) for runs in section.runs))


def _chapters(selected: Iterable[SuiteRuns], found: Sequence[SuiteRuns], folder: Path | None = None) -> list[Chapter]:
    """The chapters of a report. A method has the same style in all figures; PNGs are written if a folder is given."""
    from mergebo.experiments.figures import styles

    style_of = styles({method for section in found for method in section.methods})
    return [_chapter(section, style_of, folder) for section in selected]


def _rendered(name: str, chapters: Sequence[Chapter], records: Sequence[Record]) -> str:
    """The report rendered with the template of this name."""
    with extra("bench"):
        from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("mergebo.experiments"),
        autoescape=lambda template: template is not None and ".html" in template,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return templates.get_template(f"{name}.jinja").render(
        chapters=chapters, failed=[record for record in records if record.error], versions=versions(records)
    )


def _chapter(section: SuiteRuns, style_of: dict[str, dict[str, Any]], folder: Path | None) -> Chapter:
    from mergebo.experiments.figures import convergence, rank_plot, score_plot

    figures = []
    ranks = mean_ranks(section)
    if ranks:
        intervals = "; bars are 95 % bootstrap intervals over problems" if len(section.runs) > 1 else ""
        caption = (
            f"Mean rank of the final value{intervals}. Within a problem, ranks are averaged over the seeds that all "
            "methods have in common; methods that were not run on all problems are left out."
        )
        figures.append(_draw(rank_plot(ranks, style_of), caption, folder, section.title, "Mean ranks"))
    scores = {
        group: {method: score for method in section.methods if (score := mean_score(runs, method))}
        for group, runs in section.groups.items()
    }
    scores = {group: row for group, row in scores.items() if row}
    if scores:
        caption = "Mean score at the full budget, by class; bars are standard errors over instances, if there are several."
        figures.append(_draw(score_plot(scores, style_of), caption, folder, section.title, "Scores"))
    curves = [
        _draw(*convergence(group, runs, style_of), folder, section.title, group) for group, runs in section.groups.items()
    ]
    return Chapter(
        section.title,
        section.about,
        setup(section),
        findings(section),
        caveats(section),
        main_tables(section),
        figures,
        curves,
        further_tables(section),
    )


def _draw(figure: Figure, caption: str, folder: Path | None, suite: str, title: str) -> Drawing:
    from matplotlib import rc_context

    from mergebo.plots.style import STYLE

    path = f"figures/{re.sub(r'[^a-z0-9]+', '-', f'{suite} {title}'.lower()).strip('-')}.png"
    page = BytesIO()
    with rc_context(STYLE):
        if folder is None:
            figure.draw_without_rendering()  # each drawing changes the layout a little: draw as often as with a PNG
        else:
            figure.savefig(folder / path)
        figure.savefig(page, format="svg", metadata={"Date": None})
    return Drawing(path, title, caption, f"data:image/svg+xml;base64,{b64encode(page.getvalue()).decode()}")


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
