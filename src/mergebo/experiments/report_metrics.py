"""The numbers of a report, as plain data for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mergebo._typing import Floats
from mergebo.experiments.comparison import (
    Comparison,
    WorstClass,
    compare_runs,
    focal_method,
    mean_ranks,
    mean_score,
    worst_class,
)
from mergebo.experiments.jobs import Record
from mergebo.experiments.runs import ALL, CaseRuns, SuiteRuns, sections
from mergebo.experiments.statistics import Estimate

__all__ = ["metrics", "timings"]


def metrics(records: Sequence[Record], focal: str = "") -> dict[str, Any]:
    """All numbers of a report but the timings; a function of the jobs and their values alone.

    Lists run from the full budget to the smallest that is reported.
    """
    return {
        "suites": {section.title: _section_metrics(section) for section in sections(records, focal)},
        "failed": sorted(record.job.key for record in records if record.error),
    }


def timings(records: Sequence[Record]) -> dict[str, Any]:
    """Mean seconds per ask, per fit and per run, and the package versions."""
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
    return {"seconds": seconds, "versions": versions(records)}


def _section_metrics(section: SuiteRuns) -> dict[str, Any]:
    focal = focal_method(section)
    others = [method for method in section.methods if method != focal]
    parts = {**section.parts, ALL: list(section.runs)}
    checkpoints = section.checkpoints
    return {
        "cases": {section.label(runs): _case_metrics(runs) for runs in section.runs},
        "absent": [case.problem for case in section.absent],
        "instances": {part: {"run": len(runs), "planned": section.size(part)} for part, runs in parts.items()},
        "ranks": {method: asdict(rank) for method, rank in mean_ranks(section).items()},
        "scores": {
            part: {
                method: [_dict(mean_score(runs, method, checkpoint)) for checkpoint in checkpoints]
                for method in section.methods
            }
            for part, runs in parts.items()
        },
        "compared": focal,
        "against": {
            other: {
                part: [_dict(compare_runs(runs, focal, other, checkpoint)) for checkpoint in checkpoints]
                for part, runs in parts.items()
            }
            for other in others
        },
        "worst": {
            other: [_dict(worst_class(section, focal, other, checkpoint)) for checkpoint in checkpoints] for other in others
        },
        # The focal method at a smaller budget against the others at the full one.
        "at_smaller_budget": {
            other: {
                part: [_dict(compare_runs(runs, focal, other, checkpoint, 0)) for checkpoint in checkpoints[1:]]
                for part, runs in parts.items()
            }
            for other in others
        },
    }


def _dict(found: Comparison | Estimate | WorstClass | None) -> dict[str, Any] | None:
    return asdict(found) if found else None


def _case_metrics(runs: CaseRuns) -> dict[str, Any]:
    return {
        **asdict(runs.case),
        "reference": runs.reference_value,
        "random": {str(budget): runs.random_at(budget) for budget in runs.budgets},
        "methods": {
            method: {
                "seeds": runs.seeds(method),
                **{
                    str(budget): {
                        "best": _mean_and_deviation(runs.best(method)[:, budget - 1]),
                        "regret": _mean_and_deviation(runs.regret(method, budget)),
                        "auc": _mean_and_deviation(runs.auc(method, budget)),
                        "score": _mean_and_deviation(runs.score(method, budget)),
                    }
                    for budget in runs.budgets
                },
            }
            for method in runs.records
        },
    }


def _mean_and_deviation(values: Floats | None) -> dict[str, float | None] | None:
    if values is None:
        return None
    return {"mean": float(values.mean()), "deviation": float(values.std(ddof=1)) if len(values) > 1 else None}


def versions(records: Sequence[Record]) -> dict[str, str]:
    """Versions by package; all of them if the runs differ."""
    seen: dict[str, set[str]] = {}
    for record in records:
        for package, version in record.made_with.items():
            seen.setdefault(package, set()).add(version)
    return {package: ", ".join(sorted(versions)) for package, versions in seen.items()}
