"""Paired comparisons of methods, by hand and as defined."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark_records import one, record, write
from mergebo.errors import ArgumentError
from mergebo.experiments import SUITES, Record
from mergebo.experiments.comparison import (
    compare,
    compare_runs,
    focal_method,
    mean_ranks,
    mean_score,
    worst_class,
)
from mergebo.experiments.metrics import (
    random_search,
)
from mergebo.experiments.report import report
from mergebo.experiments.report_metrics import metrics
from mergebo.experiments.runs import missing_seeds
from mergebo.problems import get


def plain_differences(records: list[Record], a: str, b: str, budget: int, b_budget: int) -> dict[str, list[float]]:
    """Differences in score by class, one per instance, computed run by run from the definition."""
    found: dict[str, dict[str, list[float]]] = {}
    for x in records:
        for y in records:
            if (x.job.method, y.job.method) != (a, b) or (x.job.problem, x.job.seed) != (y.job.problem, y.job.seed):
                continue
            (group,) = {case.group for case in SUITES["holdout"].cases if case.problem == x.job.problem}
            random = random_search(x.job.problem, 100)[b_budget - 1]
            scale = random - get(x.job.problem).optimum.value
            scores = (random - min(x.values[:budget])) / scale, (random - min(y.values[:b_budget])) / scale
            found.setdefault(group, {}).setdefault(x.job.problem, []).append(scores[0] - scores[1])
    return {group: [sum(each) / len(each) for each in by.values()] for group, by in found.items()}


def test_comparison_over_common_seeds_by_hand() -> None:
    reference = 9896.0
    section = one(
        *(record("mergebo", seed, [50000.0, value]) for seed, value in enumerate([20000.0, 10000.0, 30000.0, 1e5])),
        *(record("random", seed, [40000.0, value]) for seed, value in enumerate([30000.0, 10000.0, 20000.0])),
    )
    (runs,) = section.runs
    assert runs.seeds("mergebo", "random") == [0, 1, 2]
    assert missing_seeds(runs, section.seeds) == {"random": [3]}
    found = compare_runs(section.runs, "mergebo", "random")
    assert found is not None
    assert (found.sign.wins, found.sign.ties, found.sign.losses, found.sign.p) == (1, 1, 1, 1.0)
    assert found.difference is not None
    assert found.difference.mean == pytest.approx(0)
    assert found.evaluations == 2  # 2, 2 and never
    scale = random_search("qap:chr15a", 200)[-1] - reference
    score = mean_score(section.runs, "random")
    assert score is not None
    assert score.mean == pytest.approx((scale + reference - 20000) / scale)
    assert compare_runs(section.runs, "mergebo", "turbo") is None


def test_ranks_by_hand() -> None:
    finals = {"mergebo": [1.0, 5.0], "bops-h": [2.0, 2.0], "random": [2.0, 9.0]}
    section = one(*(record(method, seed, [value]) for method, each in finals.items() for seed, value in enumerate(each)))
    ranks = {method: rank.mean for method, rank in mean_ranks(section).items()}
    assert ranks == {"mergebo": 1.5, "bops-h": 1.75, "random": 2.75}


@pytest.mark.slow
@pytest.mark.parametrize(("checkpoint", "b_checkpoint"), [(0, 0), (1, 1), (1, 0)])
def test_paired_differences_as_defined(paired: list[Record], checkpoint: int, b_checkpoint: int) -> None:
    section = one(*paired)
    assert list(section.parts) == ["TSP 30", "Flow shop 20", "Linear ordering 30", "All", "All but TSP"]
    budgets = (100, 50)
    by_class = plain_differences(paired, "auto", "bops-h", budgets[checkpoint], budgets[b_checkpoint])
    expected = {
        **by_class,
        "All": [each for group in by_class.values() for each in group],
        "All but TSP": [each for name, group in by_class.items() if name != "TSP 30" for each in group],
    }
    for part, values in expected.items():
        found = compare_runs(section.parts[part], "auto", "bops-h", checkpoint, b_checkpoint)
        assert found is not None
        assert found.difference is not None
        assert found.difference.count == len(values)
        assert found.difference.mean == pytest.approx(np.mean(values))
        assert found.difference.error == pytest.approx(np.std(values, ddof=1) / np.sqrt(len(values)))
        assert found.instances.wins == sum(value > 0 for value in values)
        assert found.sign.wins + found.sign.ties + found.sign.losses == 3 * len(values)
    worst = worst_class(section, "auto", "bops-h", checkpoint, b_checkpoint)
    assert worst is not None
    assert worst.group == min(by_class, key=lambda name: float(np.mean(by_class[name])))
    assert worst.difference.mean == pytest.approx(min(np.mean(values) for values in by_class.values()))


def test_the_focal_method_can_be_chosen(paired: list[Record], tmp_path: Path) -> None:
    assert focal_method(one(*paired)) == "auto"
    assert focal_method(replace(one(*paired), focal="bops-h")) == "bops-h"
    assert (
        focal_method(one(record("auto", 0, [1.0]), record("mergebo", 0, [1.0]))) == "mergebo"
    )  # the published figures' method
    some = [each for each in paired if "tsp" in each.job.problem]
    assert metrics(some, "random")["suites"]["holdout, 20 + 80 evaluations"]["compared"] == "random"
    write(tmp_path, some)
    with pytest.raises(ArgumentError, match="did you mean 'bops-h'"):
        report(tmp_path, "bops")


def test_compare(folder: Path) -> None:
    first, second = compare(folder, "mergebo", "random")
    assert first.title == "mergebo against random (paper-low)"
    assert [row[0] for row in first.rows] == ["TSP n=15", "QAP n=15", "All", "All but TSP"]
    assert [row[1] for row in first.rows] == ["1", "1", "2 of 4", "1 of 3"]  # of the suite's
    assert sum(map(int, first.rows[2][4].split(" / "))) == 4  # two problems with two common seeds
    assert second.rows[0][4] == "0 / 1 / 0"
    with pytest.raises(ArgumentError, match="did you mean 'mergebo'"):
        compare(folder, "mergbo", "random")
    write(folder, [record("mergebo", 0, [1.0]), record("random", 1, [1.0])])
    with pytest.raises(ArgumentError, match="no problem and seed in common"):
        compare(folder, "mergebo", "random")
