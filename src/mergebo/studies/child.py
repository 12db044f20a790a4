"""A program as a child process: it never blocks, and it ends with this process as far as the system allows.

The program runs in a process group of its own, which is signalled as a whole: a shell script ends together with what it has
started. If this process is killed, even by SIGKILL, its `Guard` ends the group and removes the folder of the program.
`PR_SET_PDEATHSIG` of Linux would do less: it is sent when the thread ends that started the program, reaches none of the
program's own children, and can only be set by code that runs between fork and exec, which is unsafe beside other threads.

What may still run on are programs that left their group or changed their user, one that was just being started, and those
whose guard was killed, too.
"""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Literal

from mergebo.errors import CancelledError
from mergebo.studies.command import SHELL
from mergebo.studies.values import TAIL_BYTES

__all__ = ["ChildProcess", "Guard", "Runs"]

DRAIN_SECONDS = 1.0
"""Seconds to keep reading after a program has ended, since its children may hold its output open for ever."""
POLL_SECONDS = 0.05
"""Seconds between checks of a running program that prints nothing."""
GUARD = """
trap '' HUP INT TERM
read -r group
read -r end
if [ -n "$group" ]; then
    kill -s TERM -- "-$group"
    while [ "$2" -gt 0 ] && kill -s 0 -- "-$group"; do
        sleep 0.1 || sleep 1
        set -- "$1" "$(($2 - 1))"
    done
    kill -s KILL -- "-$group"
fi
rm -rf -- "$1"
"""
"""What the guard does: it waits until its input ends, which is when this process does."""


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    """A pipe that was asked for, and so is there."""
    assert pipe is not None
    return pipe


class Guard:
    """A shell that ends the group of a program and removes a folder, if this process is killed before it has done so."""

    def __init__(self, folder: str, grace: float) -> None:
        """`grace` is the number of seconds between asking the group to terminate and killing it."""
        self._shell = subprocess.Popen(
            [SHELL, "-c", GUARD, "mergebo", folder, str(math.ceil(10 * grace))],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *_: object) -> None:
        self._shell.kill()
        self._shell.wait()
        _open(self._shell.stdin).close()

    def protect(self, group: int) -> None:
        """Name the group that has to end with this process."""
        with suppress(BrokenPipeError):  # somebody has killed the shell
            _open(self._shell.stdin).write(f"{group}\n".encode())


class ChildProcess:
    """A running program. All its output is read, so that it never blocks, and only the end is kept.

    `log` is called with "out" or "err" and with all that it prints to its standard output or error.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        grace: float,
        log: Callable[[Literal["out", "err"], bytes], None] = lambda kind, data: None,
    ) -> None:
        """Start it; raises an `OSError` if that is not possible."""
        self.grace = grace
        self.output, self.errors = bytearray(), bytearray()
        self._pipes = selectors.DefaultSelector()
        try:
            self.process = subprocess.Popen(
                arguments,
                bufsize=0,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=environment,
            )
        except BaseException:
            self._pipes.close()
            raise
        self._log = log
        self._pipes.register(_open(self.process.stdout), selectors.EVENT_READ, ("out", self.output))
        self._pipes.register(_open(self.process.stderr), selectors.EVENT_READ, ("err", self.errors))

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if not self.ended:
                self.terminate()
            self._read(0)
        finally:
            self._pipes.close()
            _open(self.process.stdout).close()
            _open(self.process.stderr).close()

    @property
    def pid(self) -> int:
        """Its process id, which is that of its group."""
        return self.process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, or minus the signal that ended it; None while it runs."""
        return self.process.returncode

    @property
    def ended(self) -> bool:
        """Whether the program itself has ended; its children may still run."""
        return self.process.poll() is not None

    @property
    def drained(self) -> bool:
        """Whether all writers have closed the output."""
        return not self._pipes.get_map()

    def wait(self, stopped: Callable[[], bool], seconds: float) -> bool:
        """Read until the program has ended, for some seconds or until it is `stopped`; returns whether it has ended."""
        self.read_until(lambda: self.ended or stopped(), seconds)
        ended = self.ended
        if ended:
            self.read_until(lambda: self.drained, DRAIN_SECONDS)
        return ended

    def read_until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Read until a condition holds, or until the time is over; returns whether it holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            self._read(min(remaining, POLL_SECONDS))
        return True

    def _read(self, seconds: float) -> None:
        """Read the available output, or wait for some."""
        if self.drained and not self.ended:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)  # returns as soon as it ends, which is usually now
            return
        for key, _ in self._pipes.select(seconds):
            chunk = os.read(key.fd, TAIL_BYTES)
            kind, tail = key.data
            tail.extend(chunk)
            del tail[: -TAIL_BYTES - 1]  # one byte more, to know that the output was cut
            self._log(kind, chunk)
            if not chunk:
                self._pipes.unregister(key.fileobj)

    def terminate(self) -> None:
        """Ask the process group to terminate, and kill what still runs after the grace period."""
        try:
            if self._send(signal.SIGTERM):
                self.read_until(lambda: not self._send(0), self.grace)
        finally:
            if self._send(signal.SIGKILL):
                self.read_until(lambda: self.ended, self.grace)

    def _send(self, signum: int) -> bool:
        """Send a signal to the group; returns whether any process received it."""
        self.process.poll()  # otherwise a zombie would count
        try:
            os.killpg(self.process.pid, signum)
        except (ProcessLookupError, PermissionError):
            return False
        return True


class Runs:
    """Counts the running programs of all threads."""

    def __init__(self) -> None:
        self.stopped = False
        self._count = 0
        self._changed = threading.Condition()

    @contextmanager
    def count(self) -> Iterator[None]:
        """Count one run; raises `CancelledError` after `stop`."""
        with self._changed:
            if self.stopped:
                raise CancelledError("stopped: no more programs are started")
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def stop(self, seconds: float) -> None:
        """Start no more runs, and wait until the current ones have noticed."""
        with self._changed:
            self.stopped = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._count, seconds)

    def pause(self, seconds: float) -> None:
        """Wait between two runs, until `stop` at most."""
        with self._changed:
            self._changed.wait_for(lambda: self.stopped, seconds)
