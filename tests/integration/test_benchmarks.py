"""The reference implementations in the benchmarks are correct, and the ablation table matches its records."""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import ablation
import sorting as benchmark
from mergebo.distances import kendall
from mergebo.experiments.jobs import Job, run_job
from mergebo.permutations import sample
from mergebo.sorting import MergeMap

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("n", [1, 2, 3, 17, 32])
def test_reference_implementations_agree(n: int) -> None:
    a, b = sample(n, 6, seed=0), sample(n, 5, seed=1)
    bits = MergeMap(n).encode(a)
    assert [benchmark.plain_merge_code(order) for order in a.tolist()] == bits.tolist()
    np.testing.assert_array_equal(benchmark.numpy_merge_code(a), bits)
    np.testing.assert_array_equal(benchmark.float_distances(bits, MergeMap(n).encode(b)), MergeMap(n).distance(a, b))
    np.testing.assert_array_equal(benchmark.sign_distances(a, b), kendall.cross(a, b))


def test_the_ablation_table_in_the_docs_matches_the_records() -> None:
    rows = [json.loads(line) for line in ablation.RESULTS.read_text().splitlines()]
    assert ablation.table(rows) in (Path(__file__).parents[2] / "docs" / "auto.md").read_text()
    assert {row["part"] for row in rows} <= set(ablation.PARTS)  # a part that is new may have no runs yet


@pytest.mark.needs_torch
@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_every_benchmark_can_be_imported(path: Path) -> None:
    spec = spec_from_file_location(f"benchmark_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = module = module_from_spec(spec)  # dataclasses look for their module
    spec.loader.exec_module(module)


@pytest.mark.parametrize("part", ablation.PARTS)
def test_the_ablation_runs_without_each_part(part: str) -> None:
    job = Job("tsp:random(n=7,seed=1)", "auto without a part", seed=0, budget=12, initial=6)
    assert len(run_job(job, ablation.PARTS[part].method()).values) == 12


def test_auto_with_every_part_is_auto() -> None:
    job = Job("ttp:random(n=7,seed=1)", "auto", 0, 14, 6)
    assert run_job(job, ablation.PARTS["everything"].method()).values == run_job(job).values
