"""Robustness: any sequence of calls, extreme values, threads, forks and long runs.

The numbers of cases are in `docs/trust.md`.
"""

from __future__ import annotations

import gc
import json
import math
import multiprocessing
import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

import mergebo as mb
from mergebo import errors
from small_spaces import SPACES


class Loop(RuleBasedStateMachine):
    """An optimiser against the simplest model of one: a list of rows with their states and values."""

    pending = Bundle("pending")

    @initialize(
        space=st.sampled_from(list(SPACES)),
        method=st.sampled_from(["random", "local-search", "genetic", "bops-h", "auto"]),
        direction=st.sampled_from(["minimize", "maximize"]),
        seed=st.integers(0, 3),
    )
    def begin(self, space: str, method: str, direction: Any, seed: int) -> None:
        self.space = SPACES[space]
        self.opt = mb.Optimizer(self.space, method, direction=direction, seed=seed, initial=3)
        self.sign = 1 if direction == "minimize" else -1
        self.model: list[tuple[bytes, str, float | None]] = []
        self.proposed: set[bytes] = set()

    def row(self, point: Any) -> bytes:
        return self.space.encode(point).tobytes()

    def added(self, trial: mb.Trial) -> int:
        assert trial.id == len(self.model)
        self.model.append((self.row(trial.point), "pending", None))
        return trial.id

    @rule(target=pending, count=st.integers(1, 3))
    def ask(self, count: int) -> Any:
        known = {row for row, _, _ in self.model}
        try:
            trials = self.opt.ask(count)
        except errors.ExhaustedError:
            assert len(known) >= self.space.size
            return st_multiple([])
        rows = [self.row(trial.point) for trial in trials]
        assert 1 <= len(rows) <= count
        assert len(set(rows)) == len(rows)
        assert not known & set(rows)  # no point is proposed twice
        return st_multiple([self.added(trial) for trial in trials])

    @rule(target=pending, seed=st.integers(0, 10**6))
    def attach(self, seed: int) -> int:
        return self.added(self.opt.attach(self.space.sample(seed=seed)))

    @rule(trial=consumes(pending), value=st.floats(-1e6, 1e6))
    def tell(self, trial: int, value: float) -> None:
        self.opt.tell(trial, value)
        self.model[trial] = (self.model[trial][0], "done", value)

    @rule(trial=pending, value=st.sampled_from([math.nan, math.inf, -math.inf]))
    def tell_a_value_that_is_not_finite(self, trial: int, value: float) -> None:
        with pytest.raises(errors.TrialError, match="finite"):
            self.opt.tell(trial, value)

    @rule(trial=consumes(pending))
    def fail(self, trial: int) -> None:
        self.opt.fail(trial)
        self.model[trial] = (self.model[trial][0], "failed", None)

    @rule(seed=st.integers(0, 10**6), value=st.floats(-1e6, 1e6))
    def tell_a_result_from_elsewhere(self, seed: int, value: float) -> None:
        """For the point of a pending trial it is recorded there; for one with a value it is an error."""
        point = self.space.sample(seed=seed)
        row = self.row(point)
        same = [k for k, (each, state, _) in enumerate(self.model) if each == row and state == "pending"]
        done = any(each == row and state == "done" for each, state, _ in self.model)
        if same:
            return  # the bundle could not tell that this trial is no longer pending
        if done:
            with pytest.raises(errors.TrialError):
                self.opt.tell(point, value)
            return
        self.opt.tell(point, value)
        self.model.append((row, "done", value))

    @rule(data=st.data())
    def tell_again(self, data: Any) -> None:
        finished = [k for k, (_, state, _) in enumerate(self.model) if state != "pending"]
        wrong = data.draw(st.sampled_from([*finished, len(self.model), -1]))
        with pytest.raises(errors.TrialError):
            self.opt.tell(wrong, 1.0)
        with pytest.raises(errors.TrialError):
            self.opt.fail(wrong)

    @rule()
    def save_and_load(self) -> None:
        self.opt = mb.Optimizer.from_state(json.loads(json.dumps(self.opt.state())))

    @invariant()
    def nothing_is_lost_and_the_best_is_right(self) -> None:
        if not hasattr(self, "opt"):
            return
        found = [(self.row(trial.point), trial.state, trial.value) for trial in self.opt.trials]
        assert found == self.model
        assert [trial.id for trial in self.opt.trials] == list(range(len(self.model)))
        values = [self.sign * value for _, state, value in self.model if state == "done" and value is not None]
        best = self.opt.best
        assert (best is None) == (not values)
        if best is not None:
            assert self.sign * best.value == min(values)


def st_multiple(values: list[int]) -> Any:
    from hypothesis.stateful import multiple

    return multiple(*values)


TestLoop = Loop.TestCase


TestLoop.settings = settings(
    max_examples=60 if settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "default")).max_examples <= 100 else 2000,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


VALUES: dict[str, Any] = {
    "constant": lambda k, rng: 3.0,
    "huge": lambda k, rng: 1e300 * rng.normal(),
    "tiny": lambda k, rng: 1e-300 * rng.normal(),
    "huge and tiny": lambda k, rng: rng.choice([1e300, 1e-300, 0.0, -1e300]),
    "nearly the largest": lambda k, rng: float(np.finfo(float).max) * rng.choice([1, -1]),
    "denormal": lambda k, rng: 5e-324 * rng.integers(0, 3),
    "one outlier": lambda k, rng: 1e12 if k == 3 else rng.normal(),
    "nearly constant": lambda k, rng: 1.0 + 1e-15 * rng.normal(),
    "large offset": lambda k, rng: 1e9 + rng.normal(),
    "two values": lambda k, rng: float(rng.integers(2)),
    "mostly failures": lambda k, rng: math.nan if k % 4 else rng.normal(),
    "integers": lambda k, rng: int(rng.integers(-5, 5)),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "method"),
    [
        *((kind, method) for kind in VALUES for method in ("auto", "bops-h", "mergebo")),
        ("huge", "turbo"),
        ("constant", "turbo"),
    ],
)
def test_extreme_values(kind: str, method: str) -> None:
    rng = np.random.default_rng(0)
    space = SPACES["mixed"] if method == "auto" and kind in ("huge", "constant") else mb.PermutationSpace(6)
    opt = mb.Optimizer(space, method, seed=0, initial=5)
    seen = set()
    for k in range(12):
        trial = opt.ask()
        seen.add(space.encode(trial.point).tobytes())
        value = VALUES[kind](k, rng)
        if math.isfinite(value):
            opt.tell(trial, value)
        else:
            opt.fail(trial)
    assert len(seen) == 12
    str(opt.explain())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "bops-h"])
def test_many_nearly_equal_observations(method: str) -> None:
    """Points that differ by one swap, and one point measured many times: kernel matrices are nearly singular."""
    space = mb.PermutationSpace(10)
    opt = mb.Optimizer(space, method, seed=0, initial=5, noisy=True)
    order = np.arange(10)
    for k in range(60):
        point = order if k % 3 else mb.permutations.swap(order, k % 9, k % 9 + 1)
        opt.tell(opt.attach(point), float(point[0]) + 1e-9 * k)
    for _ in range(3):
        trial = opt.ask()
        opt.tell(trial, 0.0)
    assert math.isfinite(opt.best.value)


@pytest.mark.slow
def test_two_thousand_observations() -> None:
    space = mb.PermutationSpace(12)
    opt = mb.Optimizer(space, seed=0)
    rows = np.unique(space.sample_rows(2100, seed=0), axis=0)[:2000]
    for row in rows:
        opt.tell(opt.attach(row), float(np.abs(row - np.arange(12)).sum()))
    trial = opt.ask()
    space.encode(trial.point)
    assert not (rows == trial.point).all(axis=1).any()


def run(seed: int) -> list[list[int]]:
    """The points of a short run."""
    problem = mb.problems.get("tsp:random(n=8,seed=3)")
    result = mb.minimize(problem.evaluate, problem.space, budget=16, initial=8, seed=seed)
    return [list(map(int, trial.point)) for trial in result.trials]


@pytest.mark.slow
def test_threads_do_not_disturb_each_other() -> None:
    expected = [run(seed) for seed in range(4)]
    found: dict[int, Any] = {}
    threads = [threading.Thread(target=lambda seed=seed: found.update({seed: run(seed)})) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in range(4)] == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_processes_work() -> None:
    """Also after compiled code was used before the fork."""
    expected = run(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(run, [0, 0]) == [expected, expected]


@pytest.mark.slow
def test_memory_stays_flat() -> None:
    """A thousand rounds of ask and tell, in runs of fifty each: caches are bounded."""
    code = """
import gc, resource, numpy as np, mergebo as mb
problem = mb.problems.get("lop:planted(n=7,seed=0)")
sizes = []
for seed in range(20):
    opt = mb.Optimizer(problem.space, "auto", seed=seed, initial=40)
    for _ in range(50):
        trial = opt.ask()
        opt.tell(trial, float(problem.evaluate(trial.point)))
    gc.collect()
    with open("/proc/self/statm") as file:
        sizes.append(int(file.read().split()[1]) * resource.getpagesize() / 2**20)
print(*sizes)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sizes = list(map(float, done.stdout.split()))
    assert sizes[-1] < sizes[5] + 20, sizes  # megabytes


@pytest.mark.slow
def test_no_references_to_a_deleted_optimiser_remain() -> None:
    import weakref

    opt = mb.Optimizer(mb.PermutationSpace(6), "bops-h", initial=4)
    for _ in range(8):
        opt.tell(opt.ask(), 1.0)
    reference = weakref.ref(opt)
    del opt
    gc.collect()
    assert reference() is None
