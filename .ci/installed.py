"""Use mergebo as somebody does who has only installed it, without extras. Run outside of the repository, by `.ci/wheel`."""

from __future__ import annotations

import importlib.util
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import mergebo as mb


def run(*command: str, status: int = 0) -> str:
    """What a command says, after checking its exit status."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == status, f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


assert Path(mb.__file__).is_relative_to(sys.prefix), mb.__file__
assert run("mergebo", "--version") == f"mergebo {version('mergebo')}\n"
assert "optimize" in run("mergebo", "--help")

EXTRAS = {
    "mergebo.experiments.figures": "plot",
    "mergebo.kernels": "torch",
    "mergebo.plots.explanation": "plot",
    "mergebo.plots.pareto": "plot",
    "mergebo.plots.study": "plot",
    "mergebo.testing": "testing",
}
"""Modules and packages that need more than is installed here, each with the extra that it asks for."""


def asks_for(wanted: str, use: Callable[[], object]) -> bool:
    """Whether an error says that an extra is missing."""
    try:
        use()
    except mb.errors.MissingExtraError as error:
        return f"pip install 'mergebo[{wanted}]'" in str(error)
    return False


assert not any(importlib.util.find_spec(package) for package in ("torch", "gpytorch", "botorch", "matplotlib", "hypothesis"))
for name, wanted in EXTRAS.items():
    assert asks_for(wanted, lambda name=name: importlib.import_module(name)), name
for module in pkgutil.walk_packages(mb.__path__, "mergebo.", onerror=lambda name: None):
    if module.name != "mergebo.__main__" and not any(f"{module.name}.".startswith(f"{name}.") for name in EXTRAS):
        importlib.import_module(module.name)  # the required dependencies are all that it needs

problem = mb.problems.get("qap:nug12")
assert problem.optimum.value == 578
result = mb.minimize(problem.evaluate, problem.space, budget=12, initial=8, method="mergebo", seed=0)
assert result.best.value == problem.evaluate(result.best.point) == min(trial.value for trial in result.trials)
assert result.explain().results == 12
for settings in ({"method": "turbo"}, {"method": "mergebo", "device": "cuda"}):
    assert asks_for("torch", lambda settings=settings: mb.minimize(problem.evaluate, problem.space, budget=12, **settings))
assert asks_for("plot", lambda: result.explain().plot())

Path("program.py").write_text("import sys; print(sum(a == b for a, b in zip(sys.argv[1:], 'abcd')))")
program = f"{sys.executable} program.py {{order}}"
run("mergebo", "optimize", "--items", "a,b,c,d", "--budget", "5", "--initial", "4", "--command", program)
(asked,) = json.loads(run("mergebo", "ask", "--json"))
run("mergebo", "tell", "5", "-82.1")
best = json.loads(run("mergebo", "best", "--json"))
assert best == asked | {"state": "done", "value": -82.1}, (best, asked)

printed = run("mergebo", "plot", status=2)
assert "matplotlib is not installed; get it with: pip install 'mergebo[plot]'" in " ".join(printed.split()), printed
printed = run("mergebo", "bench", "run", "--suite", "smoke", "--methods", "pymoo-ga", "--out", "runs", status=2)
assert "pymoo is not installed; get it with: pip install 'mergebo[bench]'" in " ".join(printed.split()), printed
print(f"mergebo {mb.__version__}: the wheel works")
