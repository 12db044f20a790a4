"""Output transforms: their inverses, their derivatives, and what warping does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebo.transforms import Identity, LogRegret, OutputTransform, standardize

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9).filter(lambda values: np.ptp(values) > 1e-3)


def transforms(values: np.ndarray) -> list[OutputTransform]:
    return [Identity(), LogRegret.of(values)]


@given(values=VALUES)
def test_inverses(values: list[float]) -> None:
    array = np.array(values)
    for transform in transforms(array):
        np.testing.assert_allclose(transform.inverse(transform.forward(array)), array, rtol=1e-9, atol=1e-9 * np.ptp(array))


@given(values=VALUES)
def test_standard_deviations_are_transformed_by_the_derivative(values: list[float]) -> None:
    array, std = np.array(values), np.linspace(1, 2, len(values))
    for transform in transforms(array):
        step = 1e-6 * float(np.ptp(array))
        derivatives = (transform.forward(array + step) - transform.forward(array)) / step
        found = transform.forward_std(array, std)
        np.testing.assert_allclose(found, std * derivatives, rtol=1e-3)
        np.testing.assert_allclose(transform.inverse_std(transform.forward(array), found), std, rtol=1e-6)


def test_output_warping_is_monotone_and_compresses_large_values() -> None:
    values = np.array([3.0, 1.0, 2.0, 1000.0])
    found = LogRegret.of(values).forward(values)
    assert found.argsort().tolist() == values.argsort().tolist()
    assert found.min() == 0
    assert found[3] < 250 * found[0]
    same = np.full(3, 7.0)
    np.testing.assert_array_equal(LogRegret.of(same).forward(same), np.zeros(3))
    scaled = 1e6 * values - 5
    np.testing.assert_allclose(LogRegret.of(scaled).forward(scaled), found)


def test_standardised_values() -> None:
    y, mean, std = standardize(np.array([1.0, 2.0, 6.0]))
    assert (y.mean(), y.std(ddof=1)) == (pytest.approx(0), pytest.approx(1))
    np.testing.assert_allclose(mean + std * y, [1, 2, 6])
    assert standardize(np.full(3, 2.0))[0].tolist() == [0, 0, 0]
    assert standardize(np.array([5.0]))[1:] == (5.0, 1.0)
