"""What the experiments know of each method."""

from __future__ import annotations

import pytest

import mergebo as mb
from mergebo import errors
from mergebo.experiments.competitors import COMPETITORS
from mergebo.experiments.protocols import METHOD_ROWS, PROTOCOLS, method_row, protocol
from mergebo.methods import METHODS, Auto, MethodInfo, SingleKernel, footrule_kernel
from optimizer_helpers import drive


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


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("method", METHODS)
def test_protocols_fit_every_method(name: str, method: str) -> None:
    settings = protocol(name, method)
    budget = settings.pop("budget")
    assert budget == {"paper-low": 200, "paper-high": 55}[name]
    drive(mb.Optimizer(mb.PermutationSpace(6), method, **settings), settings["initial"] + 1)


def test_unknown_protocol() -> None:
    with pytest.raises(errors.ArgumentError, match="did you mean 'paper-low'"):
        protocol("paper-lo", "mergebo")
    with pytest.raises(errors.ArgumentError, match="did you mean 'random'"):
        protocol("paper-low", "randm")
