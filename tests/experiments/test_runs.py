"""Finished runs by suite, case, method and seed."""

from __future__ import annotations

from benchmark_records import record
from mergebo.experiments import SUITES, Record
from mergebo.experiments.runs import method_order, sections


def test_runs_are_grouped_by_suite() -> None:
    low, outside = record("random", 0, [1.0]), record("random", 0, [1.0], budget=30)
    relabelled = record("random", 0, [1.0], relabelled=True)
    found = sections([outside, relabelled, low])
    assert [section.title for section in found] == [
        "paper-low",
        "paper-low, items relabelled",
        "20 + 10 evaluations, protocol paper-low",
    ]
    assert [list(section.groups) for section in found] == [["QAP n=15"], ["QAP n=15"], ["qap:chr15a"]]


def test_records_are_matched_to_their_suites() -> None:
    for name, suite in SUITES.items():
        found = sections([Record(job, (1.0,)) for job in suite.jobs(["random"], [0])])
        assert [runs.case for section in found for runs in section.runs] == list(suite.cases)
        assert [case for section in found for case in section.planned] == list(suite.cases)
        assert not any(section.absent for section in found)
        # Two budgets: two sections, the smaller one first.
        plans = {"holdout": ("20 + 80", "20 + 200"), "thief": ("5 + 50", "20 + 200"), "design": ("20 + 80", "20 + 100")}
        titles = [f"{name}, {plan} evaluations" for plan in plans[name]] if name in plans else [name]
        assert [section.title for section in found] == titles


def test_methods_are_sorted_consistently() -> None:
    shuffled = ["pymoo-ga", "mergebo(search='relaxation')", "random", "mergebo"]
    assert sorted(shuffled, key=method_order) == ["mergebo", "mergebo(search='relaxation')", "random", "pymoo-ga"]
