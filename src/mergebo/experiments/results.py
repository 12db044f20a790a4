"""Records sorted out: by suite, by class of problems, by problem, by method and seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np

from mergebo._typing import Floats
from mergebo.calls import read_call
from mergebo.errors import ArgumentError
from mergebo.experiments.jobs import Job, Record
from mergebo.experiments.metrics import area_under_curve, best_so_far, normalised_score, random_search, simple_regret
from mergebo.experiments.solvers import SOLVERS
from mergebo.experiments.store import Store
from mergebo.experiments.suites import SUITES, Case
from mergebo.optimizers.methods import METHODS
from mergebo.problems import Problem, get

_Head: TypeAlias = tuple[tuple[int, int], str, str, str]
"""A section's place, title, text and suite."""

ALL = "All"
NO_TOURS = "All but TSP"
"""Parts of a section beside its classes."""


@dataclass(frozen=True, eq=False)
class Runs:
    """The finished runs of one case."""

    case: Case
    records: dict[str, dict[int, Record]]
    """By method and seed."""
    simulated: Mapping[int, float] = field(default_factory=dict)
    """The mean best value of random search at some budgets, if it is known from an earlier report."""

    @cached_property
    def problem(self) -> Problem:
        """The problem as it is before items are renamed."""
        return get(self.case.problem)

    @property
    def reference(self) -> float | None:
        """The least value that is known; None if none is."""
        return self.problem.optimum.value if self.problem.optimum else None

    @property
    def budgets(self) -> tuple[int, ...]:
        """The budgets that are reported, the full one first."""
        return tuple(sorted({*self.case.checkpoints, self.case.budget}, reverse=True))

    @cached_property
    def _best(self) -> dict[str, dict[int, Floats]]:
        return {
            method: {seed: best_so_far(seeds[seed].values, self.case.budget) for seed in sorted(seeds)}
            for method, seeds in self.records.items()
        }

    def seeds(self, *methods: str) -> list[int]:
        """Seeds that all these methods have."""
        return sorted(set.intersection(*(set(self.records.get(method, ())) for method in methods)))

    def best(self, method: str, seeds: Sequence[int] | None = None) -> Floats:
        """The best values so far, `(seeds, budget)`; of all seeds that the method has unless some are named."""
        return np.array([self._best[method][seed] for seed in (self.seeds(method) if seeds is None else seeds)])

    def regret(self, method: str, budget: int) -> Floats | None:
        """The simple regret of each seed after `budget` evaluations; None without a reference."""
        return None if self.reference is None else simple_regret(self.best(method)[:, budget - 1], self.reference)

    def auc(self, method: str, budget: int) -> Floats | None:
        """The AUC of each seed after `budget` evaluations; None without a reference."""
        if self.reference is None:
            return None
        return area_under_curve(simple_regret(self.best(method)[:, :budget], self.reference))

    def score(
        self, method: str, budget: int, seeds: Sequence[int] | None = None, *, random_budget: int | None = None
    ) -> Floats | None:
        """The normalised score of each seed after `budget` evaluations; None unless it is defined.

        It refers to random search with as many evaluations, or with `random_budget`.
        """
        if self.reference is None or not self.has_score:
            return None
        random = self.random_at(random_budget or budget)
        return normalised_score(self.best(method, seeds)[:, budget - 1], random, self.reference)

    def random_at(self, budget: int) -> float:
        """The mean best value of random search after `budget` evaluations."""
        return self.simulated[budget] if budget in self.simulated else float(self.random[budget - 1])

    @property
    def random(self) -> Floats:
        """The mean best value, after each evaluation, of random search that draws as the runs' initial designs do."""
        job = next(record.job for seeds in self.records.values() for record in seeds.values())
        return random_search(self.case.problem, self.case.budget, job.design)

    @property
    def has_score(self) -> bool:
        """Whether there is a reference, and random search does not find it by itself."""
        if self.reference is None:
            return False
        return bool(np.isfinite(normalised_score(0.0, self.random_at(self.case.budget), self.reference)))


@dataclass(frozen=True, eq=False)
class Section:
    """The runs of one suite."""

    title: str
    about: str
    suite: str
    """Its name; empty for runs of no suite."""
    runs: tuple[Runs, ...]
    planned: tuple[Case, ...]
    """The cases that the suite has here, with finished runs or without."""
    ours: str = ""
    """The method that the reader wants the others to be compared with, if it was run."""

    @cached_property
    def methods(self) -> list[str]:
        """The methods that have a finished run, in the order in which they are always shown."""
        return sorted({method for runs in self.runs for method in runs.records}, key=method_order)

    @cached_property
    def groups(self) -> dict[str, list[Runs]]:
        """Runs by class of problems."""
        groups: dict[str, list[Runs]] = {}
        for runs in self.runs:
            groups.setdefault(runs.case.group, []).append(runs)
        return groups

    @cached_property
    def parts(self) -> dict[str, list[Runs]]:
        """Runs by class; of several classes, all runs too, and those on other problems than tours."""
        names = list(self.groups)
        if len(names) > 1:
            names += [ALL, *([NO_TOURS] if 0 < sum(_is_tour(runs.case) for runs in self.runs) < len(self.runs) else [])]
        return {name: [runs for runs in self.runs if _belongs(runs.case, name)] for name in names}

    def size(self, part: str) -> int:
        """How many cases the suite has in a part, with finished runs or without."""
        return sum(_belongs(case, part) for case in self.planned)

    @cached_property
    def absent(self) -> list[Case]:
        """Cases of the suite without a finished run."""
        there = {runs.case for runs in self.runs}
        return [case for case in self.planned if case not in there]

    @cached_property
    def seeds(self) -> list[int]:
        """All seeds that some method has on some case."""
        return sorted({seed for runs in self.runs for each in runs.records.values() for seed in each})

    def label(self, runs: Runs) -> str:
        """What a case is called: its class, if it is the only one of it."""
        return runs.case.group if len(self.groups[runs.case.group]) == 1 else runs.case.problem

    def with_all(self, *methods: str) -> list[Runs]:
        """The cases where all these methods have a seed in common."""
        return [runs for runs in self.runs if runs.seeds(*methods)]


def _is_tour(case: Case) -> bool:
    return case.problem.startswith("tsp:")


def _belongs(case: Case, part: str) -> bool:
    return part in (case.group, ALL) or (part == NO_TOURS and not _is_tour(case))


def method_order(method: str) -> tuple[int, str]:
    """A key that puts methods into one order everywhere: ours, the baselines, other tools; variants after their base."""
    names = [*METHODS, *SOLVERS]
    name, _ = read_call(method)
    return (names.index(name) if name in names else len(names), method)


def sections(records: Iterable[Record], ours: str = "") -> list[Section]:
    """Finished runs by suite, in the order of the suites, and by budget where a suite has several.

    Runs of no suite come last. `ours`: the method that the others are compared with.
    """
    places = _places()
    planned: dict[_Head, list[Case]] = {}
    for head, (_, each) in places.values():
        planned.setdefault(head, []).append(each)
    found: dict[_Head, dict[tuple[int, Case], dict[str, dict[int, Record]]]] = {}
    for record in sorted(records, key=lambda record: record.job.key):
        if record.error:
            continue
        section, case = places.get(_setting(record.job)) or _elsewhere(record.job)
        cases = found.setdefault(section, {})
        cases.setdefault(case, {}).setdefault(record.job.method, {})[record.job.seed] = record
    made = []
    for head, cases in sorted(found.items(), key=lambda item: item[0]):
        _, title, about, suite = head
        runs = tuple(Runs(case, cases[place, case]) for place, case in sorted(cases, key=_by_place))
        made.append(Section(title, about, suite, runs, tuple(planned.get(head) or [one.case for one in runs]), ours))
    return made


def read_records(folder: str | Path) -> list[Record]:
    """The records in a folder that has some."""
    if not (Path(folder) / "records.jsonl").exists():
        raise ArgumentError(f"there are no records in {folder}; run a suite into it first: mergebo bench run --out {folder}")
    store = Store(folder)
    try:
        return store.records()
    finally:
        store.close()


def missing_seeds(runs: Runs, every: Sequence[int]) -> dict[str, list[int]]:
    """Those of the seeds that a method has not on the case, by method."""
    lacking = {method: [seed for seed in every if seed not in seeds] for method, seeds in runs.records.items()}
    return {method: seeds for method, seeds in lacking.items() if seeds}


def _by_place(placed: tuple[int, Case]) -> tuple[int, str]:
    return placed[0], placed[1].problem


def _setting(job: Job) -> tuple[str, int, int, bool, str]:
    return job.problem, job.initial, job.budget, job.relabelled, job.protocol


def _places() -> dict[tuple[str, int, int, bool, str], tuple[_Head, tuple[int, Case]]]:
    """Where the jobs of each suite belong: a section, and a case with its place."""
    places: dict[tuple[str, int, int, bool, str], tuple[_Head, tuple[int, Case]]] = {}
    for renamed in (False, True):
        for k, (name, suite) in enumerate(SUITES.items()):
            title = f"{name}, items renamed" if renamed else name
            chosen = suite.relabelled() if renamed else suite
            several = len({(case.initial, case.budget) for case in suite.cases}) > 1
            for place, case in enumerate(chosen.cases):
                setting = (case.problem, case.initial, case.budget, case.relabelled, suite.protocol)
                part = f", {_evaluations(case.initial, case.budget)}" if several else ""
                head = ((k, case.budget if several else 0), title + part, suite.about, name)
                places.setdefault(setting, (head, (place, case)))
    return places


def _elsewhere(job: Job) -> tuple[_Head, tuple[int, Case]]:
    renamed = ", items renamed" if job.relabelled else ""
    protocol = f", protocol {job.protocol}" if job.protocol else ""
    title = f"{_evaluations(job.initial, job.budget)}{renamed}{protocol}"
    case = Case(job.problem, job.problem, job.initial, job.budget, job.relabelled)
    return ((len(SUITES), 0), title, "Runs that belong to no suite.", ""), (0, case)


def _evaluations(initial: int, budget: int) -> str:
    return f"{initial} + {budget - initial} evaluations"
