"""The initial design."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mergebo as mb
from mergebo import errors
from mergebo.methods import METHODS
from optimizer_helpers import MIXED, drive


@pytest.mark.needs_torch
def test_equal_initial_designs_for_all_methods() -> None:
    designs = [drive(mb.Optimizer(mb.PermutationSpace(8), method, seed=5, initial=7), 7) for method in METHODS]
    assert all(design == designs[0] for design in designs)


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
