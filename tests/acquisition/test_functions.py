"""Acquisition functions against BoTorch, simulation and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mergebo import acquisition
from mergebo.acquisition import ACQUISITIONS, AfterMeasurement, Exploring
from model_helpers import SPACE, model


@pytest.mark.slow
@pytest.mark.needs_torch
@pytest.mark.filterwarnings("ignore:ExpectedImprovement has known numerical issues")  # BoTorch's advice to take LogEI
@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("ei", "ExpectedImprovement"),
        ("logei", "LogExpectedImprovement"),
        ("pi", "LogProbabilityOfImprovement"),
        ("ucb", "UpperConfidenceBound"),
    ],
)
def test_acquisition_functions_against_botorch(name: str, reference: str) -> None:
    import torch
    from botorch.acquisition import analytic

    fitted = model()
    rows = SPACE.sample_rows(60, seed=1)
    best = float(fitted.y.min())
    settings = {"beta": 4.0} if name == "ucb" else {"best_f": best}
    function = getattr(analytic, reference)(fitted.to_botorch().eval(), maximize=False, **settings)
    with torch.no_grad():
        expected = function(torch.from_numpy(rows.astype(float)).unsqueeze(1)).numpy()
    value = acquisition.ACQUISITIONS[name].value(*fitted.predict_standardised(rows), best)
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-8)
    assert value.argmax() == expected.argmax()


def test_log_ei_is_the_logarithm_and_accurate_where_ei_underflows() -> None:
    mean = np.linspace(-3, 30, 200)
    deviation = np.ones_like(mean)
    ei = acquisition.ExpectedImprovement().value(mean, deviation, 0.0)
    log_ei = acquisition.LogExpectedImprovement().value(mean, deviation, 0.0)
    near = mean < 20
    np.testing.assert_allclose(log_ei[near], np.log(ei[near]), rtol=1e-6)
    far = acquisition.LogExpectedImprovement().value(np.array([50.0, 1e3, 1e5, 1e8]), np.ones(4), 0.0)
    assert np.isfinite(far).all()
    assert (np.diff(far) < 0).all()
    assert far[1] == pytest.approx(-0.5e6 - 0.5 * np.log(2 * np.pi) - 2 * np.log(1e3), rel=1e-9)


@pytest.mark.parametrize("name", ACQUISITIONS)
@pytest.mark.parametrize("noise", [None, 0.3, 2.0])
@pytest.mark.parametrize("factor", [1.0, 2.5])
@given(mean=st.floats(-3, 8), deviation=st.floats(0.05, 3), best=st.floats(-2, 2))
@example(mean=0.3, deviation=0.7, best=0.1)
@example(mean=-1.0, deviation=2.0, best=0.5)
def test_gradients_of_acquisition_functions(
    name: str, factor: float, noise: float | None, mean: float, deviation: float, best: float
) -> None:
    function = Exploring(ACQUISITIONS[name], factor)
    if noise is not None:
        function = AfterMeasurement(function, noise)
    by_mean, by_deviation = function.gradient(np.array([mean]), np.array([deviation]), best)
    step = 1e-6
    around = function.value(
        np.array([mean + step, mean - step, mean, mean]), np.r_[[deviation] * 2, deviation + step, deviation - step], best
    )
    assert by_mean[0] == pytest.approx((around[0] - around[1]) / (2 * step), rel=1e-3, abs=1e-4)
    assert by_deviation[0] == pytest.approx((around[2] - around[3]) / (2 * step), rel=1e-3, abs=1e-4)


def test_exploring_is_the_function_of_larger_standard_deviations() -> None:
    mean, deviation = np.array([0.0, 0.5, 2.0]), np.array([1.0, 0.5, 0.1])
    for function in ACQUISITIONS.values():
        expected = function.value(mean, 3 * deviation, 0.2)
        np.testing.assert_array_equal(Exploring(function, 3.0).value(mean, deviation, 0.2), expected)
    # It prefers what is uncertain: of two points with the same expected improvement the less certain one.
    logei = ACQUISITIONS["logei"]
    plain, exploring = (each.value(mean, deviation, -0.5) for each in (logei, Exploring(logei, 3.0)))
    assert exploring[0] - exploring[2] < plain[0] - plain[2]


@given(st.floats(-3, 3), st.floats(0.01, 3), st.floats(1e-6, 3), st.integers(0, 99))
@settings(max_examples=10)
def test_noisy_acquisition_is_that_of_the_mean_after_a_measurement(
    mean: float, deviation: float, noise: float, seed: int
) -> None:
    """By simulation: sample the value, measure it, update the mean."""
    rng = np.random.default_rng(seed)
    value = mean + deviation * rng.normal(size=200_000)
    measured = value + np.sqrt(noise) * rng.normal(size=200_000)
    after = mean + deviation**2 / (deviation**2 + noise) * (measured - mean)
    slow = np.maximum(0.2 - after, 0)
    fast = AfterMeasurement(ACQUISITIONS["ei"], noise).value(np.array([mean]), np.array([deviation]), 0.2)[0]
    assert fast == pytest.approx(slow.mean(), abs=6 * slow.std() / np.sqrt(200_000) + 1e-4)
