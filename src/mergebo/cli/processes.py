"""Which process evaluates a trial, in words that let others on the same machine see whether it still runs."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def this_process() -> str:
    """The name of this process: its machine, its number there, and when it began, for numbers are given again."""
    return f"{_machine()}:{os.getpid()}:{_began(os.getpid())}"


def is_here(process: str) -> bool:
    """Whether a process is one of this machine."""
    return process.rsplit(":", 2)[0] == _machine()


def is_dead(process: str) -> bool:
    """Whether a process of this machine has ended; of others nobody here can tell."""
    if not is_here(process):
        return False
    _, number, began = process.rsplit(":", 2)
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # that of another user
        return False
    return began != _began(int(number))


def _machine() -> str:
    """The name of this machine; of containers that share one, each has its own numbers of processes."""
    try:
        return f"{socket.gethostname()}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # no Linux
        return f"{socket.gethostname()}/"


def _began(number: int) -> str:
    """When a process began, after the machine did; nothing for one that ended, or where that is not told."""
    try:
        state, *fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else fields[18]
