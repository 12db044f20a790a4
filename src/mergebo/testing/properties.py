"""The decorator of the suites' property tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

__all__: list[str] = []


def property_test(test: Callable[..., None]) -> Callable[..., None]:
    """Run the test on hypothesis data (its last argument); allows inherited tests, which hypothesis warns about by default.

    Without a deadline, since the first example may take seconds to compile code or import torch.
    """
    configure = settings(suppress_health_check=[HealthCheck.differing_executors], deadline=None)
    return configure(given(st.data())(cast(Any, test)))
