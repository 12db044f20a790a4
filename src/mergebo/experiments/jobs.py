"""Jobs, which run one method on one problem with one seed, and their records."""

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

from mergebo._names import read_call
from mergebo._threads import one_thread
from mergebo._timing import collect
from mergebo._typing import Rows
from mergebo.errors import ArgumentError, ExhaustedError, unknown_choice
from mergebo.experiments.competitors import COMPETITORS, BudgetExhausted
from mergebo.experiments.protocols import method_row, protocol
from mergebo.methods.base import Method
from mergebo.methods.design import Design
from mergebo.methods.registry import METHODS, make_method
from mergebo.optimizer import Optimizer
from mergebo.problems import Problem, get

__all__ = ["Job", "Record", "run_job"]


@dataclass(frozen=True)
class Job:
    """What to run: everything that can change the result, and nothing else."""

    problem: str
    """A name for `problems.get`."""
    method: str
    """One of `mergebo methods` or a competitor, optionally with settings: `mergebo(search='scan')`."""
    seed: int
    budget: int
    initial: int
    protocol: str = ""
    """Named settings such as `paper-low`, overridden by those of the method."""
    relabelled: bool = False
    """Whether items are relabelled at random, differently for each seed."""

    @property
    def key(self) -> str:
        """The job as text, equal for equal jobs."""
        return json.dumps(asdict(self), sort_keys=True)

    def make_problem(self) -> Problem:
        """The problem, relabelled if requested; the same for all methods with this seed."""
        problem = get(self.problem)
        return problem.relabelled(self.seed) if self.relabelled else problem

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the method."""
        _, own = read_call(self.method)
        return {**method_row(self.method).settings.get(self.protocol, {}), **own}

    @property
    def design(self) -> Design:
        """The initial design: that of the protocol, and the same for all methods."""
        design: Design = protocol(self.protocol, "random")["design"] if self.protocol else "stratified"
        return design


@dataclass(frozen=True)
class Record:
    """The result of a job: the values in the order of evaluation, or the error that ended it."""

    job: Job
    values: tuple[float, ...] = ()
    best: tuple[float, ...] = ()
    """The row with the best value."""
    seconds: dict[str, float] = field(default_factory=dict)
    """`ask` and its part `fit`: means over the evaluations after the initial ones; `total`: the whole job."""
    made_with: dict[str, str] = field(default_factory=dict)
    error: str = ""

    def to_line(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_line(cls, line: str) -> Record:
        """Read a line written by `to_line`."""
        data = json.loads(line)
        data["job"] = Job(**data["job"])
        return cls(**data | {"values": tuple(data["values"]), "best": tuple(data["best"])})


def check_method(method: str) -> None:
    """Raise if a method is unknown or not installed, before anything is run."""
    name, settings = read_call(method)
    if name not in METHODS and name not in COMPETITORS:
        raise unknown_choice("method", name, [*METHODS, *COMPETITORS])
    if name in COMPETITORS and settings:
        raise ArgumentError(f"{name} has no settings, got {method!r}")
    method_row(name).check_installed()
    if name in METHODS:
        make_method(name, **settings)


def run_job(job: Job, method: Method | None = None) -> Record:
    """Run the job. If its method is given as an object, the job's name for it is only a label."""
    start = time.perf_counter()
    problem = job.make_problem()
    name = ""
    if method is None:
        name, _ = read_call(job.method)
        method_row(name).load()  # before `one_thread`, which limits only loaded libraries
    # The initial design is that of a random optimiser: the same points for every method with the same seed.
    shared: dict[str, Any] = {"seed": job.seed, "initial": job.initial, "design": job.design}
    first = Optimizer(problem.space, "random", **shared).ask(job.initial)
    design = np.array([problem.space.encode(trial.point) for trial in first])
    evaluations = _Evaluations(problem, job.budget)
    with one_thread(), collect() as phases:
        try:
            if name in COMPETITORS:
                COMPETITORS[name](problem.space, evaluations, design, job.seed)
            else:
                settings = job.settings if method is None else {}
                optimizer = Optimizer(problem.space, method or name, **shared, **settings)
                while len(evaluations.values) < job.budget:
                    trial = optimizer.ask()
                    optimizer.tell(trial, evaluations(problem.space.encode(trial.point)))
        except (BudgetExhausted, ExhaustedError):
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
    """The objective as a competitor sees it: it records the values, and ends the run when the budget is spent."""

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
            raise BudgetExhausted
        self.between += time.perf_counter() - self._since
        value = float(self.problem.evaluate_rows(row))
        if not self.values or value < min(self.values):
            self.best = row.copy()
        self.values.append(value)
        self._since = time.perf_counter()
        return value


@lru_cache(maxsize=1)
def made_with() -> dict[str, str]:
    """Versions of Python and the installed packages that can affect a result."""
    import mergebo

    found = {"python": platform.python_version(), "mergebo": mergebo.__version__}
    for package in ("numpy", "scipy", "numba", "torch", "gpytorch", "botorch"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
