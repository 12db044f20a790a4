"""Running the user's program for one trial, and reading the value that it reports; `mergebo.studies.command` is its command.

The environment variables `MERGEBO_POINT` and `MERGEBO_TRIAL` hold the point, as JSON, and the trial number, too.

The program reports its value as the last word of the last line that it prints, such as `3.2`, `loss: 3.2` or `loss=3.2`;
several objectives are several words. To `{result}` it writes `3.2`, `[3.2, 5]`, `{"value": 3.2}` or `{"values": [3.2, 5]}`.
A nonzero exit code is a failure, whatever was reported.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mergebo._text import excerpt
from mergebo.errors import ArgumentError, CancelledError, ProgramError
from mergebo.studies.addresses import address
from mergebo.studies.command import SHELL, Command, as_json, shell_text

__all__ = ["Program"]

TAIL_BYTES = 64 * 1024
"""Number of bytes kept of the output of a program: the last ones."""
MAX_RESULT_BYTES = 1024 * 1024
"""Maximum size of a result file."""
GRACE_SECONDS = 2.0
"""Seconds between asking a program to terminate and killing it."""
DRAIN_SECONDS = 1.0
"""Seconds to keep reading after a program has ended, since its children may hold its output open for ever."""
POLL_SECONDS = 0.05
"""Seconds between checks of a running program that prints nothing."""
OPERATORS = frozenset({"|", "||", "&&", "&", ";", "<", ">", ">>", "2>", "2>&1", "&>"})
"""Arguments that suggest that the command was meant for a shell."""


# Running the program


def _start(arguments: list[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own, which can be terminated as a whole."""
    try:
        return subprocess.Popen(
            arguments,
            bufsize=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=environment,
        )
    except OSError as error:
        hint = {
            errno.ENOEXEC: "; a script must begin with a line such as #!/bin/sh",
            errno.E2BIG: "; the point is too long for the arguments and the environment of a program",
        }.get(error.errno or 0, "")
        raise ProgramError(f"the program {arguments[0]!r} could not be started: {error.strerror}{hint}") from None


def _environment(command: str) -> dict[str, str]:
    """The environment of the program: without a password of the storage, unless the command uses it."""
    environment, storage = dict(os.environ), "MERGEBO_STORAGE"
    if storage in environment and storage not in command and address(environment[storage]) != environment[storage]:
        del environment[storage]
    return environment


class _Process:
    """A running program. All its output is read, so that it never blocks, and only the end is kept."""

    def __init__(self, process: subprocess.Popen[bytes], grace: float) -> None:
        self.process = process
        self.grace = grace
        self.output, self.errors = bytearray(), bytearray()
        self._pipes = selectors.DefaultSelector()
        for pipe, tail in ((process.stdout, self.output), (process.stderr, self.errors)):
            assert pipe is not None
            self._pipes.register(pipe, selectors.EVENT_READ, tail)

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if not self.ended:
                self.terminate()
            self._read(0)
        finally:
            self._pipes.close()
            for pipe in (self.process.stdout, self.process.stderr):
                assert pipe is not None
                pipe.close()

    @property
    def ended(self) -> bool:
        """Whether the program itself has ended; its children may still run."""
        return self.process.poll() is not None

    @property
    def drained(self) -> bool:
        """Whether all writers have closed the output."""
        return not self._pipes.get_map()

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
            key.data.extend(chunk)
            del key.data[: -TAIL_BYTES - 1]  # one byte more, to know that the output was cut
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


class _Runs:
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
            self._changed.wait_for(lambda: not self._count, seconds)


# Reading the result


def read_line(line: str, count: int) -> tuple[float, ...]:
    """The last `count` words of a line as numbers; `loss=3.2`, `loss: 3.2` and `loss = 3.2` count as one word.

    >>> read_line("step 7, loss: 0.5 time=3e1", 2)
    (0.5, 30.0)
    """
    words = re.sub(" ?([=:]) ?", r"\1", " ".join(line.split())).split()
    if len(words) < count:
        raise ValueError(f"it has {len(words)} word{'s' * (len(words) != 1)}")
    return tuple(_number(word) for word in words[-count:])


def _number(word: str) -> float:
    """A word as a number; a label may precede it."""
    *labels, text = re.split("[=:]", word)
    try:
        if "_" in text or (labels and labels[-1] and not re.search(r"[^\W\d_]", labels[-1])):
            raise ValueError  # 12:30 is a time of day
        value = float(text)
    except ValueError:
        raise ValueError(f"'{excerpt(word, 50)}' is not a number") from None
    return _finite(value)


def _finite(value: float) -> float:
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    return value


def read_result(content: bytes, count: int) -> tuple[float, ...]:
    """The `count` numbers of a result file."""
    try:
        data = json.loads(content)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if isinstance(data, dict):
        keys = [key for key in ("value", "values") if key in data]
        if len(keys) != 1:
            raise ValueError('an object must have either "value" or "values"')
        data = data[keys[0]]
    numbers = data if isinstance(data, list) else [data]
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
        raise ValueError("it contains something that is not a number")
    if len(numbers) != count:
        raise ValueError(f"it contains {len(numbers)}")
    return tuple(_finite(number) for number in numbers)


def _lines(tail: bytes | bytearray) -> list[str]:
    """The lines that are not blank; an ellipsis marks output that was cut, so that its first line is never a number."""
    text = ("…" if len(tail) > TAIL_BYTES else "") + tail[-TAIL_BYTES:].decode(errors="replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _last_errors(tail: bytes | bytearray) -> str:
    """The last lines of the standard error, as the end of a message."""
    lines = _lines(tail)[-5:]
    return f"; its standard error ends: {excerpt(' | '.join(lines), 500)}" if lines else ""


def _exit_message(code: int) -> str:
    """A description of an exit code."""
    if code >= 0:
        return f"ended with exit code {code}"
    known = -code in set(signal.Signals)
    return f"was killed by {signal.Signals(-code).name if known else f'signal {-code}'}"


# The program


@dataclass(frozen=True)
class Program:
    """The user's program: a command with placeholders, which are listed in `mergebo.studies.command`.

    After `timeout` seconds, a run and all processes of its group are asked to terminate, and `grace` seconds later killed. A
    failed run is repeated up to `retries` times; `values` is the number of values that the program reports. Several threads
    may call `measure` at once.
    """

    command: str
    shell: bool = False
    timeout: float | None = None
    retries: int = 0
    values: int = 1
    grace: float = GRACE_SECONDS
    _runs: _Runs = field(default_factory=_Runs, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.timeout is not None and not self.timeout > 0:
            raise ArgumentError(f"the timeout must be more than 0 seconds, got {self.timeout}")
        if self.retries < 0:
            raise ArgumentError(f"retries must be 0 or more, got {self.retries}")
        if self.values < 1:
            raise ArgumentError(f"a program must report at least one value, got values={self.values}")
        if not self.grace >= 0:
            raise ArgumentError(f"the grace period must be 0 seconds or more, got {self.grace}")

    @cached_property
    def _command(self) -> Command:
        return Command(self.command, self.shell)

    def check(self, names: Collection[str], orders: Mapping[str, Collection[Any]]) -> None:
        """Raise an error if the command cannot work; nothing is run.

        `names` are the names of all variables. `orders` maps each variable that is an order, which the command must
        contain, to its items.
        """
        self._command.check_placeholders(names, orders)
        if self.shell:
            self._check_syntax()
        else:
            self._check_program()

    def _check_syntax(self) -> None:
        """Let the shell parse the command without running it."""
        text = shell_text(self._command.template, [[""]] * len(self._command.template.placeholders))
        done = subprocess.run([SHELL, "-n", "-c", text], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            raise ArgumentError(f"the shell cannot parse the command{_last_errors(done.stderr)}")

    def _check_program(self) -> None:
        """Raise an error if the program does not exist, or if the command was meant for a shell."""
        for word in self._command.words:
            if word.texts[0] in OPERATORS and not word.placeholders:
                raise ArgumentError(f"{word.texts[0]} in the command needs a shell: add --shell, or quote it as an argument")
        first = self._command.words[0]
        if first.placeholders or shutil.which(first.texts[0]):
            return
        name = first.texts[0]
        if Path(name).is_file():
            raise ArgumentError(f"the program {name!r} is not executable; run chmod +x {shlex.quote(name)}")
        raise ArgumentError(
            f"the program {name!r} was not found; give its path, such as ./simulate, or add --shell if the command uses ~, "
            "variables or shell builtins"
        )

    def measure(self, point: Mapping[str, Any], number: int) -> tuple[float, ...]:
        """Run the program for a point, with retries if it fails; returns the values that it reports."""
        runs = 0
        while True:
            runs += 1
            try:
                return self._measure(point, number)
            except ProgramError as error:
                if runs <= self.retries:
                    continue
                if runs == 1:
                    raise
                raise ProgramError(f"{error} (the last of {runs} runs, which all failed)") from None

    def stop(self) -> None:
        """Terminate the running programs, from another thread; `measure` raises `CancelledError` from now on.

        None of them runs any more when this returns. Children that a program left behind when it ended by itself are not
        terminated.
        """
        self._runs.stop(2 * self.grace + DRAIN_SECONDS + 1)

    def _measure(self, point: Mapping[str, Any], number: int) -> tuple[float, ...]:
        """One run."""
        environment = {**_environment(self.command), "MERGEBO_TRIAL": str(number), "MERGEBO_POINT": as_json(point)}
        with self._runs.count(), self._folder() as folder:
            result = folder / "result.json"
            started = _start(self._command.arguments(point, number, result), environment)
            with _Process(started, self.grace) as process:
                process.read_until(lambda: process.ended or self._runs.stopped, self.timeout or math.inf)
                ended = process.ended
                if ended:
                    process.read_until(lambda: process.drained, DRAIN_SECONDS)
            if not ended and self._runs.stopped:
                raise CancelledError("stopped: the program was terminated before it reported a value")
            if not ended:
                raise ProgramError(
                    f"the program took longer than {self.timeout:g} s and was terminated{_last_errors(process.errors)}"
                )
            return self._read(process, result)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """A folder for the result file, which is left behind if this process is killed; only made if it is needed."""
        if not self._command.writes_file:
            yield Path()
            return
        with tempfile.TemporaryDirectory(prefix="mergebo-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)

    def _read(self, process: _Process, result: Path) -> tuple[float, ...]:
        """The values of a program that has ended."""
        code = process.process.returncode
        if code:
            raise ProgramError(f"the program {_exit_message(code)}{_last_errors(process.errors)}")
        if self._command.writes_file:
            return self._read_file(result)
        lines = _lines(process.output)
        if not lines:
            raise ProgramError(
                f"the program printed nothing and {_exit_message(code)}; it should print {self._expected} at the end of its "
                f"last line{_last_errors(process.errors)}"
            )
        try:
            return read_line(lines[-1], self.values)
        except ValueError as error:
            raise ProgramError(
                f"the last line printed by the program should end with {self._expected}, but {error}: {excerpt(lines[-1])}"
            ) from None

    def _read_file(self, result: Path) -> tuple[float, ...]:
        if not result.is_file():
            raise ProgramError(f"the program did not write {self._expected} to the file passed as {{result}}")
        content = b""
        try:
            with result.open("rb") as file:
                content = file.read(MAX_RESULT_BYTES + 1)
            if len(content) > MAX_RESULT_BYTES:
                raise ValueError(f"it is larger than {MAX_RESULT_BYTES} bytes")
            return read_result(content, self.values)
        except (OSError, ValueError) as error:
            text = excerpt(content[-TAIL_BYTES:].decode(errors="replace"))
            raise ProgramError(f"the result file should contain {self._expected}, but {error}: {text}") from None

    @property
    def _expected(self) -> str:
        return "a number" if self.values == 1 else f"{self.values} numbers"
