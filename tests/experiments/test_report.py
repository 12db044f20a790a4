"""The report: complete, self-contained, and the same for the same records."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from benchmark_records import record, write
from mergebo.errors import ArgumentError
from mergebo.experiments.report import page, report


class Reader(HTMLParser):
    """Checks that tags are closed, and collects the addresses that a page would fetch."""

    void = ("meta", "img", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.fetched += [str(value) for key, value in attrs if key in ("src", "href")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
def test_the_report_is_complete_and_self_contained(folder: Path) -> None:
    page = report(folder)
    assert page == folder / "report.html"
    text = page.read_text()
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    assert not reader.tags & {"script", "link", "iframe"}
    assert all(address.startswith(("data:image/svg+xml;base64,", "#")) for address in reader.fetched)
    for part in (
        "Table 1",
        "Table 3",
        "Failed jobs",
        "1 &lt; 2 &amp; &lt;script&gt;",
        "random lacks the seeds",
        "No reference",
    ):
        assert part in text
    pictures = {path.name for path in (folder / "figures").iterdir()}
    assert {"paper-low-mean-ranks.png", "paper-low-scores.png", "paper-low-qap-n-15.png"} <= pictures
    markdown = (folder / "report.md").read_text()
    linked = re.findall(r"\]\(figures/(.*?)\)", markdown)
    assert set(linked) == pictures
    assert "1 < 2 & <script>" in markdown
    latex = (folder / "tables.tex").read_text()
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") > 10
    assert re.search(r"(?<!\\)[%#_]", latex) is None
    assert json.loads((folder / "timings.json").read_text())["seconds"]["paper-low"]["QAP n=15"]["random"]["ask"] == 0.5


@pytest.mark.slow
def test_figures_are_deterministic(folder: Path) -> None:
    report(folder)
    before = (folder / "report.html").read_bytes()
    report(folder)
    assert (folder / "report.html").read_bytes() == before


@pytest.mark.slow
def test_the_page_alone_is_that_of_the_report(folder: Path) -> None:
    """Byte for byte; no file is written."""
    written = report(folder).read_text()
    (folder / "report.html").unlink()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.name != ".locks"}
    assert page(folder) == written
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.name != ".locks"} == before


@pytest.mark.slow
def test_the_page_alone_reads_the_metrics_unless_they_are_outdated(folder: Path) -> None:
    """Then random search need not be simulated again."""
    written = report(folder).read_text()
    path = folder / "metrics.json"
    known = json.loads(path.read_text())
    case = known["suites"]["paper-low"]["cases"]["QAP n=15"]
    case["random"]["200"] += 1000
    path.write_text(json.dumps(known))
    assert page(folder) != written
    case["reference"] += 1  # of other data
    path.write_text(json.dumps(known))
    assert page(folder) == written


def test_failures_alone_make_a_report(tmp_path: Path) -> None:
    write(tmp_path, [replace(record("random", 0, []), error="ValueError: no")])
    assert "ValueError: no" in report(tmp_path).read_text()


def test_a_folder_without_records(tmp_path: Path) -> None:
    missing = tmp_path / "typo"
    with pytest.raises(ArgumentError, match=r"no records in .*typo"):
        report(missing)
    assert not missing.exists()
