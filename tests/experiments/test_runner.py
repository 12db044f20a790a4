"""Runners: no job is lost or run twice, whatever is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark_records import KILLER
from mergebo.experiments import Job, Store, get_suite, run_jobs

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


SMOKE = get_suite("smoke")


TINY = Job("tsp:random(n=6,seed=1)", "random", 0, 6, 3)


def values(folder: Path) -> dict[str, tuple[float, ...]]:
    return {record.job.key: record.values for record in Store(folder).records()}


def bench(*arguments: str, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "mergebo", "bench", "run", "--suite", "smoke", "--quiet", *arguments]
    return subprocess.Popen(command, text=True, start_new_session=True, **options)  # type: ignore[call-overload,no-any-return]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted")
    outcome = run_jobs(SMOKE.jobs(), folder)
    assert (outcome.done, outcome.already_done, outcome.failed) == (24, 0, ())
    return folder


def test_a_second_run_does_nothing(uninterrupted: Path) -> None:
    before = (uninterrupted / "records.jsonl").read_bytes()
    outcome = run_jobs(SMOKE.jobs(), uninterrupted)
    assert (outcome.done, outcome.already_done) == (0, 24)
    assert (uninterrupted / "records.jsonl").read_bytes() == before


def test_killed_runs_resume_to_the_same_values(uninterrupted: Path, tmp_path: Path) -> None:
    stored = 0
    for kill in range(1, 4):
        process = bench("--out", str(tmp_path), "--jobs", "2")
        target = stored + 5
        while process.poll() is None and stored < target:
            time.sleep(0.01)
            path = tmp_path / "records.jsonl"
            stored = path.read_bytes().count(b"\n") if path.exists() else 0
        assert process.poll() is None, f"the process ended before kill {kill}"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert stored <= len(values(tmp_path)) < 24
    assert bench("--out", str(tmp_path)).wait() == 0
    assert values(tmp_path) == values(uninterrupted)


def test_two_runners_share_the_work(uninterrupted: Path, tmp_path: Path) -> None:
    runners = [bench("--out", str(tmp_path), stdout=subprocess.PIPE) for _ in range(2)]
    outputs = [runner.communicate()[0] for runner in runners]
    assert [runner.returncode for runner in runners] == [0, 0]
    lines = (tmp_path / "records.jsonl").read_text().splitlines()
    assert len(lines) == len({json.dumps(json.loads(line)["job"]) for line in lines}) == 24
    assert values(tmp_path) == values(uninterrupted)
    done = [int(re.match(r"(\d+) jobs done", text)[1]) for text in outputs]  # type: ignore[index]
    assert sum(done) == 24


def test_a_failing_job_is_reported_and_the_rest_is_done(tmp_path: Path) -> None:
    broken = Job("ttp:random(n=6,seed=1)", "pymoo-ga", 0, 8, 4)
    outcome = run_jobs([broken, TINY], tmp_path)
    assert outcome.done == 1
    [failure] = outcome.failed
    assert failure.job == broken
    assert "Traceback" in failure.error
    assert "orders alone" in failure.error
    assert run_jobs([broken, TINY], tmp_path).already_done == 1  # the failed job is retried


def test_a_run_restores_the_warning_filters(tmp_path: Path) -> None:
    before = [*warnings.filters]
    run_jobs([TINY], tmp_path)
    assert [*warnings.filters] == before


def test_a_killed_worker_process_loses_no_job(uninterrupted: Path, tmp_path: Path) -> None:
    process = bench("--out", str(tmp_path), "--jobs", "2")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    path = tmp_path / "records.jsonl"
    while not path.exists() or path.read_bytes().count(b"\n") < 4:
        assert process.poll() is None
        time.sleep(0.01)
    lines = {int(child): Path(f"/proc/{child}/cmdline").read_text() for child in children.read_text().split()}
    worker = next(child for child, line in lines.items() if "loky" in line and "resource" not in line)
    os.kill(worker, signal.SIGKILL)
    assert process.wait() == 0
    assert values(tmp_path) == values(uninterrupted)


def test_a_job_that_kills_its_process_is_identified(tmp_path: Path) -> None:
    methods = tmp_path / "killer.py"
    methods.write_text(KILLER)
    jobs = [replace(TINY, seed=seed, method="killer" if seed == 1 else "random") for seed in range(4)]
    outcome = run_jobs(jobs, tmp_path / "runs", workers=2, load=methods)
    assert outcome.done == 3
    assert [record.job for record in outcome.failed] == [jobs[1]]
    assert "killed" in outcome.failed[0].error


def test_a_cluster_can_lose_a_worker(uninterrupted: Path, tmp_path: Path) -> None:
    where = tmp_path / "scheduler.json"

    def dask(*arguments: str) -> subprocess.Popen[bytes]:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-m", "dask", *arguments, "--scheduler-file", str(where)], **quiet)  # type: ignore[call-overload,no-any-return]

    scheduler = dask("scheduler", "--port", "0", "--no-dashboard")
    workers = [dask("worker", "--no-nanny", "--nthreads", "1", "--no-dashboard") for _ in range(2)]
    try:
        while not where.exists() or not where.read_text().rstrip().endswith("}"):  # the file is created before it is written
            assert scheduler.poll() is None
            time.sleep(0.05)
        out = tmp_path / "out"
        address = json.loads(where.read_text())["address"]
        process = bench("--out", str(out), "--cluster", address)
        path = out / "records.jsonl"
        while not path.exists() or path.read_bytes().count(b"\n") < 4:
            assert process.poll() is None
            time.sleep(0.01)
        workers[0].kill()
        assert process.wait() == 0
        assert values(out) == values(uninterrupted)
        assert len(path.read_bytes().splitlines()) == 24
    finally:
        for each in (*workers, scheduler):
            each.kill()
            each.wait()
