"""Sign tests, standard errors and intervals, by hand and as SciPy has them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from mergebo.errors import ShapeError
from mergebo.experiments.statistics import bootstrap_interval, estimate, paired_difference, sign_test

numbers = st.floats(-1e6, 1e6)


lists = st.lists(numbers, min_size=1, max_size=30)


pairs = st.integers(1, 30).flatmap(lambda n: st.tuples(*[arrays(np.float64, n, elements=numbers)] * 2))


def test_sign_test_by_hand_and_as_scipy() -> None:
    # 8 wins and 2 losses: 2 (C(10, 0) + C(10, 1) + C(10, 2)) / 2^10.
    found = sign_test([0] * 8 + [2] * 2 + [1], [1] * 11)
    assert (found.wins, found.ties, found.losses) == (8, 1, 2)
    assert found.p == pytest.approx(112 / 1024)
    assert found.p == stats.binomtest(8, 10).pvalue
    assert sign_test([1.0], [1.0 + 1e-13]).p == 1


@given(pairs)
def test_signs_and_differences_are_symmetric(ab: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = ab
    here, there = sign_test(a, b), sign_test(b, a)
    assert (here.wins, here.ties, here.losses, here.p) == (there.losses, there.ties, there.wins, there.p)
    assert here.wins + here.ties + here.losses == len(a)
    assert 0 < here.p <= 1
    assert paired_difference(a, b).mean == pytest.approx(-paired_difference(b, a).mean)


def test_standard_error_and_bootstrap_as_scipy() -> None:
    x = np.random.default_rng(5).normal(size=12)
    found = estimate(x)
    assert found.mean == pytest.approx(x.mean())
    assert found.error == pytest.approx(stats.sem(x))
    reference = stats.bootstrap((x,), np.mean, method="percentile", random_state=np.random.default_rng(0))
    assert found.interval == pytest.approx(tuple(reference.confidence_interval))
    assert estimate(x) == found
    low, high = bootstrap_interval(x, confidence=0.5)
    assert found.interval is not None
    assert found.interval[0] < low < found.mean < high < found.interval[1]


@given(lists, st.floats(-100, 100))
def test_an_interval_moves_with_its_data(values: list[float], shift: float) -> None:
    here, there = estimate(values), estimate(np.array(values) + shift)
    assert there.mean == pytest.approx(here.mean + shift, abs=1e-6)
    assert (here.interval is None) == (len(values) == 1)
    if here.interval and there.interval:
        np.testing.assert_allclose(there.interval, np.array(here.interval) + shift, atol=1e-6)
        assert here.interval[0] <= here.interval[1]


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ShapeError, match=r"\(2,\) and \(3,\)"):
        sign_test([1, 2], [1, 2, 3])
    with pytest.raises(ShapeError, match=r"\(0,\)"):
        estimate([])
