"""Running the user's program for one trial. Its command is that of `mergebo.studies.command`, its values of `.values`.

The environment variables `MERGEBO_POINT` and `MERGEBO_TRIAL` hold the point, as JSON, and the trial number, too.

A run may end without values in these ways. Each is a failure, which says something about the point, or an accident, which
does not; `Program.accidents` are those that are accidents.

| kind | the program |
|---|---|
| `start` | could not be started: it is missing, may not be run, or the system has no room for it |
| `signal` | was ended from outside: by `SIGKILL` (as when the memory is full), `SIGTERM`, `SIGHUP` or the like |
| `crash` | ended itself by a signal: `SIGSEGV`, `SIGABRT`, `SIGFPE` or the like |
| `timeout` | took too long |
| `exit` | ended with another exit code than 0 |
| `value` | reported no number |

Shells, containers and batch systems report by exit codes how a program ended: 126 and 127 are `start`, and 128 plus the
number of one of these signals is the kind of that signal.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from mergebo._text import excerpt
from mergebo.errors import AccidentError, ArgumentError, CancelledError, MergeboError, ProgramError, unknown_choice
from mergebo.studies.addresses import address
from mergebo.studies.child import DRAIN_SECONDS, ChildProcess, Guard, Runs
from mergebo.studies.command import SHELL, Command, as_json, shell_text
from mergebo.studies.logs import RunLog, make_log_folder
from mergebo.studies.values import TAIL_BYTES, Reader, output_lines

__all__ = ["ACCIDENTS", "Ending", "Program"]

Ending = Literal["start", "signal", "crash", "timeout", "exit", "value"]
"""How a run can end without values; see the top of this module."""
ACCIDENTS: tuple[Ending, ...] = ("signal", "start")
"""The ways to end that are accidents by default."""

ACCIDENT_RETRIES = 2
"""How many times a run is repeated after an accident by default."""
RETRY_SECONDS = 1.0
"""Seconds to wait before the first repeat after an accident; twice as long before the second one, and so on."""
MAX_RESULT_BYTES = 1024 * 1024
"""Maximum size of a result file."""
GRACE_SECONDS = 2.0
"""Seconds between asking a program to terminate and killing it."""
OPERATORS = frozenset({"|", "||", "&&", "&", ";", "<", ">", ">>", "2>", "2>&1", "&>"})
"""Arguments that suggest that the command was meant for a shell."""

SIGNALS = {each.value: each.name for each in signal.Signals}
CRASHES = {
    getattr(signal, name)
    for name in ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGPIPE", "SIGSEGV", "SIGSYS", "SIGTRAP", "SIGXCPU", "SIGXFSZ")
    if hasattr(signal, name)
}
"""Signals that a program causes by what it does; all others come from outside."""
FROM_OUTSIDE = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGTERM}
"""Signals from outside that exit codes of 128 and more stand for; programs may use the others for themselves."""
START_CODES = {126: "may not be run", 127: "was not found"}
"""Exit codes by which a shell says that what it should run cannot be started."""


def _environment(command: str) -> dict[str, str]:
    """The environment of the program: without a password of the storage, unless the command uses it."""
    environment, storage = dict(os.environ), "MERGEBO_STORAGE"
    if storage in environment and storage not in command and address(environment[storage]) != environment[storage]:
        del environment[storage]
    return environment


def _last_errors(tail: bytes | bytearray) -> str:
    """The last lines of the standard error, as the end of a message."""
    lines = output_lines(tail)[-5:]
    return f"; its standard error ends: {excerpt(' | '.join(lines), 500)}" if lines else ""


def _start_message(program: str, error: OSError) -> str:
    """Why a program could not be started."""
    hint = {
        errno.ENOEXEC: "; a script must begin with a line such as #!/bin/sh",
        errno.E2BIG: "; the point is too long for the arguments and the environment of a program",
        errno.EMFILE: "; this process has too many open files (ulimit -n)",
        errno.EAGAIN: "; there are too many processes (ulimit -u)",
    }.get(error.errno or 0, "")
    where = f" ({error.filename})" if error.filename not in (None, program) else ""
    return f"the program {program!r} could not be started: {error.strerror}{where}{hint}"


def _exit_message(code: int) -> str:
    """A description of an exit code."""
    if code < 0:
        return f"was killed by {SIGNALS.get(-code, f'signal {-code}')}"
    meaning = f" (it, or what it runs, {START_CODES[code]})" if code in START_CODES else ""
    if code - 128 in FROM_OUTSIDE | CRASHES:
        meaning = f" (128 + {code - 128}: killed by {SIGNALS[code - 128]})"
    return f"ended with exit code {code}{meaning}"


def _ending(code: int) -> Ending:
    """The kind of end that an exit code other than 0 stands for."""
    if code in START_CODES:
        return "start"
    if -code in CRASHES or code - 128 in CRASHES:
        return "crash"
    return "signal" if code < 0 or code - 128 in FROM_OUTSIDE else "exit"


# The program


@dataclass(frozen=True)
class Program:
    """The user's program: a command with placeholders, which are listed in `mergebo.studies.command`.

    After `timeout` seconds, a run and all processes of its group are asked to terminate, and `grace` seconds later killed. A
    run is repeated up to `retries` times; by default, one that failed is not repeated, and one that ended by accident is
    repeated twice, after a pause. `accidents` are the kinds of end that are accidents, or exit codes.

    `values` is the number of values that the program reports; `patterns` or `keys` say where, see `mergebo.studies.values`.
    `logs` is a folder for what it prints, see `mergebo.studies.logs`. Several threads may call `measure` at once.
    """

    command: str
    shell: bool = False
    timeout: float | None = None
    retries: int | None = None
    values: int = 1
    grace: float = GRACE_SECONDS
    accidents: Collection[Ending | int] = ACCIDENTS
    patterns: Collection[str] = ()
    keys: Collection[str] = ()
    logs: Path | None = None
    _runs: Runs = field(default_factory=Runs, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.timeout is not None and not self.timeout > 0:
            raise ArgumentError(f"the timeout must be more than 0 seconds, got {self.timeout}")
        if self.retries is not None and self.retries < 0:
            raise ArgumentError(f"retries must be 0 or more, got {self.retries}")
        if not self.grace >= 0:
            raise ArgumentError(f"the grace period must be 0 seconds or more, got {self.grace}")
        for each in self.accidents:
            if isinstance(each, int) and not 0 < each < 256:
                raise ArgumentError(f"an exit code that is an accident must be 1..255, got {each}")
            if isinstance(each, str) and each not in get_args(Ending):
                raise unknown_choice("an accident", each, get_args(Ending))
        self._reader  # noqa: B018 (raises errors of the patterns and keys)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.values, tuple(self.patterns), tuple(self.keys))

    @cached_property
    def _command(self) -> Command:
        return Command(self.command, self.shell)

    def check(self, names: Collection[str], orders: Mapping[str, Collection[Any]]) -> None:
        """Raise an error if the command cannot work; nothing is run, and the folder of logs is created.

        `names` are the names of all variables. `orders` maps each variable that is an order, which the command must
        contain, to its items.
        """
        self._command.check_placeholders(names, orders)
        if self.patterns and self._command.writes_file:
            raise ArgumentError("--pattern searches what the program prints, which {result} replaces; use one of them")
        if self.shell:
            self._check_syntax()
        else:
            self._check_program()
        self._files  # noqa: B018 (those that are there now)
        if self.logs is not None:
            make_log_folder(self.logs)

    @cached_property
    def _files(self) -> list[str]:
        """The files that the command names, such as a script for an interpreter."""
        if self.shell:
            return []
        words = [word.texts[0] for word in self._command.words if not word.placeholders]
        return [word for word in words if Path(word).is_file()]

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
        """Run the program for a point, with retries; returns the values that it reports.

        Raises a `ProgramError` if the last run failed, and an `AccidentError` if it ended by accident.
        """
        runs = 0
        while True:
            runs += 1
            try:
                return self._measure(point, number)
            except ProgramError as error:
                accident = isinstance(error, AccidentError)
                if runs <= (self.retries if self.retries is not None else ACCIDENT_RETRIES if accident else 0):
                    if accident:
                        self._runs.pause(RETRY_SECONDS * 2 ** (runs - 1))
                    continue
                if runs == 1:
                    raise
                all_failed = "" if accident else ", which all failed"
                raise type(error)(f"{error} (the last of {runs} runs{all_failed})") from None

    def stop(self) -> None:
        """Terminate the running programs, from another thread; `measure` raises `CancelledError` from now on.

        None of them runs any more when this returns. Children that a program left behind when it ended by itself are not
        terminated.
        """
        self._runs.stop(2 * self.grace + DRAIN_SECONDS + 1)

    def _measure(self, point: Mapping[str, Any], number: int) -> tuple[float, ...]:
        """One run."""
        with self._runs.count(), RunLog(self.logs, number) as log:
            try:
                values = self._run(point, number, log)
            except MergeboError as error:
                log.record(accident=isinstance(error, AccidentError), error=str(error))
                raise
            log.record(values=values)
            return values

    def _run(self, point: Mapping[str, Any], number: int, log: RunLog) -> tuple[float, ...]:
        written = as_json(point)
        variables = {"MERGEBO_TRIAL": str(number), "MERGEBO_POINT": written}
        with ExitStack() as stack:
            program = self._command.words[0].texts[0]
            try:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mergebo-", ignore_cleanup_errors=True))
                result = Path(folder) / "result.json"
                arguments = self._command.arguments(point, number, result)
                program = arguments[0]
                log.record(point=json.loads(written), command=arguments)
                guard = stack.enter_context(Guard(folder, self.grace))
                process = ChildProcess(arguments, {**_environment(self.command), **variables}, self.grace, log.write)
            except OSError as error:
                self._fail("start", _start_message(program, error))
            with process:
                guard.protect(process.pid)
                ended = process.wait(lambda: self._runs.stopped, self.timeout or math.inf)
            log.record(exit_code=process.exit_code if ended else None)
            if not ended and self._runs.stopped:
                raise CancelledError("stopped: the program was terminated before it reported a value")
            errors = _last_errors(process.errors)
            if not ended:
                self._fail("timeout", f"the program took longer than {self.timeout:g} s and was terminated{errors}")
            if process.exit_code:
                self._fail_with_code(process.exit_code, errors)
            try:
                return self._read(process, result)
            except ValueError as error:
                self._fail("value", str(error))

    def _fail(self, ending: Ending, message: str, code: int = 0) -> NoReturn:
        """Raise the error for a run without values."""
        accident = ending in self.accidents or (code > 0 and code in self.accidents)
        raise (AccidentError if accident else ProgramError)(message)

    def _fail_with_code(self, code: int, errors: str) -> NoReturn:
        """Raise the error for an exit code other than 0."""
        ending, missing = _ending(code), [name for name in self._files if not Path(name).exists()]
        vanished = ""
        if ending == "exit" and missing:
            ending, vanished = "start", f"; the file {missing[0]!r}, which the command names, has vanished"
        self._fail(ending, f"the program {_exit_message(code)}{vanished}{errors}", code)

    def _read(self, process: ChildProcess, result: Path) -> tuple[float, ...]:
        """The values of a program that has ended with exit code 0."""
        if self._command.writes_file:
            return self._read_file(result)
        if not output_lines(process.output):
            errors = _last_errors(process.errors)
            raise ValueError(f"the program printed nothing and {_exit_message(0)}; {self._reader.instruction}{errors}")
        return self._reader.read_output(process.output)

    def _read_file(self, result: Path) -> tuple[float, ...]:
        expected = self._reader.expected
        if not result.is_file():
            raise ValueError(f"the program did not write {expected} to the file passed as {{result}}")
        content = b""
        try:
            with result.open("rb") as file:
                content = file.read(MAX_RESULT_BYTES + 1)
            if len(content) > MAX_RESULT_BYTES:
                raise ValueError(f"it is larger than {MAX_RESULT_BYTES} bytes")
            return self._reader.read_file(content)
        except (OSError, ValueError) as error:
            text = excerpt(content[-TAIL_BYTES:].decode(errors="replace"))
            raise ValueError(f"the result file should contain {expected}, but {error}: {text}") from None
