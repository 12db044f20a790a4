"""Programs end with the process that started them, even if it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mergebo.studies import child as module
from mergebo.studies.child import Guard, Runs
from mergebo.studies.command import SHELL
from program_helpers import alive, measure, script

pytestmark = pytest.mark.usefixtures("program_folder")


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


def content(path: str) -> str:
    """The content of a file that is written soon."""
    wait_until(lambda: Path(path).exists() and Path(path).read_text())
    return Path(path).read_text()


@contextmanager
def worker(threads: int = 1, grace: float = 0.3) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs `./simulate` in threads."""
    code = f"""
import sys, tempfile, threading
sys.path.insert(0, {str(Path(module.__file__).parents[2])!r})
tempfile.tempdir = {tempfile.gettempdir()!r}
from mergebo.studies.program import Program
program = Program("./simulate {{order}}", grace={grace})
for k in range({threads}):
    threading.Thread(target=program.measure, args=({{"order": [k]}}, k)).start()
"""
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_programs_end_with_a_worker_that_is_killed() -> None:
    """All processes of all its programs, and what ignores the request to end; their folders are removed."""
    script('trap "" TERM; sleep 60 & echo $! > child.$1; echo $$ > pid.$1; sleep 60; true')
    with worker(2) as killed:
        pids = [int(content(f"{name}.{k}")) for name in ("child", "pid") for k in range(2)]
        folders = list(Path(tempfile.gettempdir()).glob("mergebo-*"))
        assert len(folders) == 2
        time.sleep(0.2)  # the worker has to name the groups to the guards
        killed.kill()
        wait_until(lambda: not any(map(alive, pids)))
        wait_until(lambda: not any(folder.exists() for folder in folders))


@pytest.mark.slow
def test_programs_have_a_chance_to_clean_up() -> None:
    script('trap "echo clean > log; exit" TERM; echo $$ > pid; sleep 60 & wait')
    with worker(grace=20) as killed:
        content("pid")
        time.sleep(0.2)
        killed.kill()
        assert content("log") == "clean\n"
        wait_until(lambda: not list(Path(tempfile.gettempdir()).iterdir()))


def test_a_guard_leaves_alone_what_has_ended_before() -> None:
    """Children that a program leaves behind belong to the user."""
    assert measure(script("sleep 30 >&- 2>&- & echo $! > pid; echo 3") + " {order}") == (3,)
    left = int(Path("pid").read_text())
    assert alive(left)
    os.kill(left, signal.SIGKILL)


def test_a_guard_without_a_program_removes_the_folder() -> None:
    """Its worker was killed before it could start the program."""
    Path("it's a folder").mkdir()
    Path("it's a folder/file").touch()
    other = Path("other")
    other.mkdir()
    shell = subprocess.Popen([SHELL, "-c", module.GUARD, "mergebo", "it's a folder", "1"], stdin=subprocess.PIPE)
    shell.communicate(timeout=20)
    assert not Path("it's a folder").exists()
    assert other.exists()


def test_a_guard_that_was_killed_is_of_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    with Guard("nowhere", 0.1) as guard:
        guard._shell.kill()
        guard._shell.wait()
        guard.protect(1)
    monkeypatch.setattr(Guard, "protect", lambda self, group: self._shell.kill())
    assert measure("echo {order}", {"order": [3]}) == (3,)


def test_a_pause_ends_with_a_stop() -> None:
    runs = Runs()
    start = time.monotonic()
    runs.pause(0.01)
    runs.stop(0)
    runs.pause(60)
    assert time.monotonic() - start < 20
