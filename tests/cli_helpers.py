"""Run the command line in this process, and names that could break it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

from mergebo.cli import main

HOSTILE = [
    "two words",
    "a,b",
    "it's",
    'say "hi"',
    "größe 中文 🎈 👨‍👩‍👧",
    ";rm -rf x",
    "$(touch pwned)",
    "`touch pwned`",
    "[bold]x[/]",
    "[/]",
    "[link=x",
    ":smile:",
    "100%s %d",
    "$x^$",
    "$\\frac{$",
    "{order}",
    "a:b",
    "<script>alert(1)</script>&amp;",
    "-n",
    "1,5",
    "=1+1",
    "x" * 300,
]
JOURNAL = "journal:///studies.log"


class Terminal(io.StringIO):
    """An output that is a terminal."""

    def isatty(self) -> bool:
        return True


class Output(NamedTuple):
    """The exit code of a command and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The only line of the output."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def run(*arguments: object, out: io.StringIO | None = None) -> Output:
    """Run `mergebo` with these arguments."""
    out, err = out or io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["mergebo", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    status = ended.value.code
    assert isinstance(status, int)
    return Output(status, out.getvalue(), err.getvalue())


def works(*arguments: object) -> Output:
    """Run a command that succeeds."""
    output = run(*arguments)
    assert (output.status, output.err) == (0, ""), output
    return output


def refused(*arguments: object) -> str:
    """The message for an invalid request, which must be all that is printed."""
    output = run(*arguments)
    assert output.status == 2, output
    assert output.out == ""
    assert output.err.startswith("mergebo: ")
    assert "Traceback" not in output.err
    return output.err.removeprefix("mergebo: ")


def script(code: str, name: str = "simulate.py") -> str:
    """Write a Python program to the current folder; returns the beginning of a command that runs it."""
    Path(name).write_text(code)
    return f"{shlex.quote(sys.executable)} -S {name}"


MISPLACED = """
import sys
order = sys.argv[1:]
print("loss:", sum(abs(slot - "abcdefgh".index(item)) for slot, item in enumerate(order)))
"""


def quoted(items: list[str]) -> str:
    """Items as an argument for `--items`, quoted."""
    return ",".join('"' + item.replace('"', '""') + '"' for item in items)


def optimize(command: str, budget: int = 6, *arguments: object, items: str = "a,b,c,d", method: str = "random") -> Output:
    return run("optimize", "--items", items, "--command", command, "--budget", budget, "--method", method, *arguments)


def wait_for(path: str) -> None:
    end = time.monotonic() + 30
    while not os.path.exists(path):
        assert time.monotonic() < end, f"{path} was not written"
        time.sleep(0.02)


EVERYTHING = ["--items", quoted(HOSTILE[:6]), "--real", "heat=0.001:1000:log", "--integer", "cycles=-5:40"]
EVERYTHING += ["--choice", 'salt=K,"Na, dry",[/]', "--binary", "picks=3"]
