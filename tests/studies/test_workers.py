"""Workers that share a storage: no trial is lost or evaluated twice, whatever is killed, stopped or unavailable.

The programs log when they begin and when they end, so that the storage can be compared with what was really run.
PostgreSQL is tested if the environment variable MERGEBO_TEST_POSTGRESQL has the address of a server on which databases can
be created; `.ci/postgresql COMMAND` starts one for a command.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy
from optuna.trial import FrozenTrial, TrialState

import mergebo as mb
from mergebo.integrations.optuna import params
from mergebo.studies import Study, StudyConfig, create, workers
from mergebo.studies.attributes import REASON, RETRY_OF, STOPPED
from mergebo.studies.program import Program
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
