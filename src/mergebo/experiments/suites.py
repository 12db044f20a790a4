"""Benchmark suites: problems, methods, budgets and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mergebo.errors import unknown_choice
from mergebo.experiments.jobs import Job

__all__ = ["SUITES", "Case", "Suite", "get_suite"]


@dataclass(frozen=True)
class Case:
    """A problem with its budget."""

    group: str
    """The class of problems that the instance belongs to."""
    problem: str
    initial: int
    budget: int
    relabelled: bool = False
    checkpoints: tuple[int, ...] = ()
    """Smaller budgets that are reported too: methods do not know their budget, so a run contains the shorter runs."""


@dataclass(frozen=True)
class Suite:
    """Cases, with the methods and seeds to run on them."""

    about: str
    cases: tuple[Case, ...]
    methods: tuple[str, ...]
    seeds: Sequence[int]
    protocol: str = ""

    def relabelled(self) -> Suite:
        """The same suite with items relabelled at random."""
        return replace(self, cases=tuple(replace(case, relabelled=True) for case in self.cases))

    def jobs(self, methods: Iterable[str] | None = None, seeds: Iterable[int] | None = None) -> list[Job]:
        """All jobs, seed by seed, so that an interrupted run can be compared as far as it got."""
        return [
            Job(case.problem, method, seed, case.budget, case.initial, self.protocol, case.relabelled)
            for seed in (self.seeds if seeds is None else seeds)
            for case in self.cases
            for method in (self.methods if methods is None else methods)
        ]


PAPER_METHODS = ("mergebo", "bops-h", "bops-random", "spearman", "turbo", "random", "local-search")
"""The methods that the paper compares, and hill climbing."""


HOLDOUT_SEEDS = range(905, 910)
"""Seeds of the generated instances that methods are evaluated on. They are used for nothing else."""

DESIGN_SEEDS = range(100, 103)
"""Seeds of the generated instances for designing methods."""

SMALL_CLASSES = {
    "TSP 15": "tsp:random(n=15,seed={seed})",
    "TSP 30": "tsp:random(n=30,seed={seed})",
    "QAP 15": "qap:nug-like(n=15,seed={seed})",
    "QAP 30": "qap:nug-like(n=30,seed={seed})",
    "Flow shop 20": "flowshop:random(n=20,machines=5,seed={seed})",
    "Flow shop 50": "flowshop:random(n=50,machines=10,seed={seed})",
    "Linear ordering 30": "lop:planted(n=30,seed={seed})",
    "Cell placement 30": "cells:random(n=30,seed={seed})",
    "Floor planning 30": "floorplan:random(n=30,seed={seed})",
}
"""Classes of generated problems with up to 50 items."""

CLASSES_OF_100 = {
    "TSP 100": "tsp:random(n=100,seed={seed})",
    "Flow shop 100": "flowshop:random(n=100,machines=10,seed={seed})",
    "Linear ordering 100": "lop:planted(n=100,seed={seed})",
}
"""Classes of generated problems with 100 items."""

LARGE_CLASSES = {
    "TSP 300": "tsp:random(n=300,seed={seed})",
    "TSP 1000": "tsp:random(n=1000,seed={seed})",
    "Flow shop 300": "flowshop:random(n=300,machines=10,seed={seed})",
    "Linear ordering 300": "lop:planted(n=300,seed={seed})",
    "Linear ordering 1000": "lop:planted(n=1000,seed={seed})",
}
"""Classes of generated problems with 300 and 1000 items."""

THIEVES = {
    "TTP1 m=279": "ttp:a280-n279-uncorr",
    "TTP2 m=837": "ttp:a280-n837-bounded",
    "TTP3 m=837": "ttp:a280-n837-uncorr",
}
"""The travelling thief problems of the paper: 280 cities, 279 or 837 items."""


def _instances(classes: Mapping[str, str], seeds: Iterable[int], budget: int, *checkpoints: int) -> tuple[Case, ...]:
    """Generated instances with relabelled items and 20 initial points."""
    return tuple(
        Case(group, problem.format(seed=seed), 20, budget, relabelled=True, checkpoints=checkpoints)
        for group, problem in classes.items()
        for seed in seeds
    )


SUITES = {
    "paper-low": Suite(
        "The paper's low-dimensional problems: 20 + 180 evaluations.",
        (
            Case("TSP n=15", "tsp:pcb15-0", 20, 200),
            Case("QAP n=15", "qap:chr15a", 20, 200),
            Case("Floor planning n=30", "floorplan:fp-1", 20, 200),
            Case("Cell placement n=30", "cells:cp-1", 20, 200),
        ),
        PAPER_METHODS,
        seeds=range(20),
        protocol="paper-low",
    ),
    "paper-high": Suite(
        "The paper's travelling thief problems: 280 cities, 279 or 837 items; 5 + 50 evaluations.",
        tuple(Case(group, problem, 5, 55) for group, problem in THIEVES.items()),
        PAPER_METHODS,
        seeds=range(50),
        protocol="paper-high",
    ),
    "holdout": Suite(
        "Generated instances of 13 classes, items relabelled; 20 + 80 evaluations for n <= 50, 20 + 200 for n >= 100.",
        (
            *_instances(SMALL_CLASSES, HOLDOUT_SEEDS, 100, 50),
            *_instances({**CLASSES_OF_100, "TSP 280": "tsp:random(n=280,seed={seed})"}, HOLDOUT_SEEDS, 220, 70),
        ),
        ("auto", "mergebo", "bops-h", "spearman", "combo", "turbo", "random", "local-search", "genetic"),
        seeds=range(5),
    ),
    "large": Suite(
        "Generated instances with 300 and 1000 items, items relabelled; 20 + 50 evaluations.",
        _instances(LARGE_CLASSES, HOLDOUT_SEEDS, 70),
        ("auto", "bops-h", "random", "local-search"),
        seeds=range(5),
    ),
    "thief": Suite(
        "The travelling thief problems, items relabelled; 5 + 50 and 20 + 200 evaluations.",
        (
            *(Case(group, problem, 5, 55, relabelled=True) for group, problem in THIEVES.items()),
            *(Case(group, problem, 20, 220, relabelled=True, checkpoints=(70,)) for group, problem in THIEVES.items()),
        ),
        ("auto", "mergebo", "bops-h", "spearman", "random", "local-search"),
        seeds=range(10, 15),  # methods were designed on the same instances, with the seeds 0 to 9
    ),
    "design": Suite(
        "Instances for designing methods; 20 + 80 evaluations for n <= 50, 20 + 100 for n = 100.",
        (*_instances(SMALL_CLASSES, DESIGN_SEEDS, 100, 50), *_instances(CLASSES_OF_100, DESIGN_SEEDS, 120, 70)),
        ("auto", "auto(embedding=False)"),
        seeds=range(3),
    ),
    "numbering": Suite(
        "How much of a gain on a280 comes from the numbering of its cities; 5 + 50 evaluations.",
        (
            Case("a280, cities as numbered", "tsp:a280-ceil", 5, 55),
            Case("a280, cities renumbered", "tsp:a280-ceil", 5, 55, relabelled=True),
        ),
        ("random", "mergebo(search='relaxation')", "random-bits"),
        seeds=range(20),
    ),
    "smoke": Suite(
        "A smoke test that takes seconds.",
        (
            Case("TSP 8", "tsp:random(n=8,seed=900)", 5, 12, relabelled=True, checkpoints=(8,)),
            Case("Linear ordering 8", "lop:planted(n=8,seed=900)", 5, 12, relabelled=True, checkpoints=(8,)),
        ),
        ("mergebo", "bops-h", "random", "local-search"),
        seeds=range(3),
    ),
}
"""Suites by name."""


def get_suite(name: str, *, relabelled: bool = False) -> Suite:
    """The suite with this name."""
    if name not in SUITES:
        raise unknown_choice("suite", name, SUITES)
    return SUITES[name].relabelled() if relabelled else SUITES[name]
