"""The numbers of a report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark_records import write
from mergebo.experiments import Record, Store, get_suite, run_jobs
from mergebo.experiments.report import report
from mergebo.experiments.report_metrics import metrics


@pytest.mark.slow
def test_metrics_by_hand(folder: Path) -> None:
    report(folder)
    found = json.loads((folder / "metrics.json").read_text())
    assert len(found["failed"]) == 1
    case = found["suites"]["paper-low"]["cases"]["QAP n=15"]
    assert case["reference"] == 9896
    assert case["methods"]["random"]["seeds"] == [0, 1]
    store = Store(folder)
    runs = [r for r in store.records() if (r.job.problem, r.job.method) == ("qap:chr15a", "bops-h") and not r.error]
    store.close()
    best = [np.minimum.accumulate(run.values) - 9896 for run in runs]
    final = case["methods"]["bops-h"]["200"]
    assert final["regret"]["mean"] == pytest.approx(np.mean([each[-1] for each in best]))
    assert final["auc"]["mean"] == pytest.approx(np.mean([each.sum() for each in best]))
    assert final["regret"]["deviation"] == pytest.approx(np.std([each[-1] for each in best], ddof=1))
    random = case["random"]["200"]
    assert final["score"]["mean"] == pytest.approx(1 - final["regret"]["mean"] / (random - 9896))
    assert "seconds" not in json.dumps(found)


@pytest.mark.slow
def test_the_order_of_records_and_their_timings_change_no_metrics(folder: Path, tmp_path: Path) -> None:
    report(folder)
    store = Store(folder)
    shuffled = [replace(each, seconds={"ask": 7.0}, made_with={"numpy": "9"}) for each in reversed(store.records())]
    store.close()
    other = tmp_path / "other"
    write(other, shuffled)
    report(other)
    assert (other / "metrics.json").read_bytes() == (folder / "metrics.json").read_bytes()


@pytest.mark.slow
def test_a_resumed_run_has_the_same_metrics(tmp_path: Path) -> None:
    jobs = get_suite("smoke").jobs(["random", "local-search"], [0, 1])
    run_jobs(jobs, tmp_path / "whole")
    run_jobs(jobs[3:5], tmp_path / "resumed")
    run_jobs(jobs, tmp_path / "resumed")
    for part in ("whole", "resumed"):
        report(tmp_path / part)
    whole, resumed = ((tmp_path / part / "metrics.json").read_bytes() for part in ("whole", "resumed"))
    assert whole == resumed


def test_metrics_at_checkpoints() -> None:
    jobs = get_suite("holdout").jobs(["random"], [0])[:1]
    (suite,) = metrics([Record(jobs[0], tuple(np.linspace(9, 5, 100)))])["suites"].values()
    (case,) = suite["cases"].values()
    assert set(case["methods"]["random"]) == {"seeds", "50", "100"}
    assert case["methods"]["random"]["100"]["best"]["mean"] == 5
