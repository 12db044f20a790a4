"""A folder of logs: what each run of a program printed, how it ended and how long it took.

The run of trial 3 is in `3.out`, `3.err` and `3.json`. If there are several, the second one is in `3-2.out` and so on:
nothing is overwritten, so workers may share a folder. Output appears as soon as the program has printed it.
"""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Literal

from mergebo.errors import ArgumentError

__all__ = ["RunLog", "make_log_folder"]

logger = logging.getLogger(__name__)


def make_log_folder(folder: Path) -> None:
    """Create a folder if it does not exist; raises an error if no files can be created in it."""
    probe = folder / f".mergebo-{time.time_ns()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ArgumentError(f"the folder of logs {str(folder)!r} cannot be written: {error.strerror}") from error


class RunLog:
    """The log of one run, if there is a folder for it. A full disk costs no result: what cannot be written is missing."""

    def __init__(self, folder: Path | None, trial: int) -> None:
        self._data: dict[str, Any] = {"trial": trial}
        self._begun = time.monotonic()
        self._files: dict[str, BinaryIO] = {}
        if folder is not None:
            try:
                self._open(folder, trial)
            except OSError as error:
                self._give_up(error)

    def _open(self, folder: Path, trial: int) -> None:
        """Create the files under the first name that is not taken."""
        for run in count(1):
            name = str(trial) if run == 1 else f"{trial}-{run}"
            try:
                self._files["json"] = (folder / f"{name}.json").open("xb", buffering=0)
                break
            except FileExistsError:
                continue
        self._data |= {"run": run, "start": datetime.now(UTC).isoformat(timespec="milliseconds")}
        for kind in ("out", "err"):
            self._files[kind] = (folder / f"{name}.{kind}").open("wb", buffering=0)

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def record(self, **data: Any) -> None:
        """Write more about the run, such as how it ended."""
        self._data |= {"seconds": round(time.monotonic() - self._begun, 3), **data}
        if file := self._files.get("json"):
            lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in self._data.items())
            try:
                file.seek(0)
                file.truncate()
                file.write(f"{{\n{lines}\n}}\n".encode())
            except OSError as error:
                self._give_up(error)

    def write(self, kind: Literal["out", "err"], data: bytes) -> None:
        """Write what the program has printed to its standard output or error."""
        if file := self._files.get(kind):
            try:
                file.write(data)
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        logger.warning("the log of trial %d is not complete: %s", self._data["trial"], error.strerror)
        self._close()

    def _close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files = {}
