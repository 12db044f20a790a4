"""Workers that share a storage: no trial is lost or evaluated twice, whatever is killed, stopped or unavailable.

The programs log when they begin and when they end, so that the storage can be compared with what was really run.
PostgreSQL is tested if the environment variable MERGEBO_TEST_POSTGRESQL has the address of a server on which databases can
be created; `.ci/postgresql COMMAND` starts one for a command.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import optuna
import pytest
import sqlalchemy
from optuna.distributions import IntDistribution
from optuna.trial import FrozenTrial, TrialState

from mergebo.cli import main, processes, workers
from mergebo.cli.processes import is_dead, is_here, process_name, this_process
from mergebo.cli.studies import REASON, STOPPED, WORKER, Study, counted_trials, load, was_interrupted
from mergebo.integrations.optuna import DISCARDED, RETRY_OF, distributions, params, suggest

pytestmark = pytest.mark.slow

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
command = importlib.import_module("mergebo.cli.optimize")  # the module; `mergebo.cli.optimize` is the command in it
FORKS: Any = multiprocessing.get_context("forkserver")  # with everything imported in advance
FORKS.set_forkserver_preload(
    [
        "mergebo.cli.workers",
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


# ------------------------------------------------------------------------------------------------------------- processes


def elsewhere() -> None:
    """Pretend that this process is on another machine."""
    processes._machine = lambda: "elsewhere"


def elsewhere_without_heartbeat() -> None:
    """Record a first heartbeat, and no other."""
    elsewhere()
    workers.Workers._heartbeat_loop = lambda self, interval: None


def slow_heartbeat() -> None:
    """Record heartbeats so slowly that after an outage other workers may check for stale trials before the next one."""
    command.HEARTBEAT_INTERVAL = 1.4
    command.GRACE_PERIOD = 2 * GRACE_PERIOD  # several heartbeats, also on a busy machine


def elsewhere_with_slow_heartbeat() -> None:
    elsewhere()
    slow_heartbeat()


def dies_before_its_first_heartbeat() -> None:
    elsewhere()
    workers.Workers._start_heartbeat = lambda self, number: os._exit(9)


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
    calls = ["create_new_trial", "set_trial_state_values", "set_trial_user_attr", "get_trial", "record_heartbeat"]
    rows, journal = optuna.storages.RDBStorage, optuna.storages.JournalStorage
    for storage, name in [*((rows, name) for name in [*calls, "_get_trials"]), *((journal, name) for name in calls[:-1])]:
        setattr(storage, name, unreliable(getattr(storage, name)))
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
    command.HEARTBEAT_INTERVAL = 0.5
    command.GRACE_PERIOD = GRACE_PERIOD
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


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    kind = request.param
    name = f"mergebo_{uuid.uuid4().hex}"
    program = tmp_path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    if kind == "postgresql":
        assert SERVER is not None
        with on_server() as server:
            server.execute(sqlalchemy.text(f"CREATE DATABASE {name}"))
        url = sqlalchemy.make_url(SERVER).set(database=name).render_as_string(hide_password=False)
    else:
        url = f"{kind}:///{tmp_path}/storage"
    shared = Place(url, tmp_path, kind, [])
    yield shared
    for path in tmp_path.glob("hold*"):
        path.unlink()
    if "study" in vars(shared) and kind != "journal":
        shared.study.storage.engine.dispose()
    for process in shared.started:
        if process.is_alive():
            shared.kill(process)
    if kind == "postgresql":
        with on_server() as server:
            server.execute(sqlalchemy.text(f"DROP DATABASE {name} WITH (FORCE)"))


def on_server() -> Any:
    assert SERVER is not None
    engine = sqlalchemy.create_engine(SERVER, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    return engine.connect()


def on(kinds: list[str]) -> Any:
    return pytest.mark.parametrize("place", kinds, indirect=True)


# ---------------------------------------------------------------------------------------------------------------- budget


@pytest.mark.parametrize(
    ("place", "method"), [("sqlite", "random"), *((kind, "bops-h") for kind in STORAGES)], indirect=["place"]
)
def test_processes_that_start_together_share_the_budget(place: Place, method: str) -> None:
    """All of them try to create the tables, the study and the first trial at once."""
    hold = place.hold()
    started = [place.optimize(14, jobs=2, method=method) for _ in range(4)]
    place.wait_begun(8)
    hold.unlink()
    place.wait(*started)
    place.check(14)
    assert all(len(place.trials_of(process)) >= 2 for process in started)


@on(["journal"])
def test_a_larger_budget_continues_and_a_smaller_one_does_nothing(place: Place) -> None:
    place.wait(place.optimize(3))
    place.wait(place.optimize(5))
    place.wait(place.optimize(2))
    place.check(5)


@on(["sqlite"])
def test_every_order_is_tried_once_even_if_the_budget_is_larger(place: Place) -> None:
    started = [place.optimize(20, items="a,b,c", jobs=2) for _ in range(2)]
    place.wait(*started)
    place.check(6)
    assert any("Nothing left to try: all 6 points" in place.output(process) for process in started)


@on(["journal"])
def test_manual_trials_are_not_awaited(place: Place) -> None:
    place.wait(place.optimize(1))
    study = place.study
    asked = study.with_sampler.ask()
    suggest(asked, study.space)
    place.wait(place.optimize(3))
    assert len(place.logged("begin")) == 3
    study.optuna.tell(asked, 7.0)
    place.wait(place.optimize(5))
    assert len(place.logged("begin")) == 4


@on(STORAGES)
def test_enqueued_trials_come_first(place: Place) -> None:
    place.wait(place.optimize(1))
    study = place.study
    wanted = ["f", "e", "d", "c", "b", "a"]
    study.optuna.enqueue_trial(params(study.space, {"order": wanted}), user_attrs={"from": "the dashboard"})
    study.optuna.enqueue_trial({"order0": 3})  # the other parameters are sampled
    hold = place.hold()
    started = [place.optimize(5) for _ in range(3)]
    place.wait_begun(4)
    hold.unlink()
    place.wait(*started)
    queued = {trial.user_attrs[RETRY_OF][0]: trial for trial in place.check(5) if RETRY_OF in trial.user_attrs}
    assert study.point(queued[1]) == {"order": wanted}
    assert queued[1].user_attrs["from"] == "the dashboard"
    assert queued[2].params["order0"] == 3
    assert {queued[1].number, queued[2].number} <= {number for number, _ in place.logged("begin")[:4]}


@on(["sqlite"])
def test_a_single_process_is_reproducible(place: Place) -> None:
    """Also if it is interrupted and resumed."""
    place.wait(place.optimize(8, method="bops-h"))
    orders = place.logged("begin")
    (place.folder / "storage").unlink()
    (place.folder / "log").unlink()
    place.wait(place.optimize(5, method="bops-h"))
    place.wait(place.optimize(8, method="bops-h"))
    assert place.logged("begin") == orders


# ----------------------------------------------------------------------------------------------------------------- kills


@on(STORAGES)
def test_two_processes_and_a_killed_third(place: Place) -> None:
    hold = place.hold()
    one, two, third = started = [place.optimize(9) for _ in range(3)]
    place.wait_begun(3)
    place.kill(third)
    hold.unlink()
    place.wait(one, two)
    place.check(9, repeated=1)
    assert len(started) == 3
    (lost,) = place.trials_of(third)
    again = [trial for trial in place.study.all_trials() if trial.user_attrs.get(RETRY_OF) == [lost.number]]
    assert [trial.params for trial in again if trial.state == TrialState.COMPLETE] == [lost.params]


@on(BEATING)
def test_a_worker_elsewhere_dies_and_is_detected(place: Place) -> None:
    """Its process cannot be checked, so its heartbeat decides; the survivors wait until it stops."""
    hold = place.hold()
    lost = place.optimize(4, elsewhere)
    place.wait_begun(1)
    survivors = [place.optimize(4) for _ in range(2)]
    place.wait_begun(3)
    place.kill(lost)
    hold.unlink()
    place.wait(*survivors)
    place.check(4, repeated=1)


@on(BEATING)
def test_a_worker_elsewhere_lives_and_is_awaited(place: Place) -> None:
    hold = place.hold(0)
    other = place.optimize(3, elsewhere)
    place.wait_begun(1)
    here = place.optimize(3)
    place.wait_begun(3)
    time.sleep(GRACE_PERIOD + 1)
    assert here.is_alive()
    hold.unlink()
    place.wait(other, here)
    place.check(3)


@on(["sqlite"])
def test_a_worker_elsewhere_dies_before_its_first_heartbeat(place: Place) -> None:
    place.wait(place.optimize(2, dies_before_its_first_heartbeat), status=9)
    assert [trial.state for trial in place.study.trials()] == [RUNNING]
    place.wait(place.optimize(2))
    place.check(2)


@on(["journal"])
def test_without_heartbeats_a_worker_elsewhere_is_not_awaited(place: Place) -> None:
    hold = place.hold(0)
    lost = place.optimize(3, elsewhere)
    place.wait_begun(1)
    place.kill(lost)
    hold.unlink()
    place.wait(here := place.optimize(3))
    assert "2 trials, 1 running elsewhere" in place.output(here)
    place.study.set_trial_attr(0, REASON, "it burnt down")  # as `mergebo fail` does
    place.study.optuna.tell(0, state=FAIL)
    place.wait(place.optimize(3))
    place.check(3, failed=1)


@on(STORAGES)
def test_the_same_command_resumes_after_a_kill(place: Place) -> None:
    holds = [place.hold(number) for number in (2, 3)]
    first = place.optimize(6, jobs=2)
    place.wait_begun(4)
    place.kill(first)
    for hold in holds:
        hold.unlink()
    done = {trial.number: trial.value for trial in place.study.trials() if trial.state == TrialState.COMPLETE}
    assert len(done) == 2
    place.wait(second := place.optimize(6, jobs=2))
    assert "study has 2 trials; resuming" in place.output(second)
    trials = place.check(6, repeated=2)
    assert done.items() <= {trial.number: trial.value for trial in trials}.items()


@on(STORAGES)
def test_repeated_kills(place: Place) -> None:
    """Kill one process at any moment, in the sampler, the storage or the program, while another one continues."""
    budget, kills = 3 * KILLS, 0
    steady = place.optimize(budget, quick_to_break_a_lock)
    place.wait_begun(1)
    while steady.is_alive() and kills < KILLS:
        other = place.optimize(budget, quick_to_break_a_lock, jobs=2)
        other.join(0.25 + 0.1 * (kills % 6))
        kills += other.is_alive()
        place.kill(other)
    place.wait(steady, seconds=30 + 2 * budget)
    place.wait(place.optimize(budget))  # fails the stale trials of a process that was killed after that
    print(f"{kills} kills")
    repeated = len(place.logged("begin")) - budget
    place.check(budget, repeated, beyond_at_most=2 * kills)
    assert repeated <= 2 * kills


@on(["journal"])
def test_a_worker_that_died_before_it_discarded_a_trial_beyond_the_budget(place: Place) -> None:
    """The trial waits for a larger budget."""
    place.wait(place.optimize(2))
    place.add_trial_of_dead_worker("one")
    place.wait(place.optimize(2))
    place.check(2, beyond_at_most=1)
    assert [trial.state for trial in place.study.trials()[2:]] == [TrialState.WAITING]
    place.wait(place.optimize(3))
    place.check(3)
    assert place.logged("begin")[-1] == (3, "f e d c b a")


@on(["journal"])
def test_workers_that_died_before_they_discarded_a_duplicate(place: Place) -> None:
    """Two trials have the same point, and one of them is retried with another one."""
    place.wait(place.optimize(1))
    for worker in ("one", "two"):
        place.add_trial_of_dead_worker(worker)
    place.wait(place.optimize(3))
    place.check(3)
    assert "f e d c b a" in dict(place.logged("begin")).values()


@on(["journal"])
def test_a_trial_that_kills_its_workers_is_given_up(place: Place) -> None:
    program = place.folder / "program"
    program.write_text(PROGRAM.replace("while", '[ "$1" = a ] && kill -9 $PPID\nwhile', 1))
    for _ in range(2 * workers.MAX_RETRIES):
        place.wait(place.optimize(6, items="a,b,c"), status=-signal.SIGKILL)
    place.wait(place.optimize(6, items="a,b,c"))
    trials = place.check(6, repeated=2 * (workers.MAX_RETRIES - 1), failed=2)
    failed = [trial for trial in trials if trial.state == FAIL]
    assert [trial.user_attrs[REASON] for trial in failed] == [f"{workers.MAX_RETRIES} workers died while evaluating it"] * 2


@on(["sqlite"])
def test_the_real_command(place: Place) -> None:
    """Without the changes that make these tests fast."""
    command = [sys.executable, "-m", "mergebo", *place.arguments(4)]
    hold = place.hold(1)
    killed = subprocess.Popen(command, cwd=place.folder)
    place.wait_begun(2)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    hold.unlink()
    done = subprocess.run(command, cwd=place.folder, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("study has 1 trials; resuming.")
    assert not done.stderr
    place.check(4, repeated=1)


# --------------------------------------------------------------------------------------------------------------- signals


@pytest.mark.parametrize(
    ("place", "kind", "times"),
    [("journal", signal.SIGINT, workers.MAX_RETRIES), *((kind, signal.SIGTERM, 1) for kind in STORAGES)],
    indirect=["place"],
)
def test_interrupted(place: Place, kind: signal.Signals, times: int) -> None:
    """Interrupted trials are queued until they are retried; a stopped worker does not count as dead."""
    for number in range(1, times + 1):
        hold = place.hold()
        process = place.optimize(3, jobs=2)
        place.wait_begun(2 * number)
        assert process.pid is not None
        os.kill(process.pid, kind)
        place.wait(process, status=130)
        assert "Interrupted. All results are stored; the same command resumes the study." in place.output(process)
        assert not place.logged("end")
        trials = place.study.trials()
        assert [trial.state for trial in trials] == [TrialState.WAITING] * 2
        assert all(STOPPED in trial.user_attrs for trial in trials)
        hold.unlink()
    place.wait(place.optimize(3))
    place.check(3, repeated=2 * times)


@on(["sqlite"])
def test_interrupted_while_others_continue(place: Place) -> None:
    hold = place.hold()
    one, two = place.optimize(4), place.optimize(4)
    place.wait_begun(2)
    one.terminate()
    place.wait(one, status=130)
    hold.unlink()
    place.wait(two)
    place.check(4, repeated=1)


# --------------------------------------------------------------------------------------------------- storages that fail


@on(BEATING)
def test_a_worker_that_was_declared_dead_returns_a_value(place: Place) -> None:
    """The value is stored for the right trial, and counted once."""
    hold = place.hold(0)
    stale = place.optimize(3, elsewhere_without_heartbeat)
    place.wait_begun(1)
    place.wait(other := place.optimize(3))
    hold.unlink()
    place.wait(stale)
    assert len(place.study.trials()) == 3
    assert len(place.logged("begin")) == 4
    values = [trial.value for trial in place.study.all_trials() if trial.state == TrialState.COMPLETE]
    assert len(place.trials_of(other)) == 3
    assert sorted(values) == [0, *sorted(trial.number for trial in place.trials_of(other))]


@on(["journal"])
def test_a_worker_that_was_declared_dead_by_mistake_is_not_replaced_by_its_own_threads(place: Place) -> None:
    hold = place.hold(0)
    process = place.optimize(3, jobs=2)
    place.wait_begun(2)
    place.study.optuna.tell(0, state=FAIL)
    wait_until(lambda: len(place.logged("end")) == 2)
    hold.unlink()
    place.wait(process)
    assert sorted(trial.value for trial in place.study.trials()) == [0, 1, 2]
    assert len(place.logged("begin")) == 3


@on(["sqlite", "journal"])
def test_a_value_that_cannot_be_stored_is_printed(place: Place) -> None:
    process = place.optimize(4, cannot_store_values)
    place.wait(process, status=2)
    assert "the value of trial 0 could not be stored" in place.output(process)
    assert "the disk is gone" in place.output(process)
    assert "mergebo tell 0 0.0 --study study\n" in place.output(process)
    place.study.optuna.tell(0, 0.0)
    place.wait(place.optimize(4))
    place.check(4)


@on(STORAGES)
def test_lost_responses_of_the_storage(place: Place) -> None:
    started = [place.optimize(12, unreliable_storage, jobs=2) for _ in range(2)]
    place.wait(*started)
    place.check(12)


class Outage:
    """Let the server close all connections to a database and refuse new ones, as in an outage."""

    def __init__(self, place: Place) -> None:
        self.name = sqlalchemy.make_url(place.url).database

    def __enter__(self) -> None:
        with on_server() as server:
            server.execute(sqlalchemy.text(f"ALTER DATABASE {self.name} WITH ALLOW_CONNECTIONS false"))
            server.execute(
                sqlalchemy.text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.name}'")
            )

    def __exit__(self, *_: object) -> None:
        with on_server() as server:
            server.execute(sqlalchemy.text(f"ALTER DATABASE {self.name} WITH ALLOW_CONNECTIONS true"))


if SERVER:  # otherwise there is nothing to test or to skip

    @on(SERVERS)
    def test_a_short_outage_of_the_server(place: Place) -> None:
        """It is longer than the grace period, but no worker declares another one dead because of it."""
        holds = [place.hold(number) for number in (0, 1)]
        far = place.optimize(10, elsewhere_with_slow_heartbeat, jobs=2)
        place.wait_begun(2)
        here = place.optimize(10, slow_heartbeat, jobs=2)
        place.wait_begun(4)
        with Outage(place):
            time.sleep(2 * GRACE_PERIOD + 1)
        place.wait_begun(8)
        time.sleep(1)
        for hold in holds:
            hold.unlink()
        place.wait(far, here)
        place.check(10)

    @on(SERVERS)
    def test_a_long_outage_of_the_server(place: Place) -> None:
        hold = place.hold()
        process = place.optimize(3, short_storage_timeout)
        place.wait_begun(1)
        with Outage(place):
            hold.unlink()
            place.wait(process, status=2)
        assert "mergebo tell 0 0.0 --study study\n" in place.output(process)
        place.study.optuna.tell(0, 0.0)
        place.wait(place.optimize(3))
        place.check(3)


# ------------------------------------------------------------------------------------- counted trials, dead processes


def trial(number: int, state: TrialState = TrialState.COMPLETE, **attributes: Any) -> FrozenTrial:
    created = optuna.create_trial(
        state=state,
        value=1.0 if state == TrialState.COMPLETE else None,
        params={"x": number},
        distributions={"x": IntDistribution(0, 100)},
        user_attrs={
            {"again": RETRY_OF, "surplus": DISCARDED, "worker": WORKER}[name]: value for name, value in attributes.items()
        },
    )
    created.number = number
    return created


@pytest.mark.parametrize(
    ("trials", "expected"),
    [
        ([], []),
        ([trial(0), trial(1, RUNNING)], [0, 1]),
        ([trial(0, FAIL), trial(1), trial(2, again=[0])], [2, 1]),
        ([trial(0, FAIL), trial(1), trial(2, FAIL, again=[0]), trial(3, RUNNING, again=[0, 2])], [3, 1]),
        ([trial(0, FAIL), trial(1, RUNNING, again=[0]), trial(2, RUNNING, again=[0])], [1]),
        ([trial(0, FAIL), trial(1, FAIL, again=[0]), trial(2, again=[0])], [2]),
        ([trial(0, FAIL), trial(1, again=[0]), trial(2, again=[0])], [1]),
        ([trial(0), trial(1, FAIL, surplus=True), trial(2)], [0, 2]),
        ([trial(0, FAIL), trial(1, FAIL, again=[0], surplus=True), trial(2, RUNNING, again=[0])], [2]),
    ],
)
def test_counted_trials(trials: list[FrozenTrial], expected: list[int]) -> None:
    assert [each.number for each in counted_trials(trials)] == expected


def test_dead_processes() -> None:
    machine, pid, start_time = this_process().rsplit(":", 2)
    child = subprocess.Popen(["sleep", "60"])
    other = process_name(child.pid)
    assert is_here(this_process())
    assert not is_dead(this_process())
    assert not is_dead(other)
    assert is_dead(f"{machine}:{pid}:{start_time}1")  # a later process with the same id
    assert not is_here(f"other{machine}:{pid}:{start_time}")
    assert not is_dead(f"other{machine}:1{pid}:{start_time}")
    assert not is_dead("")
    child.kill()
    wait_until(lambda: Path(f"/proc/{child.pid}/stat").read_text().split()[2] == "Z")
    assert is_dead(other)  # a zombie
    child.wait()
    assert is_dead(other)
