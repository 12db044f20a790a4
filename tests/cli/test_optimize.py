"""`mergebo optimize`."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from optuna.exceptions import ExperimentalWarning

from cli_helpers import (
    HOSTILE,
    MISPLACED,
    Terminal,
    optimize,
    quoted,
    refused,
    run,
    script,
    wait_for,
    works,
)
from mergebo.studies import program, workers
from mergebo.studies.workers import Workers


@pytest.mark.slow
def test_optimize_hides_no_other_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the warning that a function of Optuna is experimental is suppressed."""

    def start(self: Workers) -> None:
        warnings.warn("this is", ExperimentalWarning, stacklevel=1)
        warnings.warn("something else", RuntimeWarning, stacklevel=1)
        begin(self)

    begin = Workers.start
    monkeypatch.setattr(Workers, "start", start)
    with pytest.warns(RuntimeWarning, match="something else") as shown:
        optimize(script(MISPLACED) + " {order}", 1)
    assert len(shown) == 1


@pytest.mark.slow
def test_optimize_improves_and_satisfies_constraints() -> None:
    arguments = ["--items", "a,b,c,d,e,f", "--before", "c:a", "--budget", 16, "--initial", 6, "--method", "bops-h", "--json"]
    *trials, summary = works("optimize", "--command", script(MISPLACED) + " {order}", *arguments).lines
    assert [trial["trial"] for trial in trials] == list(range(16))
    orders = [trial["point"]["order"] for trial in trials]
    assert all(order.index("c") < order.index("a") for order in orders)
    assert len({tuple(order) for order in orders}) == 16
    for trial in trials:
        assert trial["value"] == sum(abs(k - "abcdef".index(item)) for k, item in enumerate(trial["point"]["order"]))
    assert summary["done"] == 16
    assert summary["best"][0]["value"] == min(trial["value"] for trial in trials)
    assert min(trial["value"] for trial in trials[6:]) < np.median([trial["value"] for trial in trials[:6]])


@pytest.mark.slow
def test_optimize_resumes_until_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MERGEBO_STORAGE")
    command = script(MISPLACED + "open('log', 'a').write('x')\n") + " {order}"
    output = optimize(command, 3)
    assert output.status == 0
    assert output.out.count("trial") >= 3
    assert "Best: " in output.out
    output = optimize(command, 3)
    assert "study has 3 trials; the budget is spent." in output.out
    assert "3 trials" in output.out
    assert Path("log").read_text() == "xxx"
    output = optimize(command, 5)
    assert "study has 3 trials; resuming." in output.out
    assert Path("log").read_text() == "xxxxx"
    assert "study: 5 done" in works("show").out
    assert optimize(command, 5, "-q").out.count("trial") == 2  # the number of trials, and the best of them


@pytest.mark.slow
def test_optimize_keeps_the_number_of_initial_points() -> None:
    command = script(MISPLACED) + " {order}"
    optimize(command, 3)
    assert works("show", "--json").json["setup"]["initial"] == 1
    optimize(command, 6, method="local-search")  # a third of which would be 2
    setup = works("show", "--json").json["setup"]
    assert (setup["initial"], setup["method"]) == (1, "local-search")
    optimize(command, 6, "--initial", 3)
    assert works("show", "--json").json["setup"]["initial"] == 3


@pytest.mark.slow
def test_optimize_refuses_another_space() -> None:
    command = script(MISPLACED) + " {order}"
    optimize(command, 1)
    arguments = ["--command", command, "--budget", 2]
    assert "has another space" in refused("optimize", "--items", "a,b", *arguments)
    assert "directions" in refused("optimize", "--items", "a,b,c,d", "--direction", "maximize", *arguments)
    assert "has another space" in refused("optimize", "--items", "a,b,c,d", "--before", "a:b", *arguments)


@pytest.mark.slow
def test_optimize_tries_every_order_once() -> None:
    output = optimize(script(MISPLACED) + " {order}", 50, "--jobs", 3, items="a,b,c")
    assert output.status == 0
    assert "Nothing left to try: all 6 points of the space were tried.\n6 trials\nBest: 0" in output.out
    assert optimize(script(MISPLACED) + " {order}", 50, items="a,b,c").out.count("→") == 2  # only the best one


@pytest.mark.slow
def test_optimize_ignores_pending_manual_trials() -> None:
    """Pending trials of `ask` are neither awaited nor counted."""
    works("new", "--items", "a,b,c,d", "--method", "random")
    works("ask", "-k", 3)
    output = optimize(script(MISPLACED) + " {order}", 4)
    assert output.status == 0
    assert "study: 3 pending, 4 done" in works("show").out
    works("tell", 0, 1)
    assert "the budget is spent" in optimize(script(MISPLACED) + " {order}", 5).out


@pytest.mark.slow
def test_optimize_maximizes_several_objectives() -> None:
    command = script("import sys\na = sys.argv[1:].index('a')\nprint('values', a, a * a)") + " {order}"
    output = optimize(command, 20, "--direction", "maximize", "--direction", "minimize", "--json")
    assert sorted(trial["value"] for trial in output.lines[-1]["best"])[0] == [0, 0]
    assert len({trial["value"][0] for trial in output.lines[-1]["best"]}) == 4
    assert (
        "Pareto front (trials that no other trial dominates)"
        in optimize(command, 20, "--direction", "maximize", "--direction", "minimize").out
    )


@pytest.mark.slow
def test_optimize_passes_other_variables() -> None:
    code = "import json, sys\nopen('got', 'a').write(json.dumps(sys.argv[1:]) + '\\n')\nprint(1)"
    options = ["--real", "heat=20:80", "--integer", "cycles=1:4", "--choice", "salt=K,Na", "--binary", "picks=2"]
    command = script(code) + " --heat={heat} {cycles} {salt} {picks} {order:-} {trial} {json}"
    *trials, _ = optimize(command, 3, *options, "--json").lines
    got = [json.loads(line) for line in Path("got").read_text().splitlines()]
    for trial, arguments in zip(trials, got, strict=True):
        point = trial["point"]
        picks = list(map(str, point["picks"]))
        assert arguments[:3] == [f"--heat={point['heat']}", str(point["cycles"]), point["salt"]]
        assert arguments[3:5] == picks
        assert arguments[5:7] == ["-".join(point["order"]), str(trial["trial"])]
        assert json.loads(arguments[7]) == point


@pytest.mark.slow
def test_optimize_with_hostile_names() -> None:
    items = [item for item in HOSTILE if len(item) < 100]
    command = script("import json, sys\njson.dump(sys.argv[1:], open('got', 'w'))\nprint(1)") + " {order}"
    for shell in ([], ["--shell"]):
        output = optimize(command, 1, "--study", f"[/] {shell}", *shell, items=quoted(items))
        assert output.status == 0
        got = json.loads(Path("got").read_text())
        assert sorted(got) == sorted(items)
        assert " → ".join(got) in output.out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("nosuchprogram {order}", "the program 'nosuchprogram' was not found"),
        ("ls", "does not contain {order}"),
        ("ls {ordre}", "did you mean 'order'?"),
        ("ls {order} {", "unmatched {"),
        ("", "the command is empty"),
        ("ls {order} | sort", "add --shell"),
        ("ls '{order}", "quotes"),
    ],
)
def test_invalid_commands(command: str, message: str) -> None:
    assert message in refused("optimize", "--items", "a,b,c", "--budget", 3, "--command", command)
    assert not Path("studies.log").exists()


@pytest.mark.parametrize(
    "arguments", [["--budget", 0], ["--budget", "x"], ["--budget", 3, "--jobs", 0], ["--budget", 3, "--timeout", 0]]
)
def test_invalid_numbers(arguments: list[object]) -> None:
    output = run("optimize", "--items", "a,b,c", "--command", "ls {order}", *arguments)
    assert (output.status, output.out) == (2, "")


@pytest.mark.slow
def test_programs_that_sometimes_fail() -> None:
    code = "import sys\nprint(1, '[/]', file=sys.stderr)\nassert sys.argv[1] != 'a', '[bold]'\nprint(2)"
    output = optimize(script(code) + " {order}", 24)
    assert output.status == 0
    assert "18 trials, 6 failed" in output.out
    assert "failed: the program ended with exit code 1" in output.out
    assert "AssertionError: [bold]" in output.out
    states = [trial["state"] for trial in works("show", "--json").json["trials"]]
    assert (states.count("done"), states.count("failed")) == (18, 6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        ("import sys; sys.exit(3)", [], "exit code 3"),
        ("import time; time.sleep(60)", ["--timeout", 0.3, "--jobs", 5], "took longer than 0.3 s"),
        ("print('3.5 seconds')", [], "should end with a number"),
        ("", [], "printed nothing"),
        ("print('nan')", [], "not a finite number"),
        ("print(1, 2)", ["--direction", "minimize"] * 3, "should end with 3 numbers"),
    ],
)
def test_a_program_that_always_fails_is_aborted(code: str, arguments: list[object], message: str) -> None:
    ended = optimize(script(code) + " {order}", 30, *arguments)
    assert ended.status == 1
    assert "gave up, since the first" in ended.err
    assert message in ended.err
    assert "Best" not in ended.out
    failed = works("show", "--json").json["trials"]
    assert 5 <= len([trial for trial in failed if trial["state"] == "failed"]) <= 10


@pytest.mark.slow
def test_a_budget_of_failures() -> None:
    output = optimize(script("import sys; sys.exit(3)") + " {order}", 3, "--json")
    assert output.status == 1
    assert output.err == "mergebo: no trial completed\n"
    assert output.lines[-1] == {"study": "study", "done": 0, "failed": 3, "best": []}
    assert output.lines[0]["reason"].startswith("the program ended with exit code 3")


@pytest.mark.slow
def test_retries() -> None:
    code = "import os, sys\nname = 'x' + os.environ['MERGEBO_TRIAL']\nfirst = not os.path.exists(name)\n"
    code += "open(name, 'a').write('x')\nsys.exit(1) if first else print(5)"
    assert optimize(script(code) + " {order}", 2, "--retries", 1).status == 0
    assert Path("x0").read_text() == Path("x1").read_text() == "xx"
    assert "study: 2 done" in works("show").out


def test_jobs_run_at_the_same_time() -> None:
    """Each program waits until three of them are running."""
    code = """
import os, time
open("here" + os.environ["MERGEBO_TRIAL"], "w").close()
end = time.monotonic() + 20
while sum(name.startswith("here") for name in os.listdir()) < 3:
    assert time.monotonic() < end
    time.sleep(0.01)
print(1)
"""
    output = optimize(script(code) + " {order}", 3, "--jobs", 3)
    assert output.status == 0
    assert "3 trials\n" in output.out


@pytest.mark.slow
def test_noisy_programs_are_run_again() -> None:
    output = optimize(script("import time; print(time.time() % 1)") + " {order}", 8, "--noisy", items="a,b")
    assert output.status == 0
    assert "8 trials" in output.out
    assert "mergebo best" in output.out


@pytest.mark.slow
def test_interrupting_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C keeps completed trials and requeues running ones, and nothing is counted twice."""
    monkeypatch.setenv("MERGEBO_STORAGE", "sqlite:///x.db")
    code = """
import os, sys, time
open("log", "a").write(" ".join(sys.argv[1:]) + "\\n")
number = int(os.environ["MERGEBO_TRIAL"])
if number >= 2 and not os.path.exists("quick"):
    open(f"slow{number}", "w").close()
    time.sleep(60)
print(number)
"""
    arguments = [
        "optimize",
        "--items",
        "a,b,c,d",
        "--method",
        "random",
        "--budget",
        "6",
        "--command",
        script(code) + " {order}",
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "mergebo", *arguments, "--json", "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for("slow2")
        wait_for("slow3")
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert time.monotonic() - began < 20
    assert "the same command resumes the study" in err
    *trials, summary = map(json.loads, out.splitlines())
    assert {trial["trial"] for trial in trials} == {0, 1}
    assert summary["done"] == 2
    shown = works("show", "--json").json["trials"]
    assert [trial["state"] for trial in shown] == ["done", "done", "queued", "queued"]
    queued = {" ".join(trial["point"]["order"]) for trial in shown[2:]}
    assert queued == set(Path("log").read_text().splitlines()[2:])
    number = shown[2]["trial"]
    assert "is queued; `mergebo ask`" in refused("tell", number, 1)

    Path("quick").touch()
    output = works(*arguments)
    assert "study has 2 trials; resuming." in output.out
    shown = works("show", "--json").json["trials"]
    assert [trial["state"] for trial in shown] == ["done"] * 6
    orders = [" ".join(trial["point"]["order"]) for trial in shown]
    assert len(set(orders)) == 6
    assert queued <= set(orders)
    assert Path("log").read_text().splitlines()[4:] == orders[2:]


@pytest.mark.slow
def test_interrupting_the_first_trial() -> None:
    """In this process: the first program sends the signal."""
    code = "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(60)"
    before = signal.getsignal(signal.SIGINT)
    output = optimize(script(code) + " {order}", 3)
    assert output.status == 130
    assert output.err.startswith("Interrupted.")
    assert signal.getsignal(signal.SIGINT) is before
    assert [trial["state"] for trial in works("show", "--json").json["trials"]] == ["queued"]
    assert works("ask", "--json").json[0]["state"] == "pending"  # `ask` can take it over, too


@pytest.mark.slow
def test_the_live_table() -> None:
    """The progress display in a terminal."""
    arguments = ["--items", "a,b,c,d", "--budget", 4, "--method", "random", "--study", "[/] :smile:"]
    output = run("optimize", "--command", script(MISPLACED) + " {order}", *arguments, out=Terminal())
    assert (output.status, output.err) == (0, "")
    assert "[/] :smile:: 4 of 4 trials, 0 running" in output.out
    assert "best so far" in output.out


@pytest.mark.slow
def test_a_program_that_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "RETRY_SECONDS", 0.01)
    Path("simulate").write_text("#!/bin/sh\necho >> runs; [ $(wc -l < runs) = 5 ] && rm simulate; echo 1\n")
    Path("simulate").chmod(0o755)
    output = optimize("./simulate {order}", 24, "--json")
    assert output.status == 1
    assert output.err.startswith("mergebo: stopped, since 3 trials in a row ended by accident; the last one: the program ")
    assert "'./simulate' could not be started: No such file or directory (the last of 3 runs)" in output.err
    *trials, summary = output.lines
    assert [trial["state"] for trial in trials] == ["done"] * 5 + ["cancelled"] * 3
    assert (summary["done"], summary["failed"], summary["cancelled"]) == (5, 0, 3)
    assert "study: 5 done, 3 cancelled" in works("show").out
    output = optimize(script("print(2)") + " {order}", 6)
    assert output.status == 0
    assert "study has 5 trials; resuming." in output.out
    assert "6 trials, 3 cancelled\n" in output.out


@pytest.mark.slow
def test_what_is_an_accident() -> None:
    code = "import os, signal, sys\nn = int(os.environ['MERGEBO_TRIAL'])\n"
    code += "if n % 2: sys.exit(75)\nif n == 2: os.kill(os.getpid(), signal.SIGKILL)\nprint(n)"
    output = optimize(script(code) + " {order}", 5, "--accidents", "75", "--retries", 0)
    assert output.status == 0
    assert "trial 1: cancelled: the program ended with exit code 75  " in output.out
    assert "trial 2: failed: the program was killed by SIGKILL  " in output.out
    assert "4 trials, 1 failed, 4 cancelled\n" in output.out
    assert "did you mean 'timeout'" in refused(
        "optimize", "--items", "a,b", "--budget", 1, "--command", "ls {order}", "--accidents", "signal,timeuot"
    )
    output = optimize(script(code) + " {order}", 3, "--accidents", "none", "--study", "strict")
    assert "1 trials, 2 failed\n" in output.out


@pytest.mark.slow
def test_logs_and_durations() -> None:
    code = "import sys; print('step'); print(1.5); print('careful', file=sys.stderr)"
    assert optimize(script(code) + " {order}", 2, "--logs", "logs/deep").status == 0
    assert Path("logs/deep/1.out").read_text() == "step\n1.5\n"
    assert Path("logs/deep/1.err").read_text() == "careful\n"
    shown = works("show", "--json").json["trials"]
    logged = json.loads(Path("logs/deep/1.json").read_text())
    assert logged["point"] == shown[1]["point"]
    assert logged["values"] == [1.5]
    assert 0 < logged["seconds"] < shown[1]["seconds"] < 60
    table = works("show").out.splitlines()
    assert table[-3].split() == ["trial", "value", "time"]
    assert table[-1].split()[2:4] == [f"{shown[1]['seconds']:.3g}", "s"]
    header, *rows = csv.reader(works("export").out.splitlines())
    assert header[-1] == "duration (s)"
    assert [row[-1] for row in rows] == [f"{trial['seconds']:.3f}" for trial in shown]
    works("new", "by-hand", "--items", "a,b,c,d", "--method", "random")
    works("ask", "--study", "by-hand")
    works("tell", 0, 1, "--study", "by-hand")
    assert "time" not in works("show", "--study", "by-hand").out
    assert "seconds" not in works("show", "--study", "by-hand", "--json").json["trials"][0]
    assert "cannot be written: Not a directory" in refused(
        "optimize", "--items", "a,b", "--budget", 1, "--command", "ls {order}", "--logs", "simulate.py/logs"
    )


@pytest.mark.slow
def test_values_by_pattern_and_key() -> None:
    code = "print('loss=7 s'); print('loss=' + '950ms'); print('{\"size\": \"12%\", \"loss\": 3}')"
    command = script(code) + " {order}"
    assert optimize(command, 1, "--pattern", "loss=(.*)", "--json").lines[0]["value"] == 0.95
    two = ["--direction", "minimize"] * 2
    assert optimize(command, 1, "--key", "loss", "--key", "size", *two, "--json", "--study", "two").lines[0]["value"] == [
        3,
        12,
    ]
    arguments = ["optimize", "--items", "a,b,c", "--budget", 1, "--command", "ls {order}"]
    assert "is not a regular expression" in refused(*arguments, "--pattern", "(")
    assert "use one of them" in refused(*arguments, "--pattern", "x", "--key", "y")
    assert "--key must be given once for each objective; got 2 for one" in refused(*arguments, "--key", "x", "--key", "y")


@pytest.mark.slow
def test_a_time_limit() -> None:
    command = script("import time; time.sleep(0.3); print(1)") + " {order}"
    output = optimize(command, 20, "--time-limit", 0.2)
    assert output.status == 0
    assert "The time limit of 0.2 s is over; the same command continues the study.\n1 trials\n" in output.out
    assert "study has 1 trials; resuming" in optimize(command, 2, "--time-limit", 60).out


def test_a_server_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setattr(workers, "STORAGE_TIMEOUT", 0.1)
    monkeypatch.setattr(workers, "PAUSE", 0.1)
    output = optimize("echo {order} 1", 3, "--storage", "postgresql://u:secret@127.0.0.1:1/db")
    assert output.status == 2
    waiting, error = output.err.splitlines()
    assert waiting.startswith("mergebo: the storage postgresql://u:***@127.0.0.1:1/db does not respond: connection ")
    assert waiting.endswith("; waiting for it up to 0.1 s")
    assert "cannot be opened" in error
