"""Names of processes."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from mergebo.studies.processes import is_dead, is_here, process_name, this_process


def test_dead_processes() -> None:
    machine, pid, start_time = this_process().rsplit(":", 2)
    child = subprocess.Popen(["sleep", "60"])
    other = process_name(child.pid)
    assert is_here(this_process())
    assert not is_dead(this_process())
    assert not is_dead(other)
    assert is_dead(f"{machine}:{pid}:{start_time}1")  # a later process with the same id
    assert not is_here(f"other{machine}:{pid}:{start_time}")
    assert not is_dead(f"other{machine}:1{pid}:{start_time}")
    assert not is_dead("")
    child.kill()
    while Path(f"/proc/{child.pid}/stat").read_text().split()[2] != "Z":
        time.sleep(0.01)
    assert is_dead(other)  # a zombie
    child.wait()
    assert is_dead(other)
