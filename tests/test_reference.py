"""The reference documents what is public, once: the names in the `__all__` of every module without an underscore.

Everything is read from the source, so that nothing has to be imported.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

INTERNAL = ("mergebo.compiled", "mergebo.cli")
"""Packages that are not a public interface as modules: compiled loops, and the commands of the command line."""


def module_path(module: str) -> Path | None:
    """The file of a module; None if there is no such module."""
    path = SOURCE / module.replace(".", "/")
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.exists()), None)


@cache
def parsed(module: str) -> ast.Module:
    path = module_path(module)
    assert path is not None, f"{module} does not exist"
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def exported(module: str) -> tuple[str, ...] | None:
    """The names in the `__all__` of a module, apart from those of modules and `__version__`; None if it has none."""
    for node in parsed(module).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == "__all__":
            names = ast.literal_eval(node.value)  # type: ignore[attr-defined]
            return tuple(name for name in names if name != "__version__" and module_path(origin(module, name)) is None)
    return None


@cache
def origin(module: str, name: str) -> str:
    """Where a name of a module is defined: a re-exported one in the module that it is imported from."""
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("mergebo"):
            for each in node.names:
                if (each.asname or each.name) == name and node.module != module:
                    return origin(node.module, each.name)
    return f"{module}.{name}"


def public_modules() -> list[str]:
    """All modules without an underscore in their path, apart from internal packages."""
    found = []
    for path in sorted(SOURCE.glob("mergebo/**/*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        module = ".".join(parts)
        if not any(part.startswith("_") for part in parts) and not module.startswith(INTERNAL):
            found.append(module)
    return found


def documented() -> Counter[str]:
    """The names that the reference documents: those of a module, its listed members, or a single name."""
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    found: Counter[str] = Counter()
    for path, members in re.findall(r"^::: ([\w.]+)\n(?: +options:\n +members: \[(.*)\])?", text, re.MULTILINE):
        if module_path(path) is None:
            found[origin(*path.rpartition(".")[::2])] += 1
        else:
            names = members.split(", ") if members else exported(path) or ()
            # A module hides a function of the same name in its package.
            found.update(origin(path, name) for name in names if module_path(f"{path}.{name}") is None)
    return found


def has_docstring(name: str) -> bool:
    """Whether a function or class has a docstring, or a text follows the constant: the page leaves out names without."""
    module, _, name = name.rpartition(".")
    body = parsed(module).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return ast.get_docstring(node) is not None
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id == name:
                return isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    return False


def public_names() -> dict[str, str]:
    """Every public name by where it is defined, with the module that exports it."""
    return {origin(module, name): module for module in public_modules() for name in exported(module) or ()}


def test_every_public_module_lists_its_public_names() -> None:
    for module in public_modules():
        names = exported(module)
        assert names is not None, f"{module} has no __all__"
        assert not any(name.startswith("_") for name in names), f"{module} exports a private name"


def test_the_reference_documents_every_public_name_once() -> None:
    public, found = public_names(), documented()
    missing = {name for name in public if name not in found}
    assert not missing, f"docs/reference.md lacks {', '.join(sorted(missing))}"
    assert not set(found) - set(public), "not public"
    assert not {name for name, count in found.items() if count > 1}, "documented twice"


def test_every_public_name_has_a_docstring() -> None:
    bare = {name for name in public_names() if not has_docstring(name)}
    assert not bare, f"without a docstring: {', '.join(sorted(bare))}"
