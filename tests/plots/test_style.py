"""The style of figures."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pytest

from mergebo.plots.style import STYLE, new_figure


def test_a_new_figure_has_the_style_and_changes_no_setting(tmp_path: Path) -> None:
    before = {name: matplotlib.rcParams[name] for name in STYLE}
    with new_figure(3, 2, tmp_path / "a.png") as figure:
        axes = figure.add_subplot()
        assert matplotlib.rcParams["axes.titleweight"] == STYLE["axes.titleweight"] != before["axes.titleweight"]
    assert figure.get_size_inches().tolist() == [3, 2]
    assert not axes.spines["top"].get_visible()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert {name: matplotlib.rcParams[name] for name in STYLE} == before


def test_the_same_figure_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        with new_figure(3, 2) as figure:
            figure.add_subplot().plot([1, 2], [3, 4])
            figure.savefig(tmp_path / name, metadata={"Date": None})
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_figure_that_fails_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_figure(3, 2, tmp_path / "a.png"):
        raise ZeroDivisionError
    assert not (tmp_path / "a.png").exists()
