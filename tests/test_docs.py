"""The documents say what the code and the committed runs say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import pytest

from fresh_process import ROOT, TORCH, without
from mergebo.methods import METHODS

TORCH_PAGES = {"README.md", "botorch.md", "extend.md"}
"""Documents with Python blocks that need the extra torch; each mentions it."""


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


@pytest.mark.slow
@pytest.mark.parametrize("document", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda p: p.name)
def test_code_in_documents_runs(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python blocks of a document run in order, in one namespace."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    with patch.dict(METHODS):  # names given to methods are for this page alone
        for block in re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL):
            try:
                exec(compile(block, str(document), "exec"), namespace)
            except ImportError as error:
                if document.name in TORCH_PAGES and find_spec("torch") is None:
                    pytest.skip(f"the rest needs the extra torch: {error}")
                raise


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TORCH_PAGES))
def test_documents_that_need_torch_name_the_extra(name: str, tmp_path: Path) -> None:
    text = next(path for path in (ROOT / name, ROOT / "docs" / name) if path.exists()).read_text()
    assert "mergebo[torch]" in text
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    command = [sys.executable, "-c", f"{without(TORCH)}\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert re.search(r"\n(ModuleNotFoundError: No module named|mergebo.errors.MissingExtraError:).*torch", done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "output"),
    [("command-line", "82.1 in trial 0"), ("tutorial", "expected for trial")],
)
def test_commands_in_documents_run(page: str, output: str, shell: Callable[[str], str], tmp_path: Path) -> None:
    """The shell blocks of a page run in order; long runs are shortened."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).replace("--budget 60", "--budget 8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert output in shell(blocks)
