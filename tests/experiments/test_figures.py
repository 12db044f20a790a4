"""Figures of a report."""

from __future__ import annotations

import pytest

from benchmark_records import one, record
from mergebo.experiments.competitors import COMPETITORS
from mergebo.experiments.figures import convergence, styles
from mergebo.methods.registry import METHODS


def test_every_method_has_a_distinct_style() -> None:
    found = styles([*METHODS, *COMPETITORS, "mergebo(search='relaxation')"])
    assert len({(str(style["color"]), str(style["linestyle"])) for style in found.values()}) == len(found)


def test_a_curve_at_zero_stays_visible() -> None:
    section = one(record("random", 0, [20000.0, 9896.0]), record("mergebo", 0, [20000.0]))
    figure, caption = convergence("QAP", section.runs, styles(section.methods))
    (axes,) = figure.axes
    assert "along the bottom" in caption
    low, high = axes.get_ylim()
    assert all(low <= line.get_ydata().min() and line.get_ydata().max() <= high for line in axes.lines[:2])
    _, caption = convergence("QAP", one(record("random", 0, [20000.0])).runs, styles(["random"]))
    assert "along the bottom" not in caption


@pytest.mark.parametrize("factor", [1.02, 1.2, 1.8, 2.5, 7, 50, 1e4])
@pytest.mark.parametrize("least", [1.1, 3.3, 8.5])
def test_a_regret_axis_has_several_ticks(least: float, factor: float) -> None:
    optimum = 9896  # of chr15a
    section = one(record("random", 0, [optimum + 100 * least * factor, optimum + 100 * least]))
    figure, _ = convergence("QAP", section.runs, styles(section.methods))
    (axes,) = figure.axes
    low, high = axes.get_ylim()
    assert 2 <= sum(low <= mark <= high for mark in axes.get_yticks()) <= 9
