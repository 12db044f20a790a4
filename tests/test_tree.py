"""The folders and files of the tests are those of `src/mergebo`."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "mergebo"

THEMES = {
    "spaces/test_neighbourhoods.py": "what each variable contributes to the neighbourhood of a row",
    "cli/test_main.py": "the program, whichever the command",
    "cli/test_storages.py": "storages as commands meet them",
    "test_docs.py": "the documents say what the code says",
    "test_golden.py": "traces of every method, explanation and command",
    "test_imports.py": "import cost, layers and optional packages",
    "test_reference.py": "docs/reference.md has every public name",
    "test_release.py": "workflows and release notes",
    "test_tree.py": "this file",
    "test_words.py": "the terms of the field",
}
"""Files that are not named after a module, and what they test; `integration/` has more, which need several packages."""

FILES = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py"))


def has_module(file: str) -> bool:
    """Whether there is a module or package of this name, possibly a private one, in the same place."""
    path = SOURCE / file
    name = path.stem.removeprefix("test_")
    names = [f"{name}.py", f"_{name}.py", f"{name}/__init__.py"]
    return any((path.parent / each).exists() for each in names)


def test_every_file_is_named_after_a_module_or_listed() -> None:
    named = {file for file in FILES if Path(file).name.startswith("test_") and not file.startswith("integration/")}
    assert {file for file in named if not has_module(file)} == set(THEMES)


def test_helpers_are_beside_the_folders() -> None:
    assert not [
        file for file in FILES if "/" in file and not Path(file).name.startswith(("test_", "conftest.", "__init__."))
    ]


def test_modules_are_found() -> None:
    assert has_module("test_gp.py")
    assert has_module("test_threads.py")
    assert has_module("problems/optima/test_exact.py")
    assert has_module("test_cli.py")
    assert not has_module("test_sorting_networks.py")
    assert not has_module("sorting/test_gp.py")


def test_the_contributing_guide_lists_every_file_once() -> None:
    text = (TESTS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = text.partition("## The source tree")[2].partition("```\n")[2].partition("```")[0].splitlines()
    listed, folders = [], list[str]()
    for line in lines:
        name, depth = line.split()[0], (len(line) - len(line.lstrip())) // 2
        folders = [*folders[:depth], name]
        listed.append("".join(folders))
    files = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")]
    packages = {f"{Path(file).parent.as_posix()}/" for file in files if "/" in file}
    expected = {file for file in files if "/" not in file or not file.endswith("__init__.py")} | packages
    assert sorted(listed) == sorted(expected)
