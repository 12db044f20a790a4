"""The continuous relaxation of codes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

import mergebo as mb
from mergebo import acquisition, errors
from mergebo.gp import GP
from mergebo.methods import KernelModel, footrule_kernel, mallows_kernel, merge_kernel
from model_helpers import SPACE, model


class TestRelaxation:
    @pytest.mark.parametrize(
        "space",
        [
            SPACE,
            mb.Space(route=mb.Permutation(6), picks=mb.Binary(5)),
            mb.Space(route=mb.Permutation(5), picks=mb.Binary(3), second=mb.Permutation(4), more=mb.Binary(2)),
        ],
        ids=["orders", "mixed", "several of each"],
    )
    @pytest.mark.parametrize("orders", [merge_kernel, mallows_kernel])
    def test_codes_have_the_acquisition_value_and_gradients_are_right(self, space, orders) -> None:
        rows = space.sample_rows(15, seed=0)
        values = rows[:, 0] + 0.1 * rows[:, -1]
        fitted = GP(KernelModel(orders).similarity(space), rows, values)
        relaxed = acquisition.Relaxation(fitted, float(fitted.y.min()), acquisition.LogExpectedImprovement())
        codes = relaxed.features(rows)
        test = space.sample_rows(5, seed=3)
        corners = np.concatenate(relaxed.features(test), axis=1)
        expected = acquisition.LogExpectedImprovement().value(*fitted.predict_standardised(test), relaxed.best)
        np.testing.assert_allclose([-relaxed.value(corner, codes)[0] for corner in corners], expected, rtol=1e-6)
        for inside in np.random.default_rng(0).uniform(0, 1, corners.shape)[:2]:
            error = check_grad(lambda v: relaxed.value(v, codes)[0], lambda v: relaxed.value(v, codes)[1], inside)
            assert error < 1e-4
        np.testing.assert_array_equal([relaxed.project(corner) for corner in corners], test)
        ends = relaxed.maximise(test, steps=5)
        space.encode([space.decode(row) for row in ends] if isinstance(space, mb.Space) else ends)

    def test_searches_stay_within_the_cube_of_features(self) -> None:
        reached = []

        class Recording(acquisition.Relaxation):
            def project(self, features):
                reached.append(features)
                return super().project(features)

        fitted = model()
        ends = Recording(fitted, float(fitted.y.min()), acquisition.LogExpectedImprovement()).maximise(
            SPACE.sample_rows(4, seed=1), steps=50
        )
        assert len(reached) == len(ends) == 4
        assert 0 <= np.min(reached) < np.max(reached) <= 1
        after_many = np.array(reached)
        reached.clear()
        Recording(fitted, float(fitted.y.min()), acquisition.LogExpectedImprovement()).maximise(
            SPACE.sample_rows(4, seed=1), steps=1
        )
        assert (np.array(reached) != after_many).any(axis=1).all()  # one step does not reach the optimum

    def test_needs_codes_that_decode(self) -> None:
        rows = SPACE.sample_rows(5, seed=0)
        fitted = GP(KernelModel(footrule_kernel).similarity(SPACE), rows, rows[:, 0].astype(float))
        with pytest.raises(errors.UnsupportedError, match="codes that can be decoded"):
            acquisition.Relaxation(fitted, 0.0, acquisition.LogExpectedImprovement())
