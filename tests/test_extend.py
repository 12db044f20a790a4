"""What the page on extending shows passes the suites that it names: its classes, tests included, are here as it has them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs" / "extend.md").read_text()
for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
    exec(compile(block, "docs/extend.md", "exec"), globals())


def test_each_is_short() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 4
    assert max(block.count("\n") for block in blocks) < 40


def test_the_suites_are_here() -> None:
    assert {"TestBubble", "TestEndsKernel", "TestQueue", "TestNearTheBest"} <= globals().keys()


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


def test_a_suite_waits_for_what_is_compiled_first(tmp_path: Path) -> None:
    """Elsewhere, without this project's settings for hypothesis, which allows a case 0.2 seconds."""
    (tmp_path / "test_slow.py").write_text(SLOW_AT_FIRST)
    command = [sys.executable, "-m", "pytest", "-q", "-k", "equals_its_algorithm", "test_slow.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
