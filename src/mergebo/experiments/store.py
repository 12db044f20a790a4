"""Durable storage of records in a folder, safe against kills and concurrent runners."""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mergebo.errors import RecordFileError
from mergebo.experiments.jobs import Job, Record

__all__ = ["Store"]


class Store:
    """`records.jsonl` in a folder, with one line per finished job, and the claims of runners on jobs.

    A line is written whole, under a lock, and is on the disk before `add` returns. A partial line left by a kill is removed
    by the next writer. A claim is an operating system lock on one byte of a file: it ends with the process that holds it,
    however that ends.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "records.jsonl"
        self._locks = os.open(self.folder / ".locks", os.O_RDWR | os.O_CREAT, 0o666)
        self._within = threading.RLock()  # file locks exclude processes, not threads
        self._read = 0
        self._records: dict[str, Record] = {}
        self._lines = 0

    def records(self) -> list[Record]:
        """The records in the order of job keys; of a job that failed and was run again, the last."""
        with self._within:
            self._refresh()
            return [self._records[key] for key in sorted(self._records)]

    def is_done(self, job: Job) -> bool:
        """Whether the job has a record without an error."""
        with self._within:
            self._refresh()
            return job.key in self._records and not self._records[job.key].error

    def claim(self, job: Job) -> bool:
        """Claim a job; False if it is done or another runner has claimed it."""
        with self._within:
            try:
                fcntl.lockf(self._locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(job))
            except OSError:
                return False
            if self.is_done(job):  # meanwhile
                self.release(job)
                return False
            return True

    def release(self, job: Job) -> None:
        """Release the claim on a job."""
        fcntl.lockf(self._locks, fcntl.LOCK_UN, 1, _byte(job))

    def add(self, record: Record) -> None:
        """Write a record and release the claim on its job."""
        line = record.to_line().encode() + b"\n"
        with self._within, self._writing(), self.path.open("ab+") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(self._end_of_last_line(end))
            file.truncate()
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.release(record.job)

    def _end_of_last_line(self, end: int) -> int:
        """Offset of the end of the last complete line."""
        self._refresh()
        return min(self._read, end)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        fcntl.lockf(self._locks, fcntl.LOCK_EX, 1, 0)
        try:
            yield
        finally:
            fcntl.lockf(self._locks, fcntl.LOCK_UN, 1, 0)

    def _refresh(self) -> None:
        """Read the lines that were added since the last call, but no incomplete last line."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        new = new[: new.rfind(b"\n") + 1]
        for line in new.splitlines():
            self._lines += 1
            try:
                record = Record.from_line(line.decode())
            except (ValueError, KeyError, TypeError) as error:
                raise RecordFileError(
                    f"{self.path}, line {self._lines}, is not a valid record: {error}; remove the line to go on"
                ) from error
            self._records[record.job.key] = record
        self._read += len(new)

    def close(self) -> None:
        """Release all claims."""
        os.close(self._locks)


def _byte(job: Job) -> int:
    """The offset of the job's byte in the lock file; byte 0 is the lock for writing."""
    return 1 + int.from_bytes(hashlib.sha256(job.key.encode()).digest()[:7], "big")
