"""Suites and what they run."""

from __future__ import annotations

from pathlib import Path

import pytest

from mergebo import problems
from mergebo.errors import ArgumentError
from mergebo.experiments import SUITES, Record, get_suite
from mergebo.experiments.jobs import check_method

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", SUITES)
def test_suites_are_consistent(name: str) -> None:
    suite = get_suite(name)
    jobs = suite.jobs()
    assert len({job.key for job in jobs}) == len(jobs) == len(suite.cases) * len(suite.methods) * len(suite.seeds)
    for case in suite.cases:
        assert problems.get(case.problem).optimum is not None, f"{case.problem} has no reference value to compare with"
        assert case.initial < case.budget
        assert all(case.initial < checkpoint < case.budget for checkpoint in case.checkpoints)
    assert all(case.relabelled for case in get_suite(name, relabelled=True).cases)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", SUITES)
def test_methods_of_suites_can_be_run(name: str) -> None:
    for method in get_suite(name).methods:
        check_method(method)


def test_the_holdout_suite_is_relabelled_and_has_13_classes() -> None:
    suite = SUITES["holdout"]
    assert all(case.relabelled for case in suite.cases)
    groups = [case.group for case in suite.cases]
    assert len(set(groups)) == 13
    assert {groups.count(group) for group in groups} == {5}
    assert len({case.problem for case in suite.cases}) == len(suite.cases)


def test_published_records_belong_to_their_suites() -> None:
    """A suite can grow, but its existing records must remain valid."""
    for folder in (Path(__file__).parents[2] / "docs" / "results").iterdir():
        if folder.is_dir():
            suite = get_suite(folder.name)
            lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
            ran = [Record.from_line(line).job for line in lines]
            wanted = {job.key for job in suite.jobs({job.method for job in ran})}
            assert all(job.key in wanted for job in ran), folder.name


def test_methods_are_designed_and_evaluated_on_different_instances() -> None:
    designed, evaluated = ({case.problem for case in SUITES[name].cases} for name in ("design", "holdout"))
    assert not designed & evaluated
    assert not any("seed=9" in problem for problem in designed)
    assert all("seed=9" in case.problem for name in ("holdout", "large") for case in SUITES[name].cases)


def test_the_paper_suites_have_the_papers_budgets() -> None:
    assert {(case.initial, case.budget) for case in SUITES["paper-low"].cases} == {(20, 200)}
    assert {(case.initial, case.budget) for case in SUITES["paper-high"].cases} == {(5, 55)}
    job = SUITES["paper-low"].jobs(["bops-h"])[0]
    assert job.settings["acquisition"] == "ei"
    assert "budget" not in job.settings


def test_unknown_names_raise_with_a_suggestion() -> None:
    with pytest.raises(ArgumentError, match="did you mean 'smoke'"):
        get_suite("smoky")
    with pytest.raises(ArgumentError, match="did you mean 'optuna-tpe'"):
        check_method("optuna-tp")
    with pytest.raises(ArgumentError, match="has no settings"):
        check_method("optuna-tpe(seed=1)")
    with pytest.raises(ArgumentError, match="has the settings"):
        check_method("mergebo(colour=1)")
