"""What a user believes before the first result."""

from __future__ import annotations

import numpy as np
import pytest

import mergebo as mb
from mergebo import beliefs, errors
from mergebo.mean import PriorMean
from optimizer_helpers import objective, through_json


class TestPriorKnowledge:
    space = mb.PermutationSpace(items=["a", "b", "c", "d", "e"])

    def test_features_and_signs(self) -> None:
        rows = self.space.encode([["a", "b", "c", "d", "e"], ["c", "b", "a", "e", "d"]])
        assert beliefs.before("a", "c").feature(self.space, rows).tolist() == [1, -1]
        assert beliefs.early("d").feature(self.space, rows).tolist() == [-3, -4]
        assert beliefs.late("d").feature(self.space, rows).tolist() == [3, 4]
        prior = PriorMean(self.space, (beliefs.before("a", "c"),), lambda order: float(order.index("e")), sign=-1.0)
        assert prior.expected[0] > 0 > prior.expected[1]
        estimate = beliefs.early("e").feature  # what the heuristic estimates, with its sign
        assert estimate(self.space, rows).tolist() == [-4, -3]
        many = self.space.sample_rows(3000, seed=5)
        factor, offset = np.polyfit(estimate(self.space, many), prior.features(many)[:, 0], 1)
        assert factor > 0
        np.testing.assert_allclose(prior.features(rows)[:, 0], factor * np.array([-4, -3]) + offset, atol=1e-12)
        np.testing.assert_allclose(prior.features(many)[:, 0], factor * estimate(self.space, many) + offset, atol=1e-12)
        np.testing.assert_allclose(prior.features(many).mean(axis=0), 0, atol=0.1)
        np.testing.assert_allclose(prior.features(many).std(axis=0), 1, atol=0.05)

    @pytest.mark.slow
    def test_right_beliefs_help_and_wrong_ones_are_overridden(self) -> None:
        """A hidden order of 12 items: best values after few trials, and after more."""
        n = 12
        right = [*map(beliefs.early, range(4)), *map(beliefs.late, range(8, n))]
        wrong = [*map(beliefs.late, range(4)), *map(beliefs.early, range(8, n))]

        def runs(given: list[beliefs.Belief], budget: int) -> float:
            options = {"method": "bops-h", "initial": 8, "beliefs": given}
            space = mb.PermutationSpace(n)
            return float(
                np.mean([mb.minimize(objective, space, budget=budget, seed=s, **options).best.value for s in range(4)])
            )

        without = runs([], 14)
        assert runs(right, 14) < without / 2
        assert runs(wrong, 14) > without
        assert runs(wrong, 40) < without / 2

    @pytest.mark.slow
    def test_a_heuristic_helps(self) -> None:
        def rough(order) -> float:
            return 100 + 7.0 * float(np.abs(np.asarray(order) - np.arange(10)).sum())

        def run(seed: int, **given) -> float:
            options = {"method": "bops-h", "seed": seed, "initial": 8}
            return mb.minimize(objective, mb.PermutationSpace(10), budget=12, **options, **given).best.value

        assert np.mean([run(s, heuristic=rough) for s in range(4)]) < np.mean([run(s) for s in range(4)])

    @pytest.mark.slow
    @pytest.mark.parametrize("method", ["auto", "bops-h", "turbo", "random", "local-search", "genetic"])
    def test_every_method_supports_it_and_states_keep_it(self, method: str) -> None:
        def rough(order) -> float:
            return float(order.index("e"))

        given = {"beliefs": [beliefs.before("a", "b"), beliefs.late("c", strength=0.5)], "heuristic": rough}
        optimizer = mb.Optimizer(self.space, method, initial=5, **given)
        for _ in range(8):
            trial = optimizer.ask()
            optimizer.tell(trial, float(trial.point.index("a")))
        with pytest.raises(errors.ArgumentError, match="heuristic, which is not saved"):
            through_json(optimizer)
        loaded = through_json(optimizer, heuristic=rough)
        assert loaded.beliefs == optimizer.beliefs
        assert loaded.ask().point == optimizer.ask().point
        assert loaded.state() == optimizer.state()

    @pytest.mark.slow
    def test_embeddings_with_beliefs(self) -> None:
        """An item embedding and beliefs add up in the mean function of one model."""
        problem = mb.problems.get("tsp:random(n=10,seed=100)")
        optimizer = mb.Optimizer(problem.space, "auto", initial=26, beliefs=[beliefs.before(0, 1)])
        for _ in range(31):
            trial = optimizer.ask()
            optimizer.tell(trial, float(problem.evaluate(trial.point)))
        assert optimizer.explain().results == 31

    def test_beliefs_in_several_variables(self) -> None:
        space = mb.Space(first=mb.Permutation(4), second=mb.Permutation(3), picks=mb.Binary(2))
        optimizer = mb.Optimizer(space, "bops-h", initial=4, beliefs=[beliefs.early(2, variable="second")])
        for _ in range(7):
            trial = optimizer.ask()
            optimizer.tell(trial, float(trial.point["first"][0] + trial.point["picks"].sum()))
        with pytest.raises(errors.ArgumentError, match="name the order of the belief '2 early'"):
            mb.Optimizer(space, beliefs=[beliefs.early(2)])
        with pytest.raises(errors.ArgumentError, match="did you mean 'second'"):
            mb.Optimizer(space, beliefs=[beliefs.early(2, variable="secnd")])

    def test_bad_calls(self) -> None:
        with pytest.raises(errors.ArgumentError, match="item of the belief 'a before f'"):
            mb.Optimizer(self.space, beliefs=[beliefs.before("a", "f")])
        for bad in ("a before b", ["a before b"], 3):
            with pytest.raises(errors.ArgumentError, match=r"a belief is, e\.g\.,"):
                mb.Optimizer(self.space, beliefs=bad)  # type: ignore[arg-type]
        for strength in (0, -1, float("nan")):
            with pytest.raises(errors.ArgumentError, match="strength of a belief"):
                beliefs.early("a", strength=strength)
        with pytest.raises(errors.ArgumentError, match="two different ones"):
            beliefs.before("a", "a")
        with pytest.raises(errors.ArgumentError, match="did you mean 'early'"):
            beliefs.Belief("earliest", ("a",))  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="a heuristic must be a function"):
            mb.Optimizer(self.space, heuristic=3)  # type: ignore[arg-type]
        with pytest.raises(errors.ArgumentError, match="finite number for every point, got nan"):
            mb.Optimizer(self.space, heuristic=lambda order: float("nan")).ask()
        with pytest.raises(errors.ArgumentError, match="finite number for every point, got 'far'"):
            mb.Optimizer(self.space, heuristic=lambda order: "far").ask()
        with pytest.raises(errors.ArgumentError, match="had no heuristic"):
            mb.Optimizer.from_state(mb.Optimizer(self.space).state(), heuristic=len)
        relaxed = mb.Optimizer(self.space, "mergebo", initial=3, search="relaxation", beliefs=[beliefs.early("a")])
        for _ in range(3):
            trial = relaxed.ask()
            relaxed.tell(trial, float(trial.point.index("a")))
        with pytest.raises(errors.UnsupportedError, match="the relaxation does not support mean functions"):
            relaxed.ask()
