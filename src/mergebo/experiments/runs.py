"""Finished runs grouped by suite, class of problems, case, method and seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mergebo._names import read_call
from mergebo._typing import Floats
from mergebo.errors import ArgumentError
from mergebo.experiments.competitors import COMPETITORS
from mergebo.experiments.jobs import Job, Record
from mergebo.experiments.metrics import area_under_curve, best_so_far, normalised_score, random_search, simple_regret
from mergebo.experiments.store import Store
from mergebo.experiments.suites import SUITES, Case
from mergebo.methods.registry import METHODS
from mergebo.problems import Problem, get

__all__ = ["CaseRuns", "SuiteRuns", "read_records", "sections"]


class _Head(NamedTuple):
    """What a section is about; sections are sorted by it."""

    position: tuple[int, int]
    """That of the suite, and the budget if the suite has several."""
    title: str
    about: str
    suite: str


class _Setting(NamedTuple):
    """What the jobs of a case have in common."""

    problem: str
    initial: int
    budget: int
    relabelled: bool
    protocol: str


ALL = "All"
NO_TOURS = "All but TSP"
"""Parts of a section in addition to its classes."""


@dataclass(frozen=True, eq=False)
class CaseRuns:
    """The finished runs of one case."""

    case: Case
    records: dict[str, dict[int, Record]]
    """By method and seed."""
    simulated: Mapping[int, float] = field(default_factory=dict)
    """The mean best value of random search by budget, where known from an earlier report."""

    @cached_property
    def problem(self) -> Problem:
        """The problem before its items are relabelled."""
        return get(self.case.problem)

    @property
    def reference_value(self) -> float | None:
        """The best known value, or None."""
        return self.problem.optimum.value if self.problem.optimum else None

    @property
    def budgets(self) -> tuple[int, ...]:
        """The reported budgets, the full one first."""
        return tuple(sorted({*self.case.checkpoints, self.case.budget}, reverse=True))

    @cached_property
    def _best(self) -> dict[str, dict[int, Floats]]:
        return {
            method: {seed: best_so_far(seeds[seed].values, self.case.budget) for seed in sorted(seeds)}
            for method, seeds in self.records.items()
        }

    def seeds(self, *methods: str) -> list[int]:
        """Seeds that all these methods were run with."""
        return sorted(set.intersection(*(set(self.records.get(method, ())) for method in methods)))

    def best(self, method: str, seeds: Sequence[int] | None = None) -> Floats:
        """The best values so far, `(seeds, budget)`, of these seeds or else of all that the method has."""
        return np.array([self._best[method][seed] for seed in (self.seeds(method) if seeds is None else seeds)])

    def regret(self, method: str, budget: int) -> Floats | None:
        """The simple regret of each seed after `budget` evaluations; None without a reference."""
        return (
            None if self.reference_value is None else simple_regret(self.best(method)[:, budget - 1], self.reference_value)
        )

    def auc(self, method: str, budget: int) -> Floats | None:
        """The AUC of each seed after `budget` evaluations; None without a reference."""
        if self.reference_value is None:
            return None
        return area_under_curve(simple_regret(self.best(method)[:, :budget], self.reference_value))

    def score(
        self, method: str, budget: int, seeds: Sequence[int] | None = None, *, random_budget: int | None = None
    ) -> Floats | None:
        """The normalised score of each seed after `budget` evaluations; None if undefined.

        It is relative to random search with as many evaluations, or with `random_budget`.
        """
        if self.reference_value is None or not self.has_score:
            return None
        random = self.random_at(random_budget or budget)
        return normalised_score(self.best(method, seeds)[:, budget - 1], random, self.reference_value)

    def random_at(self, budget: int) -> float:
        """The mean best value of random search after `budget` evaluations."""
        return self.simulated[budget] if budget in self.simulated else float(self.random[budget - 1])

    @property
    def random(self) -> Floats:
        """The mean best value after each evaluation of random search, which draws points like the runs' initial design."""
        job = next(record.job for seeds in self.records.values() for record in seeds.values())
        return random_search(self.case.problem, self.case.budget, job.design)

    @property
    def has_score(self) -> bool:
        """Whether there is a reference value that random search does not reach."""
        if self.reference_value is None:
            return False
        return bool(np.isfinite(normalised_score(0.0, self.random_at(self.case.budget), self.reference_value)))


@dataclass(frozen=True, eq=False)
class SuiteRuns:
    """The runs of one suite."""

    title: str
    about: str
    suite: str
    """Its name; empty for runs that belong to no suite."""
    runs: tuple[CaseRuns, ...]
    planned: tuple[Case, ...]
    """The cases of the suite in this section, with or without finished runs."""
    focal: str = ""
    """The method to compare the others with, if it was run; empty for the default."""

    @cached_property
    def methods(self) -> list[str]:
        """The methods with a finished run, in display order."""
        return sorted({method for runs in self.runs for method in runs.records}, key=method_order)

    @cached_property
    def groups(self) -> dict[str, list[CaseRuns]]:
        """Runs by class of problems."""
        groups: dict[str, list[CaseRuns]] = {}
        for runs in self.runs:
            groups.setdefault(runs.case.group, []).append(runs)
        return groups

    @cached_property
    def parts(self) -> dict[str, list[CaseRuns]]:
        """Runs by class; with several classes, also all runs, and those on all problems but tours."""
        names = list(self.groups)
        if len(names) > 1:
            names += [ALL, *([NO_TOURS] if 0 < sum(_is_tour(runs.case) for runs in self.runs) < len(self.runs) else [])]
        return {name: [runs for runs in self.runs if _belongs(runs.case, name)] for name in names}

    def size(self, part: str) -> int:
        """The number of cases in a part of the suite, with or without finished runs."""
        return sum(_belongs(case, part) for case in self.planned)

    @cached_property
    def absent(self) -> list[Case]:
        """Cases of the suite without a finished run."""
        present = {runs.case for runs in self.runs}
        return [case for case in self.planned if case not in present]

    @cached_property
    def seeds(self) -> list[int]:
        """All seeds of all runs."""
        return sorted({seed for runs in self.runs for each in runs.records.values() for seed in each})

    @property
    def checkpoints(self) -> range:
        """Indices of the reported budgets, from 0 for the full one."""
        return range(max(len(runs.budgets) for runs in self.runs))

    def label(self, runs: CaseRuns) -> str:
        """The name of a case: that of its class if it is the only one in it."""
        return runs.case.group if len(self.groups[runs.case.group]) == 1 else runs.case.problem

    def with_all(self, *methods: str) -> list[CaseRuns]:
        """The cases where all these methods have a seed in common."""
        return [runs for runs in self.runs if runs.seeds(*methods)]


def _is_tour(case: Case) -> bool:
    return case.problem.startswith("tsp:")


def _belongs(case: Case, part: str) -> bool:
    return part in (case.group, ALL) or (part == NO_TOURS and not _is_tour(case))


def method_order(method: str) -> tuple[int, str]:
    """A sort key for methods: those of mergebo, baselines, other tools; variants after their base."""
    names = [*METHODS, *COMPETITORS]
    name, _ = read_call(method)
    return (names.index(name) if name in names else len(names), method)


def sections(records: Iterable[Record], focal: str = "") -> list[SuiteRuns]:
    """Finished runs by suite, in the order of the suites, and by budget where a suite has several.

    Runs that belong to no suite come last. `focal`: the method to compare the others with.
    """
    positions = _positions()
    planned: dict[_Head, list[Case]] = {}
    for head, (_, each) in positions.values():
        planned.setdefault(head, []).append(each)
    found: dict[_Head, dict[tuple[int, Case], dict[str, dict[int, Record]]]] = {}
    for record in sorted(records, key=lambda record: record.job.key):
        if record.error:
            continue
        section, case = positions.get(_setting(record.job)) or _elsewhere(record.job)
        cases = found.setdefault(section, {})
        cases.setdefault(case, {}).setdefault(record.job.method, {})[record.job.seed] = record
    made = []
    for head, cases in sorted(found.items(), key=lambda item: item[0]):
        runs = tuple(CaseRuns(case, cases[k, case]) for k, case in sorted(cases, key=_by_position))
        cases_planned = planned.get(head) or [each.case for each in runs]
        made.append(SuiteRuns(head.title, head.about, head.suite, runs, tuple(cases_planned), focal))
    return made


def read_records(folder: str | Path) -> list[Record]:
    """The records in a folder; raises if there are none."""
    if not (Path(folder) / "records.jsonl").exists():
        raise ArgumentError(f"no records in {folder}; run a suite into it first: mergebo bench run --out {folder}")
    store = Store(folder)
    try:
        return store.records()
    finally:
        store.close()


def missing_seeds(runs: CaseRuns, seeds: Sequence[int]) -> dict[str, list[int]]:
    """By method, the seeds with which it was not run on the case."""
    missing = {method: [seed for seed in seeds if seed not in present] for method, present in runs.records.items()}
    return {method: lacking for method, lacking in missing.items() if lacking}


def _by_position(positioned: tuple[int, Case]) -> tuple[int, str]:
    return positioned[0], positioned[1].problem


def _setting(job: Job) -> _Setting:
    return _Setting(job.problem, job.initial, job.budget, job.relabelled, job.protocol)


def _positions() -> dict[_Setting, tuple[_Head, tuple[int, Case]]]:
    """For the jobs of each suite the section they belong to, and the case with its position."""
    positions: dict[_Setting, tuple[_Head, tuple[int, Case]]] = {}
    for relabelled in (False, True):
        for k, (name, suite) in enumerate(SUITES.items()):
            title = f"{name}, items relabelled" if relabelled else name
            chosen = suite.relabelled() if relabelled else suite
            several = len({(case.initial, case.budget) for case in suite.cases}) > 1
            for position, case in enumerate(chosen.cases):
                setting = _Setting(case.problem, case.initial, case.budget, case.relabelled, suite.protocol)
                part = f", {_evaluations(case.initial, case.budget)}" if several else ""
                head = _Head((k, case.budget if several else 0), title + part, suite.about, name)
                positions.setdefault(setting, (head, (position, case)))
    return positions


def _elsewhere(job: Job) -> tuple[_Head, tuple[int, Case]]:
    relabelled = ", items relabelled" if job.relabelled else ""
    protocol = f", protocol {job.protocol}" if job.protocol else ""
    title = f"{_evaluations(job.initial, job.budget)}{relabelled}{protocol}"
    case = Case(job.problem, job.problem, job.initial, job.budget, job.relabelled)
    return _Head((len(SUITES), 0), title, "Runs that belong to no suite.", ""), (0, case)


def _evaluations(initial: int, budget: int) -> str:
    return f"{initial} + {budget - initial} evaluations"
