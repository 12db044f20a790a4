"""Heartbeats, by which workers on other machines can tell whether the process that evaluates a trial still runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection

import optuna

from mergebo.studies.storage import heartbeat_interval, record_heartbeat

__all__ = ["Heartbeat"]


class Heartbeat:
    """Records heartbeats for the running trials of this process, in storages that have them; a journal has none."""

    def __init__(self, study: optuna.Study, running: Callable[[], Collection[int]]) -> None:
        """`running` returns the ids in the storage of the trials that are running."""
        self.study = study
        self.interval = heartbeat_interval(study)
        """Seconds between heartbeats; None if the storage has none."""
        self._running = running
        self._over = threading.Event()
        self._last = self._uninterrupted_since = time.time()
        """When heartbeats were last recorded, and since when without interruption."""

    def start(self) -> None:
        """Record heartbeats from now on."""
        if self.interval is not None:
            threading.Thread(target=self.run, args=(self.interval,), name="heartbeat", daemon=True).start()

    def stop(self) -> None:
        """Record no more."""
        self._over.set()

    def run(self, interval: float) -> None:
        """Record heartbeats until `stop`."""
        while not self._over.wait(interval):
            if time.time() - self._last > 2 * interval:  # the machine was suspended
                self.interrupted()
            try:
                self.record(*self._running())
            except Exception:
                self.interrupted()
            self._last = time.time()

    def record(self, *trial_ids: int) -> None:
        """Record a heartbeat for each of these trials."""
        for trial_id in () if self.interval is None else trial_ids:
            record_heartbeat(self.study, trial_id)

    def interrupted(self) -> None:
        """Take note that the storage has not responded, so that others could not record heartbeats either."""
        self._uninterrupted_since = time.time()

    def fail_stale_trials(self) -> None:
        """Fail the trials of workers that have recorded no heartbeat for the grace period."""
        if self.interval is None:
            return
        # Nobody could record heartbeats during an outage of the storage, so give the others time to do so again.
        if time.time() - self._last < 2 * self.interval < time.time() - self._uninterrupted_since:
            optuna.storages.fail_stale_trials(self.study)
