"""The GitHub workflows and the script for release notes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

CHANGELOG = """# Changelog

## [Unreleased]

- Not yet.

## [0.2.0] - 2026-02-01

### Added

- New: see [the docs](docs/index.md).

## [0.1.1] - 2026-01-15

## [0.1.0] - 2026-01-01

- First.

[0.2.0]: https://example.org/v0.1.1...v0.2.0
"""


def release_notes(folder: Path, version: str, tag: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a minimal repository with this version."""
    for part in (".ci", "src/mergebo"):
        (folder / part).mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "release-notes", folder / ".ci")
    (folder / "src/mergebo/__init__.py").write_text(f'"""Text."""\n\n__version__ = "{version}"\n')
    (folder / "CHANGELOG.md").write_text(CHANGELOG)
    return subprocess.run([sys.executable, folder / ".ci/release-notes", tag], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("version", "notes"), [("0.2.0", "### Added\n\n- New: see [the docs](docs/index.md).\n"), ("0.1.0", "- First.\n")]
)
def test_release_notes_are_the_section_of_the_version(version: str, notes: str, tmp_path: Path) -> None:
    done = release_notes(tmp_path, version, f"v{version}")
    assert (done.returncode, done.stdout, done.stderr) == (0, notes, "")


@pytest.mark.parametrize(
    ("version", "tag", "message"),
    [
        ("0.2.0", "v0.1.0", "the tag is v0.1.0, but the version in src/mergebo/__init__.py is 0.2.0"),
        ("0.2.0", "0.2.0", "the tag is 0.2.0, but the version in src/mergebo/__init__.py is 0.2.0, whose tag is v0.2.0"),
        ("0.2.0.dev0", "v0.2.0.dev0", "0.2.0.dev0 is not the version of a release"),
        ("0.3.0", "v0.3.0", "CHANGELOG.md has no section for 0.3.0"),
        ("0.1.1", "v0.1.1", "the section of CHANGELOG.md for 0.1.1 is empty"),
    ],
)
def test_inconsistent_releases_are_rejected(version: str, tag: str, message: str, tmp_path: Path) -> None:
    done = release_notes(tmp_path, version, tag)
    assert done.returncode == 1
    assert done.stdout == ""
    assert message in done.stderr


def commands(workflow: dict[str, Any]) -> str:
    """The commands of all steps of a workflow, for every combination of its job matrices."""
    lines = []
    for job in workflow["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        for values in product(*matrix.values()):
            for step in job["steps"]:
                line = step.get("run", "")
                for name, value in zip(matrix, values, strict=True):
                    line = line.replace(f"${{{{ matrix.{name} }}}}", value)
                lines.append(line)
    return "\n".join(lines)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_commands_of_workflows_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = commands(yaml.safe_load(path.read_text()))
    called = set(re.findall(r"\bmake ([a-z-]+)", lines))
    scripts = set(re.findall(r"(?<!\S)\.ci/[\w-]+", lines))
    assert called | scripts
    assert called <= targets
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts), scripts


def test_the_tests_that_mutants_are_tried_on_exist() -> None:
    """A test that was renamed would otherwise drop out of `make mutants`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    deselected = [each.removeprefix("--deselect=") for each in settings["pytest_add_cli_args"] if "::" in each]
    for name in [*settings["pytest_add_cli_args_test_selection"], *deselected]:
        path, *parts = name.split("::")
        assert (ROOT / path).exists(), name
        text = (ROOT / path).read_text() if parts else ""
        assert all(re.search(rf"^ *(def|class) {part}\b", text, re.MULTILINE) for part in parts), name
