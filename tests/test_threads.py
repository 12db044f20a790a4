"""Threads of numerical libraries."""

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
from mergebo.surrogate import GP
from mergebo.threads import one_blas_thread, one_thread


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    """Set from a thread that ends, so that none is in control: as when nobody had limited anything."""
    before = blas_threads()

    def allow(count: int) -> None:
        thread = threading.Thread(target=ThreadpoolController().limit, kwargs={"limits": count, "user_api": "blas"})
        thread.start()
        thread.join()

    allow(3)
    assert blas_threads() == {3}
    yield
    allow(max(before))


def test_one_within_and_as_many_as_before_afterwards() -> None:
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {3}


@pytest.mark.needs_torch
def test_torch_keeps_its_own_unless_all_are_meant() -> None:
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


@pytest.mark.needs_torch
def test_a_job_that_loads_torch_uses_one_thread() -> None:
    code = """
import sys
from mergebo.experiments.jobs import Job, run
from mergebo.optimizers.turbo import Turbo

propose, seen = Turbo.propose, []

def watched(*arguments):
    row = propose(*arguments)
    seen.append(sys.modules["torch"].get_num_threads())
    return row

Turbo.propose = watched
assert "torch" not in sys.modules
run(Job("tsp:random(n=5)", "turbo", seed=0, budget=6, initial=4))
print(*seen, sys.modules["torch"].get_num_threads())
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["1", "1", "2"]


def test_an_error_leaves_nothing_behind() -> None:
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == {3}


def test_two_at_once_leave_as_many_as_there_were() -> None:
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


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda optimizer: optimizer.ask(), id="ask"),
        pytest.param(lambda optimizer: optimizer.explain(), id="explain"),
        pytest.param(lambda optimizer: optimizer.best, id="best of noisy values"),
    ],
)
def test_models_are_made_and_read_with_one(use: Callable[[mb.Optimizer], object], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    covariance = GP._covariance

    def watched(self: GP, distances: np.ndarray) -> np.ndarray:
        seen.append(blas_threads())
        return covariance(self, distances)

    optimizer = mb.Optimizer(mb.PermutationSpace(6), "auto", initial=4, noisy=True, seed=0)
    for k, trial in enumerate(optimizer.ask(4)):
        optimizer.tell(trial, float(k))
    monkeypatch.setattr(GP, "_covariance", watched)
    use(optimizer)
    assert seen
    assert all(each == {1} for each in seen)
    assert blas_threads() == {3}
