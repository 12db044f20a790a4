"""Running the user's program for one trial: fill in `./simulate {order}`, run it, and read the value that it reports.

| in the command | becomes |
|---|---|
| `{order}`, the name of a variable, as an argument of its own | one argument for each item |
| `--order={order}`, inside an argument | the items, joined by commas |
| `{order:-}` | the items, joined by `-` or any other separator, such as a space: always one argument |
| `{heat}`, the name of a variable that is not a list | its value |
| `{json}` | the whole point as JSON, one argument |
| `{trial}` | the trial number |
| `{result}` | a file for the result of the program; without it, the standard output is read |
| `{{` and `}}` | a brace |

The command is split as a shell would split it, but without a shell and before any value is filled in, so no item name can
become another argument or a command. With `shell=True` it is a command for `/bin/sh`, with pipes and variables; values are
passed as shell variables, which are never executed as code. Placeholders are quoted automatically there, so quotes around
them are an error. Items that begin with `-` look like options: write `./simulate -- {order}`, which most programs accept.

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
from typing import Any, NamedTuple

from mergebo.errors import ArgumentError, CancelledError, ProgramError, unknown_choice

__all__ = ["Program"]

RESERVED_NAMES = ("json", "trial", "result")
"""Placeholders that are not names of variables."""
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
SHELL = "/bin/sh"
WORD_BOUNDARIES = " \t\n;|&()<>"
"""Characters that end a word in a shell."""
OPERATORS = frozenset({"|", "||", "&&", "&", ";", "<", ">", ">>", "2>", "2>&1", "&>"})
"""Arguments that suggest that the command was meant for a shell."""
BRACES = "write a literal brace twice, {{ or }}"


# The command and its placeholders


class Placeholder(NamedTuple):
    """`{name}` or `{name:separator}`."""

    name: str
    separator: str | None = None

    def __str__(self) -> str:
        return f"{{{self.name}}}" if self.separator is None else f"{{{self.name}:{self.separator}}}"


class Template(NamedTuple):
    """Texts with placeholders between them; there is one text more than placeholders."""

    texts: list[str]
    placeholders: list[Placeholder]

    def is_separate(self, k: int, boundaries: str) -> bool:
        """Whether placeholder k has only the ends of the template, or one of these characters, on either side."""
        before, after = self.texts[k], self.texts[k + 1]
        begins = before[-1] in boundaries if before else k == 0
        ends = after[0] in boundaries if after else k == len(self.placeholders) - 1
        return begins and ends


_BRACE = re.compile(r"(?P<doubled>\{\{|\}\})|\{(?P<name>[^{}:]*)(?::(?P<separator>[^{}]*))?\}|(?P<lone>[{}])")


def read_template(command: str) -> Template:
    """Parse a command with placeholders.

    >>> read_template("sort --by={order:-} '{{}}'")
    Template(texts=['sort --by=', " '{}'"], placeholders=[Placeholder(name='order', separator='-')])
    """
    if not command.strip():
        raise ArgumentError("the command is empty; it should be like './simulate {order}'")
    if "\0" in command:
        raise ArgumentError(f"the command has a NUL character: {_excerpt(command)}")
    template, end = Template([""], []), 0
    for match in _BRACE.finditer(command):
        template.texts[-1] += command[end : match.start()]
        end = match.end()
        if match["lone"]:
            raise ArgumentError(
                f"unmatched {match['lone']} in the command, at the end of '{_excerpt(command[:end])}' ({BRACES})"
            )
        if match["doubled"]:
            template.texts[-1] += match["doubled"][0]
        else:
            template.placeholders.append(Placeholder(match["name"], match["separator"]))
            template.texts.append("")
    template.texts[-1] += command[end:]
    return template


def split_template(template: Template) -> list[Template]:
    """Split a command into arguments before values are filled in, so that a placeholder is never split."""
    marks = [f"\0{k}\0" for k in range(len(template.placeholders))]
    marked = "".join(text + mark for text, mark in zip(template.texts, [*marks, ""], strict=True))
    try:
        words = [re.split(r"\0(\d+)\0", word) for word in shlex.split(marked)]
    except ValueError as error:
        raise ArgumentError(f"the quotes in the command do not match: {error}") from None
    return [Template(word[::2], [template.placeholders[int(k)] for k in word[1::2]]) for word in words]


def to_plain(value: Any) -> Any:
    """An array as a list; anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def as_json(point: Mapping[str, Any]) -> str:
    """A point as one line of ASCII, which is safe in any locale."""

    def convert(value: Any) -> Any:
        converted = to_plain(value)
        return str(value) if converted is value else converted

    return json.dumps(dict(point), default=convert)


def fill(placeholder: Placeholder, value: Any, *, separate: bool) -> list[str]:
    """Fill in a placeholder: one argument, or one for each item of a list if the placeholder is an argument of its own."""
    value = to_plain(value)
    if not isinstance(value, list | tuple):
        if placeholder.separator is not None:
            raise ArgumentError(
                f"{placeholder} joins the items of a list, which {placeholder.name} is not; write {{{placeholder.name}}}"
            )
        return [_argument(value)]
    items = [_argument(item) for item in value]
    if separate and placeholder.separator is None:
        return items
    separator = "," if placeholder.separator is None else placeholder.separator
    for item in items:
        # An item that ends in "-" is ambiguous before the separator "--", too: the split would be one character early.
        unambiguous = (item + separator).index(separator) == len(item) if separator else len(item) == 1
        if not unambiguous:
            raise ArgumentError(
                f"{placeholder} joins items by {separator!r}, which is ambiguous with the item {item!r}; write "
                f"{{{placeholder.name}}} as an argument of its own, {{{placeholder.name}:SEPARATOR}} with another "
                f"separator, or {{json}}"
            )
    return [separator.join(items)]


def _argument(value: Any) -> str:
    """A value as an argument."""
    text = str(value)
    try:
        possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise ArgumentError(
            f"{text!r} has a character that is not allowed in an argument of a program; rename the item, or pass {{json}}"
        )
    return text


# Commands for a shell: the quoting around placeholders

_TOKENS = {
    "'": re.compile(r"'"),
    '"': re.compile(r"\\.|\\\Z|[\"`]|\$\(\(|\$[({]|\$\Z", re.DOTALL),
    "": re.compile(r"\\.|\\\Z|['\"`()}]|\$\(\(|\$[({]|\$\Z", re.DOTALL),
}
_CLOSES = {"'": "'", '"': '"', "`": "`", "(": ")", "$(": ")", "$((": ")", "${": "}"}


def check_quoting(template: Template) -> None:
    """Raise an error for placeholders inside quotes, backticks, `${}` or `$(())`, and right after `$` or a backslash.

    Values would not be executed as code there either, but might not arrive as a single argument.
    """
    open_tokens: list[str] = []
    for text, placeholder in zip(template.texts, [*template.placeholders, None], strict=True):
        token, at = "", 0
        while match := _TOKENS[open_tokens[-1] if open_tokens and open_tokens[-1] in _TOKENS else ""].search(text, at):
            token, at = match[0], match.end()
            if open_tokens and token == _CLOSES[open_tokens[-1]]:
                open_tokens.pop()
            elif token == "$((":
                open_tokens += ["$((", "("]
            elif token in _CLOSES:
                open_tokens.append(token)
        if placeholder and token in ("$", "\\"):
            raise ArgumentError(
                f"{placeholder} is right after {token} in the command; a shell variable is written "
                f"${{{{{placeholder.name}}}}}, with double braces"
            )
        inside = open_tokens[-1] if open_tokens else ""
        if placeholder and inside and (inside not in ("(", "$(") or not {"`", "${", "$(("}.isdisjoint(open_tokens)):
            raise ArgumentError(
                f"{placeholder} is inside {inside} in the command; in a shell, placeholders are quoted automatically and "
                "must not be inside quotes, backticks, ${} or $(())"
            )


def shell_text(template: Template, values: list[list[str]]) -> str:
    """A command for a shell in which each placeholder is replaced by shell variables that are assigned before it.

    The values are quoted in the assignments; the command itself never contains a value, so none can be run as code.
    """
    text = template.texts[0]
    assignments: list[str] = []
    for after, arguments in zip(template.texts[1:], values, strict=True):
        names = [f"mergebo_{len(assignments) + k}" for k in range(len(arguments))]
        assignments += [f"{name}={shlex.quote(value)}" for name, value in zip(names, arguments, strict=True)]
        text += " ".join(f'"${{{name}}}"' for name in names) + after
    return " ".join(assignments) + "\n" + text


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
        raise ValueError(f"'{_excerpt(word, 50)}' is not a number") from None
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


def _excerpt(text: str, limit: int = 200) -> str:
    """The end of a text, with unprintable characters escaped."""
    end = text[-limit - 1 :]
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in end)
    return escaped if len(escaped) <= limit else "…" + escaped[1 - limit :]


def _lines(tail: bytes | bytearray) -> list[str]:
    """The lines that are not blank; an ellipsis marks output that was cut, so that its first line is never a number."""
    text = ("…" if len(tail) > TAIL_BYTES else "") + tail[-TAIL_BYTES:].decode(errors="replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _last_errors(tail: bytes | bytearray) -> str:
    """The last lines of the standard error, as the end of a message."""
    lines = _lines(tail)[-5:]
    return f"; its standard error ends: {_excerpt(' | '.join(lines), 500)}" if lines else ""


def _exit_message(code: int) -> str:
    """A description of an exit code."""
    if code >= 0:
        return f"ended with exit code {code}"
    known = -code in set(signal.Signals)
    return f"was killed by {signal.Signals(-code).name if known else f'signal {-code}'}"


# The program


@dataclass(frozen=True)
class Program:
    """The user's program: a command with placeholders, which are listed at the top of this module.

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
    def _template(self) -> Template:
        template = read_template(self.command)
        if self.shell:
            check_quoting(template)
        return template

    @cached_property
    def _arguments(self) -> list[Template]:
        """The arguments; a command for a shell is a single text, which the shell splits."""
        return [self._template] if self.shell else split_template(self._template)

    def _filled(self, word: Template, values: Mapping[str, Any]) -> list[list[str]]:
        """The arguments for each placeholder of a word that has a value."""
        boundaries = WORD_BOUNDARIES if self.shell else ""
        return [
            fill(placeholder, values[placeholder.name], separate=word.is_separate(k, boundaries))
            for k, placeholder in enumerate(word.placeholders)
            if placeholder.name in values
        ]

    def _check_names(self, names: Collection[str]) -> None:
        known = list(dict.fromkeys([*names, *RESERVED_NAMES]))
        for placeholder in self._template.placeholders:
            if placeholder.name not in known:
                raise ArgumentError(f"{unknown_choice('a placeholder', placeholder.name, known)} ({BRACES})")
            if placeholder.name in RESERVED_NAMES and placeholder.name in names:
                raise ArgumentError(f"{placeholder} has another meaning in a command; rename the variable")

    def check(self, names: Collection[str], orders: Mapping[str, Collection[Any]]) -> None:
        """Raise an error if the command cannot work; nothing is run.

        `names` are the names of all variables. `orders` maps each variable that is an order, which the command must
        contain, to its items.
        """
        self._check_names(names)
        for word in self._arguments:
            self._filled(word, {name: list(items) for name, items in orders.items()} | dict.fromkeys(RESERVED_NAMES, ""))
        used = {placeholder.name for placeholder in self._template.placeholders}
        missing = [f"{{{name}}}" for name in orders if name not in used]
        if missing and "json" not in used:
            raise ArgumentError(
                f"the command '{_excerpt(self.command)}' does not contain {' and '.join(missing)}; add it, or {{json}} for "
                "the whole point"
            )
        if self.shell:
            self._check_syntax()
        else:
            self._check_program()

    def _check_syntax(self) -> None:
        """Let the shell parse the command without running it."""
        text = shell_text(self._template, [[""]] * len(self._template.placeholders))
        done = subprocess.run([SHELL, "-n", "-c", text], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            raise ArgumentError(f"the shell cannot parse the command{_last_errors(done.stderr)}")

    def _check_program(self) -> None:
        """Raise an error if the program does not exist, or if the command was meant for a shell."""
        for word in self._arguments:
            if word.texts[0] in OPERATORS and not word.placeholders:
                raise ArgumentError(f"{word.texts[0]} in the command needs a shell: add --shell, or quote it as an argument")
        first = self._arguments[0]
        if first.placeholders or shutil.which(first.texts[0]):
            return
        name = first.texts[0]
        if Path(name).is_file():
            raise ArgumentError(f"the program {name!r} is not executable; run chmod +x {shlex.quote(name)}")
        raise ArgumentError(
            f"the program {name!r} was not found; give its path, such as ./simulate, or add --shell if the command uses ~, "
            "variables or shell builtins"
        )

    def arguments(self, point: Mapping[str, Any], number: int, result: Path) -> list[str]:
        """The program and its arguments for a point and a trial number."""
        self._check_names(point)
        values = {**point, "json": as_json(point), "trial": number, "result": result}
        if self.shell:
            return [SHELL, "-c", shell_text(self._template, self._filled(self._template, values))]
        arguments = []
        for word in self._arguments:
            filled = self._filled(word, values)
            if len(filled) == 1 and word.is_separate(0, ""):
                arguments += filled[0]
            else:
                after = (value + text for (value,), text in zip(filled, word.texts[1:], strict=True))
                arguments.append(word.texts[0] + "".join(after))
        return arguments

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
        variables = {"MERGEBO_TRIAL": str(number), "MERGEBO_POINT": as_json(point)}
        with self._runs.count(), tempfile.TemporaryDirectory(prefix="mergebo-", ignore_cleanup_errors=True) as folder:
            result = Path(folder) / "result.json"
            started = _start(self.arguments(point, number, result), {**os.environ, **variables})
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

    def _read(self, process: _Process, result: Path) -> tuple[float, ...]:
        """The values of a program that has ended."""
        code = process.process.returncode
        if code:
            raise ProgramError(f"the program {_exit_message(code)}{_last_errors(process.errors)}")
        if any(placeholder.name == "result" for placeholder in self._template.placeholders):
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
                f"the last line printed by the program should end with {self._expected}, but {error}: {_excerpt(lines[-1])}"
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
            text = _excerpt(content[-TAIL_BYTES:].decode(errors="replace"))
            raise ProgramError(f"the result file should contain {self._expected}, but {error}: {text}") from None

    @property
    def _expected(self) -> str:
        return "a number" if self.values == 1 else f"{self.values} numbers"
