"""Caveats of a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmark_records import one, record
from mergebo.experiments import SUITES, Job, Record
from mergebo.experiments.comparison import (
    mean_score,
)
from mergebo.experiments.findings import caveats
from mergebo.experiments.report_metrics import metrics
from mergebo.experiments.report_tables import difference_table, score_table
from mergebo.problems import get


def test_an_unknown_optimum_is_a_caveat() -> None:
    section = one(record("random", 0, [5.0], "tsp:random(n=9,seed=77)"))
    assert section.runs[0].score("random", 200) is None
    assert score_table(section) is None
    assert "No reference value is known for tsp:random(n=9,seed=77)" in caveats(section)[0]


@pytest.mark.slow
def test_few_problems_are_a_caveat(paired: list[Record]) -> None:
    def caveat(*records: Record) -> str:
        return " ".join(each for each in caveats(one(*records)) if "are unreliable" in each)

    runs = [record("random", 0, [1e9], case.problem) for case in SUITES["paper-low"].cases]
    assert caveat(runs[0]) == ""
    assert "over 2 problems" in caveat(*runs[:2])
    assert "over 4 problems" in caveat(*runs)
    assert caveat(*paired) == ""


def test_a_reference_that_random_search_reaches_is_a_caveat() -> None:
    section = one(record("random", 0, [9896.0], "tsp:pcb15-0"))
    runs = section.runs[0]
    runs.__dict__["problem"] = replace(get("tsp:pcb15-0"), optimum=replace(get("tsp:pcb15-0").optimum, value=1e9))
    assert not runs.has_score
    assert any("Random search reaches the reference" in caveat for caveat in caveats(section))
    assert any("Better than the reference" in caveat for caveat in caveats(section))


@pytest.mark.slow
def test_instances_that_were_not_run_are_reported(paired: list[Record]) -> None:
    """Some for no method, one for one method: partial figures are marked."""
    lacking = [
        each
        for each in paired
        if "seed=908" not in each.job.problem
        and (each.job.problem, each.job.method) != ("lop:planted(n=30,seed=905)", "auto")
    ]
    section = one(*lacking)
    rows = {row[0]: row[1] for row in difference_table(section).rows}
    assert rows["TSP 30"].endswith("(4 of 5)")
    assert rows["Linear ordering 30"].endswith("(3 of 5)")
    assert rows["All"].endswith("(11 of 45)")
    assert rows["All but TSP"].endswith("(7 of 35)")
    assert mean_score(section.runs, "auto") is None
    assert mean_score(section.runs, "bops-h") is not None
    found = caveats(section)
    assert "33 problems of the suite have no finished run: TSP 15, tsp:random(n=30,seed=908), QAP 15" in found[0]
    assert found[1] == "Seeds of the suite that were not run: 3-4."
    assert "auto has no finished run on lop:planted(n=30,seed=905)." in found
    figures = metrics(lacking)["suites"]["holdout, 20 + 80 evaluations"]
    assert figures["instances"]["All"] == {"run": 12, "planned": 45}
    assert len(figures["absent"]) == 33


def test_seeds_that_some_problems_lack_are_a_caveat(paired: list[Record]) -> None:
    def caveat(kept: Callable[[Job], bool]) -> str:
        (found,) = [
            each for each in caveats(one(*(each for each in paired if kept(each.job)))) if "which others have" in each
        ]
        return found

    single = caveat(lambda job: "lop:planted(n=30,seed=909" not in job.problem or job.seed < 2 or job.method != "bops-h")
    assert single.startswith("bops-h lacks the seeds 2, which others have, on lop:planted(n=30,seed=909)")
    common = caveat(lambda job: "lop:planted(n=30,seed=909" not in job.problem or job.seed < 2)
    assert common.startswith("auto, bops-h and random lack the seeds 2, which others have, on lop:planted(n=30,seed=909)")
    many = caveat(lambda job: "seed=905" in job.problem or job.seed < 2)
    assert "on 4 of 5 of TSP 30, 4 of 5 of Flow shop 20 and 4 of 5 of Linear ordering 30:" in many
