"""The package as a whole: import cost, layers, optional dependencies and public names."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mergebo
from fresh_process import ROOT, TORCH, python, without

SOURCE = ROOT / "src" / "mergebo"
PACKAGES = sorted(".".join(path.parent.relative_to(SOURCE.parent).parts) for path in SOURCE.rglob("__init__.py"))

LAYERS = [
    ["_typing", "_arrays", "_progress", "errors", "_deprecation", "_timing", "_threads", "_text"],
    ["compiled", "_names"],
    ["permutations", "distances", "neighbours"],
    ["spaces", "sorting", "beliefs"],
    ["problems"],
    ["similarity"],
    ["transforms"],
    ["mean", "hyperparameters"],
    ["gp", "kernels"],
    ["acquisition"],
    ["methods"],
    ["trials"],
    ["explain", "plots", "pareto"],
    ["optimizer", "state"],
    ["_minimize"],
    ["studies"],
    ["testing", "integrations"],
    ["experiments"],
    ["cli"],
    ["__main__"],
]
"""Each layer may import from the ones before it (and from itself)."""

TORCH_AT_IMPORT = {
    "kernels/average.py",
    "kernels/base.py",
    "kernels/comparisons.py",
    "kernels/positions.py",
    "kernels/bits.py",
    "kernels/botorch.py",
    "kernels/device.py",
    "kernels/scalars.py",
    "kernels/similarity.py",
    "testing/kernels.py",
}
TORCH_WHEN_USED = {
    "methods/turbo.py",
}


def missing_extra(before: str, code: str) -> str:
    """The message of the MissingExtraError that `code` raises after `before`."""
    return python(f"""
{before}
try:
    {code}
except mb.errors.MissingExtraError as error:
    assert isinstance(error, ImportError)
    print(error)
""")


def test_import_is_light() -> None:
    loaded = set(python("import sys, mergebo; print(*sys.modules)").split())
    assert not loaded & {"torch", "gpytorch", "botorch", "numba", "scipy", "matplotlib"}


def torch_imports(node: ast.AST, when_used: bool = False) -> Iterator[bool]:
    """For every import of torch or a package built on it, except for types, whether it is inside a function."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module]
    if TORCH & {name.partition(".")[0] for name in names}:
        yield when_used
    for child in ast.iter_child_nodes(node):
        yield from torch_imports(child, when_used or isinstance(node, ast.FunctionDef))


@pytest.mark.slow
def test_torch_is_imported_only_where_listed() -> None:
    found: dict[bool, set[str]] = {False: set(), True: set()}
    for path in SOURCE.rglob("*.py"):
        for when_used in torch_imports(ast.parse(path.read_text())):
            found[when_used].add(path.relative_to(SOURCE).as_posix())
    assert found == {False: TORCH_AT_IMPORT, True: TORCH_WHEN_USED}


@pytest.mark.slow
def test_other_modules_import_without_torch() -> None:
    code = """
import importlib, pkgutil, sys, mergebo
for module in pkgutil.walk_packages(mergebo.__path__, "mergebo.", onerror=lambda name: None):
    try:
        importlib.import_module(module.name)
    except mergebo.errors.MissingExtraError as error:
        assert "mergebo[torch]" in str(error)
        print(module.name)
    except SystemExit:
        assert module.name == "mergebo.__main__"
"""
    assert python(without(TORCH) + code).split() == ["mergebo.kernels", "mergebo.testing.kernels"]


@pytest.mark.slow
def test_missing_extras_are_not_listed() -> None:
    """So that `from mergebo import *`, `help(mergebo)` and completion work without them."""
    code = "from mergebo import *; import pydoc, mergebo; pydoc.render_doc(mergebo); print(*dir(mergebo))"
    assert set(python(without({*TORCH, "hypothesis"}) + code).split()) == set(mergebo.__all__) - {"kernels", "testing"}


@pytest.mark.slow
def test_methods_and_benchmarks_run_without_torch() -> None:
    code = """
import json, sys
import mergebo as mb
from mergebo.experiments.jobs import Job, run_job

problem = mb.problems.get("lop:planted(n=6)")
for method in mb.methods.METHODS:
    if method != "turbo":
        result = mb.minimize(problem.evaluate, problem.space, budget=8, initial=5, method=method, seed=0)
        assert len(result.trials) == 8
        restored = mb.Optimizer.from_state(json.loads(json.dumps(result.optimizer.state())))
        assert restored.ask().point.tolist() == result.optimizer.ask().point.tolist()
assert result.explain().results == 8

space = mb.Space(order=mb.Permutation(4), heat=mb.Real(0, 1), picks=mb.Binary(2), salt=mb.Choice(["K", "Na"]))
value = lambda point: [point["heat"], float(point["order"][0]) - point["heat"], float(sum(point["picks"]))]
front = mb.minimize(value, space, budget=8, initial=5, objectives=3, seed=0).pareto
assert front.hypervolume([2, 5, 4]) > 0
record = run_job(Job(problem.name, "bops-h", seed=0, budget=7, initial=5))
assert not record.error and len(record.values) == 7 and record.made_with["numpy"]
print(*sys.modules)
"""
    assert not TORCH & set(python(without(TORCH) + code).split())


@pytest.mark.slow
def test_features_that_need_torch_name_the_extra() -> None:
    code = """
import mergebo as mb
from mergebo.experiments.jobs import Job, check_method, run_job
from mergebo.experiments.competitors import COMPETITORS
from mergebo.gp import GP
from mergebo.similarity import Positions, Product, ProductSimilarity

space = mb.PermutationSpace(5)
rows = space.sample_rows(6, seed=0)
model = GP(Product.of(space, Positions), rows, rows[:, 0])
two = Product.of(mb.Space(a=mb.Permutation(4), b=mb.Real(0, 1)), Positions)
slots = tuple(range(5))
for use in (
    lambda: mb.kernels,
    lambda: mb.testing.KernelSuite,
    lambda: mb.Optimizer(space, "turbo"),
    lambda: mb.Optimizer(space, "mergebo", device="cuda"),
    lambda: mb.methods.SingleKernel(lambda n: None),
    lambda: model.to_botorch(),
    lambda: mb.kernels.product_kernel(two),
    lambda: mb.kernels.kernel_of(Positions(5), slots),
    lambda: mb.kernels.kernel_of(ProductSimilarity((Positions(5), Positions(5))), slots),
    lambda: mb.kernels.DeviceScan(model, "cpu").scan(rows[0], "order", "swap"),
    lambda: check_method("turbo"),
    lambda: check_method("optuna-gp"),
    lambda: run_job(Job("tsp:random(n=5)", "optuna-gp", seed=0, budget=8, initial=5)),
    lambda: COMPETITORS["optuna-gp"](space, sum, rows, 0),
):
    try:
        print("no error:", use())
    except mb.errors.MissingExtraError as error:
        print(error)
"""
    lines = python(without(TORCH) + code).splitlines()
    assert len(lines) == 14
    assert {re.sub("^(gpy|bo)torch", "torch", line) for line in lines} == {
        "torch is not installed; get it with: pip install 'mergebo[torch]'"
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "code", "extra"),
    [
        ("hypothesis", "import mergebo.testing", "mergebo[testing]"),
        ("pytest", "import mergebo.testing", "mergebo[testing]"),
        ("pymoo", "mb.experiments.jobs.check_method('pymoo-ga')", "mergebo[bench]"),
        ("jinja2", "from mergebo.experiments.report import report; report('.')", "mergebo[bench]"),
        ("joblib", "mb.experiments.run_jobs([], folder)", "mergebo[bench]"),
        ("matplotlib", "from mergebo.plots import study", "mergebo[plot]"),
        ("matplotlib", "from mergebo.experiments import figures", "mergebo[plot]"),
        ("matplotlib", "from mergebo.plots import explanation", "mergebo[plot]"),
        ("matplotlib", "front.plot()", "mergebo[plot]"),
        ("distributed", "mb.experiments.run_jobs([], folder, cluster='tcp://nowhere')", "mergebo[bench]"),
    ],
)
def test_missing_packages_name_their_extra(package: str, code: str, extra: str, tmp_path: Path) -> None:
    before = f"""
import sys
sys.modules[{package!r}] = None  # as if it were not installed
import mergebo as mb
import numpy as np
folder = {str(tmp_path)!r}
front = mb.pareto.ParetoFront((), np.empty((0, 2)), np.ones(2))
"""
    assert missing_extra(before, code) == f"{package} is not installed; get it with: pip install '{extra}'\n"


@pytest.mark.slow
def test_imports_point_one_way() -> None:
    rank = {name: k for k, names in enumerate(LAYERS) for name in names}
    for path in SOURCE.rglob("*.py"):
        here = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if here == "__init__":
            continue
        assert here in rank, f"{path}: add {here!r} to LAYERS"
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{a.name}" for a in node.names]
            for name in names:
                if name.startswith("mergebo."):
                    assert rank[name.split(".")[1]] <= rank[here], f"{path} imports {name}, which comes after it"


def test_contributing_guide_is_accurate() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (layers,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    assert [line.strip().split(", ") for line in layers.strip().splitlines()] == LAYERS
    compiled = {path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py") if "@jit\n" in path.read_text()}
    assert compiled == {"compiled", "problems"}
    code = "import sys, mergebo; print(*(name for name in sys.modules if name.startswith('mergebo.')))"
    assert python(code).split() == []


@pytest.mark.slow
def test_array_types_have_one_name_each() -> None:
    """They are defined in `_typing` only; `mergebo.permutations` exports the public ones, `Ints`, `Seed` and `View`."""
    defined: dict[str, list[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                defined.setdefault(ast.unparse(node.value), []).append(path.name)
    aliases = [value for value, names in defined.items() if "_typing.py" in names]
    assert len(aliases) == 7
    for value in aliases:
        assert defined[value] == ["_typing.py"]
    assert {"Ints", "Seed", "View"} <= {*mergebo.permutations.__all__}


def test_public_names() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", mergebo.__version__)
    for name in mergebo.__all__:
        assert getattr(mergebo, name) is not None
    assert dir(mergebo) == sorted(mergebo.__all__)
    with pytest.raises(AttributeError, match="no attribute 'kernel'"):
        mergebo.kernel  # noqa: B018


@pytest.mark.parametrize(
    "package",
    [pytest.param(name, marks=pytest.mark.needs_torch if name == "mergebo.kernels" else ()) for name in PACKAGES],
)
def test_names_in_all_exist(package: str) -> None:
    """Of packages; ruff checks those of modules."""
    imported = importlib.import_module(package)
    for name in getattr(imported, "__all__", ()):
        assert hasattr(imported, name)
