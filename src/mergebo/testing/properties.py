"""The decorator of the suites' property tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def property_test(test: Callable[..., None]) -> Callable[..., None]:
    """Try the test on drawn data (its last argument). Suites are inherited, which hypothesis would otherwise complain of.

    There is no deadline: the first case may take seconds, while code is compiled or torch is loaded.
    """
    made = settings(suppress_health_check=[HealthCheck.differing_executors], deadline=None)
    return made(given(st.data())(cast(Any, test)))
