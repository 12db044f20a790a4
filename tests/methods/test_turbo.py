"""TuRBO."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo.methods.turbo import Turbo
from mergebo.spaces import Space
from mergebo.testing import strategies as our
from optimizer_helpers import MIXED, drive


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
        cube = MIXED.to_unit(rows)
        assert cube.min() > 0
        assert cube.max() < 1
        np.testing.assert_array_equal(MIXED.from_unit(cube), rows)

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


@given(space=our.spaces(), seed=st.integers(0, 99))
def test_turbo_decodes_all_variables_from_the_cube(space: Space, seed: int) -> None:
    rows = space.sample_rows(6, seed=seed)
    cube = space.to_unit(rows)
    assert cube.min() >= -1e-9
    assert cube.max() <= 1 + 1e-9
    np.testing.assert_allclose(space.from_unit(cube), rows, rtol=1e-9)
    sampled = space.from_unit(np.random.default_rng(seed).random(cube.shape))
    np.testing.assert_array_equal(space.encode([space.decode(row) for row in sampled]), sampled)
