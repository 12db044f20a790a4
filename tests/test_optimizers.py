"""Optimisers: reproducible, no observation lost, no point proposed twice, and better than random search."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import mergebo as mb
from mergebo import errors

MODELS = ["mergebo", "bops-h", "bops-random", "spearman", "combo"]
MIXED = mb.Space(route=mb.Permutation(5), picks=mb.Binary(4))


def objective(point) -> float:
    """An objective that depends on the order and the binary choices."""
    if isinstance(point, dict):
        return float(mb.distances.kendall(point["route"], np.arange(5), view="rank") + 2 * np.sum(point["picks"]))
    return float(mb.distances.kendall(point, np.arange(len(point)), view="rank"))


def drive(optimizer: mb.Optimizer, count: int) -> list[list[float]]:
    """Ask and tell; returns the proposed rows."""
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.point))
    return [optimizer.space.encode(trial.point).tolist() for trial in optimizer.trials]


def test_auto_is_the_default_and_states_keep_their_method() -> None:
    space = mb.PermutationSpace(5)
    assert mb.Optimizer(space).method_name == "auto"
    methods: set[str] = set()
    mb.minimize(objective, space, budget=1, callback=lambda o, t: methods.add(o.method_name))
    assert methods == {"auto"}
    assert mb.Optimizer.from_state(mb.Optimizer(space, "bops-h").state()).method_name == "bops-h"


@pytest.mark.slow
def test_fresh_process() -> None:
    code = (
        "import json, mergebo as mb\n"
        "o = mb.Optimizer(mb.PermutationSpace(6), 'mergebo', seed=3, initial=5)\n"
        "for _ in range(12):\n"
        "    t = o.ask(); o.tell(t, float(mb.distances.kendall(t.point, range(6), view='rank')))\n"
        "print(json.dumps([t.point.tolist() for t in o.trials]))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(output) == drive(mb.Optimizer(mb.PermutationSpace(6), "mergebo", seed=3, initial=5), 12)


class TestResults:
    def test_small_space_ends_gracefully(self) -> None:
        result = mb.minimize(objective, mb.PermutationSpace(3), budget=50)
        assert len(result.trials) == 6
        assert result.best.value == 0
        assert result.ended == "all 6 points of the space were tried"

    def test_time_limit_callback_and_interrupt(self) -> None:
        space = mb.PermutationSpace(6)
        assert mb.minimize(objective, space, budget=30, time_limit=0.0).ended == "time limit reached"
        seen = []
        stopped = mb.minimize(objective, space, budget=30, callback=lambda o, t: seen.append(t) or len(seen) == 4)
        assert stopped.ended == "ended by the callback"
        assert [trial.state for trial in seen] == ["done"] * 4

        def interrupted(order) -> float:
            if len(calls) == 7:
                raise KeyboardInterrupt
            calls.append(order)
            return objective(order)

        calls: list[object] = []
        result = mb.minimize(interrupted, space, budget=30)
        assert result.ended == "interrupted"
        assert result.best.value == min(objective(order) for order in calls)
        assert result.trials[-1].state == "pending"

    def test_convergence_of_a_maximised_objective(self) -> None:
        result = mb.minimize(
            lambda order: -float(order[0]), mb.PermutationSpace(5), budget=8, direction="maximize", method="random"
        )
        assert result.convergence().tolist() == np.maximum.accumulate([trial.value for trial in result.trials]).tolist()
        assert result.optimizer.best == result.best

    def test_convergence_and_progress(self, capsys: pytest.CaptureFixture[str]) -> None:
        result = mb.minimize(objective, mb.PermutationSpace(6), budget=12, method="random", progress=True)
        assert "best" in capsys.readouterr().out
        curve = result.convergence()
        assert len(curve) == 12
        assert (np.diff(curve) <= 0).all()
        assert curve[-1] == result.best.value

    def test_named_items(self) -> None:
        space = mb.PermutationSpace(items=["base", "acid", "salt", "water"])
        good = ["water", "acid", "base", "salt"]
        result = mb.minimize(lambda order: sum(a != b for a, b in zip(order, good, strict=True)), space, budget=24, seed=1)
        assert result.best.point == good
        state = mb.Optimizer(space, "random").state()
        assert (
            mb.Optimizer.from_state(json.loads(json.dumps(state))).ask().point == mb.Optimizer(space, "random").ask().point
        )
        assert space.encode([good, good[::-1]]).tolist() == [[3, 1, 0, 2], [2, 0, 1, 3]]
        assert space.encode(np.array([3, 1, 0, 2])).tolist() == [3, 1, 0, 2]


class TestBadCalls:
    def make(self) -> mb.Optimizer:
        optimizer = mb.Optimizer(mb.PermutationSpace(4), "random")
        drive(optimizer, 2)
        return optimizer

    def test_tell(self) -> None:
        optimizer = self.make()
        trial = optimizer.ask()
        before = optimizer.state()
        for bad in (7, -1, "0", None, True):
            with pytest.raises(errors.TrialError, match="unknown trial"):
                optimizer.tell(bad, 1.0)  # type: ignore[arg-type]
        with pytest.raises(errors.TrialError, match="trial 0 is already done"):
            optimizer.tell(0, 1.0)
        with pytest.raises(errors.TrialError, match="trial 1 is already done"):
            optimizer.fail(1)
        for value in ("3.2", None, [1], True, b"1"):
            with pytest.raises(errors.TrialError, match="must be a number"):
                optimizer.tell(trial, value)  # type: ignore[arg-type]
        assert optimizer.state() == before
        optimizer.tell(trial, np.float32(2))
        assert optimizer.trials[trial.id].value == 2.0

    @pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
    def test_ask(self, count: object) -> None:
        with pytest.raises(errors.ArgumentError, match="at least one trial"):
            self.make().ask(count)  # type: ignore[arg-type]

    @pytest.mark.parametrize("budget", [0, -3, 1.5, True, None])
    def test_budget(self, budget: object) -> None:
        with pytest.raises(errors.ArgumentError, match="budget must be a number of evaluations"):
            mb.minimize(objective, mb.PermutationSpace(4), budget=budget)  # type: ignore[arg-type]

    def test_construction(self) -> None:
        space = mb.PermutationSpace(4)
        with pytest.raises(errors.ArgumentError, match="did you mean 'mergebo'"):
            mb.Optimizer(space, "mergbo")
        with pytest.raises(errors.ArgumentError, match="random has the settings"):
            mb.Optimizer(space, "random", acquisition="ei")
        with pytest.raises(errors.ArgumentError, match="did you mean 'logei'"):
            mb.Optimizer(space, "mergebo", acquisition="loge")
        with pytest.raises(errors.ArgumentError, match="space must be"):
            mb.Optimizer(4)  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="did you mean 'maximize'"):
            mb.Optimizer(space, direction="maximise")  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="initial=0"):
            mb.Optimizer(space, initial=0)
        with pytest.raises(errors.ShapeError, match="n=3 does not fit 2 items"):
            mb.PermutationSpace(3, items=["a", "b"])
        with pytest.raises(errors.ArgumentError, match="give the number of items"):
            mb.PermutationSpace()
        with pytest.raises(errors.ArgumentTypeError, match="list of names"):
            mb.PermutationSpace(items="abc")
        with pytest.raises(errors.ArgumentError, match="did you mean 'acid'"):
            mb.PermutationSpace(items=["acid", "base"]).encode(["acidd", "base"])

    def test_states(self) -> None:
        good = self.make().state()
        for bad in ({}, {**good, "format": 99}, {**good, "trials": [{}]}, {**good, "space": {"x": ["Nothing", 3]}}, []):
            with pytest.raises(errors.MergeboError):
                mb.Optimizer.from_state(bad)  # type: ignore[arg-type]
        with pytest.raises(errors.ShapeError, match="trial 0 has 2 numbers, the space 4"):
            mb.Optimizer.from_state({**good, "trials": [{"row": [0, 1], "state": "done", "value": 1}]})

    def test_one_item(self) -> None:
        result = mb.minimize(lambda order: 4.0, mb.PermutationSpace(1), budget=5)
        assert len(result.trials) == 1
        assert result.best.value == 4
