"""Trials that a program evaluates, several at a time, on one machine or several that share a storage.

Every worker takes the next trial from the study until the budget is spent. Nothing is lost: results are stored as they come,
and a trial that is cut short, because somebody stopped it or its worker died, is queued again.
"""

from __future__ import annotations

import os
import queue
import socket
import threading
import warnings
from typing import TYPE_CHECKING, Any

from mergebo.cli.studies import BEAT, REASON, SURPLUS, WORKER, Study, plain
from mergebo.errors import MergeboError, ProgramError, StoppedError

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial

    from mergebo.cli.program import Program

HOPELESS = 5
"""So many failures without a single result, and the program is thought to be wrong, not the points."""


class _SurplusError(MergeboError):
    """Another worker began the last trial of the budget in the same moment."""


class Workers:
    """Threads that evaluate trials of a study until it has as many as the budget; `run` them, then look at `trials`."""

    def __init__(self, study: Study, program: Program, budget: int, jobs: int = 1) -> None:
        self.study = study
        self.program = program
        self.budget = budget
        self.jobs = jobs
        self.finished: queue.Queue[FrozenTrial] = queue.Queue()
        """Trials as they end, for whoever watches."""
        self.stopped = threading.Event()
        self.error: BaseException | None = None
        self._me = f"{socket.gethostname()}:{os.getpid()}"
        self._lock = threading.Lock()
        self._active = 0
        self._failures = 0
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin, with trials that workers on this machine left when they died."""
        self._recover()
        self._threads = [threading.Thread(target=self._work, name=f"worker {k}", daemon=True) for k in range(self.jobs)]
        for thread in self._threads:
            thread.start()

    @property
    def running(self) -> bool:
        """Whether any worker is at work."""
        return any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """Stop at once: running programs are ended, and their trials queued again."""
        self.stopped.set()
        self.program.stop()

    def join(self) -> None:
        """Wait for the end; raises what went wrong, other than in a program."""
        for thread in self._threads:
            thread.join()
        if self.error is not None:
            raise self.error

    # ------------------------------------------------------------------------------------------------------------ inside

    def _work(self) -> None:
        try:
            while self._turn():
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # Optuna's, of what it calls experimental
                        self.study.optuna.optimize(
                            self._objective,
                            n_trials=1,
                            catch=(ProgramError, StoppedError, _SurplusError),
                            callbacks=[self._ended],
                        )
                finally:
                    with self._lock:
                        self._active -= 1
        except BaseException as error:  # of a thread nobody would hear of it
            self.error = self.error or error
            self.stop()

    def _turn(self) -> bool:
        """Whether there is another trial to begin; waits for other machines' last ones, which might be put back."""
        while not self.stopped.is_set():
            with self._lock:
                trials = self.study.trials()
                elsewhere = [each for each in trials if each.state.name == "RUNNING" and self._others(each)]
                done = sum(each.state.is_finished() for each in trials)
                going = len(elsewhere) + self._active
                if done + going < self.budget and going < self.study.untried(each for each in trials if not _going(each)):
                    self._active += 1
                    return True
                if not (elsewhere and self.study.beats):
                    return False
            self.stopped.wait(BEAT / 2)
            self.study.drop_stale()
        return False

    def _others(self, trial: FrozenTrial) -> bool:
        """Whether a trial belongs to a worker that is not one of these."""
        return trial.user_attrs.get(WORKER) not in (None, self._me)

    def _objective(self, trial: optuna.Trial) -> Any:
        from mergebo.integrations.optuna import suggest

        trial.set_user_attr(WORKER, self._me)
        # What a person evaluates is not counted: it may stay pending for ever.
        counted = [each.number for each in self.study.trials() if each.state.is_finished() or WORKER in each.user_attrs]
        if counted.index(trial.number) >= self.budget:
            trial.set_user_attr(SURPLUS, True)
            raise _SurplusError
        point = plain(suggest(trial, self.study.space))
        try:
            values = self.program.measure(point, trial.number)
        except ProgramError as error:
            trial.set_user_attr(REASON, str(error))
            raise
        return values if len(values) > 1 else values[0]

    def _ended(self, _: optuna.Study, trial: FrozenTrial) -> None:
        """Queue again what was cut short; tell whoever watches about the rest."""
        if trial.state.name == "FAIL" and REASON not in trial.user_attrs:
            if SURPLUS not in trial.user_attrs:
                self.study.put_back(trial)
            return
        self.finished.put(trial)
        self._failures = self._failures + 1 if trial.state.name == "FAIL" else -self.budget
        if self._failures >= HOPELESS and not any(each.state.name == "COMPLETE" for each in self.study.trials()):
            reason = trial.user_attrs[REASON]
            raise ProgramError(f"the first {self._failures} runs all failed, so this was given up; the last one: {reason}")

    def _recover(self) -> None:
        """Queue again what processes of this machine were at when they died."""
        for trial in self.study.trials():
            host, _, process = str(trial.user_attrs.get(WORKER, "")).rpartition(":")
            if trial.state.name == "RUNNING" and host == socket.gethostname() and not _alive(int(process)):
                self.study.drop(trial)


def _going(trial: FrozenTrial) -> bool:
    """Whether a worker is at a trial, or will be."""
    return trial.state.name == "WAITING" or (trial.state.name == "RUNNING" and WORKER in trial.user_attrs)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return process != os.getpid()  # a number that was given again
