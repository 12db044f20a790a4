"""Figures of explanations."""

from __future__ import annotations

from pathlib import Path

import pytest

from explanation_helpers import explained


@pytest.mark.slow
def test_the_figure_has_its_panels(tmp_path: Path) -> None:
    figure = explained("tsp:random(n=12,seed=100)", 100).plot(tmp_path / "tour.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    for wanted in ("Posterior probability", "Most significant effects", "Adjacency: row next to column", "Item embedding"):
        assert any(title.startswith(wanted) for title in titles), titles
    assert (tmp_path / "tour.png").read_bytes().startswith(b"\x89PNG")
    titles = [axes.get_title(loc="left") for axes in explained("lop:planted(n=40,seed=1)", 60).plot().axes]
    assert "Precedence: row before column, 30 of 40 items" in titles
    assert not any(title.startswith("Item embedding") for title in titles)
