"""One trial with the user's own program: fill in `./simulate {order}`, run it, read the value that it reports.

| in the command | becomes |
|---|---|
| `{order}`, a variable's name, as an argument of its own | one argument for each item |
| `--order={order}`, within an argument | the items, joined by commas |
| `{order:-}` | the items, joined by `-` (or anything else, such as a space): always one argument |
| `{heat}`, the name of a variable that is no list | its value |
| `{json}` | the whole point as JSON, one argument |
| `{trial}` | the number of the trial |
| `{result}` | a file into which the program writes its result; without it the standard output is read |
| `{{` and `}}` | a brace |

The command is taken apart as a shell would, but before any value is put in and without a shell, so nothing in the name of
an item can become another argument or a command. With `shell=True` it is a command for `/bin/sh`, with pipes and variables;
values reach it as shell variables, which are never read as code. Quotes around a placeholder are an error there: it brings
its own. Items that begin with `-` look like options: write `./simulate -- {order}`, which most programs understand.

The program also finds the point, as JSON, in the environment variable `MERGEBO_POINT`, and the trial in `MERGEBO_TRIAL`.

It reports its value as the last word of the last line that it prints, such as `3.2`, `loss: 3.2` or `loss=3.2`; several
objectives are several words there. Into `{result}` it writes `3.2`, `[3.2, 5]`, `{"value": 3.2}` or `{"values": [3.2, 5]}`.
An exit status other than 0 is a failure, whatever was reported.
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

from mergebo.errors import ArgumentError, ProgramError, StoppedError, unknown_choice

__all__ = ["Program"]

OURS = ("json", "trial", "result")
"""Placeholders that are not names of variables."""
KEPT = 64 * 1024
"""Bytes that are kept of what a program prints: the last ones."""
LARGEST = 1024 * 1024
"""Bytes that a result file may have."""
GRACE = 2.0
"""Seconds between asking a program to end and killing it."""
DRAIN = 1.0
"""Seconds to read on after a program ended, since its children may hold its output open for ever."""
TICK = 0.05
"""Seconds after which a running program is looked at again though it printed nothing."""
SHELL = "/bin/sh"
EDGES = " \t\n;|&()<>"
"""Characters that end a word of a shell."""
OPERATORS = frozenset({"|", "||", "&&", "&", ";", "<", ">", ">>", "2>", "2>&1", "&>"})
"""Arguments that somebody meant for a shell."""
BRACES = "a brace that is no placeholder is written twice, {{ or }}"


# The command and its placeholders


class Placeholder(NamedTuple):
    """`{name}` or `{name:separator}`."""

    name: str
    separator: str | None = None

    def __str__(self) -> str:
        return f"{{{self.name}}}" if self.separator is None else f"{{{self.name}:{self.separator}}}"


class Template(NamedTuple):
    """Texts with placeholders between them: always one text more."""

    texts: list[str]
    holes: list[Placeholder]

    def alone(self, k: int, edges: str) -> bool:
        """Whether the placeholder k touches nothing but the ends and these characters."""
        before, after = self.texts[k], self.texts[k + 1]
        begins = before[-1] in edges if before else k == 0
        ends = after[0] in edges if after else k == len(self.holes) - 1
        return begins and ends


_BRACE = re.compile(r"(?P<twice>\{\{|\}\})|\{(?P<name>[^{}:]*)(?::(?P<separator>[^{}]*))?\}|(?P<lone>[{}])")


def read_template(command: str) -> Template:
    """A command and its placeholders.

    >>> read_template("sort --by={order:-} '{{}}'")
    Template(texts=['sort --by=', " '{}'"], holes=[Placeholder(name='order', separator='-')])
    """
    if not command.strip():
        raise ArgumentError("the command is empty; it reads like './simulate {order}'")
    if "\0" in command:
        raise ArgumentError(f"the command has a NUL character: {_shown(command)}")
    template, end = Template([""], []), 0
    for match in _BRACE.finditer(command):
        template.texts[-1] += command[end : match.start()]
        end = match.end()
        if match["lone"]:
            raise ArgumentError(f"a lone {match['lone']} in the command, at the end of '{_shown(command[:end])}' ({BRACES})")
        if match["twice"]:
            template.texts[-1] += match["twice"][0]
        else:
            template.holes.append(Placeholder(match["name"], match["separator"]))
            template.texts.append("")
    template.texts[-1] += command[end:]
    return template


def split_template(template: Template) -> list[Template]:
    """The arguments of a command, split before any value is there; a placeholder is never split."""
    marks = [f"\0{k}\0" for k in range(len(template.holes))]
    marked = "".join(text + mark for text, mark in zip(template.texts, [*marks, ""], strict=True))
    try:
        words = [re.split(r"\0(\d+)\0", word) for word in shlex.split(marked)]
    except ValueError as error:
        raise ArgumentError(f"the quotes of the command do not match: {error}") from None
    return [Template(word[::2], [template.holes[int(k)] for k in word[1::2]]) for word in words]


def plain(value: Any) -> Any:
    """An array as a list; anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def as_json(point: Mapping[str, Any]) -> str:
    """A point as one line of ASCII, which every program can take in every language."""

    def convert(value: Any) -> Any:
        converted = plain(value)
        return str(value) if converted is value else converted

    return json.dumps(dict(point), default=convert)


def fill(placeholder: Placeholder, value: Any, *, alone: bool) -> list[str]:
    """What a placeholder becomes: one argument, or one for each item of a list where it is `alone` in its argument."""
    value = plain(value)
    if not isinstance(value, list | tuple):
        if placeholder.separator is not None:
            raise ArgumentError(
                f"{placeholder} joins the items of a list, which {placeholder.name} is not; write {{{placeholder.name}}}"
            )
        return [_argument(value)]
    items = [_argument(item) for item in value]
    if alone and placeholder.separator is None:
        return items
    separator = "," if placeholder.separator is None else placeholder.separator
    for item in items:
        # An end such as "-" before the separator "--" is as bad as the separator itself: it is read in the wrong place.
        apart = (item + separator).index(separator) == len(item) if separator else len(item) == 1
        if not apart:
            raise ArgumentError(
                f"{placeholder} joins items by {separator!r}, which cannot be told from the item {item!r}; write "
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
            f"{text!r} has a character that no argument of a program may have; call it something else, or pass {{json}}"
        )
    return text


# A command for a shell: what surrounds a placeholder

_TOKENS = {
    "'": re.compile(r"'"),
    '"': re.compile(r"\\.|\\\Z|[\"`]|\$\(\(|\$[({]|\$\Z", re.DOTALL),
    "": re.compile(r"\\.|\\\Z|['\"`()}]|\$\(\(|\$[({]|\$\Z", re.DOTALL),
}
_CLOSES = {"'": "'", '"': '"', "`": "`", "(": ")", "$(": ")", "$((": ")", "${": "}"}


def check_places(template: Template) -> None:
    """An error for placeholders within quotes, backticks, `${}` or `$(())`, and right after `$` or a backslash.

    No value would be read as code there either, but it might not be the one argument that it should be.
    """
    within: list[str] = []
    for text, hole in zip(template.texts, [*template.holes, None], strict=True):
        token, at = "", 0
        while match := _TOKENS[within[-1] if within and within[-1] in _TOKENS else ""].search(text, at):
            token, at = match[0], match.end()
            if within and token == _CLOSES[within[-1]]:
                within.pop()
            elif token == "$((":
                within += ["$((", "("]
            elif token in _CLOSES:
                within.append(token)
        if hole and token in ("$", "\\"):
            raise ArgumentError(
                f"{hole} stands right after {token} in the command; a variable of the shell is written "
                f"${{{{{hole.name}}}}}, with the braces twice"
            )
        if hole and within and (within[-1] not in ("(", "$(") or not {"`", "${", "$(("}.isdisjoint(within)):
            raise ArgumentError(
                f"{hole} stands within {within[-1]} in the command; for a shell placeholders bring their own quotes and "
                "must not be within quotes, backticks, ${} or $(())"
            )


def shell_text(template: Template, values: list[list[str]]) -> str:
    """A command for a shell in which each placeholder is one or more variables, set before it.

    Their values are quoted once, where nothing else is; the command never holds a value, so it cannot be read as code.
    """
    text = template.texts[0]
    assigned: list[str] = []
    for after, arguments in zip(template.texts[1:], values, strict=True):
        names = [f"mergebo_{len(assigned) + k}" for k in range(len(arguments))]
        assigned += [f"{name}={shlex.quote(value)}" for name, value in zip(names, arguments, strict=True)]
        text += " ".join(f'"${{{name}}}"' for name in names) + after
    return " ".join(assigned) + "\n" + text


# Running it


def _start(arguments: list[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a program in a group of its own, which can be ended as a whole."""
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
            errno.ENOEXEC: "; a script begins with a line such as #!/bin/sh",
            errno.E2BIG: "; the point is longer than the arguments and the environment of a program may be",
        }.get(error.errno or 0, "")
        raise ProgramError(f"the program {arguments[0]!r} could not be started: {error.strerror}{hint}") from None


class _Watch:
    """A program that runs: all that it prints is read, so that it never waits, and only the end of it is kept."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.output, self.errors = bytearray(), bytearray()
        self._pipes = selectors.DefaultSelector()
        for pipe, kept in ((process.stdout, self.output), (process.stderr, self.errors)):
            assert pipe is not None
            self._pipes.register(pipe, selectors.EVENT_READ, kept)

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if not self.ended:
                self.end()
            self._read(0)
        finally:
            self._pipes.close()
            for pipe in (self.process.stdout, self.process.stderr):
                assert pipe is not None
                pipe.close()

    @property
    def ended(self) -> bool:
        """Whether the program itself ended; its children may go on."""
        return self.process.poll() is not None

    @property
    def silent(self) -> bool:
        """Whether nobody can print any more."""
        return not self._pipes.get_map()

    def until(self, reached: Callable[[], bool], seconds: float) -> bool:
        """Read on until something is reached, or for so long."""
        end = time.monotonic() + seconds
        while not reached():
            left = end - time.monotonic()
            if left <= 0:
                return False
            self._read(min(left, TICK))
        return True

    def _read(self, seconds: float) -> None:
        """Read what there is, or wait for it."""
        if self.silent and not self.ended:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)  # returns at once when it ends, which is mostly now
            return
        for key, _ in self._pipes.select(seconds):
            chunk = os.read(key.fd, KEPT)
            key.data.extend(chunk)
            del key.data[: -KEPT - 1]  # one more, to know that there was more
            if not chunk:
                self._pipes.unregister(key.fileobj)

    def end(self) -> None:
        """Ask the program and all of its group to end; kill what is left of them after a while."""
        try:
            if self._send(signal.SIGTERM):
                self.until(lambda: not self._send(0), GRACE)
        finally:
            if self._send(signal.SIGKILL):
                self.until(lambda: self.ended, GRACE)

    def _send(self, kind: int) -> bool:
        """Send a signal to the group; whether there was anybody to get it."""
        self.process.poll()  # what ended but was not waited for would count
        try:
            os.killpg(self.process.pid, kind)
        except (ProcessLookupError, PermissionError):
            return False
        return True


class _Runs:
    """The programs that run now, in all threads."""

    def __init__(self) -> None:
        self.stopped = False
        self._count = 0
        self._changed = threading.Condition()

    @contextmanager
    def one(self) -> Iterator[None]:
        """While one runs; an error if none may any more."""
        with self._changed:
            if self.stopped:
                raise StoppedError("stopped: no program is started any more")
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def stop(self, seconds: float) -> None:
        """No more from now on; wait for those that run to notice."""
        with self._changed:
            self.stopped = True
            self._changed.wait_for(lambda: not self._count, seconds)


# Reading what it reports


def read_line(line: str, count: int) -> tuple[float, ...]:
    """The last `count` words of a line as numbers; `loss=3.2`, `loss: 3.2` and `loss = 3.2` are words as `3.2` is.

    >>> read_line("step 7, loss: 0.5 time=3e1", 2)
    (0.5, 30.0)
    """
    words = re.sub(" ?([=:]) ?", r"\1", " ".join(line.split())).split()
    if len(words) < count:
        raise ValueError("there are not so many words")
    return tuple(_number(word) for word in words[-count:])


def _number(word: str) -> float:
    """A word as a number, perhaps with a label before it."""
    *labels, text = re.split("[=:]", word)
    try:
        if "_" in text or (labels and labels[-1] and not re.search(r"[^\W\d_]", labels[-1])):
            raise ValueError  # 12:30 is a time
        value = float(text)
    except ValueError:
        raise ValueError(f"'{_shown(word, 50)}' is not a number") from None
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
        raise ValueError("it is not JSON that can be read: nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if isinstance(data, dict):
        keys = [key for key in ("value", "values") if key in data]
        if len(keys) != 1:
            raise ValueError('an object must have either "value" or "values"')
        data = data[keys[0]]
    numbers = data if isinstance(data, list) else [data]
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
        raise ValueError("it has something that is not a number")
    if len(numbers) != count:
        raise ValueError(f"it has {len(numbers)}")
    return tuple(_finite(number) for number in numbers)


def _shown(text: str, limit: int = 200) -> str:
    """The end of a text, with characters that would disturb a terminal escaped."""
    end = text[-limit - 1 :]
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in end)
    return escaped if len(escaped) <= limit else "…" + escaped[1 - limit :]


def _lines(kept: bytes | bytearray) -> list[str]:
    """The lines that are not blank; the first one is marked where its beginning was not kept, so that it is no number."""
    text = ("…" if len(kept) > KEPT else "") + kept[-KEPT:].decode(errors="replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _last_errors(kept: bytes | bytearray) -> str:
    """The end of the standard error, to end a message with."""
    lines = _lines(kept)[-5:]
    return f"; its standard error ends: {_shown(' | '.join(lines), 500)}" if lines else ""


def _said(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"ended with exit status {status}"
    known = -status in set(signal.Signals)
    return f"was killed by {signal.Signals(-status).name if known else f'signal {-status}'}"


# All of it


@dataclass(frozen=True)
class Program:
    """The user's program, as a command with placeholders; see the top of this module for those.

    After `timeout` seconds a run is ended, with all processes of its group: they are asked to, and killed soon after.
    Up to `retries` more runs follow a failed one; `values` is how many numbers it reports. Several threads may measure
    at once.
    """

    command: str
    shell: bool = False
    timeout: float | None = None
    retries: int = 0
    values: int = 1
    _runs: _Runs = field(default_factory=_Runs, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.timeout is not None and not self.timeout > 0:
            raise ArgumentError(f"the timeout must be more than 0 seconds, got {self.timeout}")
        if self.retries < 0:
            raise ArgumentError(f"retries must be 0 or more, got {self.retries}")
        if self.values < 1:
            raise ArgumentError(f"a program must report at least one value, got values={self.values}")

    @cached_property
    def _template(self) -> Template:
        template = read_template(self.command)
        if self.shell:
            check_places(template)
        return template

    @cached_property
    def _words(self) -> list[Template]:
        """The arguments; a command for a shell is one text, which the shell splits."""
        return [self._template] if self.shell else split_template(self._template)

    def _filled(self, word: Template, values: Mapping[str, Any]) -> list[list[str]]:
        """What the placeholders of a word become, where there are values for them."""
        edges = EDGES if self.shell else ""
        return [
            fill(hole, values[hole.name], alone=word.alone(k, edges))
            for k, hole in enumerate(word.holes)
            if hole.name in values
        ]

    def _check_names(self, names: Collection[str]) -> None:
        known = list(dict.fromkeys([*names, *OURS]))
        for hole in self._template.holes:
            if hole.name not in known:
                raise ArgumentError(f"{unknown_choice('a placeholder', hole.name, known)} ({BRACES})")
            if hole.name in OURS and hole.name in names:
                raise ArgumentError(
                    f"{hole} is not the variable of that name in a command; call the variable something else"
                )

    def check(self, names: Collection[str], orders: Mapping[str, Collection[Any]]) -> None:
        """An error for a command that cannot work, before anything is run.

        `names` are those of all variables; `orders` has the items of those that are orders, each of which must be in it.
        """
        self._check_names(names)
        for word in self._words:
            self._filled(word, {name: list(items) for name, items in orders.items()} | dict.fromkeys(OURS, ""))
        used = {hole.name for hole in self._template.holes}
        missing = [f"{{{name}}}" for name in orders if name not in used]
        if missing and "json" not in used:
            raise ArgumentError(
                f"the command '{_shown(self.command)}' does not say where {' and '.join(missing)} should be; put it there, "
                "or {json} for the whole point"
            )
        if self.shell:
            self._check_syntax()
        else:
            self._check_program()

    def _check_syntax(self) -> None:
        """Ask the shell, which reads the command but runs nothing of it."""
        text = shell_text(self._template, [[""]] * len(self._template.holes))
        done = subprocess.run([SHELL, "-n", "-c", text], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            raise ArgumentError(f"the shell cannot read the command{_last_errors(done.stderr)}")

    def _check_program(self) -> None:
        """Whether there is such a program, and no sign that a shell was meant."""
        for word in self._words:
            if word.texts[0] in OPERATORS and not word.holes:
                raise ArgumentError(
                    f"{word.texts[0]} in the command is for a shell: add --shell (and put it in quotes if it is an argument)"
                )
        first = self._words[0]
        if first.holes or shutil.which(first.texts[0]):
            return
        name = first.texts[0]
        if Path(name).is_file():
            raise ArgumentError(
                f"the program {name!r} is a file that may not be run; chmod +x {shlex.quote(name)} allows it"
            )
        raise ArgumentError(
            f"there is no program {name!r}; give its path, such as ./simulate, or add --shell if ~, variables or words of "
            "the shell are in the command"
        )

    def arguments(self, point: Mapping[str, Any], number: int, result: Path) -> list[str]:
        """The program and its arguments for a point; `number` is that of the trial."""
        self._check_names(point)
        values = {**point, "json": as_json(point), "trial": number, "result": result}
        if self.shell:
            return [SHELL, "-c", shell_text(self._template, self._filled(self._template, values))]
        arguments = []
        for word in self._words:
            filled = self._filled(word, values)
            if len(filled) == 1 and word.alone(0, ""):
                arguments += filled[0]
            else:
                after = (value + text for (value,), text in zip(filled, word.texts[1:], strict=True))
                arguments.append(word.texts[0] + "".join(after))
        return arguments

    def measure(self, point: Mapping[str, Any], number: int) -> tuple[float, ...]:
        """Run the program for a point, again if it fails and there are retries; what it reports."""
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
                raise ProgramError(f"{error} (this was the last of {runs} runs, which all failed)") from None

    def stop(self) -> None:
        """End the programs that run, from another thread; `measure` raises `StoppedError` from now on.

        When it returns, none of them runs any more. Children that a program left behind when it ended by itself are
        not looked for.
        """
        self._runs.stop(2 * GRACE + DRAIN + 1)

    def _measure(self, point: Mapping[str, Any], number: int) -> tuple[float, ...]:
        """One run."""
        told = {"MERGEBO_TRIAL": str(number), "MERGEBO_POINT": as_json(point)}
        with self._runs.one(), tempfile.TemporaryDirectory(prefix="mergebo-", ignore_cleanup_errors=True) as folder:
            result = Path(folder) / "result.json"
            with _Watch(_start(self.arguments(point, number, result), {**os.environ, **told})) as watch:
                watch.until(lambda: watch.ended or self._runs.stopped, self.timeout or math.inf)
                ended = watch.ended
                if ended:
                    watch.until(lambda: watch.silent, DRAIN)
            if not ended and self._runs.stopped:
                raise StoppedError("stopped: the program was ended before it reported a value")
            if not ended:
                raise ProgramError(
                    f"the program took longer than {self.timeout:g} s and was ended{_last_errors(watch.errors)}"
                )
            return self._read(watch, result)

    def _read(self, watch: _Watch, result: Path) -> tuple[float, ...]:
        """The values of a program that ended."""
        status = watch.process.returncode
        if status:
            raise ProgramError(f"the program {_said(status)}{_last_errors(watch.errors)}")
        if any(hole.name == "result" for hole in self._template.holes):
            return self._read_file(result)
        lines = _lines(watch.output)
        if not lines:
            raise ProgramError(
                f"the program printed nothing and {_said(status)}; it should print {self._wanted} as the end of its last "
                f"line{_last_errors(watch.errors)}"
            )
        try:
            return read_line(lines[-1], self.values)
        except ValueError as error:
            raise ProgramError(
                f"the last line that the program printed should end with {self._wanted}, but {error}: {_shown(lines[-1])}"
            ) from None

    def _read_file(self, result: Path) -> tuple[float, ...]:
        if not result.is_file():
            raise ProgramError(f"the program did not write {self._wanted} into the file that it got for {{result}}")
        content = b""
        try:
            with result.open("rb") as file:
                content = file.read(LARGEST + 1)
            if len(content) > LARGEST:
                raise ValueError(f"it is larger than {LARGEST} bytes")
            return read_result(content, self.values)
        except (OSError, ValueError) as error:
            text = _shown(content[-KEPT:].decode(errors="replace"))
            raise ProgramError(f"the program's result file should have {self._wanted}, but {error}: {text}") from None

    @property
    def _wanted(self) -> str:
        return "a number" if self.values == 1 else f"{self.values} numbers"
