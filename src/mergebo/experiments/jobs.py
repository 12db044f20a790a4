"""One job: a method on a problem with a seed, and the record that is kept of it."""

from __future__ import annotations

import json
import platform
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from mergebo._typing import Rows
from mergebo.calls import read_call
from mergebo.errors import ArgumentError, ExhaustedError, extra, require, unknown_choice
from mergebo.experiments.solvers import SOLVERS, Spent
from mergebo.optimizers import Optimizer
from mergebo.optimizers.methods import METHODS, SHARED, make_method, protocol
from mergebo.optimizers.optimizer import Design
from mergebo.problems import Problem, get
from mergebo.stopwatch import collect
from mergebo.threads import one_thread


@dataclass(frozen=True)
class Job:
    """What is to be run. Everything that can change the result is here, and nothing else."""

    problem: str
    """As `problems.get` takes it."""
    method: str
    """One of `mergebo methods` or of the solvers, with settings if need be: `mergebo(search='scan')`."""
    seed: int
    budget: int
    initial: int
    protocol: str = ""
    """Settings of this name, such as `paper-low`, unless the method has its own."""
    relabelled: bool = False
    """Whether items are renamed at random first, anew for every seed."""

    @property
    def key(self) -> str:
        """The job as text: equal for equal jobs."""
        return json.dumps(asdict(self), sort_keys=True)

    def make_problem(self) -> Problem:
        """The problem, renamed if so wanted; the same for all methods with this seed."""
        problem = get(self.problem)
        return problem.relabelled(self.seed) if self.relabelled else problem

    @property
    def settings(self) -> dict[str, Any]:
        """The method's settings."""
        name, own = read_call(self.method)
        if name in SOLVERS or not self.protocol:
            return own
        shared = protocol(self.protocol, name)
        return {key: value for key, value in shared.items() if key not in SHARED} | own

    @property
    def design(self) -> Design:
        """How the initial points are drawn: as the protocol says, and for all methods alike."""
        design: Design = protocol(self.protocol, "random")["design"] if self.protocol else "spread"
        return design


@dataclass(frozen=True)
class Record:
    """What came of a job: the values in the order of evaluation, or the error that ended it."""

    job: Job
    values: tuple[float, ...] = ()
    best: tuple[float, ...] = ()
    """The row of the best value."""
    seconds: dict[str, float] = field(default_factory=dict)
    """`ask` and, within it, `fit`: means over the evaluations after the initial ones; `total`: of the whole job."""
    made_with: dict[str, str] = field(default_factory=dict)
    error: str = ""

    def to_line(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_line(cls, line: str) -> Record:
        """The record that `to_line` wrote."""
        data = json.loads(line)
        data["job"] = Job(**data["job"])
        return cls(**data | {"values": tuple(data["values"]), "best": tuple(data["best"])})


def check_method(method: str) -> None:
    """Complain about a method that is not known or not installed, before anything is run."""
    name, settings = read_call(method)
    if name not in METHODS and name not in SOLVERS:
        raise unknown_choice("method", name, [*METHODS, *SOLVERS])
    if name in SOLVERS and settings:
        raise ArgumentError(f"{name} has no settings, got {method!r}")
    if name == "pymoo-ga":
        require("bench", "pymoo")
    if name == "optuna-gp":
        require("torch", "torch")
    if name in METHODS:
        make_method(name, **settings)


def run(job: Job) -> Record:
    """Do the job."""
    start = time.perf_counter()
    problem = job.make_problem()
    name, _ = read_call(job.method)
    if name in ("turbo", "optuna-gp"):
        with extra("torch"):
            import torch  # noqa: F401 - before `one_thread`, which limits what is loaded
    # The initial design is a random optimiser's: the same points for every method with the same seed.
    shared: dict[str, Any] = {"seed": job.seed, "initial": job.initial, "design": job.design}
    first = Optimizer(problem.space, "random", **shared).ask(job.initial)
    design = np.array([problem.space.encode(trial.point) for trial in first])
    evaluations = _Evaluations(problem, job.budget)
    with one_thread(), collect() as phases:
        try:
            if name in SOLVERS:
                SOLVERS[name](problem.space, evaluations, design, job.seed)
            else:
                optimizer = Optimizer(problem.space, name, **shared, **job.settings)
                while len(evaluations.values) < job.budget:
                    trial = optimizer.ask()
                    optimizer.tell(trial, evaluations(problem.space.encode(trial.point)))
        except (Spent, ExhaustedError):
            pass
    asked = max(1, len(evaluations.values) - job.initial)
    seconds = {"ask": evaluations.between / asked, "fit": phases.get("fit", 0.0) / asked}
    return Record(
        job,
        tuple(evaluations.values),
        tuple(evaluations.best.tolist()),
        seconds | {"total": time.perf_counter() - start},
        made_with(),
    )


class _Evaluations:
    """The objective as a solver sees it: it keeps the values, and ends the run when the budget is spent."""

    def __init__(self, problem: Problem, budget: int) -> None:
        self.problem = problem
        self.budget = budget
        self.values: list[float] = []
        self.best: Rows = np.empty(0)
        self.between = 0.0
        """Seconds between evaluations."""
        self._since = time.perf_counter()

    def __call__(self, row: Rows) -> float:
        if len(self.values) == self.budget:
            raise Spent
        self.between += time.perf_counter() - self._since
        value = float(self.problem.evaluate_rows(row))
        if not self.values or value < min(self.values):
            self.best = row.copy()
        self.values.append(value)
        self._since = time.perf_counter()
        return value


@lru_cache(maxsize=1)
def made_with() -> dict[str, str]:
    """Versions of what has a part in a result, as far as it is installed."""
    import mergebo

    found = {"python": platform.python_version(), "mergebo": mergebo.__version__}
    for package in ("numpy", "scipy", "numba", "torch", "gpytorch", "botorch"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
