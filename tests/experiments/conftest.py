"""Fixtures of the tests of experiments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark_records import holdout_runs, record, write
from mergebo.experiments import Record
from mergebo.problems import get


@pytest.fixture(scope="module")
def paired() -> list[Record]:
    return holdout_runs(absent=("qap", "floorplan", "cells", "n=50", "n=15"))


METHODS_RUN = ("mergebo", "bops-h", "random", "optuna-tpe")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Made-up runs: two problems with a reference and one without, a seed that is missing, and a failure."""
    rng = np.random.default_rng(3)
    records = [
        record(method, seed, (get(problem).optimum.value + rng.exponential(3000, 200)).tolist(), problem)
        for problem in ("qap:chr15a", "tsp:pcb15-0")
        for method in METHODS_RUN
        for seed in range(3)
        if (method, seed) != ("random", 2)
    ]
    records += [record(method, 0, [3.0, 2.0], "tsp:random(n=9,seed=77)", budget=5, protocol="") for method in METHODS_RUN]
    records.append(Record(replace(records[0].job, seed=9), error="Traceback\nValueError: 1 < 2 & <script>"))
    write(tmp_path, records)
    return tmp_path
