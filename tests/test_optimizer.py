"""Ask and tell: nothing is lost and no point is proposed twice, in any sequence of calls; noise; bad calls."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mergebo as mb
from mergebo import errors
from mergebo.methods import Dataset, History, StructureModels
from optimizer_helpers import MIXED, drive, objective, through_json, tried_rows


def keys(optimizer: mb.Optimizer) -> list[tuple[float, ...]]:
    return list(map(tuple, tried_rows(optimizer)))


class Interleaving:
    """Random sequences of asks, observations and failures."""

    @staticmethod
    def steps() -> st.SearchStrategy:
        kinds = st.sampled_from(["ask", "tell", "fail", "point"])
        return st.lists(st.tuples(kinds, st.integers(1, 4), st.integers(0, 99)), min_size=3, max_size=12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("random", {}),
        ("local-search", {}),
        ("genetic", {}),
        *[("bops-h", {"batch": batch}) for batch in ("fantasies", "thompson", "law")],
        ("mergebo", {"acquisition": "thompson"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("space", [mb.PermutationSpace(4), MIXED], ids=["orders", "mixed"])
@settings(max_examples=8)
@given(steps=Interleaving.steps(), seed=st.integers(0, 9))
def test_any_sequence_of_asks_observations_and_failures(method: str, options: dict, space, steps, seed: int) -> None:
    """No point is proposed twice, no observation is lost, the best is right, and a restored state continues the same."""
    optimizer = mb.Optimizer(space, method, seed=seed, initial=3, **options)
    observed: dict[tuple, float] = {}
    failed: set[tuple] = set()
    for kind, count, which in steps:
        pending = [trial for trial in optimizer.trials if trial.state == "pending"]
        if kind == "ask":
            untried = space.size - len(set(keys(optimizer)))
            if untried:
                assert len(optimizer.ask(count)) == min(count, untried)
        elif kind == "point":
            row = space.sample_rows(seed=which)
            if tuple(row.tolist()) not in observed:
                optimizer.tell(space.decode(row), objective(space.decode(row)))
                observed[tuple(row.tolist())] = objective(space.decode(row))
                failed.discard(tuple(row.tolist()))
        elif pending:
            trial = pending[which % len(pending)]
            key = tuple(space.encode(trial.point).tolist())
            if kind == "tell":
                optimizer.tell(trial, objective(trial.point))
                observed[key] = objective(trial.point)
            else:
                optimizer.fail(trial)
                failed.add(key)
    done = {key: trial.value for key, trial in zip(keys(optimizer), optimizer.trials, strict=True) if trial.state == "done"}
    assert done == observed
    proposed = [key for key in keys(optimizer) if key not in observed or key not in failed]
    repeated = {key for key in proposed if proposed.count(key) > 1}
    assert not repeated - failed - set(observed)
    if observed:
        assert optimizer.best.value == min(observed.values())
    loaded = through_json(optimizer)
    assert loaded.state() == optimizer.state()
    if len(set(keys(optimizer))) < space.size:
        assert [trial.id for trial in loaded.ask(2)] == [trial.id for trial in optimizer.ask(2)]
        assert loaded.state() == optimizer.state()


@pytest.mark.slow
def test_a_fresh_process_proposes_the_same_points() -> None:
    code = (
        "import json, mergebo as mb\n"
        "o = mb.Optimizer(mb.PermutationSpace(6), 'mergebo', seed=3, initial=5)\n"
        "for _ in range(12):\n"
        "    t = o.ask(); o.tell(t, float(mb.distances.kendall(t.point, range(6), view='rank')))\n"
        "print(json.dumps([t.point.tolist() for t in o.trials]))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(output) == drive(mb.Optimizer(mb.PermutationSpace(6), "mergebo", seed=3, initial=5), 12)


def test_auto_is_the_default_and_states_keep_their_method() -> None:
    space = mb.PermutationSpace(5)
    assert mb.Optimizer(space).method_name == "auto"
    methods: set[str] = set()
    mb.minimize(objective, space, budget=1, callback=lambda o, t: methods.add(o.method_name))
    assert methods == {"auto"}
    assert mb.Optimizer.from_state(mb.Optimizer(space, "bops-h").state()).method_name == "bops-h"


def test_points_from_elsewhere_are_observations_like_others() -> None:
    optimizer = mb.Optimizer(mb.PermutationSpace(4), "bops-h", initial=3)
    waiting = optimizer.ask()
    for row in mb.permutations.sample(4, 5, seed=1):
        if row.tolist() != waiting.point.tolist():
            optimizer.tell(row, objective(row))
    optimizer.tell(waiting.point, 4.0)
    assert optimizer.trials[0].value == 4.0
    before = optimizer.state()
    for bad in ([0, 1, 2], [0, 0, 1, 2], [[0, 1, 2, 3]], {"x": 1}):
        with pytest.raises(errors.MergeboError):
            optimizer.tell(bad, 1.0)
    with pytest.raises(errors.TrialError, match="value of the point"):
        optimizer.tell([3, 2, 1, 0], "much")
    assert optimizer.state() == before
    optimizer.tell([3, 2, 1, 0], 6.0)
    assert optimizer.trials[-1].value == 6.0
    assert len(optimizer.ask(4)) == 4


class TestStart:
    space = mb.PermutationSpace(items=["a", "b", "c", "d", "e"])

    def test_start_points_come_first_and_count_as_initial(self) -> None:
        known = [["e", "d", "c", "b", "a"], ["a", "b", "c", "d", "e"]]
        optimizer = mb.Optimizer(self.space, "random", initial=3, start=[*known, known[0]])
        assert [trial.point for trial in optimizer.ask(2)] == known
        loaded = through_json(optimizer)
        assert loaded.ask(3)[0].point == optimizer.ask(3)[0].point
        plain = mb.Optimizer(self.space, "random", initial=3)
        assert optimizer.trials[2].point == plain.ask().point
        assert mb.minimize(lambda order: 1.0, self.space, budget=1, start=known).trials[0].point == known[0]
        for bad in (["a", "b", "c", "d", "e"], [["a", "b"]], [[["a", "b", "c", "d", "e"]]]):
            with pytest.raises(errors.MergeboError):
                mb.Optimizer(self.space, "random", start=bad)


def noisy_run(method: str = "bops-h", seed: int = 0, count: int = 30, noise: float = 3.0, **options) -> mb.Optimizer:
    optimizer = mb.Optimizer(mb.PermutationSpace(7), method, seed=seed, initial=12, noisy=True, **options)
    rng = np.random.default_rng([seed, 5])
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.point) + noise * rng.normal())
    return optimizer


class TestNoise:
    @pytest.mark.slow
    def test_the_recommendation_is_the_best_posterior_mean_averaged_over_structures(self) -> None:
        """Computed step by step."""
        optimizer = noisy_run(direction="maximize")
        rows = np.array([trial.point for trial in optimizer.trials])
        values = np.array([-trial.value for trial in optimizer.trials])
        mean, square = np.zeros(len(rows)), np.zeros(len(rows))
        for model, weight in StructureModels().weigh(Dataset(optimizer.space, rows, values, noisy=True)).values():
            one, deviation = model.predict(rows)
            mean += weight * one
            square += weight * (one**2 + deviation**2)
        best = optimizer.best
        assert best.value == pytest.approx(-mean.min())
        assert best.std == pytest.approx(np.sqrt(square - mean**2)[mean.argmin()], rel=1e-4)

    @pytest.mark.slow
    def test_it_beats_the_luckiest_measurement(self) -> None:
        """Over eight runs, in true values; in nearly all, the truth is within three standard deviations of the mean."""
        gains, ratios = [], []
        for seed in range(8):
            optimizer = noisy_run(seed=seed, count=40)
            luckiest = min(optimizer.trials, key=lambda trial: trial.value)
            gains.append(objective(luckiest.point) - objective(optimizer.best.point))
            ratios.append(abs(objective(optimizer.best.point) - optimizer.best.value) / optimizer.best.std)
        assert np.mean(gains) > 0
        assert np.median(ratios) < 2
        assert sum(each < 3 for each in ratios) >= 6

    @pytest.mark.slow
    def test_the_best_is_not_measured_indefinitely(self) -> None:
        """Other points are worth more than certainty about one."""
        for seed in range(3):
            optimizer = noisy_run(seed=seed, count=40)
            assert len(set(keys(optimizer))) >= 25

    @pytest.mark.slow
    @pytest.mark.parametrize("method", ["random", "bops-h", "auto", "genetic"])
    def test_small_spaces_are_measured_repeatedly(self, method: str) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(3), method, initial=4, noisy=True)
        rng = np.random.default_rng(0)
        for trial in (optimizer.ask() for _ in range(20)):
            optimizer.tell(trial, objective(trial.point) + rng.normal())
        assert len(optimizer.trials) == 20
        assert optimizer.best.measurements > 1
        assert len(optimizer.ask(8)) == 8

    def test_failed_points_are_not_proposed_again(self) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(2), "random", initial=1, noisy=True)
        failed = optimizer.ask()
        optimizer.fail(failed)
        for _ in range(5):
            trial = optimizer.ask()
            assert trial.point.tolist() != failed.point.tolist()
            optimizer.tell(trial, 1.0)

    def test_repeated_measurements_and_given_noise(self) -> None:
        space = mb.PermutationSpace(items=["a", "b", "c", "d"])
        optimizer = mb.Optimizer(space, "bops-h", initial=4)
        points = [["a", "b", "c", "d"], ["b", "a", "c", "d"], ["d", "c", "b", "a"]]
        for point, value in zip(points, (0.0, 1.0, 6.0), strict=True):
            optimizer.tell(point, value)
        assert not optimizer.noisy
        with pytest.raises(errors.TrialError, match=r"has the value 0\.0 already.*noisy=True"):
            optimizer.tell(["a", "b", "c", "d"], 0.5)
        optimizer.tell(["a", "b", "c", "d"], 0.5, noise_std=0.4)
        assert optimizer.noisy
        optimizer.tell(["a", "b", "c", "d"], 0.2)
        assert optimizer.best.point == ["a", "b", "c", "d"]
        assert optimizer.best.measurements == 3
        assert [trial.noise_std for trial in optimizer.trials] == [None, None, None, 0.4, None]

        class Recorder:
            def propose(self, history: History, rng: np.random.Generator) -> np.ndarray:
                np.testing.assert_array_equal(history.noise_std, [np.nan, np.nan, np.nan, 0.4, np.nan])
                return history.untried_row(rng)

        mb.Optimizer.from_state(optimizer.state() | {"method": None}, method=Recorder()).ask()
        with pytest.raises(errors.TrialError, match="to add another measurement, tell its point"):
            optimizer.tell(0, 1.0)
        loaded = through_json(optimizer)
        assert loaded.state() == optimizer.state()
        assert loaded.best == optimizer.best
        for each in (loaded, optimizer):
            each.ask(2)
        assert loaded.state() == optimizer.state()

    @pytest.mark.parametrize("noise", [-1.0, float("nan"), float("inf"), "1", True, [1.0]])
    def test_invalid_noise(self, noise: object) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(4), "random")
        trial = optimizer.ask()
        with pytest.raises(errors.TrialError, match="noise of trial 0"):
            optimizer.tell(trial, 1.0, noise_std=noise)
        assert optimizer.trials[0].state == "pending"
        assert not optimizer.noisy

    def test_one_or_equal_observations(self) -> None:
        optimizer = mb.Optimizer(mb.PermutationSpace(4), "random", noisy=True)
        assert optimizer.best is None
        optimizer.tell([0, 1, 2, 3], 2.0, noise_std=0.5)
        assert (optimizer.best.value, optimizer.best.std) == (2.0, 0.5)
        optimizer.tell([1, 0, 2, 3], 2.0)
        assert optimizer.best.value == 2.0

    @pytest.mark.slow
    def test_mixed_spaces_with_given_noise(self) -> None:
        optimizer = mb.Optimizer(MIXED, "auto", seed=1, initial=8)
        rng = np.random.default_rng(0)
        for _ in range(11):
            trial = optimizer.ask()
            optimizer.tell(trial, objective(trial.point) + 0.5 * rng.normal(), noise_std=0.5)
        assert optimizer.best.std > 0


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


class TestSeveralObservations:
    """`tell` of a list of trials."""

    def optimizer(self, **options) -> mb.Optimizer:
        return mb.Optimizer(mb.PermutationSpace(5), "random", **options)

    def test_as_many_values_as_trials(self) -> None:
        optimizer = self.optimizer()
        optimizer.tell(optimizer.ask(3), [1, 2.5, np.float64(3)])
        optimizer.tell(tuple(optimizer.ask(2)), np.array([4.0, 5.0]), noise_std=[None, 0.1])
        assert [trial.value for trial in optimizer.trials] == [1, 2.5, 3, 4, 5]
        assert [trial.noise_std for trial in optimizer.trials] == [None, None, None, None, 0.1]
        assert optimizer.noisy
        several = self.optimizer(objectives=2)
        several.tell(several.ask(2), [[1, 2], [3, 4]], noise_std=np.ones((2, 2)))
        assert [trial.value for trial in several.trials] == [(1, 2), (3, 4)]

    @pytest.mark.parametrize(
        ("values", "noise", "message"),
        [
            ([1.0], None, r"2 trials need a list of 2 values, got \[1.0\]"),
            (3.0, None, "need a list of 2 values, got 3.0"),
            ("12", None, "need a list of 2 values, got '12'"),
            ([1.0, 2.0], 0.1, "need a list of 2 standard deviations, got 0.1"),
            ([1.0, float("nan")], None, "value of trial 1 must be finite, got nan; record a failed trial with fail"),
            ([1.0, "x"], None, "value of trial 1 must be a number"),
        ],
    )
    def test_nothing_is_recorded_if_one_is_invalid(self, values, noise, message: str) -> None:
        optimizer = self.optimizer()
        trials = optimizer.ask(2)
        before = optimizer.state()
        with pytest.raises(errors.TrialError, match=message):
            optimizer.tell(trials, values, noise_std=noise)
        with pytest.raises(errors.TrialError, match="trial 0 is 2 times in the list"):
            optimizer.tell([trials[0], trials[0]], [1.0, 2.0])
        with pytest.raises(errors.TrialError, match="unknown trial"):
            optimizer.tell([trials[0], "b"], [1.0, 2.0])
        assert optimizer.state() == before


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -np.inf, 10**400, True, np.True_])
def test_values_that_are_no_finite_numbers_are_refused(value) -> None:
    """As on the command line: a trial without a value has failed, which `fail` says."""
    optimizer = mb.Optimizer(mb.PermutationSpace(4), "random")
    trial = optimizer.ask()
    for observed in (trial, trial.point, [2, 3, 1, 0]):
        with pytest.raises(errors.TrialError, match=r"must be (finite|a number)"):
            optimizer.tell(observed, value)
    with pytest.raises(errors.TrialError, match="noise of trial 0 must be"):
        optimizer.tell(trial, 1.0, noise_std=value)
    assert [each.state for each in optimizer.trials] == ["pending"]


def test_a_random_seed_is_recorded() -> None:
    space = mb.PermutationSpace(7)
    optimizer = mb.Optimizer(space, "random", seed=None)
    assert optimizer.seed != mb.Optimizer(space, "random", seed=None).seed
    again = mb.Optimizer(space, "random", seed=optimizer.seed)
    assert optimizer.ask().point.tolist() == again.ask().point.tolist()
    assert through_json(optimizer).seed == optimizer.seed
    assert mb.minimize(objective, space, budget=2, method="random", seed=None).optimizer.seed != 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": 3}, "direction must be one of"),
        ({"start": 3}, "start is a list of points, got 3"),
        ({"seed": 1.5}, "seed"),
    ],
)
def test_arguments_of_a_wrong_type(options: dict, message: str) -> None:
    with pytest.raises(errors.MergeboError, match=message):
        mb.Optimizer(mb.PermutationSpace(4), **options)
