"""Workers, which evaluate trials with a program, in parallel on one machine or on several that share a storage.

Each worker takes the next trial until the budget is spent. The storage coordinates them, in two ways:

- A trial is created together with its point and the name of its worker, in one step. The worker checks afterwards whether
  it counts, by its position among all trials: trials beyond the budget, or with the point of an earlier one, are discarded.
- An interrupted trial, whose worker was stopped or died, has failed without a reason. Any free worker creates a trial that
  retries it; if two do so at the same moment, the first one counts.
"""

from __future__ import annotations

import logging
import queue
import random
import shlex
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import optuna
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from mergebo.cli.output import warn
from mergebo.cli.processes import is_dead, is_here, this_process
from mergebo.cli.program import Program
from mergebo.cli.studies import (
    REASON,
    STOPPED,
    WORKER,
    Study,
    counted_trials,
    database_error,
    plain,
    was_interrupted,
)
from mergebo.errors import CancelledError, ExhaustedError, ProgramError, StorageError
from mergebo.integrations.optuna import DISCARDED, RETRY_OF, distributions, params_of, suggest

logger = logging.getLogger(__name__)

MAX_INITIAL_FAILURES = 5
"""Number of failures, without a single result, after which the program is assumed to be broken."""
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


class Workers:
    """Threads that evaluate trials of a study until the budget is spent; `start` them, then `join`.

    They check every `pause` seconds what other workers do, and whether a storage that did not respond does so again.
    """

    def __init__(self, study: Study, program: Program, budget: int, jobs: int = 1, *, pause: float = PAUSE) -> None:
        self.study = study
        self.program = program
        self.budget = budget
        self.jobs = jobs
        self.pause = pause
        self.finished: queue.Queue[FrozenTrial] = queue.Queue()
        """Trials as they finish, for progress reports."""
        self.stopped = threading.Event()
        self.exhausted: ExhaustedError | None = None
        """Set when every point has been tried before the budget is spent."""
        self.error: BaseException | None = None
        self._me = this_process()
        self._lock = threading.Lock()
        self._running: dict[int, int] = {}
        """Running trials of these workers: the trial id in the storage by trial number."""
        self._failures = 0
        self._threads: list[threading.Thread] = []
        self._over = threading.Event()
        self._last_beat = self._beating_since = time.time()
        """When heartbeats were last recorded, and since when without interruption."""
        self._initial_count = 0
        """Number of trials at the start."""
        self._clashed = False
        """Whether another process has just proposed the same point."""
        self._first_beats: set[int] = set()
        """Trials of workers elsewhere for which a first heartbeat was recorded here."""
        self._warned = False

    def start(self) -> None:
        """Start the threads."""
        self.study.with_sampler  # noqa: B018 (import it once, before the threads need it)
        self._initial_count = len(self._retry(self.study.all_trials))
        if (interval := self.study.heartbeat_interval) is not None:
            threading.Thread(target=self._heartbeat_loop, args=(interval,), name="heartbeat", daemon=True).start()
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
        self._over.set()
        if self.error is not None:
            raise self.error

    # ------------------------------------------------------------------------------------------------------------- work

    def _work(self) -> None:
        try:
            while (number := self._take()) is not None:
                self._evaluate(number)
        except BaseException as error:  # it would be lost with the thread
            self.error = self.error or error
            self.stop()
        finally:
            self.study.storage.remove_session()

    def _evaluate(self, number: int) -> None:
        """Run the program for a trial and store the outcome."""
        try:
            point = self._retry(lambda: self._suggest(number))
            values = self.program.measure(point, number)
        except CancelledError:
            self._end(number, {STOPPED: True})
        except (ProgramError, optuna.TrialPruned) as error:
            self.finished.put(self._end(number, {REASON: str(error)}))
            self._abort_if_hopeless(str(error))
        else:
            self.finished.put(self._end(number, {}, values))

    def _suggest(self, number: int) -> dict[str, Any]:
        """The point of a trial; parameters that a trial from Optuna's queue lacks are sampled now."""
        trial = optuna.trial.Trial(self.study.with_sampler, self._running[number])
        return plain(suggest(trial, self.study.space))

    def _abort_if_hopeless(self, reason: str) -> None:
        """Abort if the program has only ever failed."""
        self._failures += 1
        trials = self._retry(self.study.trials)
        if self._failures >= MAX_INITIAL_FAILURES and not any(trial.state == COMPLETE for trial in trials):
            raise ProgramError(f"gave up, since the first {self._failures} runs all failed; the last one: {reason}")

    def _end(self, number: int, attributes: Mapping[str, Any], values: Sequence[float] | None = None) -> FrozenTrial:
        """Store the outcome of a trial; a value that cannot be stored is printed."""
        try:
            ended = self._retry(lambda: self._store(number, attributes, values))
        except StorageError:
            if values is not None:
                numbers = " ".join(map(repr, values))
                warn(
                    f"the value of trial {number} could not be stored. When the storage is available again, and before you "
                    "resume, record it with the same --storage: "
                    f"mergebo tell {number} {numbers} --study {shlex.quote(self.study.name)}"
                )
            raise
        del self._running[number]
        return ended

    def _store(self, number: int, attributes: Mapping[str, Any], values: Sequence[float] | None) -> FrozenTrial:
        """Store the outcome of a trial, even if it is stored already or others have declared this worker dead."""
        try:
            for name, value in attributes.items():
                self.study.set_trial_attr(number, name, value)
            return self.study.optuna.tell(number, values, state=FAIL if values is None else None)
        except (UpdateFinishedTrialError, ValueError):
            trial = self.study.all_trials()[number]
            if not trial.state.is_finished():
                raise
            if values is None or not was_interrupted(trial):
                return trial
            return self._add(self._new(COMPLETE, params_of(trial), trial, values=values))

    # ------------------------------------------------------------------------------------------------------ coordination

    def _take(self) -> int | None:
        """The next trial to evaluate; None if there are no more. Waits while workers elsewhere, which may die, have some."""
        while not self.stopped.is_set():
            with self._lock:
                self._retry(self._fail_stale)
                trials = self._counted()
                abandoned = self._lost_trial() or next((trial for trial in trials if self._is_abandoned(trial)), None)
                if abandoned is None and (self.exhausted or len(trials) >= self.budget):
                    if not [trial for trial in trials if self._is_awaited(trial)]:
                        return None
                elif (number := self._begin() if abandoned is None else self._resume(abandoned)) is not None:
                    return number
                else:
                    continue
            self.stopped.wait(self.pause)
        return None

    def _counted(self) -> list[FrozenTrial]:
        """The trials that count towards the budget; those from `mergebo ask` count as soon as they have a result."""
        trials = counted_trials(self._retry(self.study.all_trials))
        return [trial for trial in trials if trial.state != RUNNING or WORKER in trial.user_attrs][: self.budget]

    def _is_abandoned(self, trial: FrozenTrial) -> bool:
        """Whether a trial has to be evaluated and has no worker: it was interrupted, or queued by other means."""
        if trial.number in self._running:  # other processes assume that this one is dead
            return False
        return trial.state == WAITING or was_interrupted(trial)

    def _lost_trial(self) -> FrozenTrial | None:
        """A trial of these workers that they do not know of: the storage created it, but the response was lost."""

        def mine() -> list[FrozenTrial]:
            trials = self._retry(self.study.all_trials)
            return [each for each in trials if each.state == RUNNING and each.user_attrs.get(WORKER) == self._me]

        unknown = [trial.number for trial in mine() if trial.number not in self._running]
        # A trial leaves `_running` only after it has ended, so one that ended just now is not in the second list.
        return next((trial for trial in mine() if trial.number in unknown), None) if unknown else None

    def _is_awaited(self, trial: FrozenTrial) -> bool:
        """Whether a trial runs in another process whose death would be detected."""
        worker = trial.user_attrs.get(WORKER, self._me)
        if trial.state != RUNNING or worker == self._me:
            return False
        if self.study.heartbeat_interval is not None and not is_here(worker) and trial.number not in self._first_beats:
            # A worker that died before its first heartbeat would never be detected, so record one for it.
            self._first_beats.add(trial.number)
            self._retry(lambda: self._beat(self._trial_id(trial.number)))
        return self.study.heartbeat_interval is not None or is_here(worker)

    def _begin(self, original: FrozenTrial | None = None) -> int | None:
        """Create a trial with the next point, as a retry of `original` if given.

        Returns None if no points are left, or if another worker was faster.
        """
        trials = self._retry(self.study.all_trials)
        known = {trial.number: params_of(trial) for trial in trials}
        # A single process is reproducible. Several with the same seed and results would propose the same points.
        alone = all(trial.user_attrs.get(WORKER, self._me) == self._me for trial in trials[self._initial_count :])
        again = 0 if alone and not self._clashed else random.getrandbits(32)
        try:
            point = self._retry(lambda: self.study.sampler.propose(self.study.optuna, trials, again))
        except ExhaustedError as error:
            self.exhausted = error
            if original is not None:
                self._give_up(original, str(error))
            return None
        number = self._create(self._new(RUNNING, point, original))
        trials = counted_trials(self._retry(self.study.all_trials)[:number])
        self._clashed = any(params_of(trial) == point != known.get(trial.number) for trial in trials)
        return self._discard_unless_counted(number, unique=not self._clashed)

    def _resume(self, trial: FrozenTrial) -> int | None:
        """Take over an abandoned trial; None if another worker was faster, or if it has killed too many workers."""
        trials = self._retry(self.study.all_trials)
        if trial.state == RUNNING:
            self._start_heartbeat(trial.number)
            unique = RETRY_OF in trial.user_attrs or self._is_unique(trial, counted_trials(trials[: trial.number]))
            return self._discard_unless_counted(trial.number, unique)
        attempts = [trials[number].user_attrs for number in (*trial.user_attrs.get(RETRY_OF, ()), trial.number)]
        if (deaths := sum(WORKER in each and STOPPED not in each for each in attempts)) >= MAX_RETRIES:
            self._give_up(trial, f"{deaths} workers died while evaluating it")
            return None
        if self._is_unique(trial, counted_trials(trials)):
            number = self._discard_unless_counted(self._create(self._new(RUNNING, params_of(trial), trial)))
        else:  # its worker died before it could discard it
            number = self._begin(trial)
        if number is None or trial.state == FAIL:
            return number
        return self._discard_unless_counted(number, self._retry(lambda: self._take_from_queue(trial.number)))

    def _take_from_queue(self, number: int) -> bool:
        """End a trial of Optuna's queue that is evaluated here as another trial; False if somebody has started it."""
        if self.study.all_trials()[number].state == RUNNING:
            return False
        with suppress(UpdateFinishedTrialError):
            self.study.storage.set_trial_state_values(self._trial_id(number), FAIL)
        return True

    def _is_unique(self, trial: FrozenTrial, others: Iterable[FrozenTrial]) -> bool:
        """Whether no other trial has the same point; always true if values are noisy."""
        same = any(params_of(each) == params_of(trial) for each in others if each.number != trial.number)
        return not same or self._retry(lambda: self.study.noisy)

    def _discard_unless_counted(self, number: int, unique: bool = True) -> int | None:
        """The number of a new trial; None, and the trial is discarded, if it is a duplicate or beyond the budget."""
        if unique and any(trial.number == number for trial in self._counted()):
            return number
        self._end(number, {DISCARDED: True})
        return None

    def _give_up(self, trial: FrozenTrial, reason: str) -> None:
        """Fail an interrupted trial for good, with a reason."""
        last = self._new(FAIL, params_of(trial), trial, {REASON: reason})
        self.finished.put(self._retry(lambda: self._add(last)))

    def _create(self, trial: FrozenTrial) -> int:
        """Create a running trial of these workers; returns its number."""
        number = self._retry(lambda: self._add(trial)).number
        self._start_heartbeat(number)
        return number

    def _start_heartbeat(self, number: int) -> None:
        """Record heartbeats for a trial from now on."""
        trial_id = self._running[number] = self._retry(lambda: self._trial_id(number))
        self._retry(lambda: self._beat(trial_id))

    def _add(self, trial: FrozenTrial) -> FrozenTrial:
        """Add a trial to the storage in one step."""
        storage = self.study.storage
        created: FrozenTrial = storage.get_trial(storage.create_new_trial(self._study_id(), trial))
        return created

    def _new(
        self,
        state: TrialState,
        point: Mapping[str, Any],
        original: FrozenTrial | None = None,
        attributes: Mapping[str, Any] | None = None,
        values: Sequence[float] | None = None,
    ) -> FrozenTrial:
        """A trial of these workers, not yet in the storage; a retry of `original` if given."""
        retry_of = {} if original is None else {RETRY_OF: [*original.user_attrs.get(RETRY_OF, ()), original.number]}
        inherited = original.user_attrs if original is not None and original.state == WAITING else {}
        kinds = {name: kind for name, kind in distributions(self.study.space).items() if name in point}
        return optuna.create_trial(
            state=state,
            values=values,
            params={name: point[name] for name in kinds},
            distributions=kinds,
            user_attrs={**inherited, WORKER: self._me, **retry_of, **(attributes or {})},
        )

    def _study_id(self) -> int:
        found: int = self.study.storage.get_study_id_from_name(self.study.name)
        return found

    def _trial_id(self, number: int) -> int:
        """The id of a trial in the storage."""
        found: int = self.study.storage.get_trial_id_from_study_id_trial_number(self._study_id(), number)
        return found

    # ---------------------------------------------------------------------------------------- heartbeats and stale trials

    def _heartbeat_loop(self, interval: float) -> None:
        """Record heartbeats until the workers are done."""
        while not self._over.wait(interval):
            now = time.time()
            if now - self._last_beat > 2 * interval:  # the machine was suspended
                self._beating_since = now
            try:
                self._beat(*list(self._running.values()))
            except Exception:
                self._beating_since = time.time()
            self._last_beat = time.time()

    def _beat(self, *trial_ids: int) -> None:
        """Record a heartbeat for each trial."""
        for trial_id in () if self.study.heartbeat_interval is None else trial_ids:
            self.study.storage.record_heartbeat(trial_id)

    def _fail_stale(self) -> None:
        """Fail the trials of dead workers: processes of this machine that have ended, and workers without a heartbeat."""
        for trial in self.study.all_trials():
            if trial.state == RUNNING and is_dead(worker := trial.user_attrs.get(WORKER, "")):
                logger.warning("trial %d failed: its worker %s is dead", trial.number, worker)
                self._store(trial.number, {}, None)
        if (interval := self.study.heartbeat_interval) is None:
            return
        # Nobody could record heartbeats during an outage of the storage, so give the others time to do so again.
        if time.time() - self._last_beat < 2 * interval < time.time() - self._beating_since:
            optuna.storages.fail_stale_trials(self.study.optuna)

    def _retry(self, action: Callable[[], Result]) -> Result:
        """Run an action on the storage, and retry for a while if the storage does not respond."""
        start = time.monotonic()
        while True:
            try:
                result = action()
                self._warned = False
                return result
            except UNREACHABLE as error:
                self._beating_since = time.time()
                waited = time.monotonic() - start
                message = f"the storage {self.study.url} does not respond: {database_error(error) or error}"
                logger.warning(message)
                if waited > (STOP_TIMEOUT if self.stopped.is_set() else STORAGE_TIMEOUT):
                    raise StorageError(message) from error
                if waited > STOP_TIMEOUT and not self._warned:
                    self._warned = True
                    warn(f"{message}; retrying for {STORAGE_TIMEOUT:g} s")
                time.sleep(self.pause)
