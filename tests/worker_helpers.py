"""A storage, a program and processes that use both; and what these processes do differently, run in each of them first."""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import optuna
import pytest
import sqlalchemy
from optuna.trial import FrozenTrial, TrialState

from mergebo.cli import main
from mergebo.integrations.optuna import distributions, params
from mergebo.studies import Study, heartbeat, load, processes, storage, workers
from mergebo.studies.attributes import DISCARDED, WORKER
from mergebo.studies.trials import counted_trials, was_interrupted

SERVER = os.environ.get("MERGEBO_TEST_POSTGRESQL")
SERVERS = ["postgresql"] if SERVER else []
STORAGES = ["sqlite", "journal", *SERVERS]
BEATING = ["sqlite", *SERVERS]
"""Storages with heartbeats."""
FAIL, RUNNING = TrialState.FAIL, TrialState.RUNNING
KILLS = int(os.environ.get("MERGEBO_TEST_KILLS", "6"))
"""Number of kills with each storage in the test that kills repeatedly."""
GRACE_PERIOD = 3
"""Seconds without a heartbeat after which a worker of these tests counts as dead."""
FORKS: Any = multiprocessing.get_context("forkserver")  # with everything imported in advance


FORKS.set_forkserver_preload(
    [
        "mergebo.studies.workers",
        "mergebo.methods.registry",
        "alembic.command",
        "optuna.storages._rdb.models",
        "rich.table",
        "sqlalchemy.dialects.postgresql.psycopg",
        "sqlalchemy.dialects.sqlite",
    ]
)


PROGRAM = """#!/bin/sh
echo "begin $MERGEBO_TRIAL $*" >> log
while [ -e hold ] || [ -e hold.$MERGEBO_TRIAL ]; do sleep 0.05; done
echo "end $MERGEBO_TRIAL $*" >> log
echo $MERGEBO_TRIAL
"""


def elsewhere() -> None:
    """Pretend that this process is on another machine."""
    processes._machine = lambda: "elsewhere"


def elsewhere_without_heartbeat() -> None:
    """Record a first heartbeat, and no other."""
    elsewhere()
    heartbeat.Heartbeat.start = lambda self: None


def slow_heartbeat() -> None:
    """Record heartbeats so slowly that after an outage other workers may check for stale trials before the next one."""
    storage.HEARTBEAT_INTERVAL = 1.4
    storage.GRACE_PERIOD = 2 * GRACE_PERIOD  # several heartbeats, also on a busy machine


def elsewhere_with_slow_heartbeat() -> None:
    elsewhere()
    slow_heartbeat()


def dies_before_its_first_heartbeat() -> None:
    elsewhere()
    heartbeat.Heartbeat.record = lambda self, *trial_ids: os._exit(9) if trial_ids else None


def cannot_store_values() -> None:
    def broken(self: Any, number: int, values: Any = None, **options: Any) -> Any:
        if values is not None:
            raise optuna.exceptions.StorageInternalError("the disk is gone")
        return tell(self, number, values, **options)

    tell = optuna.Study.tell
    optuna.Study.tell = broken
    workers.STORAGE_TIMEOUT = 0.0


def unreliable_storage() -> None:
    """Let calls to the storage often fail, before or after they take effect."""

    def unreliable(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            chance = rng.random() if threading.current_thread().name.startswith("worker") else 1.0
            if chance < 0.1:
                raise optuna.exceptions.StorageInternalError("nothing was done")
            result = call(*args, **kwargs)
            if chance < 0.2:
                raise optuna.exceptions.StorageInternalError("the response was lost")
            return result

        return wrapped

    rng = random.Random(0)
    calls = ["set_trial_state_values", "set_trial_user_attr", "get_trial"]
    kinds = {
        optuna.storages.RDBStorage: [*calls, "_create_new_trial", "record_heartbeat", "_get_trials"],
        optuna.storages.JournalStorage: [*calls, "create_new_trial"],
    }
    for kind, names in kinds.items():
        for name in names:
            setattr(kind, name, unreliable(getattr(kind, name)))
    workers.PAUSE = 0.01


def short_storage_timeout() -> None:
    workers.STORAGE_TIMEOUT = 1.0


def quick_to_break_a_lock() -> None:
    optuna.storages.journal.JournalFileSymlinkLock.__init__.__defaults__ = (3,)


def run(folder: Path, out: Path, arguments: list[str], change: Callable[[], None] | None) -> None:
    """Run the command line in a process of its own, with short times."""
    os.chdir(folder)
    with out.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    storage.HEARTBEAT_INTERVAL = 0.5
    storage.GRACE_PERIOD = GRACE_PERIOD
    workers.PAUSE = 0.2
    if change:
        change()
    sys.argv = ["mergebo", *arguments]
    main()


def wait_until(condition: Callable[[], Any], seconds: float = 40) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.02)


@dataclass
class Place:
    """A storage, a folder with a program, and the processes that use both."""

    url: str
    folder: Path
    kind: str
    started: list[BaseProcess]

    def arguments(self, budget: int, jobs: int = 1, items: str = "a,b,c,d,e,f", method: str = "random") -> list[str]:
        options = {"items": items, "budget": budget, "jobs": jobs, "method": method, "initial": 3, "storage": self.url}
        return ["optimize", "--command=./program {order}", *(f"--{name}={value}" for name, value in options.items())]

    def optimize(self, budget: int, change: Any = None, **options: Any) -> BaseProcess:
        """Start `mergebo optimize` in a process that first calls `change`."""
        out = self.folder / f"out.{len(self.started)}"
        process: BaseProcess = FORKS.Process(target=run, args=(self.folder, out, self.arguments(budget, **options), change))
        process.start()
        self.started.append(process)
        return process

    def output(self, process: BaseProcess) -> str:
        return (self.folder / f"out.{self.started.index(process)}").read_text()

    def wait(self, *running: BaseProcess, status: int | None = 0, seconds: float = 60) -> None:
        for process in running:
            process.join(seconds)
            assert process.exitcode == status, (process.exitcode, self.output(process))

    def kill(self, process: BaseProcess) -> None:
        process.kill()
        process.join()

    def logged(self, event: str) -> list[tuple[int, str]]:
        """Trials and orders of which a program has logged that it begins or ends."""
        log = self.folder / "log"
        entries = [line.split(" ", 2) for line in log.read_text().splitlines()] if log.exists() else []
        return [(int(trial), order) for logged, trial, order in entries if logged == event]

    def wait_begun(self, count: int) -> None:
        """Wait until this many programs have begun."""
        wait_until(lambda: len(self.logged("begin")) >= count)

    def hold(self, number: int | None = None) -> Path:
        """Let programs, or that of one trial, wait until this file is removed."""
        path = self.folder / ("hold" if number is None else f"hold.{number}")
        path.touch()
        return path

    @cached_property
    def study(self) -> Study:
        return load(self.url)

    def trials_of(self, process: BaseProcess) -> list[FrozenTrial]:
        """The trials of a process that it did not discard."""
        trials = [trial for trial in self.study.all_trials() if DISCARDED not in trial.user_attrs]
        return [trial for trial in trials if f":{process.pid}:" in trial.user_attrs.get(WORKER, "")]

    def add_trial_of_dead_worker(self, worker: str) -> None:
        """Add a trial whose worker died before it checked whether the trial counts."""
        space = self.study.space
        point = params(space, {"order": ["f", "e", "d", "c", "b", "a"]})
        trial = optuna.create_trial(
            state=FAIL, params=point, distributions=distributions(space), user_attrs={WORKER: f"{worker}:1:1"}
        )
        self.study.optuna.add_trial(trial)

    def check(self, budget: int, repeated: int = 0, failed: int = 0, beyond_at_most: int = 0) -> list[FrozenTrial]:
        """Check that storage and log agree: the budget is met, and no order is evaluated twice unless a worker died.

        Workers that died before they discarded trials beyond the budget leave these behind, for a larger budget.
        """
        study = self.study
        every = study.all_trials()
        beyond = {trial.number: trial for trial in counted_trials(every)[budget:]}
        trials = [trial for trial in study.trials() if trial.number not in beyond]
        done = [trial for trial in trials if trial.state == TrialState.COMPLETE]
        begun = self.logged("begin")
        assert Counter(trial.state.name for trial in trials) == Counter(COMPLETE=budget - failed, FAIL=failed)
        assert not [trial.number for trial in every if not trial.state.is_finished()]
        assert max(Counter(number for number, _ in begun).values()) == 1
        assert {(trial.number, " ".join(study.point(trial)["order"])) for trial in done} <= set(begun)
        assert [trial.value for trial in done] == [trial.number for trial in done]
        assert len(beyond) <= beyond_at_most
        assert not beyond.keys() & dict(begun).keys()
        assert all(was_interrupted(trial) for trial in beyond.values())
        orders = Counter(order for _, order in begun)
        assert len(orders) == budget
        assert len(begun) == budget + repeated
        assert {trial.number for trial in every if DISCARDED not in trial.user_attrs} >= {number for number, _ in begun}
        return trials


def on_server() -> Any:
    assert SERVER is not None
    engine = sqlalchemy.create_engine(SERVER, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    return engine.connect()


def on(kinds: list[str]) -> Any:
    return pytest.mark.parametrize("place", kinds, indirect=True)
