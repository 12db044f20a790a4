"""A folder of records that survives anything: kills at any moment, and several runners at once."""

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


class Store:
    """`records.jsonl` in a folder, one line a finished job, and who is at work on which job.

    A line is written whole, under a lock, and is on the disk before `add` returns. What a kill leaves of a line is dropped
    by the next writer. Claims are locks of the operating system on one byte of a file for each job: they end with the
    process that holds them, however it ends.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "records.jsonl"
        self._locks = os.open(self.folder / ".locks", os.O_RDWR | os.O_CREAT, 0o666)
        self._within = threading.RLock()  # those locks are between processes; threads share them
        self._read = 0
        self._records: dict[str, Record] = {}
        self._lines = 0

    def records(self) -> list[Record]:
        """The records by job, in the order of keys; of a job that failed and was done again, the last."""
        with self._within:
            self._refresh()
            return [self._records[key] for key in sorted(self._records)]

    def is_done(self, job: Job) -> bool:
        """Whether the job has a record, of a success."""
        with self._within:
            self._refresh()
            return job.key in self._records and not self._records[job.key].error

    def claim(self, job: Job) -> bool:
        """Take a job that is not done; False if it is, or if another runner has it."""
        with self._within:
            try:
                fcntl.lockf(self._locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(job))
            except OSError:
                return False
            if self.is_done(job):  # since we last looked
                self.release(job)
                return False
            return True

    def release(self, job: Job) -> None:
        """Give a claimed job back."""
        fcntl.lockf(self._locks, fcntl.LOCK_UN, 1, _byte(job))

    def add(self, record: Record) -> None:
        """Write a record and give its job back."""
        line = record.to_line().encode() + b"\n"
        with self._within, self._writing(), self.path.open("ab+") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(self._whole(end))
            file.truncate()
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.release(record.job)

    def _whole(self, end: int) -> int:
        """Where the last whole line ends."""
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
        """Read the lines that were added since the last time; one without its end is not there yet."""
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
                    f"{self.path}, line {self._lines}, is no record: {error}; remove it to go on"
                ) from error
            self._records[record.job.key] = record
        self._read += len(new)

    def close(self) -> None:
        """Give everything back."""
        os.close(self._locks)


def _byte(job: Job) -> int:
    """The job's byte in the file of locks; byte 0 is for writing."""
    return 1 + int.from_bytes(hashlib.sha256(job.key.encode()).digest()[:7], "big")
