"""The folder of logs."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from mergebo.errors import AccidentError, ArgumentError, ProgramError
from mergebo.studies.logs import RunLog, make_log_folder
from program_helpers import ABC, measure, script

LOGS = Path("logs")


@pytest.fixture(autouse=True)
def folder(program_folder: Path) -> None:
    make_log_folder(LOGS)


def logged(name: str) -> dict[str, Any]:
    data = json.loads((LOGS / f"{name}.json").read_text())
    assert time.time() - time.mktime(time.strptime(data["start"][:19], "%Y-%m-%dT%H:%M:%S")) < 100_000
    assert 0 <= data["seconds"] < 60
    return data


def test_a_run_that_reports_a_value() -> None:
    measure(script("echo one; echo 3; echo two >&2; printf '\\377' >&2") + " {order}", logs=LOGS)
    assert sorted(os.listdir(LOGS)) == ["7.err", "7.json", "7.out"]
    assert (LOGS / "7.out").read_bytes() == b"one\n3\n"
    assert (LOGS / "7.err").read_bytes() == b"two\n\xff"
    data = logged("7")
    assert {name: data[name] for name in ("trial", "run", "point", "command", "exit_code", "values")} == {
        "trial": 7,
        "run": 1,
        "point": ABC,
        "command": ["./simulate", "b", "c", "a"],
        "exit_code": 0,
        "values": [3.0],
    }


def test_all_output_is_there() -> None:
    """More than is kept to read the value from."""
    measure(
        script("i=0; while [ $i -lt 3000 ]; do echo 'a line of output, number '$i; i=$((i+1)); done") + " {order}", logs=LOGS
    )
    lines = (LOGS / "7.out").read_text().splitlines()
    assert lines == [f"a line of output, number {k}" for k in range(3000)]


def test_repeated_runs_have_files_of_their_own() -> None:
    text = "echo x >> runs; echo $(wc -l < runs); [ $(wc -l < runs) = 1 ] && kill -9 $$; [ $(wc -l < runs) = 3 ]"
    command = script(text) + " {order}"
    with pytest.raises(ProgramError, match="exit code 1"):
        measure(command, logs=LOGS)
    measure(command, logs=LOGS)
    assert [(LOGS / f"{name}.out").read_text() for name in ("7", "7-2", "7-3")] == ["1\n", "2\n", "3\n"]
    one, two, three = map(logged, ("7", "7-2", "7-3"))
    assert (one["run"], one["exit_code"], one["accident"]) == (1, -9, True)
    assert one["error"] == "the program was killed by SIGKILL"
    assert (two["run"], two["exit_code"], two["accident"]) == (2, 1, False)
    assert (three["run"], three["values"]) == (3, [3])


def test_programs_that_cannot_be_started_or_take_too_long() -> None:
    with pytest.raises(AccidentError):
        measure("./none {order}", logs=LOGS, retries=0)
    data = logged("7")
    assert "could not be started" in data["error"]
    assert "exit_code" not in data
    with pytest.raises(ProgramError):
        measure(script("echo 4; exec sleep 30") + " {order}", logs=LOGS, timeout=0.2)
    assert logged("7-2")["exit_code"] is None
    assert (LOGS / "7-2.out").read_text() == "4\n"


def test_output_appears_while_the_program_runs() -> None:
    assert measure(script("echo 1; while ! grep -q 1 logs/7.out; do sleep 0.02; done; echo 5") + " {order}", logs=LOGS) == (
        5,
    )
    begun = json.loads((LOGS / "7.json").read_text())
    assert begun["command"] == ["./simulate", "b", "c", "a"]


def test_a_folder_that_cannot_be_made() -> None:
    Path("file").touch()
    with pytest.raises(ArgumentError, match="the folder of logs 'file/logs' cannot be written: Not a directory"):
        make_log_folder(Path("file/logs"))
    with pytest.raises(ArgumentError, match="'file' cannot be written: File exists"):
        make_log_folder(Path("file"))
    make_log_folder(Path("a/b"))
    assert Path("a/b").is_dir()
    assert not list(Path("a/b").iterdir())


def test_values_are_read_without_their_log(caplog: pytest.LogCaptureFixture) -> None:
    """Whether the folder is missing or the disk is full."""
    assert measure(script("echo 3") + " {order}", logs=Path("missing")) == (3,)
    assert "the log of trial 7 is not complete: No such file or directory" in caplog.text
    with RunLog(LOGS, 8) as log:
        log._files["out"].close()
        log._files["out"] = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 (closed with the log)
        log.write("out", b"x")
        log.write("out", b"y")
        log.record(values=[1])
    assert "the log of trial 8 is not complete: No space left on device" in caplog.text
