"""Real and integer variables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebo.spaces import Numeric
from mergebo.testing import strategies as our


@given(variable=our.variables().filter(lambda each: isinstance(each, Numeric)), seed=st.integers(0, 99))
def test_the_unit_scale(variable: Numeric, seed: int) -> None:
    values = variable.sample((9,), np.random.default_rng(seed))
    units = variable.to_unit(values)
    assert units.min() >= -1e-9
    assert units.max() <= 1 + 1e-9
    np.testing.assert_allclose(variable.from_unit(units), values, rtol=1e-9)
    np.testing.assert_array_equal(variable.from_unit(np.array([-0.5, 0, 1, 7])), [variable.low] * 2 + [variable.high] * 2)
    if variable.log:
        halfway = Numeric.from_unit(variable, np.array(0.5))
        assert halfway == pytest.approx(np.sqrt(variable.low * variable.high))
