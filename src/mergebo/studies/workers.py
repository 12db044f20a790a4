"""Workers, which evaluate trials with a program, in parallel on one machine or on several that share a storage.

Each worker takes the next trial until the budget is spent. The storage coordinates them, in two ways:

- A trial is created together with its point and the name of its worker, in one step. The worker checks afterwards whether
  it counts, by its position among all trials: trials beyond the budget, or with the point of an earlier one, are discarded.
- An interrupted trial, whose worker was stopped or died, has failed without a reason. Any free worker creates a trial that
  retries it; if two do so at the same moment, the first one counts.

A trial whose program ended by accident is cancelled: it does not count, and its point may be proposed again.
"""

from __future__ import annotations

import logging
import math
import queue
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from mergebo._typing import Rows
from mergebo.errors import AccidentError, CancelledError, ExhaustedError, ProgramError, StorageError
from mergebo.studies.addresses import address, command_line
from mergebo.studies.attributes import CANCELLED, DISCARDED, REASON, RETRY_OF, STOPPED, WORKER
from mergebo.studies.heartbeat import Heartbeat
from mergebo.studies.processes import is_dead, is_here, this_process
from mergebo.studies.program import Program
from mergebo.studies.storage import (
    add_trial,
    database_error,
    fail_unless_running,
    remove_session,
    server_outage,
    set_user_attr,
    trial_id,
)
from mergebo.studies.study import Study
from mergebo.studies.trials import PointsSeen, counted_trials, params_of, was_interrupted

__all__ = ["UNREACHABLE", "Workers", "wait_for_server"]

logger = logging.getLogger(__name__)

MAX_INITIAL_FAILURES = 5
"""Number of failures, without a single result, after which the program is assumed to be broken."""
MAX_ACCIDENTS = 3
"""Number of trials in a row that end by accident, after which no more are started."""
MAX_RETRIES = 3
"""Number of workers that may die while evaluating the same trial."""
STORAGE_TIMEOUT = 600.0
"""Seconds to keep retrying while the storage does not respond, such as during a restart of the server."""
STOP_TIMEOUT = 5.0
"""The same while stopping; also the seconds after which the user is warned."""
PAUSE = 1.0
"""Seconds between checks of what other workers do."""
UNREACHABLE = (StorageInternalError, SQLAlchemyError, OSError)
"""Errors raised when the storage does not respond."""

RUNNING, COMPLETE, FAIL, WAITING = TrialState.RUNNING, TrialState.COMPLETE, TrialState.FAIL, TrialState.WAITING
Result = TypeVar("Result")


def wait_for_server(url: str, action: Callable[[], Result], warn: Callable[[str], None] = logger.warning) -> Result:
    """Run an action on a storage before workers start or after they have ended; while its server is away, wait as they do.

    Other errors, such as a wrong password or a host that does not exist, are raised at once.
    """
    deadline = None
    while True:
        try:
            return action()
        except (StorageError, *UNREACHABLE) as error:
            outage = server_outage(error)
            if outage is None or (deadline is not None and time.monotonic() > deadline):
                raise
            if deadline is None:
                warn(f"the storage {address(url)} does not respond: {outage}; waiting for it up to {STORAGE_TIMEOUT:g} s")
                deadline = time.monotonic() + STORAGE_TIMEOUT
            time.sleep(PAUSE)


class Workers:
    """Threads that evaluate trials of a study until the budget is spent; `start` them, then `join`.

    They check every `pause` seconds what other workers do, and whether a storage that did not respond does so again. `warn`
    is called with what a user must know at once. After `time_limit` seconds, no more trials are started; those that run are
    finished.
    """

    def __init__(
        self,
        study: Study,
        program: Program,
        budget: int,
        jobs: int = 1,
        *,
        time_limit: float | None = None,
        pause: float = PAUSE,
        warn: Callable[[str], None] = logger.warning,
    ) -> None:
        self.study = study
        self.program = program
        self.budget = budget
        self.jobs = jobs
        self.time_limit = time_limit
        self.pause = pause
        self.warn = warn
        self.finished: queue.Queue[FrozenTrial] = queue.Queue()
        """Trials as they finish, for progress reports."""
        self.stopped = threading.Event()
        self.exhausted: ExhaustedError | None = None
        """Set when every point has been tried before the budget is spent."""
        self.timed_out = False
        """Whether the time limit ended the work before the budget was spent."""
        self.error: BaseException | None = None
        self._me = this_process()
        self._lock = threading.Lock()
        self._running: dict[int, int] = {}
        """Running trials of these workers: the trial id in the storage by trial number."""
        self._failures = 0
        self._accidents = 0
        """Number of trials that ended by accident since one that did not."""
        self._deadline = math.inf
        self._threads: list[threading.Thread] = []
        self._heartbeat = Heartbeat(study.optuna, lambda: list(self._running.values()))
        self._initial_count = 0
        """Number of trials at the start."""
        self._clashed = False
        """Whether another process has just proposed the same point."""
        self._first_beats: set[int] = set()
        """Trials of workers elsewhere for which a first heartbeat was recorded here."""
        self._warned = False

    def start(self) -> None:
        """Start the threads."""
        if self.time_limit is not None:
            self._deadline = time.monotonic() + self.time_limit
        self.study.proposer  # noqa: B018 (made once, before the threads need it)
        self._initial_count = len(self._retry(self.study.all_trials))
        self._heartbeat.start()
        self._threads = [threading.Thread(target=self._work, name=f"worker {k}", daemon=True) for k in range(self.jobs)]
        for thread in self._threads:
            thread.start()

    @property
    def running(self) -> bool:
        """Whether any worker is running."""
        return any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """Stop immediately: running programs are terminated, and their trials can be retried."""
        self.stopped.set()
        self.program.stop()

    def join(self) -> None:
        """Wait for the threads; raises the error that stopped them, if any."""
        for thread in self._threads:
            thread.join()
        self._heartbeat.stop()
        if self.error is not None:
            raise self.error

    # Work

    def _work(self) -> None:
        try:
            while (trial := self._take()) is not None:
                self._evaluate(trial)
        except AccidentError as error:  # other programs that run are not affected, and end first
            self.error = self.error or error
        except BaseException as error:  # it would be lost with the thread
            self.error = self.error or error
            self.stop()
        finally:
            remove_session(self.study.storage)

    def _evaluate(self, trial: FrozenTrial) -> None:
        """Run the program for a trial and store the outcome."""
        number, point = trial.number, self.study.point(trial)
        assert point is not None
        try:
            values = self.program.measure(point, number)
        except CancelledError:
            self._end(number, {STOPPED: True})
        except AccidentError as error:
            self.finished.put(self._end(number, {CANCELLED: True, REASON: str(error)}))
            self._accidents += 1
            if self._accidents >= MAX_ACCIDENTS:
                raise AccidentError(f"{self._accidents} trials in a row ended by accident; the last one: {error}") from error
        except ProgramError as error:
            self._accidents = 0
            self.finished.put(self._end(number, {REASON: str(error)}))
            self._abort_if_hopeless(str(error))
        else:
            self._accidents = 0
            self.finished.put(self._end(number, {}, values))

    def _abort_if_hopeless(self, reason: str) -> None:
        """Abort if the program has only ever failed."""
        self._failures += 1
        if self._failures < MAX_INITIAL_FAILURES:
            return
        if not any(trial.state == COMPLETE for trial in self._retry(self.study.trials)):
            raise ProgramError(f"gave up, since the first {self._failures} runs all failed; the last one: {reason}")

    def _end(self, number: int, attributes: Mapping[str, Any], values: Sequence[float] | None = None) -> FrozenTrial:
        """Store the outcome of a trial; the user is given a value that cannot be stored."""
        try:
            ended = self._retry(lambda: self._store(number, attributes, values))
        except StorageError:
            if values is not None:
                numbers = " ".join(map(repr, values))
                self.warn(
                    f"the value of trial {number} could not be stored. When the storage is available again, and before you "
                    "resume, record it: " + command_line(f"tell {number} {numbers}", self.study.url, self.study.name)
                )
            raise
        del self._running[number]
        return ended

    def _store(self, number: int, attributes: Mapping[str, Any], values: Sequence[float] | None) -> FrozenTrial:
        """Store the outcome of a trial, even if it is stored already or others have declared this worker dead."""
        try:
            for name, value in attributes.items():
                set_user_attr(self.study.optuna, number, name, value)
            return self.study.optuna.tell(number, values, state=FAIL if values is None else None)
        except (UpdateFinishedTrialError, ValueError):
            trial = self.study.all_trials()[number]
            if not trial.state.is_finished():
                raise
            if values is None or not was_interrupted(trial):
                return trial
            return add_trial(self.study.optuna, self._new(COMPLETE, params_of(trial), trial, values=values))

    # Coordination

    def _take(self) -> FrozenTrial | None:
        """The next trial to evaluate; None if there are no more. Waits while workers elsewhere, which may die, have some."""
        while not self.stopped.is_set() and self.error is None:
            with self._lock:
                trials = self._retry(self._read)
                counted = self._counted(trials)
                abandoned = self._lost_trial(trials) or next((each for each in counted if self._is_abandoned(each)), None)
                if abandoned is None and (self.exhausted or len(counted) >= self.budget):
                    if time.monotonic() > self._deadline or not any(map(self._is_awaited, counted)):
                        return None
                elif time.monotonic() > self._deadline:
                    self.timed_out = True
                    return None
                else:
                    taken = self._begin(trials) if abandoned is None else self._resume(abandoned, trials)
                    if taken is not None:
                        return taken
                    continue
            self.stopped.wait(self.pause)
        return None

    def _read(self) -> list[FrozenTrial]:
        """All trials, after the running ones of dead workers have failed."""
        self._heartbeat.fail_stale_trials()
        trials = self.study.all_trials()
        dead = [trial for trial in trials if trial.state == RUNNING and is_dead(trial.user_attrs.get(WORKER, ""))]
        for trial in dead:
            logger.warning("trial %d failed: its worker %s is dead", trial.number, trial.user_attrs[WORKER])
            self._store(trial.number, {}, None)
        return self.study.all_trials() if dead else trials

    def _counted(self, trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
        """The trials that count towards the budget; those from `mergebo ask` count as soon as they have a result."""
        counted = counted_trials(trials)
        return [trial for trial in counted if trial.state != RUNNING or WORKER in trial.user_attrs][: self.budget]

    def _is_abandoned(self, trial: FrozenTrial) -> bool:
        """Whether a trial has to be evaluated and has no worker: it was interrupted, or queued by other means."""
        if trial.number in self._running:  # other processes assume that this one is dead
            return False
        return trial.state == WAITING or was_interrupted(trial)

    def _lost_trial(self, trials: Sequence[FrozenTrial]) -> FrozenTrial | None:
        """A trial of these workers that they do not know of: the storage created it, but the response was lost."""

        def unknown(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
            mine = [each for each in trials if each.state == RUNNING and each.user_attrs.get(WORKER) == self._me]
            return [each for each in mine if each.number not in self._running]

        # A trial leaves `_running` only after it has ended, so one that ended just now is not running when read again.
        return next(iter(unknown(self._retry(self.study.all_trials))), None) if unknown(trials) else None

    def _is_awaited(self, trial: FrozenTrial) -> bool:
        """Whether a trial runs in another process whose death would be detected."""
        worker = trial.user_attrs.get(WORKER, self._me)
        if trial.state != RUNNING or worker == self._me:
            return False
        has_heartbeat = self._heartbeat.interval is not None
        if has_heartbeat and not is_here(worker) and trial.number not in self._first_beats:
            # A worker that died before its first heartbeat would never be detected, so record one for it.
            self._first_beats.add(trial.number)
            self._retry(lambda: self._heartbeat.record(trial_id(self.study.optuna, trial.number)))
        return has_heartbeat or is_here(worker)

    def _begin(self, trials: Sequence[FrozenTrial], original: FrozenTrial | None = None) -> FrozenTrial | None:
        """Create a trial with the point that follows these trials, as a retry of `original` if given.

        Returns None if no points are left, or if another worker was faster.
        """
        # A single process is reproducible. Several with the same seed and results would propose the same points.
        alone = all(trial.user_attrs.get(WORKER, self._me) == self._me for trial in trials[self._initial_count :])
        again = 0 if alone and not self._clashed else random.getrandbits(32)
        try:
            row = self.study.proposer.row(trials, len(trials), again)
        except ExhaustedError as error:
            self.exhausted = error
            if original is not None:
                self._give_up(original, str(error))
            return None
        created = self._create(self._new(RUNNING, self.study.codec.params(row), original, row=row))
        now = self._retry(self.study.all_trials)
        self._clashed = PointsSeen(trials).is_proposed_since(created.params, counted_trials(now[: created.number]))
        return self._discard_unless_counted(created, now, unique=not self._clashed)

    def _resume(self, trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> FrozenTrial | None:
        """Take over an abandoned trial; None if another worker was faster, or if it has killed too many workers."""
        if trial.state == RUNNING:
            self._start_heartbeat(trial.number)
            now = self._retry(self.study.all_trials)
            unique = RETRY_OF in trial.user_attrs or self._is_unique(trial, params_of(trial), now[: trial.number])
            return self._discard_unless_counted(trial, now, unique)
        attempts = [trials[number].user_attrs for number in (*trial.user_attrs.get(RETRY_OF, ()), trial.number)]
        if (deaths := sum(WORKER in each and STOPPED not in each for each in attempts)) >= MAX_RETRIES:
            self._give_up(trial, f"{deaths} workers died while evaluating it")
            return None
        params = self._retry(lambda: self.study.completed_params(trial, trials))
        if params is None:
            return None
        if self._is_unique(trial, params, trials):
            created = self._create(self._new(RUNNING, params, trial))
            taken = self._discard_unless_counted(created, self._retry(self.study.all_trials))
        else:  # its worker died before it could discard it
            taken = self._begin(trials, trial)
        if taken is None or trial.state == FAIL:
            return taken
        started_elsewhere = not self._retry(lambda: fail_unless_running(self.study.optuna, trial.number))
        if started_elsewhere:
            self._discard(taken)
            return None
        return taken

    def _is_unique(self, trial: FrozenTrial, params: Mapping[str, Any], trials: Sequence[FrozenTrial]) -> bool:
        """Whether no other trial that counts has these parameters; always true if values are noisy."""
        same = any(params_of(each) == params for each in counted_trials(trials) if each.number != trial.number)
        return not same or self._retry(self.study.is_noisy)

    def _discard_unless_counted(
        self, trial: FrozenTrial, trials: Sequence[FrozenTrial], unique: bool = True
    ) -> FrozenTrial | None:
        """A new trial, unless it is a duplicate or beyond the budget: then it is discarded."""
        if unique and any(each.number == trial.number for each in self._counted(trials)):
            return trial
        self._discard(trial)
        return None

    def _discard(self, trial: FrozenTrial) -> None:
        """End a trial that must not count."""
        self._end(trial.number, {DISCARDED: True})

    def _give_up(self, trial: FrozenTrial, reason: str) -> None:
        """Fail an interrupted trial for good, with a reason."""
        last = self._new(FAIL, params_of(trial), trial, {REASON: reason})
        self.finished.put(self._retry(lambda: add_trial(self.study.optuna, last)))

    def _create(self, trial: FrozenTrial) -> FrozenTrial:
        """Create a running trial of these workers."""
        created = self._retry(lambda: add_trial(self.study.optuna, trial))
        self._start_heartbeat(created.number)
        return created

    def _start_heartbeat(self, number: int) -> None:
        """Record heartbeats for a trial from now on."""
        found = self._running[number] = self._retry(lambda: trial_id(self.study.optuna, number))
        self._retry(lambda: self._heartbeat.record(found))

    def _new(
        self,
        state: TrialState,
        params: Mapping[str, Any],
        original: FrozenTrial | None = None,
        attributes: Mapping[str, Any] | None = None,
        values: Sequence[float] | None = None,
        row: Rows | None = None,
    ) -> FrozenTrial:
        """A trial of these workers, not yet in the storage; a retry of `original` if given."""
        retry_of = {} if original is None else {RETRY_OF: [*original.user_attrs.get(RETRY_OF, ()), original.number]}
        inherited = original.user_attrs if original is not None and original.state == WAITING else {}
        own = {**inherited, WORKER: self._me, **retry_of, **(attributes or {})}
        return self.study.new_trial(state, params, row, values=values, attributes=own)

    def _retry(self, action: Callable[[], Result]) -> Result:
        """Run an action on the storage, and retry for a while if the storage does not respond."""
        start = time.monotonic()
        while True:
            try:
                result = action()
                self._warned = False
                return result
            except UNREACHABLE as error:
                self._heartbeat.interrupted()
                waited = time.monotonic() - start
                message = f"the storage {self.study.url} does not respond: {database_error(error) or error}"
                logger.warning(message)
                if waited > (STOP_TIMEOUT if self.stopped.is_set() else STORAGE_TIMEOUT):
                    raise StorageError(message) from error
                if waited > STOP_TIMEOUT and not self._warned:
                    self._warned = True
                    self.warn(f"{message}; retrying for {STORAGE_TIMEOUT:g} s")
                time.sleep(self.pause)
