"""Limits on the threads of numerical libraries."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import mergebo as mb
from mergebo._threads import one_blas_thread, one_thread
from mergebo.similarity import Product


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    """Set from a thread that ends, so that no thread is in control, as without any limit."""
    before = blas_threads()

    def limit(count: int) -> None:
        thread = threading.Thread(target=ThreadpoolController().limit, kwargs={"limits": count, "user_api": "blas"})
        thread.start()
        thread.join()

    limit(3)
    assert blas_threads() == {3}
    yield
    limit(max(before))


def test_one_thread_within_and_the_old_limit_afterwards() -> None:
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {3}


@pytest.mark.needs_torch
def test_torch_is_limited_by_one_thread_only() -> None:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_blas_thread():
            assert torch.get_num_threads() == 2
        with one_thread():
            assert torch.get_num_threads() == 1
            assert blas_threads() == {1}
        assert torch.get_num_threads() == 2
        assert blas_threads() == {3}
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.needs_torch
def test_a_job_that_loads_torch_uses_one_thread() -> None:
    code = """
import sys
from mergebo.experiments.jobs import Job, run_job
from mergebo.methods.turbo import Turbo

propose, seen = Turbo.propose, []

def watched(*arguments):
    row = propose(*arguments)
    seen.append(sys.modules["torch"].get_num_threads())
    return row

Turbo.propose = watched
assert "torch" not in sys.modules
run_job(Job("tsp:random(n=5)", "turbo", seed=0, budget=6, initial=4))
print(*seen, sys.modules["torch"].get_num_threads())
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["1", "1", "2"]


def test_an_error_restores_the_limit() -> None:
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == {3}


def test_concurrent_limits_restore_the_old_one() -> None:
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(20)
    with one_blas_thread():
        assert blas_threads() == {1}
        leave.set()
        thread.join()
        assert blas_threads() == {1}
    assert blas_threads() == {3}


@pytest.mark.slow
@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda optimizer: optimizer.ask(), id="ask"),
        pytest.param(lambda optimizer: optimizer.explain(), id="explain"),
        pytest.param(lambda optimizer: optimizer.best, id="best of noisy values"),
    ],
)
def test_models_use_one_thread(use: Callable[[mb.Optimizer], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever they compute covariances, which begins with distances."""
    seen = []
    distances = Product.distances

    def watched(self: Product, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        seen.append(blas_threads())
        return distances(self, rows, others)

    optimizer = mb.Optimizer(mb.PermutationSpace(6), "auto", initial=4, noisy=True, seed=0)
    for k, trial in enumerate(optimizer.ask(4)):
        optimizer.tell(trial, float(k))
    monkeypatch.setattr(Product, "distances", watched)
    use(optimizer)
    assert seen
    assert all(each == {1} for each in seen)
    assert blas_threads() == {3}
