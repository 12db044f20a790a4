"""A folder of records as a page to read, tables to paste and figures to compare with: `mergebo bench report DIR`."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mergebo._typing import Floats
from mergebo.errors import extra, require, unknown_choice
from mergebo.experiments.comparison import Comparison, Worst, compare_runs, mean_ranks, mean_score, worst_class
from mergebo.experiments.jobs import Record
from mergebo.experiments.results import ALL, Runs, Section, read_records, sections
from mergebo.experiments.statistics import Estimate
from mergebo.experiments.summaries import findings, focus, further_tables, main_tables, remarks, setup
from mergebo.experiments.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """A figure in a report."""

    path: str
    """Of the PNG, from the folder of the report."""
    title: str
    caption: str
    source: str
    """The figure itself, as the address of an image."""


@dataclass(frozen=True)
class Chapter:
    """What a report says of one suite."""

    title: str
    about: str
    setup: list[tuple[str, str]]
    findings: list[str]
    remarks: list[str]
    tables: list[Table]
    figures: list[Drawing]
    curves: list[Drawing]
    further: list[Table]


def report(folder: str | Path, ours: str = "", *, progress: bool = False) -> Path:
    """Write the report of a folder of records into it: the path of its page.

    The others are compared with the method `ours`; by default with auto or mergebo.
    `report.html` needs no other file; `report.md` shows `figures/*.png`; `tables.tex` has all tables; `metrics.json` has
    all figures, the same for the same records in any order, and `timings.json` what depends on the machine.
    """
    require("bench", "jinja2")  # before anything is simulated
    from rich.console import Console
    from rich.progress import track

    target = Path(folder)
    records = read_records(target)
    found = sections(records, ours)
    _check_method(folder, ours, found)
    (target / "figures").mkdir(exist_ok=True)
    shown: dict[str, Any] = {"console": Console(stderr=True), "transient": True, "disable": not progress}
    for runs in track([runs for section in found for runs in section.runs], "random search, to compare with", **shown):
        _ = runs.random  # simulated, and remembered: what takes the time in large problems
    chapters = _chapters(track(found, "tables and figures", **shown), found, target)
    for name in ("report.html", "report.md"):
        (target / name).write_text(_rendered(name, chapters, records), encoding="utf-8")
    tables = [table.titled(each.title) for each in chapters for table in (*each.tables, *each.further)]
    (target / "tables.tex").write_text("\n".join(table.latex() for table in tables), encoding="utf-8")
    _write_json(target / "metrics.json", metrics(records, ours))
    _write_json(target / "timings.json", timings(records))
    return target / "report.html"


def page(folder: str | Path, ours: str = "") -> str:
    """`report.html` as text, from the records; nothing is written.

    The values of random search are read from `metrics.json` where it has them for the same case, instead of simulated.
    """
    records = read_records(folder)
    found = [_remembered(section, Path(folder)) for section in sections(records, ours)]
    _check_method(folder, ours, found)
    return _rendered("report.html", _chapters(found, found), records)


def _check_method(folder: str | Path, ours: str, found: Sequence[Section]) -> None:
    known = sorted({method for section in found for method in section.methods})
    if ours and ours not in known:
        raise unknown_choice(f"method in {folder}", ours, known)


def _remembered(section: Section, folder: Path) -> Section:
    """The section with the values of random search from `metrics.json`, for those of its cases that have not changed."""
    path = folder / "metrics.json"
    suites = json.loads(path.read_text(encoding="utf-8"))["suites"] if path.exists() else {}
    cases = suites.get(section.title, {}).get("cases", {})

    def known(runs: Runs) -> dict[int, float]:
        case = json.loads(json.dumps({**asdict(runs.case), "reference": runs.reference}))
        saved = cases.get(section.label(runs), {})
        if any(saved.get(key) != value for key, value in case.items()):
            return {}
        return {int(budget): value for budget, value in saved["random"].items()}

    return replace(section, runs=tuple(replace(runs, simulated=known(runs)) for runs in section.runs))


def _chapters(shown: Iterable[Section], found: Sequence[Section], folder: Path | None = None) -> list[Chapter]:
    """The chapters of a report, where a method has one style in all figures; PNGs are written if there is a folder."""
    from mergebo.experiments.figures import styles

    look = styles({method for section in found for method in section.methods})
    return [_chapter(section, look, folder) for section in shown]


def _rendered(name: str, chapters: Sequence[Chapter], records: Sequence[Record]) -> str:
    """The report that the template of this name makes."""
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
        chapters=chapters, failed=[record for record in records if record.error], versions=_versions(records)
    )


def metrics(records: Sequence[Record], ours: str = "") -> dict[str, Any]:
    """Every figure of a report but the timings: a function of what was run and what came out, of nothing else.

    Lists go from the full budget down to the smallest that is reported.
    """
    return {
        "suites": {section.title: _section_metrics(section) for section in sections(records, ours)},
        "failed": sorted(record.job.key for record in records if record.error),
    }


def timings(records: Sequence[Record]) -> dict[str, Any]:
    """Mean seconds per ask and fit, and of a whole run; and the versions that were used."""
    seconds = {
        section.title: {
            section.label(runs): {
                method: {
                    part: float(np.mean([record.seconds.get(part, 0.0) for record in each.values()]))
                    for part in ("ask", "fit", "total")
                }
                for method, each in runs.records.items()
            }
            for runs in section.runs
        }
        for section in sections(records)
    }
    return {"seconds": seconds, "versions": _versions(records)}


def _section_metrics(section: Section) -> dict[str, Any]:
    ours = focus(section)
    others = [method for method in section.methods if method != ours]
    parts = {**section.parts, ALL: list(section.runs)}
    stages = range(max(len(runs.budgets) for runs in section.runs))
    return {
        "cases": {section.label(runs): _case_metrics(runs) for runs in section.runs},
        "absent": [case.problem for case in section.absent],
        "instances": {part: {"run": len(runs), "planned": section.size(part)} for part, runs in parts.items()},
        "ranks": {method: asdict(rank) for method, rank in mean_ranks(section).items()},
        "scores": {
            part: {method: [_dict(mean_score(runs, method, stage)) for stage in stages] for method in section.methods}
            for part, runs in parts.items()
        },
        "compared": ours,
        "against": {
            other: {
                part: [_dict(compare_runs(runs, ours, other, stage)) for stage in stages] for part, runs in parts.items()
            }
            for other in others
        },
        "worst": {other: [_dict(worst_class(section, ours, other, stage)) for stage in stages] for other in others},
        # Ours with a smaller budget against the other with the full one.
        "sooner": {
            other: {
                part: [_dict(compare_runs(runs, ours, other, stage, 0)) for stage in stages[1:]]
                for part, runs in parts.items()
            }
            for other in others
        },
    }


def _dict(found: Comparison | Estimate | Worst | None) -> dict[str, Any] | None:
    return asdict(found) if found else None


def _case_metrics(runs: Runs) -> dict[str, Any]:
    return {
        **asdict(runs.case),
        "reference": runs.reference,
        "random": {str(budget): runs.random_at(budget) for budget in runs.budgets},
        "methods": {
            method: {
                "seeds": runs.seeds(method),
                **{
                    str(budget): {
                        "best": _spread(runs.best(method)[:, budget - 1]),
                        "regret": _spread(runs.regret(method, budget)),
                        "auc": _spread(runs.auc(method, budget)),
                        "score": _spread(runs.score(method, budget)),
                    }
                    for budget in runs.budgets
                },
            }
            for method in runs.records
        },
    }


def _spread(values: Floats | None) -> dict[str, float | None] | None:
    if values is None:
        return None
    return {"mean": float(values.mean()), "deviation": float(values.std(ddof=1)) if len(values) > 1 else None}


def _chapter(section: Section, look: dict[str, dict[str, Any]], folder: Path | None) -> Chapter:
    from mergebo.experiments.figures import convergence, rank_plot, score_plot

    figures = []
    ranks = mean_ranks(section)
    if ranks:
        several = "; bars are 95 % bootstrap intervals over problems" if len(section.runs) > 1 else ""
        caption = (
            f"Mean rank of the final value{several}. Within a problem, ranks are taken seed by seed, over the seeds that "
            "all have, and averaged; methods "
            "that were not run on all problems are left out."
        )
        figures.append(_draw(rank_plot(ranks, look), caption, folder, section.title, "Mean ranks"))
    scores = {
        group: {method: score for method in section.methods if (score := mean_score(runs, method))}
        for group, runs in section.groups.items()
    }
    scores = {group: row for group, row in scores.items() if row}
    if scores:
        caption = (
            "Mean score with the full budget, by class; bars are standard errors over instances, where there are several."
        )
        figures.append(_draw(score_plot(scores, look), caption, folder, section.title, "Scores"))
    curves = [_draw(*convergence(group, runs, look), folder, section.title, group) for group, runs in section.groups.items()]
    return Chapter(
        section.title,
        section.about,
        setup(section),
        findings(section),
        remarks(section),
        main_tables(section),
        figures,
        curves,
        further_tables(section),
    )


def _draw(figure: Figure, caption: str, folder: Path | None, suite: str, title: str) -> Drawing:
    from matplotlib import rc_context

    from mergebo.look import LOOK

    path = f"figures/{re.sub(r'[^a-z0-9]+', '-', f'{suite} {title}'.lower()).strip('-')}.png"
    page = BytesIO()
    with rc_context(LOOK):
        if folder is None:
            figure.draw_without_rendering()  # the layout settles a little further each time: as far as with a PNG
        else:
            figure.savefig(folder / path)
        figure.savefig(page, format="svg", metadata={"Date": None})
    return Drawing(path, title, caption, f"data:image/svg+xml;base64,{b64encode(page.getvalue()).decode()}")


def _versions(records: Sequence[Record]) -> dict[str, str]:
    """Versions by package; where runs differ, all of them."""
    seen: dict[str, set[str]] = {}
    for record in records:
        for package, version in record.made_with.items():
            seen.setdefault(package, set()).add(version)
    return {package: ", ".join(sorted(versions)) for package, versions in seen.items()}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
