"""Programs for tests, and names that could break a command."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from mergebo.studies.command import Command
from mergebo.studies.program import Program

ABC = {"order": ["b", "c", "a"]}
HOSTILE = [
    "two words",
    "a,b",
    "it's",
    'say "hi"',
    "größe 中文 🎈",
    "two\nlines\n",
    ";touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "&& touch pwned #",
    "'; touch pwned; '",
    "'\"'\"'; touch pwned #",
    "$HOME ${HOME} ~ *",
    "a[$(touch pwned)]",
    "back\\slash\\",
    "-n",
    "--help",
    "2",
    "x=y",
    "",
    " ",
    "\t",
    "{order}",
    "}{",
    "%s",
]
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
ITEMS = st.lists(st.one_of(TEXTS, st.sampled_from(HOSTILE)), min_size=1, max_size=6)


def script(text: str, name: str = "simulate") -> str:
    """Write a shell script to the current folder; returns the first word of a command that runs it."""
    path = Path(name)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"./{name}"


def python(code: str) -> str:
    """The beginning of a command that runs Python code."""
    return f"{shlex.quote(sys.executable)} -S -c {shlex.quote(code.replace('{', '{{').replace('}', '}}'))}"


ECHO = python("import json, sys; json.dump(sys.argv[1:], open('received', 'w')); print(1)")


def received() -> list[str]:
    return json.loads(Path("received").read_text())


def arguments(command: str, point: dict[str, Any] = ABC, **options: Any) -> list[str]:
    return Command(command, **options).arguments(point, 7, Path("/tmp/result"))


def in_shell(command: str, point: dict[str, Any] = ABC) -> list[str]:
    """What a program receives from a shell: words as split by `shlex`, with the variables replaced."""
    shell, flag, text = arguments(command, point, shell=True)
    assert (shell, flag) == ("/bin/sh", "-c")
    variables: dict[str, str] = {}
    words: list[str] = []
    for word in shlex.split(text):
        name, equals, value = word.partition("=")
        if equals and name.startswith("mergebo_") and not words:
            variables[name] = value
        else:
            words.append(re.sub(r"\$\{(mergebo_\d+)\}", lambda match: variables[match[1]], word))
    return words


def measure(command: str, point: dict[str, Any] = ABC, grace: float = 0.5, **options: Any) -> tuple[float, ...]:
    return Program(command, grace=grace, **options).measure(point, 7)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(path: str) -> str:
    """The content of a file that a program writes soon."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if os.path.exists(path) and (text := Path(path).read_text()):
            return text
        time.sleep(0.01)
    raise AssertionError(f"{path} was not written")
