"""Limits on the number of threads of numerical libraries."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import OpenBLASController, get_cached_controller, threadpool_limits

_lock = threading.Lock()
_limits: list[Any] = []
"""One entry per active `one_blas_thread`, all the same since the limit is process-wide; the last one to exit lifts it."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the BLAS of NumPy and SciPy to one thread within; torch is not affected. Also works as a decorator.

    Models multiply many small matrices, alternating between two libraries with thread pools of their own. The threads spend
    more time waiting than computing, and almost stall on a busy machine; see `benchmarks/auto.py`.
    """
    with _lock:
        _limits.append(_limits[0] if _limits else get_cached_controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _limits.pop()
            if not _limits:
                # Only the thread that set a limit may change it, unless the controlling thread is cleared.
                OpenBLASController.clear_controlling_thread()
                limit.restore_original_limits()
                OpenBLASController.clear_controlling_thread()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit all numerical libraries to one thread, so that jobs can run in parallel with reproducible results."""
    with threadpool_limits(1), _one_torch_thread():
        yield


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    """The same for torch, which has its own threads. Only if it is loaded: importing it is slow, and it is optional."""
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
