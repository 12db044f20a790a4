"""Workers that share a storage: no trial is lost or evaluated twice, whatever is killed, stopped or unavailable.

The programs log when they begin and when they end, so that the storage can be compared with what was really run.
PostgreSQL is tested if the environment variable MERGEBO_TEST_POSTGRESQL has the address of a server on which databases can
be created; `.ci/postgresql COMMAND` starts one for a command.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from optuna.trial import FrozenTrial, TrialState

import mergebo as mb
from mergebo.errors import AccidentError, StorageError
from mergebo.integrations.optuna import params
from mergebo.studies import Study, StudyConfig, create, workers
from mergebo.studies.attributes import REASON, RETRY_OF, STOPPED
from mergebo.studies.program import Program
from mergebo.studies.trials import state_of
from program_helpers import script
from worker_helpers import (
    BEATING,
    FAIL,
    GRACE_PERIOD,
    KILLS,
    PROGRAM,
    RUNNING,
    SERVER,
    SERVERS,
    STORAGES,
    Place,
    cannot_store_values,
    dies_before_its_first_heartbeat,
    elsewhere,
    elsewhere_with_slow_heartbeat,
    elsewhere_without_heartbeat,
    on,
    on_server,
    quick_to_break_a_lock,
    short_storage_timeout,
    slow_heartbeat,
    unreliable_storage,
    wait_until,
)

pytestmark = pytest.mark.slow


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


def test_workers_read_the_trials_twice_for_each_of_them(tmp_path: Path) -> None:
    """Before its point is proposed, and after it is stored; once more to see that the budget is spent."""
    reads = []

    class Counting(Study):
        def all_trials(self) -> list[FrozenTrial]:
            reads.append(1)
            return super().all_trials()

    config = StudyConfig(mb.Space(order=mb.Permutation(items=list("abcd"))), "random")
    made = create(f"journal:///{tmp_path}/storage", "study", config)
    started = workers.Workers(Counting(made.optuna, config, made.url, made.storage), Program("echo {order} 1"), 6)
    started.start()
    started.join()
    assert len(made.completed()) == 6
    assert len(reads) == 1 + 2 * 6 + 1


class TestAccidents:
    """Trials whose program was killed from outside, or could not be started."""

    def workers(self, budget: int, text: str, jobs: int = 1, **options: Any) -> workers.Workers:
        """Workers on a study in the current folder, with a program that knows how many runs have begun."""
        config = StudyConfig(mb.Space(order=mb.Permutation(items=list("abcdef"))), "random")
        made = create("journal:///storage", "study", config, resume=True)
        lock = "until mkdir lock 2>/dev/null; do sleep 0.02; done; echo >> runs; n=$(wc -l < runs); rmdir lock"
        command = script(f"{lock}\n{text}\necho $n") + " {order}"
        started = workers.Workers(made, Program(command, retries=0), budget, jobs, pause=0.02, **options)
        started.start()
        return started

    def states(self, started: workers.Workers) -> list[str]:
        return [state_of(trial) for trial in started.study.trials()]

    def test_they_do_not_count(self, program_folder: Path) -> None:
        started = self.workers(4, "[ $((n % 3)) = 0 ] || kill -9 $$")
        started.join()
        assert self.states(started) == ["cancelled", "cancelled", "done"] * 4
        assert [trial.value for trial in started.study.completed()] == [3, 6, 9, 12]
        assert not self.workers(4, "exit 1").join()
        assert len(self.states(started)) == 12, "the budget is spent"
        reasons = {trial.user_attrs.get(REASON) for trial in started.study.trials() if state_of(trial) == "cancelled"}
        assert reasons == {"the program was killed by SIGKILL"}

    def test_three_in_a_row_stop_the_workers(self, program_folder: Path) -> None:
        """A program that vanishes does not burn the budget, whatever there was before."""
        started = self.workers(30, "[ $n = 4 ] && rm simulate; [ $n = 2 ] && exit 1")
        with pytest.raises(AccidentError, match=r"^3 trials in a row ended by accident; the last one: .*No such file"):
            started.join()
        assert self.states(started) == ["done", "failed", "done", "done", *["cancelled"] * 3]
        resumed = self.workers(6, "")
        resumed.join()
        assert self.states(resumed).count("done") == 5

    def test_a_failure_is_not_one_of_them(self, program_folder: Path) -> None:
        started = self.workers(3, "[ $n = 1 ] || { [ $((n % 3)) = 0 ] && exit 1; kill -9 $$; }")
        started.join()
        assert self.states(started) == ["done", "cancelled", "failed", "cancelled", "cancelled", "failed"]

    def test_programs_that_run_are_finished(self, program_folder: Path) -> None:
        started = self.workers(30, "while [ $n = 1 ] && [ ! -e go ]; do sleep 0.02; done; [ $n = 1 ] || kill -9 $$", jobs=2)
        wait_until(lambda: started.error is not None)
        assert self.states(started).count("pending") == 1
        Path("go").touch()
        with pytest.raises(AccidentError):
            started.join()
        assert sorted(self.states(started)) == [*["cancelled"] * 3, "done"]

    def test_an_interrupted_trial_that_is_cancelled_is_not_resumed(self, program_folder: Path) -> None:
        started = self.workers(1, "sleep 60")
        wait_until(lambda: Path("runs").exists() and not Path("lock").exists())
        started.stop()
        started.join()
        assert self.states(started) == ["queued"]
        resumed = self.workers(1, "[ $n = 2 ] && kill -9 $$")
        resumed.join()
        assert self.states(resumed) == ["cancelled", "done"]
        assert [trial.user_attrs.get(RETRY_OF) for trial in resumed.study.trials()] == [[0], None]

    def test_a_time_limit_lets_programs_finish(self, program_folder: Path) -> None:
        started = self.workers(9, "while [ ! -e go ]; do sleep 0.02; done", time_limit=0.1)
        wait_until(Path("runs").exists)
        time.sleep(0.1)
        Path("go").touch()
        started.join()
        assert started.timed_out
        assert self.states(started) == ["done"]
        (trial,) = started.study.trials()
        assert 0.1 < (started.study.seconds(trial) or 0) < 60
        resumed = self.workers(3, "", time_limit=60)
        resumed.join()
        assert not resumed.timed_out
        assert self.states(resumed) == ["done"] * 3


class TestWaitingForAServer:
    AWAY = sqlalchemy.exc.OperationalError("connect", {}, Exception("Connection refused\n\tIs the server running?"))

    def attempts(self, monkeypatch: pytest.MonkeyPatch, error: Exception) -> tuple[Any, list[str], list[int]]:
        """An action that fails twice, messages to the user, and its calls."""
        monkeypatch.setattr(workers, "PAUSE", 0.01)
        calls: list[int] = []

        def action() -> str:
            calls.append(1)
            if len(calls) < 3:
                raise StorageError("the storage cannot be opened") from error
            return "opened"

        return action, [], calls

    def test_until_it_responds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        action, warned, calls = self.attempts(monkeypatch, self.AWAY)
        assert workers.wait_for_server("postgresql://u:secret@h/d", action, warned.append) == "opened"
        assert len(calls) == 3
        message = "the storage postgresql://u:***@h/d does not respond: Connection refused; waiting for it up to 600 s"
        assert warned == [message]

    def test_not_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        action, warned, calls = self.attempts(monkeypatch, self.AWAY)
        monkeypatch.setattr(workers, "STORAGE_TIMEOUT", 0)
        with pytest.raises(StorageError):
            workers.wait_for_server("postgresql://h/d", action, warned.append)
        assert len(calls) == 2

    def test_not_for_other_errors(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for error in (
            sqlalchemy.exc.OperationalError("connect", {}, Exception("password authentication failed")),
            sqlalchemy.exc.OperationalError("insert", {}, sqlite3.OperationalError("Connection refused")),
            ValueError("Connection refused"),
        ):
            action, warned, calls = self.attempts(monkeypatch, error)
            with pytest.raises(StorageError):
                workers.wait_for_server("postgresql://h/d", action, warned.append)
            assert (len(calls), warned) == (1, [])


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
    (asked,) = study.ask()
    place.wait(place.optimize(3))
    assert len(place.logged("begin")) == 3
    study.tell(asked.number, [7.0])
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


@on(["journal"])
def test_enqueued_trials_without_a_point_fail(place: Place) -> None:
    place.wait(place.optimize(1))
    study = place.study
    study.optuna.enqueue_trial({"order0": 77})
    place.wait(place.optimize(4))
    trials = study.trials()
    assert [trial.state.name for trial in trials] == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    assert "digit 0 of a Lehmer code of 6 items is 0..5, got 77" in trials[1].user_attrs[REASON]


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
    place.study.fail(0, "it burnt down")
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
    assert "mergebo tell 0 0.0 --study study --storage " in place.output(process)
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
    def test_a_worker_that_starts_in_an_outage_waits(place: Place) -> None:
        place.wait(place.optimize(1))
        with Outage(place):
            process = place.optimize(3)
            output = place.folder / "out.1"
            wait_until(lambda: output.exists() and "does not respond" in output.read_text())
            time.sleep(0.5)
            assert process.is_alive()
            assert "waiting for it up to 600 s" in output.read_text()
        place.wait(process)
        place.check(3)

    @on(SERVERS)
    def test_a_worker_does_not_wait_for_a_database_that_does_not_exist(place: Place) -> None:
        url, place.url = place.url, place.url.replace("/mergebo_", "/another_")
        process = place.optimize(3)
        place.wait(process, status=2, seconds=workers.STORAGE_TIMEOUT / 2)
        assert "does not exist" in place.output(process)
        assert "waiting" not in place.output(process)
        place.url = url

    @on(SERVERS)
    def test_a_long_outage_of_the_server(place: Place) -> None:
        hold = place.hold()
        process = place.optimize(3, short_storage_timeout)
        place.wait_begun(1)
        with Outage(place):
            hold.unlink()
            place.wait(process, status=2)
        assert "mergebo tell 0 0.0 --study study --storage " in place.output(process)
        place.study.optuna.tell(0, 0.0)
        place.wait(place.optimize(3))
        place.check(3)
