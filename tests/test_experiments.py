"""Jobs, records and runners: equal conditions for all methods; no job is lost or run twice, whatever is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from mergebo import permutations, problems
from mergebo._names import read_call, split_calls, write_call
from mergebo.cli import app
from mergebo.cli.bench import read_seeds
from mergebo.errors import ArgumentError, RecordFileError
from mergebo.experiments import SUITES, Job, Record, Store, get_suite, run_jobs
from mergebo.experiments.competitors import COMPETITORS, decode_coins
from mergebo.experiments.jobs import check_method, run_job
from mergebo.experiments.protocols import METHOD_ROWS, PROTOCOLS, method_row
from mergebo.methods import METHODS, Auto, MethodInfo, SingleKernel, footrule_kernel
from mergebo.optimizer import Optimizer

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SMOKE = get_suite("smoke")
TINY = Job("tsp:random(n=6,seed=1)", "random", 0, 6, 3)


def values(folder: Path) -> dict[str, tuple[float, ...]]:
    return {record.job.key: record.values for record in Store(folder).records()}


# -------------------------------------------------------------------------------------------------------- names, suites


def test_calls_round_trip() -> None:
    assert read_call("mergebo") == ("mergebo", {})
    assert read_call(write_call("a-b", {"x": 1, "y": "z", "w": (1, 2)})) == ("a-b", {"x": 1, "y": "z", "w": (1, 2)})
    assert split_calls("a, b(c=1,d=2),e") == ["a", "b(c=1,d=2)", "e"]
    for wrong in ("a(", "a(1)", "a(b=c)", "a b"):
        with pytest.raises(ArgumentError, match=r"(has|have) the form"):
            read_call(wrong)


def test_seeds_are_parsed() -> None:
    assert read_seeds("0-3,7,2") == [0, 1, 2, 3, 7]
    for wrong in ("3-1", "a", "", "1-"):
        with pytest.raises(ArgumentError, match="seeds must look like"):
            read_seeds(wrong)


@pytest.mark.parametrize("name", SUITES)
def test_suites_are_consistent(name: str) -> None:
    suite = get_suite(name)
    jobs = suite.jobs()
    assert len({job.key for job in jobs}) == len(jobs) == len(suite.cases) * len(suite.methods) * len(suite.seeds)
    for case in suite.cases:
        assert problems.get(case.problem).optimum is not None, f"{case.problem} has no reference value to compare with"
        assert case.initial < case.budget
        assert all(case.initial < checkpoint < case.budget for checkpoint in case.checkpoints)
    assert all(case.relabelled for case in get_suite(name, relabelled=True).cases)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", SUITES)
def test_methods_of_suites_can_be_run(name: str) -> None:
    for method in get_suite(name).methods:
        check_method(method)


def test_the_holdout_suite_is_relabelled_and_has_13_classes() -> None:
    suite = SUITES["holdout"]
    assert all(case.relabelled for case in suite.cases)
    groups = [case.group for case in suite.cases]
    assert len(set(groups)) == 13
    assert {groups.count(group) for group in groups} == {5}
    assert len({case.problem for case in suite.cases}) == len(suite.cases)


def test_published_records_belong_to_their_suites() -> None:
    """A suite can grow, but its existing records must remain valid."""
    for folder in (Path(__file__).parents[1] / "docs" / "results").iterdir():
        if folder.is_dir():
            suite = get_suite(folder.name)
            lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
            ran = [Record.from_line(line).job for line in lines]
            wanted = {job.key for job in suite.jobs({job.method for job in ran})}
            assert all(job.key in wanted for job in ran), folder.name


def test_methods_are_designed_and_evaluated_on_different_instances() -> None:
    designed, evaluated = ({case.problem for case in SUITES[name].cases} for name in ("design", "holdout"))
    assert not designed & evaluated
    assert not any("seed=9" in problem for problem in designed)
    assert all("seed=9" in case.problem for name in ("holdout", "large") for case in SUITES[name].cases)


def test_the_paper_suites_have_the_papers_budgets() -> None:
    assert {(case.initial, case.budget) for case in SUITES["paper-low"].cases} == {(20, 200)}
    assert {(case.initial, case.budget) for case in SUITES["paper-high"].cases} == {(5, 55)}
    job = SUITES["paper-low"].jobs(["bops-h"])[0]
    assert job.settings["acquisition"] == "ei"
    assert "budget" not in job.settings


def test_unknown_names_raise_with_a_suggestion() -> None:
    with pytest.raises(ArgumentError, match="did you mean 'smoke'"):
        get_suite("smoky")
    with pytest.raises(ArgumentError, match="did you mean 'optuna-tpe'"):
        check_method("optuna-tp")
    with pytest.raises(ArgumentError, match="has no settings"):
        check_method("optuna-tpe(seed=1)")
    with pytest.raises(ArgumentError, match="has the settings"):
        check_method("mergebo(colour=1)")


# ----------------------------------------------------------------------------------------------------------------- jobs


@pytest.mark.parametrize("method", ["bops-h", "local-search", "genetic", *COMPETITORS])
def test_all_methods_start_from_the_same_design_and_keep_to_the_budget(method: str) -> None:
    job = Job("tsp:random(n=9,seed=900)", method, 3, 16, 8, relabelled=True)
    reference = run_job(Job("tsp:random(n=9,seed=900)", "random", 3, 16, 8, relabelled=True))
    record = run_job(job)
    assert len(record.values) == 16
    assert sorted(record.values[:8]) == sorted(reference.values[:8])
    assert record.values[8:] != reference.values[8:]
    assert job.make_problem().evaluate_rows(np.array(record.best, np.int64)) == min(record.values)


@pytest.mark.parametrize("method", ["mergebo", *COMPETITORS])
def test_jobs_are_reproducible(method: str) -> None:
    job = Job("lop:planted(n=8,seed=900)", method, 1, 12, 6, relabelled=True)
    assert run_job(job).values == run_job(job).values


@pytest.mark.parametrize("method", ["random", "bops-h", "optuna-tpe"])
def test_the_design_is_the_protocols(method: str) -> None:
    """The settings are those of the method."""
    jobs = {name: Job("ttp:random(n=6,seed=1)", method, 1, 4, 4, name) for name in ("", "paper-high")}
    values = {name: run_job(job).values for name, job in jobs.items()}
    for name, design in (("", "stratified"), ("paper-high", "uniform")):
        assert jobs[name].design == design
        assert "design" not in jobs[name].settings
        optimizer = Optimizer(jobs[name].make_problem().space, "random", seed=1, initial=4, design=design)
        points = [trial.point for trial in optimizer.ask(4)]
        assert sorted(values[name]) == sorted(jobs[name].make_problem().evaluate(points).tolist())


def test_settings_come_from_the_protocol_unless_the_method_has_its_own() -> None:
    job = Job("tsp:pcb15-0", "mergebo(acquisition='ucb')", 0, 30, 20, protocol="paper-low")
    assert job.settings["acquisition"] == "ucb"
    assert job.settings["random_starts"] == 10
    assert Job("tsp:pcb15-0", "optuna-tpe", 0, 30, 20, protocol="paper-low").settings == {}


def test_every_method_and_competitor_has_a_row() -> None:
    assert set(METHOD_ROWS) == {*METHODS, *COMPETITORS}
    for row in METHOD_ROWS.values():
        assert set(row.settings) in ({*PROTOCOLS}, set())
    assert method_row("mergebo(steps=3)") == METHOD_ROWS["mergebo"]


def test_a_registered_kernel_has_the_settings_of_the_published_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "mine", MethodInfo("mine", "", SingleKernel, {"kernel": footrule_kernel}))
    assert method_row("mine").settings == method_row("spearman").settings
    monkeypatch.setitem(METHODS, "mine", MethodInfo("mine", "", Auto))
    assert method_row("mine").settings == {}


def test_relabelling_depends_on_the_seed_but_not_on_the_method() -> None:
    jobs = [Job("qap:chr12a", method, seed, 5, 2, relabelled=True) for method, seed in (("a", 0), ("b", 0), ("a", 1))]
    values = [float(job.make_problem().evaluate_rows(np.arange(12))) for job in jobs]
    assert values[0] == values[1] != values[2]


def test_exhausted_spaces_end_a_run() -> None:
    assert len(run_job(Job("tsp:random(n=3,seed=1)", "random", 0, 50, 2)).values) == 6


def test_competitors_support_binary_variables_where_possible() -> None:
    job = Job("ttp:random(n=6,seed=1)", "optuna-tpe", 0, 8, 4)
    assert len(run_job(job).values) == 8
    assert len(run_job(Job(job.problem, "random-bits", 0, 8, 4)).values) == 8
    with pytest.raises(NotImplementedError, match="orders alone"):
        run_job(Job(job.problem, "pymoo-ga", 0, 8, 4))


def test_random_bits_are_not_uniform_orders() -> None:
    """The reason for the suite `numbering`: orders decoded from random bits are correlated with the numbering."""
    rng = np.random.default_rng(0)
    decoded = np.array([decode_coins(100, rng) for _ in range(300)])
    uniform = permutations.sample(100, 300, seed=0)
    assert (permutations.validate(decoded) == decoded).all()
    steps = [np.abs(np.diff(orders, axis=1)).mean() for orders in (decoded, uniform)]
    assert steps[0] < 0.95 * steps[1]


def test_records_have_versions_and_timings() -> None:
    record = run_job(Job("tsp:random(n=6,seed=1)", "bops-h", 0, 8, 4))
    assert record.made_with["mergebo"] == __import__("mergebo").__version__
    assert 0 < record.seconds["fit"] < record.seconds["ask"] < record.seconds["total"]
    assert Record.from_line(record.to_line()) == record


# ---------------------------------------------------------------------------------------------------------------- store


def test_a_truncated_line_loses_only_that_record(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first, second = run_job(TINY), run_job(Job(**{**vars(TINY), "seed": 1}))
    store.add(first)
    whole = len(store.path.read_bytes())
    store.add(second)
    everything = store.path.read_bytes()
    store.close()
    for length in range(whole, len(everything)):
        store.path.write_bytes(everything[:length])
        again = Store(tmp_path)
        assert again.records() == [first]
        assert not again.is_done(second.job)
        again.add(second)
        assert again.path.read_bytes() == everything
        again.close()


def test_an_invalid_line_is_reported(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(run_job(TINY))
    with store.path.open("a") as file:
        file.write("{}\n")
    with pytest.raises(RecordFileError, match=r"records\.jsonl, line 2"):
        Store(tmp_path).records()


def test_a_claim_is_for_one_process_and_ends_with_it(tmp_path: Path) -> None:
    code = """
import sys, time
from mergebo.experiments import Job, Store
store = Store(sys.argv[1])
print(store.claim(Job("tsp:random(n=6,seed=1)", "random", 0, 6, 3)), flush=True)
time.sleep(60)
"""
    other = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "True\n"
    store = Store(tmp_path)
    assert not store.claim(TINY)
    assert store.claim(Job(**{**vars(TINY), "seed": 1}))
    other.kill()
    other.wait()
    assert store.claim(TINY)
    store.add(run_job(TINY))
    assert not store.claim(TINY)  # done
    other.stdout.close()


# --------------------------------------------------------------------------------------------------------------- runner


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


def kills_its_process(job: Job, load: None) -> Record:
    if job.seed == 1:
        os._exit(9)
    return run_job(job)


def test_a_job_that_kills_its_process_is_identified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mergebo.experiments.runner.attempt", kills_its_process)
    jobs = [Job(**{**vars(TINY), "seed": seed}) for seed in range(4)]
    outcome = run_jobs(jobs, tmp_path, workers=2)
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


# --------------------------------------------------------------------------------------------------------- command line


def test_progress_is_shown_with_failures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = Job("ttp:random(n=6,seed=1)", "pymoo-ga", 0, 8, 4)
    run_jobs([broken, TINY], tmp_path, progress=True)
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "1 failed" in shown


def test_an_interrupted_bench_run_says_how_to_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mergebo.experiments.run_jobs", interrupted)
    result = CliRunner().invoke(app, ["bench", "run", "--suite", "smoke", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert "the same command resumes the run" in result.output


def test_bench_run_reports_its_jobs(tmp_path: Path) -> None:
    invoke = CliRunner().invoke
    wanted = ["bench", "run", "--suite", "smoke", "--methods", "random", "--seeds", "0-1", "--out", str(tmp_path), "--quiet"]
    result = invoke(app, wanted)
    assert result.exit_code == 0, result.output
    assert "4 jobs done, 0 were already done" in result.output
    result = invoke(app, [*wanted, "--only", "lop"])
    assert "0 jobs done, 2 were already done" in result.output
    result = invoke(app, [*wanted, "--only", "chess"])
    assert isinstance(result.exception, ArgumentError)
    assert "tsp:random" in str(result.exception)


def test_a_failed_bench_run_shows_the_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mergebo.experiments import runner

    def broken(job: Job) -> Record:
        raise RuntimeError("the well is dry")

    monkeypatch.setattr(runner, "run_job", broken)
    options = ["--suite", "smoke", "--methods", "random", "--seeds", "0", "--out", str(tmp_path), "--quiet"]
    result = CliRunner().invoke(app, ["bench", "run", *options])
    assert result.exit_code == 1
    assert "the well is dry" in result.output
    assert "2 jobs failed" in result.output


def test_the_command_line_explains_errors() -> None:
    command = [sys.executable, "-m", "mergebo", "bench", "run", "--suite", "paper-lo", "--out", "x"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("mergebo: suite must be one of 'paper-low'")
    assert "Traceback" not in result.stderr


def test_suites_are_listed() -> None:
    result = CliRunner().invoke(app, ["bench", "suites"])
    assert "TTP1 m=279: ttp:a280-n279-uncorr, 5 + 50" in result.output
