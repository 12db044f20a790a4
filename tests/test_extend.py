"""What the page on extending shows passes the suites that it names: its classes, tests included, are here as it has them."""

from __future__ import annotations

import re
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
