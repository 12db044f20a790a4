"""The code of docs/extend.md: its blocks are executed here, so its conformance suites run as tests of this file."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

pytest.importorskip("botorch", reason="needs the extra torch")
from mergebo import errors
from mergebo.experiments.runner import run_file
from mergebo.methods import METHODS

PAGE = (Path(__file__).parents[2] / "docs" / "extend.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
with patch.dict(METHODS):  # names given to methods are for this page alone
    for block in BLOCKS:
        exec(compile(block, "docs/extend.md", "exec"), globals())


@pytest.mark.slow
def test_own_methods_run_in_benchmarks(shell: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("".join(BLOCKS))
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    assert "18 jobs done" in shell(commands)
    assert {"near-the-best", "ends", "random"} <= set(re.findall("[a-z-]+", (tmp_path / "runs/mine/report.md").read_text()))


@pytest.mark.parametrize("path", ["no-such.py", "docs", "README.md"])
def test_only_python_files_are_run(path: str) -> None:
    with pytest.raises(errors.ArgumentError, match=f"a Python file, such as mine.py, got '{path}'"):
        run_file(path)


def test_suites_are_collected() -> None:
    assert {"TestBubble", "TestEndsKernel", "TestQueue", "TestWeekday", "TestNearTheBest"} <= globals().keys()


SLOW_AT_FIRST = """
import time
from mergebo.sorting import EnumerationMap
from mergebo.testing import MapSuite

class SlowAtFirst(EnumerationMap):
    slow = [0.5]

    def _encode(self, rows):
        if self.slow:
            time.sleep(self.slow.pop())
        return super()._encode(rows)

class TestSlowAtFirst(MapSuite):
    def make(self, n):
        return SlowAtFirst(n)
"""


@pytest.mark.slow
def test_suites_allow_for_slow_first_calls(tmp_path: Path) -> None:
    """Outside this project, where hypothesis has its default deadline of 0.2 seconds per example."""
    (tmp_path / "test_slow.py").write_text(SLOW_AT_FIRST)
    command = [sys.executable, "-m", "pytest", "-q", "-k", "equals_its_algorithm", "test_slow.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
