"""The conformance suite for every method by name."""

from __future__ import annotations

import pytest

from mergebo.methods import METHODS, Method, make_method
from mergebo.testing import MethodSuite


@pytest.mark.slow
class TestMethod(MethodSuite):
    name: str

    @pytest.fixture(autouse=True, params=list(METHODS))
    def choose(self, request: pytest.FixtureRequest) -> None:
        self.name = request.param

    def make(self) -> Method:
        return make_method(self.name)
