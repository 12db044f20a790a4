"""How long the parts of a computation take, for whoever asks; nothing is measured otherwise.

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
    """Seconds by the name of the phase, summed over all phases within."""
    seconds: dict[str, float] = defaultdict(float)
    before = _collected.set(seconds)
    try:
        yield seconds
    finally:
        _collected.reset(before)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """A part that is measured under this name."""
    seconds, start = _collected.get(), time.perf_counter()
    try:
        yield
    finally:
        if seconds is not None:
            seconds[name] += time.perf_counter() - start
