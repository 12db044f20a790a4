"""Records for tests, and a method that kills its process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from mergebo.experiments import Job, Record, get_suite
from mergebo.experiments.runs import SuiteRuns, sections
from mergebo.problems import get


def record(method: str, seed: int, values: list[float], problem: str = "qap:chr15a", **changes: object) -> Record:
    """A run of the suite paper-low, apart from `changes`."""
    job = Job(problem, method, seed, budget=200, initial=20, protocol="paper-low")
    return Record(replace(job, **changes), tuple(values), seconds={"ask": 0.5, "fit": 0.25, "total": 90.0})


def one(*records: Record) -> SuiteRuns:
    (section,) = sections(records)
    return section


def holdout_runs(*, absent: tuple[str, ...] = (), methods: tuple[str, ...] = ("auto", "bops-h", "random")) -> list[Record]:
    """Made-up runs of the smaller problems of the holdout suite, without those whose names contain one of `absent`."""
    rng = np.random.default_rng(8)
    return [
        Record(job, tuple(get(job.problem).optimum.value + 50 * rng.exponential(1.0, 100)))
        for job in get_suite("holdout").jobs(methods, range(3))
        if job.budget == 100 and not any(part in job.problem for part in absent)
    ]


def write(folder: Path, records: list[Record]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "records.jsonl").write_text("".join(record.to_line() + "\n" for record in records))


KILLER = """
import os
from mergebo.methods import register


class Killer:
    def propose(self, history, rng):
        os._exit(9)


register("killer", Killer)
"""
"""The code of a file that registers a method which kills its process."""
