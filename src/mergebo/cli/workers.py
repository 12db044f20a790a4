"""Trials that a program evaluates, several at a time, on one machine or several that share a storage.

Every worker takes the next trial until the budget is spent. The storage decides who does what, and two things are enough:

- A trial is made with its point and the name of its worker, in one step. Only then the worker looks whether it counts, by
  its place among all trials: those beyond the budget are dropped, and those with the point of an earlier one.
- A trial that was cut short, because somebody stopped its worker or the worker died, has failed without a reason. Whoever is
  free makes a trial that repeats it; of two who do so in the same moment the first one counts.
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

from mergebo.cli.processes import is_dead, is_here, this_process
from mergebo.cli.program import Program
from mergebo.cli.screen import complain
from mergebo.cli.studies import BEAT, REASON, STOPPED, WORKER, Study, database_said, plain, standing, was_cut_short
from mergebo.errors import ExhaustedError, ProgramError, StoppedError, StorageError
from mergebo.integrations.optuna import AGAIN, SURPLUS, distributions, held, suggest

logger = logging.getLogger(__name__)

HOPELESS = 5
"""So many failures without a single result, and the program is thought to be wrong, not the points."""
DEATHS = 3
"""How many workers may die of one trial."""
PATIENCE = 600.0
"""Seconds for which a storage that does not answer is tried again; a server may be started anew, a network come back."""
LAST_WORDS = 5.0
"""The same when somebody wants this to stop."""
PAUSE = 1.0
"""Seconds after which workers look again what others do."""
UNREACHABLE = (StorageInternalError, SQLAlchemyError, OSError)
"""What a storage that does not answer raises."""

RUNNING, COMPLETE, FAIL, WAITING = TrialState.RUNNING, TrialState.COMPLETE, TrialState.FAIL, TrialState.WAITING
Result = TypeVar("Result")


class Workers:
    """Threads that evaluate trials of a study until it has as many as the budget; `start` them, then `join`."""

    def __init__(self, study: Study, program: Program, budget: int, jobs: int = 1) -> None:
        self.study = study
        self.program = program
        self.budget = budget
        self.jobs = jobs
        self.finished: queue.Queue[FrozenTrial] = queue.Queue()
        """Trials as they end, for whoever watches."""
        self.stopped = threading.Event()
        self.exhausted: ExhaustedError | None = None
        """Set when every point has been tried, so that the budget cannot be spent."""
        self.error: BaseException | None = None
        self._me = this_process()
        self._lock = threading.Lock()
        self._running: dict[int, int] = {}
        """Trials of these workers: their numbers, and what the storage calls them."""
        self._failures = 0
        self._threads: list[threading.Thread] = []
        self._over = threading.Event()
        self._round = self._since = time.time()
        """The last time that signs of life were given, and since when that went without a gap."""
        self._first = 0
        """How many trials there were at the beginning."""
        self._clashed = False
        """Whether another process chose the same point as these workers in the same moment."""
        self._noticed: set[int] = set()
        """Trials of workers elsewhere that got a sign of life from here."""
        self._complained = False

    def start(self) -> None:
        """Begin."""
        self.study.asking  # noqa: B018 (loaded once, before threads want it)
        self._first = len(self._insist(self.study.every_trial))
        threading.Thread(target=self._live, name="signs of life", daemon=True).start()
        self._threads = [threading.Thread(target=self._work, name=f"worker {k}", daemon=True) for k in range(self.jobs)]
        for thread in self._threads:
            thread.start()

    @property
    def running(self) -> bool:
        """Whether any worker is at work."""
        return any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """Stop at once: running programs are ended, and their trials are for others."""
        self.stopped.set()
        self.program.stop()

    def join(self) -> None:
        """Wait for the end; raises what went wrong, other than in a program."""
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
        except BaseException as error:  # of a thread nobody would hear of it
            self.error = self.error or error
            self.stop()
        finally:
            self.study.storage.remove_session()

    def _evaluate(self, number: int) -> None:
        """Run the program for a trial, and store what came of it."""
        try:
            point = self._insist(lambda: self._suggest(number))
            values = self.program.measure(point, number)
        except StoppedError:
            self._end(number, {STOPPED: True})
        except (ProgramError, optuna.TrialPruned) as error:
            self.finished.put(self._end(number, {REASON: str(error)}))
            self._despair(str(error))
        else:
            self.finished.put(self._end(number, {}, values))

    def _suggest(self, number: int) -> dict[str, Any]:
        """The point of a trial; of one from Optuna's queue, what is missing is chosen now."""
        trial = optuna.trial.Trial(self.study.asking, self._running[number])
        return plain(suggest(trial, self.study.space))

    def _despair(self, reason: str) -> None:
        """Give up if the program does nothing but fail."""
        self._failures += 1
        trials = self._insist(self.study.trials)
        if self._failures >= HOPELESS and not any(trial.state == COMPLETE for trial in trials):
            raise ProgramError(f"the first {self._failures} runs all failed, so this was given up; the last one: {reason}")

    def _end(self, number: int, notes: Mapping[str, Any], values: Sequence[float] | None = None) -> FrozenTrial:
        """Store what came of a trial; what cannot be stored is said aloud."""
        try:
            ended = self._insist(lambda: self._store(number, notes, values))
        except StorageError:
            if values is not None:
                told = " ".join(map(repr, values))
                complain(
                    f"the value of trial {number} could not be stored. When the storage answers again, and before you go "
                    f"on, say with the same --storage: mergebo tell {number} {told} --study {shlex.quote(self.study.name)}"
                )
            raise
        del self._running[number]
        return ended

    def _store(self, number: int, notes: Mapping[str, Any], values: Sequence[float] | None) -> FrozenTrial:
        """Store what came of a trial, also if that was done already or others gave this worker up."""
        try:
            for name, value in notes.items():
                self.study.note(number, name, value)
            return self.study.optuna.tell(number, values, state=FAIL if values is None else None)
        except (UpdateFinishedTrialError, ValueError):
            trial = self.study.every_trial()[number]
            if not trial.state.is_finished():
                raise
            if values is None or not was_cut_short(trial):
                return trial
            return self._add(self._new(COMPLETE, held(trial), trial, values=values))

    # ------------------------------------------------------------------------------------------------------ who does what

    def _take(self) -> int | None:
        """A trial to evaluate; None if there is none any more. Waits for those of others, who may die."""
        while not self.stopped.is_set():
            with self._lock:
                self._insist(self._bury)
                trials = self._counted()
                left = self._forgotten() or next((trial for trial in trials if self._is_left(trial)), None)
                if left is None and (self.exhausted or len(trials) >= self.budget):
                    if not [trial for trial in trials if self._is_awaited(trial)]:
                        return None
                elif (number := self._begin() if left is None else self._resume(left)) is not None:
                    return number
                else:
                    continue
            self.stopped.wait(PAUSE)
        return None

    def _counted(self) -> list[FrozenTrial]:
        """The trials of the budget; those that a person asked for count as soon as they are told."""
        every = standing(self._insist(self.study.every_trial))
        return [trial for trial in every if trial.state != RUNNING or WORKER in trial.user_attrs][: self.budget]

    def _is_left(self, trial: FrozenTrial) -> bool:
        """Whether nobody evaluates a trial though somebody should: it was cut short, or queued by other means."""
        if trial.number in self._running:  # others think that these workers are dead
            return False
        return trial.state == WAITING or was_cut_short(trial)

    def _forgotten(self) -> FrozenTrial | None:
        """A trial of these workers that they do not know of: the storage made it, but its answer was lost."""

        def mine() -> list[FrozenTrial]:
            every = self._insist(self.study.every_trial)
            return [each for each in every if each.state == RUNNING and each.user_attrs.get(WORKER) == self._me]

        unknown = [trial.number for trial in mine() if trial.number not in self._running]
        # They forget what they have ended, but only after that: what they have just ended does not run now.
        return next((trial for trial in mine() if trial.number in unknown), None) if unknown else None

    def _is_awaited(self, trial: FrozenTrial) -> bool:
        """Whether another process evaluates a trial, and it can be seen if that process dies."""
        worker = trial.user_attrs.get(WORKER, self._me)
        if trial.state != RUNNING or worker == self._me:
            return False
        if self.study.beats and not is_here(worker) and trial.number not in self._noticed:
            # It may have died before its first sign of life, without which nobody would ever miss it: so give one.
            self._noticed.add(trial.number)
            self._insist(lambda: self._sign(self._identity(trial.number)))
        return self.study.beats or is_here(worker)

    def _begin(self, before: FrozenTrial | None = None) -> int | None:
        """Make a trial with the next point, perhaps in the place of another; None if none is left or others were faster."""
        trials = self._insist(self.study.every_trial)
        known = {trial.number: held(trial) for trial in trials}
        # Alone, the seed decides. Others with the same seed and the same results would choose the same points.
        alone = all(trial.user_attrs.get(WORKER, self._me) == self._me for trial in trials[self._first :])
        again = 0 if alone and not self._clashed else random.getrandbits(32)
        try:
            point = self._insist(lambda: self.study.sampler.propose(self.study.optuna, trials, again))
        except ExhaustedError as error:
            self.exhausted = error
            if before is not None:
                self._give_up(before, str(error))
            return None
        number = self._make(self._new(RUNNING, point, before))
        trials = standing(self._insist(self.study.every_trial)[:number])
        self._clashed = any(held(trial) == point != known.get(trial.number) for trial in trials)
        return self._if_it_counts(number, free=not self._clashed)

    def _resume(self, trial: FrozenTrial) -> int | None:
        """Go on with a trial that nobody evaluates; None if others were faster, or if too many have died of it."""
        every = self._insist(self.study.every_trial)
        if trial.state == RUNNING:
            self._look_after(trial.number)
            repeats = AGAIN in trial.user_attrs
            return self._if_it_counts(trial.number, repeats or self._is_free(trial, standing(every[: trial.number])))
        before = [every[number].user_attrs for number in (*trial.user_attrs.get(AGAIN, ()), trial.number)]
        if (deaths := sum(WORKER in notes and STOPPED not in notes for notes in before)) >= DEATHS:
            self._give_up(trial, f"{deaths} workers died of it")
            return None
        if self._is_free(trial, standing(every)):
            number = self._if_it_counts(self._make(self._new(RUNNING, held(trial), trial)))
        else:  # its worker died when it was about to drop it
            number = self._begin(trial)
        if number is None or trial.state == FAIL:
            return number
        return self._if_it_counts(number, self._insist(lambda: self._take_from_queue(trial.number)))

    def _take_from_queue(self, number: int) -> bool:
        """End a trial of Optuna's queue that is repeated here, so that nobody asks for it; False if somebody has."""
        if self.study.every_trial()[number].state == RUNNING:
            return False
        with suppress(UpdateFinishedTrialError):
            self.study.storage.set_trial_state_values(self._identity(number), FAIL)
        return True

    def _is_free(self, trial: FrozenTrial, others: Iterable[FrozenTrial]) -> bool:
        """Whether no other trial has the same point, or may have it, since values are noisy."""
        same = any(held(each) == held(trial) for each in others if each.number != trial.number)
        return not same or self._insist(lambda: self.study.noisy)

    def _if_it_counts(self, number: int, free: bool = True) -> int | None:
        """Drop a trial that was made, unless its point is free and it is one of the budget."""
        if free and any(trial.number == number for trial in self._counted()):
            return number
        self._end(number, {SURPLUS: True})
        return None

    def _give_up(self, trial: FrozenTrial, reason: str) -> None:
        """Let a trial that was cut short be the last of its kind."""
        last = self._new(FAIL, held(trial), trial, {REASON: reason})
        self.finished.put(self._insist(lambda: self._add(last)))

    def _make(self, trial: FrozenTrial) -> int:
        """Make a trial of these workers; its number."""
        number = self._insist(lambda: self._add(trial)).number
        self._look_after(number)
        return number

    def _look_after(self, number: int) -> None:
        """From now on these workers give signs of life for a trial."""
        identity = self._running[number] = self._insist(lambda: self._identity(number))
        self._insist(lambda: self._sign(identity))

    def _add(self, trial: FrozenTrial) -> FrozenTrial:
        """Make a trial, all at once."""
        storage = self.study.storage
        made: FrozenTrial = storage.get_trial(storage.create_new_trial(self._study_id(), trial))
        return made

    def _new(
        self,
        state: TrialState,
        point: Mapping[str, Any],
        before: FrozenTrial | None = None,
        notes: Mapping[str, Any] | None = None,
        values: Sequence[float] | None = None,
    ) -> FrozenTrial:
        """A trial of these workers that is to be made, perhaps in the place of another."""
        again = {} if before is None else {AGAIN: [*before.user_attrs.get(AGAIN, ()), before.number]}
        theirs = before.user_attrs if before is not None and before.state == WAITING else {}
        kinds = {name: kind for name, kind in distributions(self.study.space).items() if name in point}
        return optuna.create_trial(
            state=state,
            values=values,
            params={name: point[name] for name in kinds},
            distributions=kinds,
            user_attrs={**theirs, WORKER: self._me, **again, **(notes or {})},
        )

    def _study_id(self) -> int:
        found: int = self.study.storage.get_study_id_from_name(self.study.name)
        return found

    def _identity(self, number: int) -> int:
        """What the storage calls a trial."""
        found: int = self.study.storage.get_trial_id_from_study_id_trial_number(self._study_id(), number)
        return found

    # ----------------------------------------------------------------------------------------------------- life and death

    def _live(self) -> None:
        """Give signs of life, whatever happens."""
        while not self._over.wait(BEAT):
            now = time.time()
            if now - self._round > 2 * BEAT:  # the machine slept
                self._since = now
            try:
                self._sign(*list(self._running.values()))
            except Exception:
                self._since = time.time()
            self._round = time.time()

    def _sign(self, *identities: int) -> None:
        """Say that somebody looks after trials."""
        for identity in identities if self.study.beats else ():
            self.study.storage.record_heartbeat(identity)

    def _bury(self) -> None:
        """End trials whose workers are dead: those of this machine, and those that gave no sign of life for a while."""
        for trial in self.study.every_trial():
            if trial.state == RUNNING and is_dead(worker := trial.user_attrs.get(WORKER, "")):
                logger.warning("trial %d failed: its worker %s is dead", trial.number, worker)
                self._store(trial.number, {}, None)
        # While the storage was away nobody could give signs of life, so hear the others again before judging them.
        if self.study.beats and time.time() - self._round < 2 * BEAT < time.time() - self._since:
            optuna.storages.fail_stale_trials(self.study.optuna)

    def _insist(self, action: Callable[[], Result]) -> Result:
        """Do something with the storage; if it does not answer, again and again for a while."""
        began = time.monotonic()
        while True:
            try:
                result = action()
                self._complained = False
                return result
            except UNREACHABLE as error:
                self._since = time.time()
                waited = time.monotonic() - began
                said = f"the storage {self.study.url} does not answer: {database_said(error) or error}"
                logger.warning(said)
                if waited > (LAST_WORDS if self.stopped.is_set() else PATIENCE):
                    raise StorageError(said) from error
                if waited > LAST_WORDS and not self._complained:
                    self._complained = True
                    complain(f"{said}; trying again for {PATIENCE:g} s")
                time.sleep(PAUSE)
