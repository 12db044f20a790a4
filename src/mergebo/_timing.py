"""Wall-clock time of the phases of a computation, recorded only within `collect`.

>>> with collect() as seconds:
...     with phase("fit"):
...         pass
>>> list(seconds)
['fit']
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_collected: ContextVar[dict[str, float] | None] = ContextVar("seconds", default=None)


@contextmanager
def collect() -> Iterator[dict[str, float]]:
    """Collect the seconds of each phase by name; repeated phases are summed."""
    seconds: dict[str, float] = defaultdict(float)
    token = _collected.set(seconds)
    try:
        yield seconds
    finally:
        _collected.reset(token)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Time a block under this name."""
    seconds, start = _collected.get(), time.perf_counter()
    try:
        yield
    finally:
        if seconds is not None:
            seconds[name] += time.perf_counter() - start
