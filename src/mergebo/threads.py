"""How many threads numerical libraries use."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import OpenBLASController, get_cached_controller, threadpool_limits

_lock = threading.Lock()
_limits: list[Any] = []
"""The same for all that are within `one_blas_thread`, since it holds for the whole process; the last one out lifts it."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """NumPy and SciPy multiply and factorise on one thread within, torch as before. Also a decorator.

    Models make many small matrices in turn, by two libraries that each wake threads of their own. These wait for one another
    longer than they work, and almost for ever where other programs keep the processors busy; see `benchmarks/auto.py`.
    """
    with _lock:
        _limits.append(_limits[0] if _limits else get_cached_controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _limits.pop()
            if not _limits:
                # Only the thread that set a limit may change it, until it is said that none is in control.
                OpenBLASController.clear_controlling_thread()
                limit.restore_original_limits()
                OpenBLASController.clear_controlling_thread()


@contextmanager
def one_thread() -> Iterator[None]:
    """All numerical libraries use one thread within: jobs run side by side, and results do not depend on their number."""
    with threadpool_limits(1), _one_torch_thread():
        yield


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    """The same for torch, which has threads of its own, if it is loaded; it is slow to load, and need not be installed."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
