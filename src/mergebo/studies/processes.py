"""Names of processes, by which others on the same machine can tell whether the process that evaluates a trial still runs."""

from __future__ import annotations

import os
import socket
from pathlib import Path

__all__ = ["is_dead", "is_here", "process_name", "this_process"]


def this_process() -> str:
    """The name of this process: machine, process id and start time, since process ids are reused."""
    return process_name(os.getpid())


def process_name(pid: int) -> str:
    """The name of a process of this machine."""
    return f"{_machine()}:{pid}:{_start_time(pid)}"


def is_here(process: str) -> bool:
    """Whether a process belongs to this machine."""
    return process.rsplit(":", 2)[0] == _machine()


def is_dead(process: str) -> bool:
    """Whether a process of this machine has ended; False for processes of other machines, which cannot be checked."""
    if not is_here(process):
        return False
    _, pid, start_time = process.rsplit(":", 2)
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # a process of another user
        return False
    return start_time != _start_time(int(pid))


def _machine() -> str:
    """The name of this machine and its PID namespace, since containers on one machine number their processes separately."""
    try:
        return f"{socket.gethostname()}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not Linux
        return f"{socket.gethostname()}/"


def _start_time(pid: int) -> str:
    """When a process started, counted from boot; empty if it has ended or the system does not say."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else fields[18]
