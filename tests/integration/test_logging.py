"""Logging: what users may want to know but is not an error. Nothing is shown by default."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

import mergebo as mb
from benchmark_records import KILLER
from mergebo import studies
from mergebo.acquisition import AcquisitionFunction, Feasibility
from mergebo.experiments import Job, run_jobs
from mergebo.gp import GP, cholesky_with_jitter
from mergebo.integrations.optuna import PermutationSampler, suggest
from mergebo.methods import Bayesian, History, KernelModel, footrule_kernel
from mergebo.optimizer import Optimizer
from mergebo.studies import StudyConfig
from mergebo.studies.attributes import WORKER
from mergebo.studies.processes import this_process
from mergebo.studies.program import Program
from mergebo.studies.storage import record_heartbeat, set_user_attr, trial_id
from mergebo.studies.workers import Workers

Logged = Callable[[str], list[str]]


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Logged:
    """The messages of one module so far, each with its level."""
    caplog.set_level("DEBUG", "mergebo")

    def messages(module: str) -> list[str]:
        found = [record for record in caplog.records if record.name == f"mergebo.{module}"]
        return [f"{record.levelname}: {record.getMessage()}" for record in found]

    return messages


def test_nothing_is_shown_by_default() -> None:
    code = "import logging, mergebo; logging.getLogger('mergebo.part').error('unseen')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stderr == b""
    assert logging.getLogger("mergebo").level == logging.NOTSET


def test_jitter(logged: Logged) -> None:
    factor = cholesky_with_jitter(np.ones((3, 3)))
    np.testing.assert_allclose(factor @ factor.T, 1, atol=1e-6)
    assert logged("gp") == ["DEBUG: covariance of 3 points is not positive definite; adding jitter 1e-08"]


class Stuck:
    """A search that finds only points that have been tried."""

    incumbents, moves = 1, ("swap",)

    def maximise(
        self,
        model: GP,
        function: AcquisitionFunction,
        best: float,
        history: History,
        rng: np.random.Generator,
        feasibility: Feasibility | None = None,
    ) -> tuple[Any, Any]:
        return history.rows, np.zeros(len(history.rows))


def test_a_random_point_where_the_search_finds_none(logged: Logged) -> None:
    method = Bayesian(KernelModel(footrule_kernel, noise=0.1), search=Stuck(), batch="law")
    optimizer = Optimizer(mb.PermutationSpace(4), method, initial=3)
    for k in range(3):
        optimizer.tell(optimizer.ask(), k)
    assert not logged("methods.base")
    optimizer.ask()
    assert logged("methods.base") == ["INFO: the search found no untried point after 3 results; using a random one"]
    assert len(optimizer.ask(2)) == 2
    assert logged("methods.bayesian") == ["INFO: the search found 0 of 2 untried points; using random ones for the rest"]


def test_a_value_that_is_not_finite(logged: Logged) -> None:
    mb.minimize(lambda order: float("nan"), mb.PermutationSpace(4), budget=1)
    assert logged("optimizer") == ["INFO: trial 0 failed: its value is nan"]


def test_a_state_of_an_older_format(logged: Logged) -> None:
    old = json.loads((Path(__file__).parents[1] / "golden_states" / "format-1.json").read_text())["state"]
    restored = Optimizer.from_state(old)
    assert logged("state") == ["INFO: restored a state of format 1; it will be saved in format 3"]
    Optimizer.from_state(restored.state())
    assert len(logged("state")) == 1


class Broken(Executor):
    """An executor that loses its workers."""

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(BrokenExecutor("a process died"))
        return future


def test_an_executor_that_loses_a_worker(logged: Logged) -> None:
    mb.minimize(lambda order: 0.0, mb.PermutationSpace(4), budget=5, workers=2, executor=Broken())
    assert logged("_minimize") == ["WARNING: the executor lost a worker, which ends the run: a process died"]


@pytest.mark.slow
def test_jobs_that_lose_their_process(logged: Logged, tmp_path: Path) -> None:
    methods = tmp_path / "killer.py"
    methods.write_text(KILLER)
    jobs = [Job("tsp:random(n=6,seed=1)", "killer", seed, 6, 3) for seed in range(2)]
    run_jobs(jobs, tmp_path / "runs", workers=2, load=methods)
    assert all(line.startswith("WARNING: a worker process died; ") for line in logged("experiments.runner"))
    assert logged("experiments.runner")


# -------------------------------------------------------------------------------------------------------------- studies


def create_study(folder: Path, kind: str, **options: Any) -> studies.Study:
    config = StudyConfig(mb.Space(order=mb.Permutation(items=["a", "b", "c"])), "random")
    return studies.create(f"{kind}:///{folder}/storage", "study", config, ["minimize"], **options)


def running_trial(study: studies.Study, worker: str) -> FrozenTrial:
    """A trial that is being evaluated by a worker."""
    (trial,) = study.ask()
    set_user_attr(study.optuna, trial.number, WORKER, worker)
    return study.all_trials()[trial.number]


def test_storages_that_do_not_respond(logged: Logged, tmp_path: Path) -> None:
    errors = iter([OSError("no route to host")])

    class Unreachable(studies.Study):
        """Its storage does not respond at first."""

        def all_trials(self) -> list[FrozenTrial]:
            for error in errors:
                raise error
            return super().all_trials()

    created = create_study(tmp_path, "journal")
    study = Unreachable(created.optuna, created.config, created.url, created.storage)
    workers = Workers(study, Program("echo {order} 1"), 1, pause=0.0)
    workers.start()
    workers.join()
    assert [trial.values for trial in study.trials()] == [[1.0]]
    (line,) = logged("studies.workers")
    assert line.startswith("WARNING: the storage journal:///")
    assert line.endswith("does not respond: no route to host")


def test_trials_of_dead_workers(logged: Logged, tmp_path: Path) -> None:
    study = create_study(tmp_path, "journal")
    dead = this_process() + "0"
    running_trial(study, dead)
    workers = Workers(study, Program("echo {order} 1"), 1)
    workers.start()
    workers.join()
    assert [trial.state for trial in study.all_trials()] == [TrialState.FAIL, TrialState.COMPLETE]
    assert logged("studies.workers") == [f"WARNING: trial 0 failed: its worker {dead} is dead"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning", "ignore:Heartbeat of storage:UserWarning")
def test_trials_without_a_heartbeat(logged: Logged, tmp_path: Path) -> None:
    study = create_study(tmp_path, "sqlite", heartbeat_interval=1, grace_period=1)
    trial = running_trial(study, "elsewhere:1:1")
    record_heartbeat(study.optuna, trial_id(study.optuna, trial.number))
    while not logged("studies.storage"):
        time.sleep(0.1)
        optuna.storages.fail_stale_trials(study.optuna)
    assert study.all_trials()[0].state == TrialState.FAIL
    assert logged("studies.storage") == ["WARNING: trial 0 failed: no heartbeat for 1 s"]
    study.close()


def test_trials_that_violate_a_later_constraint(logged: Logged) -> None:
    items = ["a", "b", "c"]
    study = optuna.create_study(sampler=PermutationSampler("random", seed=0))
    backwards = mb.Space(order=mb.Permutation(items=items, before=[("c", "b"), ("b", "a")]))
    trial = study.ask()
    suggest(trial, backwards)
    study.tell(trial, 0.0)
    where = mb.Space(order=mb.Permutation(items=items, where=lambda point: point[0] == "a"))
    PermutationSampler("random", space=where, seed=0).read(study)
    (line,) = logged("studies.proposals")
    assert line.startswith("DEBUG: trial 0 is ignored: ")
