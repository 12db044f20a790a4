"""Several objectives: fronts, hypervolumes and scalarisation."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mergebo as mb
from mergebo import errors
from mergebo.pareto import AUGMENTATION, chebyshev_scalarise, hypervolume, non_dominated, reference_point
from optimizer_helpers import objective, through_json


def both(point) -> list[float]:
    """Two conflicting objectives: the distances to an order and to its reverse."""
    n = len(point)
    return [float(mb.distances.kendall(point, goal, view="rank")) for goal in (np.arange(n), np.arange(n)[::-1])]


FRONTS = st.integers(1, 4).flatmap(
    lambda m: arrays(np.int64, st.tuples(st.integers(0, 12), st.just(m)), elements=st.integers(0, 6))
)
"""Rows of one to four objectives."""


class TestObjectives:
    space = mb.PermutationSpace(5)

    def made(self, method: str = "random", count: int = 14, **options) -> mb.Optimizer:
        optimizer = mb.Optimizer(self.space, method, seed=3, initial=8, objectives=2, **options)
        for _ in range(count):
            trial = optimizer.ask()
            optimizer.tell(trial, both(trial.point))
        return optimizer

    @given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), max_size=15))
    def test_non_dominated_one_by_one(self, values: list[tuple[int, int, int]]) -> None:
        def beats(a: tuple, b: tuple) -> bool:
            return all(x <= y for x, y in zip(a, b, strict=True)) and a != b

        slow = [not any(beats(other, each) for other in values) for each in values]
        assert non_dominated(np.array(values, float).reshape(-1, 3)).tolist() == slow

    @given(seed=st.integers(0, 99))
    def test_the_scalarisation_preserves_dominance_and_has_the_right_gradient(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        values, weights = rng.normal(size=(9, 3)) * [1, 10, 100], rng.dirichlet(np.ones(3))
        scalars, gradient = chebyshev_scalarise(values, weights)
        scaled = (values - values.min(axis=0)) / np.ptp(values, axis=0)
        slow = [max(weights * row) + AUGMENTATION * sum(weights * row) for row in scaled]
        np.testing.assert_allclose(scalars, slow)
        better = (values[:, None] < values[None]).all(axis=-1)
        assert (scalars[:, None] < scalars[None])[better].all()
        inner = (values > values.min(axis=0)).all(axis=1) & (values < values.max(axis=0)).all(axis=1)
        for k in np.flatnonzero(inner):
            for j in range(3):
                step = np.zeros_like(values)
                step[k, j] = 1e-7 * np.ptp(values[:, j])
                change = (chebyshev_scalarise(values + step, weights)[0] - scalars)[k] / step[k, j]
                assert change == pytest.approx(gradient[k, j], rel=1e-3)

    def test_front(self) -> None:
        optimizer = self.made(direction=("minimize", "maximize"))
        front = optimizer.pareto
        # The second objective is maximised, so both agree: one trial is best in both.
        assert [trial.value[0] for trial in front] == [min(t.value[0] for t in optimizer.trials)] * len(front)
        front = self.made().pareto
        assert front.points[:, 0].tolist() == sorted(front.points[:, 0].tolist())
        assert all(sum(trial.value) == 10 for trial in front), "orders close to one are far from its reverse"
        assert front[0] in list(front)

    def test_hypervolume_by_strips(self) -> None:
        optimizer = self.made(direction=("maximize", "minimize"))
        front, reference = optimizer.pareto, (-1.0, 12.0)
        area = 0.0
        edges = sorted({reference[0], *front.points[:, 0].tolist()})
        for low, high in itertools.pairwise(edges):
            best = min(y for x, y in front.points.tolist() if x >= high)
            area += (high - low) * max(0.0, reference[1] - best)
        assert front.hypervolume(reference) == pytest.approx(area)
        inferred = front.reference()
        assert inferred[0] <= front.points[:, 0].min()
        assert inferred[1] >= front.points[:, 1].max()
        assert front.hypervolume() >= 0

    @given(FRONTS, st.integers(0, 6))
    def test_hypervolume_by_cells(self, values: np.ndarray, reference: int) -> None:
        """For integer values: the number of dominated cells of a grid."""
        objectives = values.shape[1]
        cells = np.stack(np.meshgrid(*[np.arange(reference)] * objectives), axis=-1).reshape(-1, objectives)
        dominated = (values[:, None] <= cells[None]).all(axis=-1).any(axis=0)
        assert hypervolume(values.astype(float), np.full(objectives, float(reference))) == dominated.sum()

    @pytest.mark.needs_torch
    @given(FRONTS, st.integers(0, 2**32))
    def test_hypervolume_against_botorch(self, values: np.ndarray, seed: int) -> None:
        """Also with points that are dominated, repeated, beyond the reference point or on its boundary."""
        import torch
        from botorch.utils.multi_objective.hypervolume import Hypervolume, infer_reference_point

        rng = np.random.default_rng(seed)
        scale, shift = 10.0 ** rng.integers(-3, 4, values.shape[1]), rng.normal(0, 10, values.shape[1])
        for front in (values + 0.0, values * scale + shift, rng.normal(size=values.shape) * scale, values[:1] * scale):
            if len(front):
                inferred = infer_reference_point(torch.from_numpy(-front)).numpy()
                np.testing.assert_allclose(reference_point(front), -inferred, rtol=1e-9)
            for at in (front[len(front) // 2 :].max(axis=0, initial=-1.0), front.mean(axis=0) if len(front) else shift):
                expected = Hypervolume(torch.from_numpy(-at)).compute(torch.from_numpy(-front))
                assert hypervolume(front, at) == pytest.approx(expected, rel=1e-9, abs=0)

    @pytest.mark.slow
    def test_better_than_random_search(self) -> None:
        goals = mb.permutations.sample(8, 2, seed=4)

        def volume(method: str, seed: int) -> float:
            def values(point) -> list[float]:
                return [float(mb.distances.kendall(point, goal, view="rank")) for goal in goals]

            result = mb.minimize(
                values, mb.PermutationSpace(8), budget=35, initial=12, method=method, seed=seed, objectives=2
            )
            return result.pareto.hypervolume([28, 28])

        assert np.mean([volume("bops-h", s) for s in range(3)]) > np.mean([volume("random", s) for s in range(3)])

    def test_noisy_front(self) -> None:
        optimizer = mb.Optimizer(self.space, "bops-h", seed=1, initial=8, objectives=2)
        rng = np.random.default_rng(0)
        for _ in range(14):
            trial = optimizer.ask()
            optimizer.tell(trial, np.array(both(trial.point)) + rng.normal(size=2), noise_std=[1.0, 1.0])
        front = optimizer.pareto
        assert all(len(trial.std) == 2 and min(trial.std) > 0 for trial in front)
        assert non_dominated(front.points).all()
        assert through_json(optimizer).pareto.points.tolist() == front.points.tolist()

    def test_result_explanation_and_figure(self, tmp_path: Path) -> None:
        result = mb.minimize(both, self.space, budget=12, method="random", objectives=2, workers=2, progress=True)
        with pytest.raises(errors.UnsupportedError, match="see pareto"):
            result.best  # noqa: B018
        with pytest.raises(errors.UnsupportedError, match="see pareto"):
            result.convergence()
        result.pareto.plot(tmp_path / "front.png", names=("cost", "yield"))
        assert (tmp_path / "front.png").stat().st_size > 5000
        optimizer = self.made(count=20)
        assert optimizer.explain(objective=1).results == 20
        with pytest.raises(errors.ArgumentError, match="choose the objective"):
            optimizer.explain()
        with pytest.raises(errors.ArgumentError, match=r"objectives are 0\.\.1"):
            optimizer.explain(objective=2)

    def test_failures_and_empty_fronts(self) -> None:
        optimizer = mb.Optimizer(self.space, "bops-h", initial=2, objectives=2)
        assert len(optimizer.pareto) == 0
        with pytest.raises(errors.UnsupportedError, match="the front is empty"):
            optimizer.pareto.hypervolume()
        trial = optimizer.ask()
        with pytest.raises(errors.TrialError, match=r"must be finite, got \[1.0, nan\]; record a failed trial with fail"):
            optimizer.tell(trial, [1.0, float("nan")])
        optimizer.fail(trial)
        assert optimizer.trials[0].state == "failed"
        assert len(optimizer.ask(4)) == 4

    def test_bad_calls(self) -> None:
        for bad in (0, 1.5, True, "2"):
            with pytest.raises(errors.ArgumentError, match="objectives must be their number"):
                mb.Optimizer(self.space, objectives=bad)  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="each of 2 objectives needs a direction, got 3"):
            mb.Optimizer(self.space, objectives=2, direction=["minimize"] * 3)
        with pytest.raises(errors.ArgumentError, match="did you mean 'maximize'"):
            mb.Optimizer(self.space, objectives=2, direction=("minimize", "maximise"))
        with pytest.raises(errors.ArgumentError, match="about one objective"):
            mb.Optimizer(self.space, objectives=2, heuristic=len)
        optimizer = mb.Optimizer(self.space, "random", objectives=2)
        trial = optimizer.ask()
        for value in (1.0, "12", [1.0], [1.0, 2.0, 3.0], [1.0, "2"], [True, 1.0], None):
            with pytest.raises(errors.TrialError, match="must be 2 numbers"):
                optimizer.tell(trial, value)
        with pytest.raises(errors.UnsupportedError, match="see pareto"):
            optimizer.best  # noqa: B018
        optimizer.tell(trial, np.array([1.0, 2.0]))
        assert optimizer.trials[0].value == (1.0, 2.0)
        with pytest.raises(errors.ShapeError, match="2 finite numbers"):
            optimizer.pareto.hypervolume([1.0])
        with pytest.raises(errors.UnsupportedError, match="no front; see best"):
            mb.minimize(objective, self.space, budget=2, method="random").pareto  # noqa: B018
        three = mb.Optimizer(self.space, "random", objectives=3)
        three.tell([0, 1, 2, 3, 4], [1, 2, 3])
        with pytest.raises(errors.UnsupportedError, match="two objectives, not 3"):
            three.pareto.plot()
