"""The documents say what the code and the committed runs say."""

from __future__ import annotations

import json
import re
from pathlib import Path

from mergebo.methods import METHODS

ROOT = Path(__file__).parents[1]


def test_the_page_on_choosing_has_every_method() -> None:
    text = (ROOT / "docs/choosing.md").read_text()
    table = text.partition("| method | use it if |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (.*?) \|", table, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == set(METHODS)


def test_the_readme_has_the_scores_of_the_committed_runs() -> None:
    scores = json.loads((ROOT / "docs/results/holdout/metrics.json").read_text())["suites"]["holdout, 20 + 80 evaluations"][
        "scores"
    ]
    names = {"hill climbing": "local-search", "MergeBO": "mergebo", "Optuna TPE": "optuna-tpe"}
    table = (ROOT / "README.md").read_text().partition("| | `auto`")[2].partition("\n\n")[0]
    header, _, *lines = f"`auto`{table}".splitlines()
    methods = [names.get(cell, cell.lower()) for cell in re.sub("`", "", header).strip("| ").split(" | ")]
    assert methods[0] == "auto"
    assert len(lines) == len(scores) - 1  # all classes, and over all of them
    for line in lines:
        group, *cells = line.strip("| ").split(" | ")
        shown = [cell.strip("*").split(" ± ")[0] for cell in cells]
        assert shown == [f"{scores[group][method][0]['mean']:.2f}" for method in methods]
