"""Jobs and their records: equal conditions for all methods."""

from __future__ import annotations

import numpy as np
import pytest

from mergebo.experiments import Job, Record
from mergebo.experiments.competitors import COMPETITORS
from mergebo.experiments.jobs import run_job
from mergebo.optimizer import Optimizer

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", ["bops-h", "local-search", "genetic", *COMPETITORS])
def test_all_methods_start_from_the_same_design_and_keep_to_the_budget(method: str) -> None:
    job = Job("tsp:random(n=9,seed=900)", method, 3, 16, 8, relabelled=True)
    reference = run_job(Job("tsp:random(n=9,seed=900)", "random", 3, 16, 8, relabelled=True))
    record = run_job(job)
    assert len(record.values) == 16
    assert sorted(record.values[:8]) == sorted(reference.values[:8])
    assert record.values[8:] != reference.values[8:]
    assert job.make_problem().evaluate_rows(np.array(record.best, np.int64)) == min(record.values)


@pytest.mark.parametrize("method", ["mergebo", *COMPETITORS])
def test_jobs_are_reproducible(method: str) -> None:
    job = Job("lop:planted(n=8,seed=900)", method, 1, 12, 6, relabelled=True)
    assert run_job(job).values == run_job(job).values


@pytest.mark.parametrize("method", ["random", "bops-h", "optuna-tpe"])
def test_the_design_is_the_protocols(method: str) -> None:
    """The settings are those of the method."""
    jobs = {name: Job("ttp:random(n=6,seed=1)", method, 1, 4, 4, name) for name in ("", "paper-high")}
    values = {name: run_job(job).values for name, job in jobs.items()}
    for name, design in (("", "stratified"), ("paper-high", "uniform")):
        assert jobs[name].design == design
        assert "design" not in jobs[name].settings
        optimizer = Optimizer(jobs[name].make_problem().space, "random", seed=1, initial=4, design=design)
        points = [trial.point for trial in optimizer.ask(4)]
        assert sorted(values[name]) == sorted(jobs[name].make_problem().evaluate(points).tolist())


def test_settings_come_from_the_protocol_unless_the_method_has_its_own() -> None:
    job = Job("tsp:pcb15-0", "mergebo(acquisition='ucb')", 0, 30, 20, protocol="paper-low")
    assert job.settings["acquisition"] == "ucb"
    assert job.settings["random_starts"] == 10
    assert Job("tsp:pcb15-0", "optuna-tpe", 0, 30, 20, protocol="paper-low").settings == {}


def test_relabelling_depends_on_the_seed_but_not_on_the_method() -> None:
    jobs = [Job("qap:chr12a", method, seed, 5, 2, relabelled=True) for method, seed in (("a", 0), ("b", 0), ("a", 1))]
    values = [float(job.make_problem().evaluate_rows(np.arange(12))) for job in jobs]
    assert values[0] == values[1] != values[2]


def test_exhausted_spaces_end_a_run() -> None:
    assert len(run_job(Job("tsp:random(n=3,seed=1)", "random", 0, 50, 2)).values) == 6


def test_records_have_versions_and_timings() -> None:
    record = run_job(Job("tsp:random(n=6,seed=1)", "bops-h", 0, 8, 4))
    assert record.made_with["mergebo"] == __import__("mergebo").__version__
    assert 0 < record.seconds["fit"] < record.seconds["ask"] < record.seconds["total"]
    assert Record.from_line(record.to_line()) == record
