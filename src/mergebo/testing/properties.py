"""The decorator of the suites' property tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def property_test(test: Callable[..., None]) -> Callable[..., None]:
    """Try the test on drawn data (its last argument). Suites are inherited, which hypothesis would otherwise complain of."""
    return settings(suppress_health_check=[HealthCheck.differing_executors])(given(st.data())(cast(Any, test)))
