"""What the experiments know of each method."""

from __future__ import annotations

import pytest

from mergebo.experiments.competitors import COMPETITORS
from mergebo.experiments.protocols import METHOD_ROWS, PROTOCOLS, method_row
from mergebo.methods import METHODS, Auto, MethodInfo, SingleKernel, footrule_kernel


def test_every_method_and_competitor_has_a_row() -> None:
    assert set(METHOD_ROWS) == {*METHODS, *COMPETITORS}
    for row in METHOD_ROWS.values():
        assert set(row.settings) in ({*PROTOCOLS}, set())
    assert method_row("mergebo(steps=3)") == METHOD_ROWS["mergebo"]


def test_a_registered_kernel_has_the_settings_of_the_published_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "mine", MethodInfo("mine", "", SingleKernel, {"kernel": footrule_kernel}))
    assert method_row("mine").settings == method_row("spearman").settings
    monkeypatch.setitem(METHODS, "mine", MethodInfo("mine", "", Auto))
    assert method_row("mine").settings == {}
