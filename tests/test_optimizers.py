"""Optimisers: reproducible, no observation lost, no point proposed twice, and better than random search."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import mergebo as mb
from mergebo import errors
from mergebo.experiments.protocols import PROTOCOLS, protocol
from mergebo.methods import METHODS, Method, make_method
from mergebo.methods.turbo import Turbo, from_cube, to_cube
from mergebo.testing import MethodSuite

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


@pytest.mark.slow
class TestMethod(MethodSuite):
    name: str

    @pytest.fixture(autouse=True, params=list(METHODS))
    def choose(self, request: pytest.FixtureRequest) -> None:
        self.name = request.param

    def make(self) -> Method:
        return make_method(self.name)


def test_auto_is_the_default_and_states_keep_their_method() -> None:
    space = mb.PermutationSpace(5)
    assert mb.Optimizer(space).method_name == "auto"
    methods: set[str] = set()
    mb.minimize(objective, space, budget=1, callback=lambda o, t: methods.add(o.method_name))
    assert methods == {"auto"}
    assert mb.Optimizer.from_state(mb.Optimizer(space, "bops-h").state()).method_name == "bops-h"


@pytest.mark.needs_torch
def test_equal_initial_designs_for_all_methods() -> None:
    designs = [drive(mb.Optimizer(mb.PermutationSpace(8), method, seed=5, initial=7), 7) for method in METHODS]
    assert all(design == designs[0] for design in designs)


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


class TestDesign:
    @pytest.mark.needs_torch
    @pytest.mark.parametrize("design", ["stratified", "uniform"])
    def test_every_method_has_the_same(self, design: str) -> None:
        designs = [drive(mb.Optimizer(MIXED, method, seed=4, initial=6, design=design), 6) for method in METHODS]
        assert all(each == designs[0] for each in designs)

    def test_binary_choices_are_none_then_all_then_a_random_share(self) -> None:
        space = mb.Space(route=mb.Permutation(5), picks=mb.Binary(200))
        counts = {
            design: [
                int(trial.point["picks"].sum())
                for trial in mb.Optimizer(space, "random", seed=1, initial=20, design=design).ask(20)
            ]
            for design in ("stratified", "uniform")
        }
        assert counts["stratified"][:2] == [0, 200]
        assert np.std(counts["stratified"][2:]) > 40
        assert 70 < min(counts["uniform"]) < max(counts["uniform"]) < 130

    def test_orders_are_uniform_in_both_designs(self) -> None:
        designs = [
            drive(mb.Optimizer(mb.PermutationSpace(6), "random", seed=2, initial=9, design=design), 12)
            for design in ("stratified", "uniform")
        ]
        assert designs[0] == designs[1]

    @pytest.mark.parametrize("method", ["random", "bops-h", "auto", "local-search"])
    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_small_binary_spaces_are_exhausted(self, method: str, count: int) -> None:
        """Also within the initial design."""
        optimizer = mb.Optimizer(mb.Space(picks=mb.Binary(count)), method, seed=0, initial=5)
        for _ in range(2**count):
            trial = optimizer.ask()
            optimizer.tell(trial, float(trial.point["picks"].sum()))
        assert len({trial.point["picks"].tobytes() for trial in optimizer.trials}) == 2**count
        with pytest.raises(errors.ExhaustedError):
            optimizer.ask()

    @pytest.mark.parametrize("design", ["stratified", "uniform"])
    def test_it_continues_from_a_state(self, design: str) -> None:
        optimizer = mb.Optimizer(MIXED, "random", seed=1, initial=9, design=design)
        drive(optimizer, 3)
        loaded = mb.Optimizer.from_state(json.loads(json.dumps(optimizer.state())))
        assert loaded.design == design
        assert drive(loaded, 9) == drive(optimizer, 9)

    def test_states_without_a_design_have_a_uniform_one(self) -> None:
        optimizer = mb.Optimizer(MIXED, "random", seed=1, initial=9, design="uniform")
        drive(optimizer, 3)
        state = optimizer.state()
        del state["design"]
        assert drive(mb.Optimizer.from_state(state), 9) == drive(optimizer, 9)

    def test_mistakes_are_explained(self) -> None:
        with pytest.raises(errors.ArgumentError, match="did you mean 'stratified'"):
            mb.Optimizer(MIXED, "random", design="stratifed")


class TestResults:
    @pytest.mark.slow
    @pytest.mark.parametrize("method", ["local-search", "genetic"])
    def test_other_methods_beat_random_search(self, method: str) -> None:
        problem = mb.problems.get("tsp:random(n=12,seed=2)")

        def mean(name: str) -> float:
            runs = [mb.minimize(problem.evaluate, problem.space, budget=150, method=name, seed=s) for s in range(6)]
            return float(np.mean([run.best.value for run in runs]))

        assert mean(method) < mean("random")

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


class TestSettings:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", PROTOCOLS)
    @pytest.mark.parametrize("method", METHODS)
    def test_protocols_fit_every_method(self, name: str, method: str) -> None:
        settings = protocol(name, method)
        budget = settings.pop("budget")
        assert budget == {"paper-low": 200, "paper-high": 55}[name]
        drive(mb.Optimizer(mb.PermutationSpace(6), method, **settings), settings["initial"] + 1)

    def test_unknown_protocol(self) -> None:
        with pytest.raises(errors.ArgumentError, match="did you mean 'paper-low'"):
            protocol("paper-lo", "mergebo")
        with pytest.raises(errors.ArgumentError, match="did you mean 'random'"):
            protocol("paper-low", "randm")


@pytest.mark.needs_torch
class TestTurbo:
    """The trust region, replayed from the observations alone."""

    def test_grows_after_three_successes_and_halves_after_failures(self) -> None:
        turbo = Turbo()
        start = [10.0, 11, 12]
        assert turbo.region(np.array(start), 3, 5).length == 0.8
        assert turbo.region(np.array([*start, 9.0, 8, 7]), 3, 5).length == 1.6
        assert turbo.region(np.array([*start, 9.0, 8, 7, 6, 5, 4]), 3, 5).length == 1.6
        assert turbo.region(np.array([*start, *[20.0] * 5]), 3, 5).length == 0.4
        assert turbo.region(np.array([*start, 9.0, 8, 20, 7]), 3, 5).length == 0.8

    def test_restarts_when_the_region_has_shrunk_away(self) -> None:
        values = np.array([10.0] * 3 + [20.0] * 5 * 7)
        region = Turbo().region(values, 3, 5)
        assert region.length == 0.8
        assert region.start == len(values)

    def test_cube(self) -> None:
        rows = MIXED.sample_rows(20, seed=0)
        cube = to_cube(rows, MIXED)
        assert cube.min() > 0
        assert cube.max() < 1
        np.testing.assert_array_equal(from_cube(cube, MIXED), rows)

    @pytest.mark.slow
    def test_leaves_the_global_generator_of_torch_alone(self) -> None:
        import torch

        torch.manual_seed(5)
        expected = torch.rand(3)
        torch.manual_seed(5)
        drive(mb.Optimizer(mb.PermutationSpace(5), "turbo", initial=4), 7)
        assert torch.equal(torch.rand(3), expected)

    @pytest.mark.slow
    def test_beats_random_search(self) -> None:
        problem = mb.problems.get("lop:planted(n=10,seed=1,noise=0.0)").relabelled(3)
        ends = {
            name: [mb.minimize(problem.evaluate, problem.space, budget=40, method=name, seed=s).best.value for s in range(3)]
            for name in ("turbo", "random")
        }
        assert np.mean(ends["turbo"]) < np.mean(ends["random"])


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
