"""Workers that share a storage: kills, signals, silence, outages and races, and that no trial is lost or evaluated twice.

The programs of the trials write a line when they begin and when they end, so that what the storage says can be compared with
what was really run. PostgreSQL is tested where the environment variable MERGEBO_TEST_POSTGRESQL has the address of a server
on which databases may be made; `.ci/postgresql COMMAND` starts one for a command.
"""

from __future__ import annotations

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

from mergebo.cli import main, processes, studies, workers
from mergebo.cli.processes import is_dead, is_here, this_process
from mergebo.cli.studies import REASON, STOPPED, WORKER, Study, load, standing, was_cut_short
from mergebo.integrations.optuna import AGAIN, SURPLUS, distributions, params, suggest

SERVER = os.environ.get("MERGEBO_TEST_POSTGRESQL")
SERVERS = ["postgresql"] if SERVER else []
STORAGES = ["sqlite", "journal", *SERVERS]
BEATING = ["sqlite", *SERVERS]
"""Storages that hold signs of life."""
FAIL, RUNNING = TrialState.FAIL, TrialState.RUNNING
KILLS = int(os.environ.get("MERGEBO_TEST_KILLS", "6"))
"""How often the test that kills again and again does so with each storage."""
SILENCE = 3
"""Seconds without a sign of life after which a worker of these tests counts as dead."""
FORKS: Any = multiprocessing.get_context("forkserver")  # in which everything is imported already
FORKS.set_forkserver_preload(
    [
        "mergebo.cli.workers",
        "mergebo.optimizers.methods",
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
    """This process is on another machine, as far as others can see."""
    processes._machine = lambda: "elsewhere"


def elsewhere_and_silent() -> None:
    """It gives a first sign of life, and no other."""
    elsewhere()
    workers.Workers._live = lambda self: None


def slow_to_give_signs() -> None:
    """So slow that after an outage another one may look for the dead before it has given a sign."""
    workers.BEAT = 1.4
    studies.SILENCE = 2 * SILENCE  # several signs, also on a busy machine


def elsewhere_and_slow_to_give_signs() -> None:
    elsewhere()
    slow_to_give_signs()


def dies_before_its_first_sign_of_life() -> None:
    elsewhere()
    workers.Workers._look_after = lambda self, number: os._exit(9)


def cannot_store_values() -> None:
    def broken(self: Any, number: int, values: Any = None, **options: Any) -> Any:
        if values is not None:
            raise optuna.exceptions.StorageInternalError("the disk is gone")
        return tell(self, number, values, **options)

    tell = optuna.Study.tell
    optuna.Study.tell = broken
    workers.PATIENCE = 0.0


def every_answer_may_be_lost() -> None:
    """A storage that often fails, before it has done what it should or after that."""

    def often(call: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*given: Any, **named: Any) -> Any:
            chance = rng.random() if threading.current_thread().name.startswith("worker") else 1.0
            if chance < 0.1:
                raise optuna.exceptions.StorageInternalError("nothing was done")
            result = call(*given, **named)
            if chance < 0.2:
                raise optuna.exceptions.StorageInternalError("nobody knows what was done")
            return result

        return failing

    rng = random.Random(0)
    calls = ["create_new_trial", "set_trial_state_values", "set_trial_user_attr", "get_trial", "record_heartbeat"]
    rows, journal = optuna.storages.RDBStorage, optuna.storages.JournalStorage
    for storage, name in [*((rows, name) for name in [*calls, "_get_trials"]), *((journal, name) for name in calls[:-1])]:
        setattr(storage, name, often(getattr(storage, name)))
    workers.PAUSE = 0.01


def impatient() -> None:
    workers.PATIENCE = 1.0


def quick_to_break_a_lock() -> None:
    optuna.storages.journal.JournalFileSymlinkLock.__init__.__defaults__ = (3,)


def run(folder: Path, out: Path, arguments: list[str], change: Callable[[], None] | None) -> None:
    """The command line in a process of its own."""
    os.chdir(folder)
    with out.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    studies.BEAT = workers.BEAT = 0.5
    studies.SILENCE = SILENCE
    workers.PAUSE = 0.2
    if change:
        change()
    sys.argv = ["mergebo", *arguments]
    main()


def until(reached: Callable[[], Any], seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, "this takes too long"
        time.sleep(0.02)


@dataclass
class Place:
    """A storage, a folder with a program in it, and the processes that use both."""

    url: str
    folder: Path
    kind: str
    started: list[BaseProcess]

    def arguments(self, budget: int, jobs: int = 1, items: str = "a,b,c,d,e,f", method: str = "random") -> list[str]:
        given = {"items": items, "budget": budget, "jobs": jobs, "method": method, "initial": 3, "storage": self.url}
        return ["optimize", "--command=./program {order}", *(f"--{name}={value}" for name, value in given.items())]

    def optimize(self, budget: int, change: Any = None, **options: Any) -> BaseProcess:
        """Start `mergebo optimize`, with changes that are made in its process first."""
        out = self.folder / f"out.{len(self.started)}"
        process: BaseProcess = FORKS.Process(target=run, args=(self.folder, out, self.arguments(budget, **options), change))
        process.start()
        self.started.append(process)
        return process

    def said(self, process: BaseProcess) -> str:
        return (self.folder / f"out.{self.started.index(process)}").read_text()

    def wait(self, *running: BaseProcess, status: int | None = 0, seconds: float = 60) -> None:
        for process in running:
            process.join(seconds)
            assert process.exitcode == status, (process.exitcode, self.said(process))

    def kill(self, process: BaseProcess) -> None:
        process.kill()
        process.join()

    def lines(self, word: str) -> list[tuple[int, str]]:
        """Trials and orders of which programs have said that they begin or end."""
        log = self.folder / "log"
        read = [line.split(" ", 2) for line in log.read_text().splitlines()] if log.exists() else []
        return [(int(trial), order) for said, trial, order in read if said == word]

    def begun(self, count: int) -> None:
        """Wait until so many programs have begun."""
        until(lambda: len(self.lines("begin")) >= count)

    def hold(self, number: int | None = None) -> Path:
        """Let programs wait until this file is gone."""
        path = self.folder / ("hold" if number is None else f"hold.{number}")
        path.touch()
        return path

    @cached_property
    def study(self) -> Study:
        return load(self.url)

    def of(self, process: BaseProcess) -> list[FrozenTrial]:
        """Trials of a process that count, or did."""
        every = [trial for trial in self.study.every_trial() if SURPLUS not in trial.user_attrs]
        return [trial for trial in every if f":{process.pid}:" in trial.user_attrs.get(WORKER, "")]

    def died(self, worker: str) -> None:
        """A worker made a trial of the last order, and died before it looked whether that counts."""
        space = self.study.space
        point = params(space, {"order": ["f", "e", "d", "c", "b", "a"]})
        made = optuna.create_trial(
            state=FAIL, params=point, distributions=distributions(space), user_attrs={WORKER: f"{worker}:1:1"}
        )
        self.study.optuna.add_trial(made)

    def check(self, budget: int, repeated: int = 0, failed: int = 0, beyond_at_most: int = 0) -> list[FrozenTrial]:
        """Storage and log say the same: as many trials as the budget, no number twice, no order twice but after a death.

        Workers that died before they saw that their trials are beyond the budget leave these, for a larger budget.
        """
        study = self.study
        every = study.every_trial()
        beyond = {trial.number: trial for trial in standing(every)[budget:]}
        trials = [trial for trial in study.trials() if trial.number not in beyond]
        done = [trial for trial in trials if trial.state == TrialState.COMPLETE]
        begun = self.lines("begin")
        assert Counter(trial.state.name for trial in trials) == Counter(COMPLETE=budget - failed, FAIL=failed)
        assert not [trial.number for trial in every if not trial.state.is_finished()]
        assert max(Counter(number for number, _ in begun).values()) == 1
        assert {(trial.number, " ".join(study.point(trial)["order"])) for trial in done} <= set(begun)
        assert [trial.value for trial in done] == [trial.number for trial in done]
        assert len(beyond) <= beyond_at_most
        assert not beyond.keys() & dict(begun).keys()
        assert all(was_cut_short(trial) for trial in beyond.values())
        orders = Counter(order for _, order in begun)
        assert len(orders) == budget
        assert len(begun) == budget + repeated
        assert {trial.number for trial in every if SURPLUS not in trial.user_attrs} >= {number for number, _ in begun}
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
    made = Place(url, tmp_path, kind, [])
    yield made
    for path in tmp_path.glob("hold*"):
        path.unlink()
    if "study" in vars(made) and kind != "journal":
        made.study.storage.engine.dispose()
    for process in made.started:
        if process.is_alive():
            made.kill(process)
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
def test_processes_that_begin_in_the_same_moment_share_the_budget(place: Place, method: str) -> None:
    """Also the tables, the study and the first trial are made by all of them at once."""
    hold = place.hold()
    started = [place.optimize(14, jobs=2, method=method) for _ in range(4)]
    place.begun(8)
    hold.unlink()
    place.wait(*started)
    place.check(14)
    assert all(len(place.of(process)) >= 2 for process in started)


@on(["journal"])
def test_a_larger_budget_goes_on_and_a_smaller_one_does_nothing(place: Place) -> None:
    place.wait(place.optimize(3))
    place.wait(place.optimize(5))
    place.wait(place.optimize(2))
    place.check(5)


@on(["sqlite"])
def test_every_order_is_tried_once_even_if_the_budget_is_larger(place: Place) -> None:
    started = [place.optimize(20, items="a,b,c", jobs=2) for _ in range(2)]
    place.wait(*started)
    place.check(6)
    assert any("There is nothing left to try: all 6 points" in place.said(process) for process in started)


@on(["journal"])
def test_what_people_ask_for_is_not_waited_for(place: Place) -> None:
    place.wait(place.optimize(1))
    study = place.study
    asked = study.asking.ask()
    suggest(asked, study.space)
    place.wait(place.optimize(3))
    assert len(place.lines("begin")) == 3
    study.optuna.tell(asked, 7.0)
    place.wait(place.optimize(5))
    assert len(place.lines("begin")) == 4


@on(STORAGES)
def test_what_optuna_has_queued_comes_first(place: Place) -> None:
    place.wait(place.optimize(1))
    study = place.study
    wanted = ["f", "e", "d", "c", "b", "a"]
    study.optuna.enqueue_trial(params(study.space, {"order": wanted}), user_attrs={"from": "the dashboard"})
    study.optuna.enqueue_trial({"order0": 3})  # what is missing is chosen
    hold = place.hold()
    started = [place.optimize(5) for _ in range(3)]
    place.begun(4)
    hold.unlink()
    place.wait(*started)
    queued = {trial.user_attrs[AGAIN][0]: trial for trial in place.check(5) if AGAIN in trial.user_attrs}
    assert study.point(queued[1]) == {"order": wanted}
    assert queued[1].user_attrs["from"] == "the dashboard"
    assert queued[2].params["order0"] == 3
    assert {queued[1].number, queued[2].number} <= {number for number, _ in place.lines("begin")[:4]}


@on(["sqlite"])
def test_alone_the_seed_decides(place: Place) -> None:
    """Also if the work is done in two parts."""
    place.wait(place.optimize(8, method="bops-h"))
    orders = place.lines("begin")
    (place.folder / "storage").unlink()
    (place.folder / "log").unlink()
    place.wait(place.optimize(5, method="bops-h"))
    place.wait(place.optimize(8, method="bops-h"))
    assert place.lines("begin") == orders


# ----------------------------------------------------------------------------------------------------------------- kills


@on(STORAGES)
def test_two_processes_and_a_killed_third(place: Place) -> None:
    hold = place.hold()
    one, two, third = started = [place.optimize(9) for _ in range(3)]
    place.begun(3)
    place.kill(third)
    hold.unlink()
    place.wait(one, two)
    place.check(9, repeated=1)
    assert len(started) == 3
    (lost,) = place.of(third)
    again = [trial for trial in place.study.every_trial() if trial.user_attrs.get(AGAIN) == [lost.number]]
    assert [trial.params for trial in again if trial.state == TrialState.COMPLETE] == [lost.params]


@on(BEATING)
def test_a_worker_elsewhere_dies_and_is_missed(place: Place) -> None:
    """Its process cannot be seen, so its signs of life decide; the survivor waits until there are none."""
    hold = place.hold()
    lost = place.optimize(4, elsewhere)
    place.begun(1)
    survivors = [place.optimize(4) for _ in range(2)]
    place.begun(3)
    place.kill(lost)
    hold.unlink()
    place.wait(*survivors)
    place.check(4, repeated=1)


@on(BEATING)
def test_a_worker_elsewhere_lives_and_is_waited_for(place: Place) -> None:
    hold = place.hold(0)
    other = place.optimize(3, elsewhere)
    place.begun(1)
    here = place.optimize(3)
    place.begun(3)
    time.sleep(SILENCE + 1)
    assert here.is_alive()
    hold.unlink()
    place.wait(other, here)
    place.check(3)


@on(["sqlite"])
def test_a_worker_elsewhere_dies_before_its_first_sign_of_life(place: Place) -> None:
    place.wait(place.optimize(2, dies_before_its_first_sign_of_life), status=9)
    assert [trial.state for trial in place.study.trials()] == [RUNNING]
    place.wait(place.optimize(2))
    place.check(2)


@on(["journal"])
def test_without_signs_of_life_a_worker_elsewhere_is_not_waited_for(place: Place) -> None:
    hold = place.hold(0)
    lost = place.optimize(3, elsewhere)
    place.begun(1)
    place.kill(lost)
    hold.unlink()
    place.wait(here := place.optimize(3))
    assert "2 trials, 1 with workers elsewhere" in place.said(here)
    place.study.note(0, REASON, "it burnt down")  # which is what `mergebo fail` does
    place.study.optuna.tell(0, state=FAIL)
    place.wait(place.optimize(3))
    place.check(3, failed=1)


@on(STORAGES)
def test_killed_in_the_middle_the_same_command_goes_on(place: Place) -> None:
    holds = [place.hold(number) for number in (2, 3)]
    first = place.optimize(6, jobs=2)
    place.begun(4)
    place.kill(first)
    for hold in holds:
        hold.unlink()
    done = {trial.number: trial.value for trial in place.study.trials() if trial.state == TrialState.COMPLETE}
    assert len(done) == 2
    place.wait(second := place.optimize(6, jobs=2))
    assert "study has 2 trials; going on" in place.said(second)
    trials = place.check(6, repeated=2)
    assert done.items() <= {trial.number: trial.value for trial in trials}.items()


@on(STORAGES)
def test_killed_again_and_again(place: Place) -> None:
    """At any moment, while another process goes on: in the sampler, in the storage, in the program."""
    budget, kills = 3 * KILLS, 0
    steady = place.optimize(budget, quick_to_break_a_lock)
    place.begun(1)
    while steady.is_alive() and kills < KILLS:
        other = place.optimize(budget, quick_to_break_a_lock, jobs=2)
        other.join(0.25 + 0.1 * (kills % 6))
        kills += other.is_alive()
        place.kill(other)
    place.wait(steady, seconds=30 + 2 * budget)
    place.wait(place.optimize(budget))  # buries what one that was killed later than that has left
    print(f"{kills} kills")
    repeated = len(place.lines("begin")) - budget
    place.check(budget, repeated, beyond_at_most=2 * kills)
    assert repeated <= 2 * kills


@on(["journal"])
def test_a_worker_that_died_before_it_dropped_what_is_beyond_the_budget(place: Place) -> None:
    """The trial waits for a larger budget."""
    place.wait(place.optimize(2))
    place.died("one")
    place.wait(place.optimize(2))
    place.check(2, beyond_at_most=1)
    assert [trial.state for trial in place.study.trials()[2:]] == [TrialState.WAITING]
    place.wait(place.optimize(3))
    place.check(3)
    assert place.lines("begin")[-1] == (3, "f e d c b a")


@on(["journal"])
def test_workers_that_died_before_they_dropped_what_another_had_begun(place: Place) -> None:
    """Two trials have the same point, and one of them gets another one."""
    place.wait(place.optimize(1))
    for worker in ("one", "two"):
        place.died(worker)
    place.wait(place.optimize(3))
    place.check(3)
    assert "f e d c b a" in dict(place.lines("begin")).values()


@on(["journal"])
def test_a_trial_of_which_workers_die_is_given_up(place: Place) -> None:
    program = place.folder / "program"
    program.write_text(PROGRAM.replace("while", '[ "$1" = a ] && kill -9 $PPID\nwhile', 1))
    for _ in range(2 * workers.DEATHS):
        place.wait(place.optimize(6, items="a,b,c"), status=-signal.SIGKILL)
    place.wait(place.optimize(6, items="a,b,c"))
    trials = place.check(6, repeated=2 * (workers.DEATHS - 1), failed=2)
    failed = [trial for trial in trials if trial.state == FAIL]
    assert [trial.user_attrs[REASON] for trial in failed] == [f"{workers.DEATHS} workers died of it"] * 2


@on(["sqlite"])
def test_the_real_command(place: Place) -> None:
    """Without any of the changes that make these tests quick."""
    command = [sys.executable, "-m", "mergebo", *place.arguments(4)]
    hold = place.hold(1)
    killed = subprocess.Popen(command, cwd=place.folder)
    place.begun(2)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    hold.unlink()
    done = subprocess.run(command, cwd=place.folder, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("study has 1 trials; going on.")
    assert not done.stderr
    place.check(4, repeated=1)


# --------------------------------------------------------------------------------------------------------------- signals


@pytest.mark.parametrize(
    ("place", "kind", "times"),
    [("journal", signal.SIGINT, workers.DEATHS), *((kind, signal.SIGTERM, 1) for kind in STORAGES)],
    indirect=["place"],
)
def test_stopped(place: Place, kind: signal.Signals, times: int) -> None:
    """What was cut short is evaluated later; it is queued until then, and nobody has died of it."""
    for number in range(1, times + 1):
        hold = place.hold()
        process = place.optimize(3, jobs=2)
        place.begun(2 * number)
        assert process.pid is not None
        os.kill(process.pid, kind)
        place.wait(process, status=130)
        assert "Stopped. Everything is stored; the same command goes on from here." in place.said(process)
        assert not place.lines("end")
        trials = place.study.trials()
        assert [trial.state for trial in trials] == [TrialState.WAITING] * 2
        assert all(STOPPED in trial.user_attrs for trial in trials)
        hold.unlink()
    place.wait(place.optimize(3))
    place.check(3, repeated=2 * times)


@on(["sqlite"])
def test_stopped_while_others_go_on(place: Place) -> None:
    hold = place.hold()
    one, two = place.optimize(4), place.optimize(4)
    place.begun(2)
    one.terminate()
    place.wait(one, status=130)
    hold.unlink()
    place.wait(two)
    place.check(4, repeated=1)


# --------------------------------------------------------------------------------------------------- storages that fail


@on(BEATING)
def test_a_worker_that_was_given_up_comes_back_with_a_value(place: Place) -> None:
    """The value is kept, as that of the trial that it belongs to, and counted once."""
    hold = place.hold(0)
    silent = place.optimize(3, elsewhere_and_silent)
    place.begun(1)
    place.wait(other := place.optimize(3))
    hold.unlink()
    place.wait(silent)
    assert len(place.study.trials()) == 3
    assert len(place.lines("begin")) == 4
    values = [trial.value for trial in place.study.every_trial() if trial.state == TrialState.COMPLETE]
    assert len(place.of(other)) == 3
    assert sorted(values) == [0, *sorted(trial.number for trial in place.of(other))]


@on(["journal"])
def test_a_worker_that_was_given_up_by_mistake_is_not_replaced_by_its_own_threads(place: Place) -> None:
    hold = place.hold(0)
    process = place.optimize(3, jobs=2)
    place.begun(2)
    place.study.optuna.tell(0, state=FAIL)
    until(lambda: len(place.lines("end")) == 2)
    hold.unlink()
    place.wait(process)
    assert sorted(trial.value for trial in place.study.trials()) == [0, 1, 2]
    assert len(place.lines("begin")) == 3


@on(["sqlite", "journal"])
def test_a_value_that_cannot_be_stored_is_said(place: Place) -> None:
    process = place.optimize(4, cannot_store_values)
    place.wait(process, status=2)
    assert "the value of trial 0 could not be stored" in place.said(process)
    assert "the disk is gone" in place.said(process)
    assert "mergebo tell 0 0.0 --study study\n" in place.said(process)
    place.study.optuna.tell(0, 0.0)
    place.wait(place.optimize(4))
    place.check(4)


@on(STORAGES)
def test_answers_that_get_lost(place: Place) -> None:
    started = [place.optimize(12, every_answer_may_be_lost, jobs=2) for _ in range(2)]
    place.wait(*started)
    place.check(12)


class Outage:
    """The server ends all connections to a database and allows no other, as if it were away."""

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


if SERVER:  # else there is nothing to test, and nothing to skip

    @on(SERVERS)
    def test_the_server_goes_away_and_comes_back(place: Place) -> None:
        """For longer than workers may be silent; nobody takes another one for dead because of that."""
        holds = [place.hold(number) for number in (0, 1)]
        far = place.optimize(10, elsewhere_and_slow_to_give_signs, jobs=2)
        place.begun(2)
        here = place.optimize(10, slow_to_give_signs, jobs=2)
        place.begun(4)
        with Outage(place):
            time.sleep(2 * SILENCE + 1)
        place.begun(8)
        time.sleep(1)
        for hold in holds:
            hold.unlink()
        place.wait(far, here)
        place.check(10)

    @on(SERVERS)
    def test_the_server_goes_away_for_too_long(place: Place) -> None:
        hold = place.hold()
        process = place.optimize(3, impatient)
        place.begun(1)
        with Outage(place):
            hold.unlink()
            place.wait(process, status=2)
        assert "mergebo tell 0 0.0 --study study\n" in place.said(process)
        place.study.optuna.tell(0, 0.0)
        place.wait(place.optimize(3))
        place.check(3)


# ---------------------------------------------------------------------------------------------- what counts, who lives


def trial(number: int, state: TrialState = TrialState.COMPLETE, **attributes: Any) -> FrozenTrial:
    made = optuna.create_trial(
        state=state,
        value=1.0 if state == TrialState.COMPLETE else None,
        params={"x": number},
        distributions={"x": IntDistribution(0, 100)},
        user_attrs={
            {"again": AGAIN, "surplus": SURPLUS, "worker": WORKER}[name]: value for name, value in attributes.items()
        },
    )
    made.number = number
    return made


@pytest.mark.parametrize(
    ("every", "expected"),
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
def test_what_counts(every: list[FrozenTrial], expected: list[int]) -> None:
    assert [each.number for each in standing(every)] == expected


def test_who_lives() -> None:
    machine, number, began = this_process().rsplit(":", 2)
    child = subprocess.Popen(["sleep", "60"])
    other = f"{machine}:{child.pid}:{processes._began(child.pid)}"
    assert is_here(this_process())
    assert not is_dead(this_process())
    assert not is_dead(other)
    assert is_dead(f"{machine}:{number}:{began}1")  # a later process with the same number
    assert not is_here(f"other{machine}:{number}:{began}")
    assert not is_dead(f"other{machine}:1{number}:{began}")
    assert not is_dead("")
    child.kill()
    until(lambda: Path(f"/proc/{child.pid}/stat").read_text().split()[2] == "Z")
    assert is_dead(other)  # nobody has waited for it yet
    child.wait()
    assert is_dead(other)
