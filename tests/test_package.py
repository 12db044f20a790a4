"""The package as a whole: what importing costs, who imports whom, warm compiled code, and documents whose code runs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import mergebo

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "mergebo"

LAYERS = [
    ["errors", "stopwatch", "threads", "look"],
    ["compiled", "calls"],
    ["permutations"],
    ["rules", "spaces", "space_data", "sorting", "moves", "beliefs"],
    ["problems", "kernels"],
    ["surrogate"],
    ["acquisition"],
    ["optimizers"],
    ["testing", "integrations"],
    ["experiments"],
    ["cli"],
    ["__main__"],
]
"""Each layer may import from the ones before it (and from itself)."""


def python(code: str, *flags: str) -> str:
    return subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_import_is_light() -> None:
    loaded = set(python("import sys, mergebo; print(*sys.modules)").split())
    assert not loaded & {"torch", "gpytorch", "botorch", "numba", "scipy", "matplotlib"}


def test_no_torch_before_a_kernel_is_wanted() -> None:
    code = "import sys, mergebo as mb; mb.sorting.MergeMap(5).encode([0, 1, 2, 3, 4]); print(*sys.modules)"
    assert not set(python(code).split()) & {"torch", "gpytorch"}


@pytest.mark.parametrize(
    ("package", "code", "said"),
    [
        ("hypothesis", "import mergebo.testing", "mergebo[testing]"),
        ("pytest", "import mergebo.testing", "mergebo[testing]"),
        ("pymoo", "mb.experiments.jobs.check_method('pymoo-ga')", "mergebo[bench]"),
        ("jinja2", "from mergebo.experiments.report import report; report('.')", "mergebo[bench]"),
        ("joblib", "mb.experiments.run_jobs([], folder)", "mergebo[bench]"),
        ("distributed", "mb.experiments.run_jobs([], folder, cluster='tcp://nowhere')", "mergebo[bench]"),
    ],
)
def test_a_package_that_is_missing_names_its_extra(package: str, code: str, said: str, tmp_path: Path) -> None:
    tried = f"""
import sys
sys.modules[{package!r}] = None  # as if it were not installed
import mergebo as mb
folder = {str(tmp_path)!r}
try:
    {code}
except mb.errors.MissingExtraError as error:
    assert isinstance(error, ImportError)
    print(error)
"""
    assert python(tried) == f"{package} is not installed; get it with: pip install '{said}'\n"


def test_imports_point_one_way() -> None:
    rank = {name: k for k, names in enumerate(LAYERS) for name in names}
    for path in SOURCE.rglob("*.py"):
        here = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if here == "__init__":
            continue
        assert here in rank, f"{path}: say in LAYERS which layer {here!r} is"
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{a.name}" for a in node.names]
            for name in names:
                if name.startswith("mergebo."):
                    assert rank[name.split(".")[1]] <= rank[here], f"{path} imports {name}, which comes after it"


def test_second_process_compiles_nothing() -> None:
    """Compiled code is cached on disk: a later process loads it instead of compiling it again."""
    code = """
import mergebo as mb
from mergebo.compiled import merge, packed
made = mb.sorting.MergeMap(6)
orders = mb.permutations.sample(6, 3, seed=0)
made.project(made.encode(orders)), made.distance(orders, orders)
for function in (merge.encode, merge.decode, merge.nearest_codes, packed.batch_hamming):
    print(sum(function.stats.cache_hits.values()), sum(function.stats.cache_misses.values()))
"""
    python(code)
    for line in python(code).splitlines():
        hits, misses = map(int, line.split())
        assert hits > 0
        assert misses == 0


def test_public_names() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", mergebo.__version__)
    for name in mergebo.__all__:
        assert getattr(mergebo, name) is not None
    assert dir(mergebo) == sorted(mergebo.__all__)
    with pytest.raises(AttributeError, match="no attribute 'kernel'"):
        mergebo.kernel  # noqa: B018


@pytest.mark.parametrize("module", ["permutations", "sorting", "kernels", "testing", "errors"])
def test_all_is_what_is_there(module: str) -> None:
    part = getattr(mergebo, module)
    for name in part.__all__:
        assert hasattr(part, name)


@pytest.mark.parametrize("document", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda p: p.name)
def test_code_in_documents_runs(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python blocks of a document, one after the other, in one namespace."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL):
        exec(compile(block, str(document), "exec"), namespace)


@pytest.mark.parametrize(
    ("page", "said"),
    [("command-line", "82.1 in trial 0"), ("tutorial", "expected of trial")],
)
def test_commands_in_documents_run(page: str, said: str, shell: Callable[[str], str], tmp_path: Path) -> None:
    """The shell blocks of a page, one after the other; long runs are shortened."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).replace("--budget 60", "--budget 8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert said in shell(blocks)
