"""`mergebo plot`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_helpers import (
    EVERYTHING,
    HOSTILE,
    quoted,
    refused,
    run,
    works,
)
from mergebo.plots import study as pictures

STUDIES: dict[str, list[str]] = {
    "plain": ["--items", quoted([item for item in HOSTILE if set(item) & set("$<[中x")])],
    "choose": ["--items", "a,b,c,d,e", "--choose", "3"],
    "repeated": ["--items", "a,a,b,b,c", "--repeated"],
    "symmetric": ["--items", "a,b,c,d,e", "--symmetry", "cycle", "--symmetry", "reversal"],
    "mixed": EVERYTHING,
    "two objectives": ["--items", "a,b,c,d", "--direction", "minimize", "--direction", "maximize"],
    "large": ["--items", ",".join(f"item {k}" for k in range(60))],
}
KINDS = {".png": b"\x89PNG", ".svg": b"<?xml", ".html": b"<!doctype html>"}


def make_study(name: str, count: int = 4) -> None:
    """Create a study with results."""
    arguments = STUDIES[name]
    objectives = max(1, arguments.count("--direction"))
    works("new", name, *arguments, "--method", "random")
    for trial in works("ask", "-k", count, "--json").json:
        items: list[str] = trial["point"]["order"]
        value = sum(slot * (len(item) + ord(item[0]) % 7) for slot, item in enumerate(items))
        works("tell", trial["trial"], *[value, len(items[0])][:objectives])


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_plots(name: str) -> None:
    make_study(name)
    for kind, suffix in zip(pictures.PLOTS, [".png", ".svg", ".html", ".png", ".svg"], strict=True):
        if name == "symmetric" and kind in ("precedence", "positions"):
            assert "see `neighbours`" in refused("plot", kind)
            continue
        output = works("plot", kind, "--out", f"{kind}{suffix}")
        assert output.out == f"{kind}{suffix}\n"
        assert Path(f"{kind}{suffix}").read_bytes().startswith(KINDS[suffix])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "symmetric", "two objectives"])
def test_the_page_is_self_contained(name: str) -> None:
    make_study(name)
    path = works("plot").out.strip()
    assert path == f"{name.replace(' ', '-')}.html"
    page = Path(path).read_text()
    assert "http" not in page
    assert "<script" not in page
    assert page.count("<img ") == {"plain": 5, "symmetric": 3, "two objectives": 6}[name]
    assert page.count("<tr>") == 5
    if name == "plain":
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;" in page


@pytest.mark.slow
def test_plots_of_one_result_and_of_unusual_names() -> None:
    works("new", "../[/] $x^$", "--items", "a,b", "--method", "random")
    works("ask")
    works("tell", 0, 1)
    assert works("plot", "neighbours").out == "x-neighbours.png\n"
    assert works("plot", "convergence", "--json").json == {"study": "../[/] $x^$", "file": "x-convergence.png"}
    assert works("plot").out == "x.html\n"
    assert Path("x-neighbours.png").exists()
    assert "must end in .png, .svg, .pdf or .html, got 'x.gif'" in refused("plot", "--out", "x.gif")
    assert "must end in" in refused("plot", "precedence", "--out", "x")
    assert "all plots together need an HTML page, such as 'x.html'" in refused("plot", "--out", "x.png")
    output = run("plot", "precedenc")
    assert output.status == 2
    assert "positions" in output.err
