"""`mergebo bench` on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mergebo.cli import app
from mergebo.cli.bench import read_seeds
from mergebo.errors import ArgumentError
from mergebo.experiments import Job, Record, get_suite, run_jobs

pytestmark = pytest.mark.slow
TINY = Job("tsp:random(n=6,seed=1)", "random", 0, 6, 3)


SMOKE = get_suite("smoke")


def test_seeds_are_parsed() -> None:
    assert read_seeds("0-3,7,2") == [0, 1, 2, 3, 7]
    for wrong in ("3-1", "a", "", "1-"):
        with pytest.raises(ArgumentError, match="seeds must look like"):
            read_seeds(wrong)


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
