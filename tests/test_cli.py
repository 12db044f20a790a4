"""The command line as users see it: arguments, output, and the messages for invalid requests."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.exceptions import ExperimentalWarning
from rich.emoji import Emoji
from typer.core import TyperArgument, TyperOption
from typer.main import get_command

from mergebo.cli import PANELS, app, main, pictures, studies
from mergebo.cli.options import SpaceOptions, read_items
from mergebo.cli.output import best_so_far, escape_control, format_number, format_numbers, point_text, sparkline
from mergebo.cli.studies import Study, StudyConfig, address
from mergebo.cli.table import read_table, table_text
from mergebo.cli.workers import Workers
from mergebo.errors import ArgumentError
from mergebo.integrations.optuna import NOISE, distributions, params
from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, Space
from mergebo.testing.strategies import order_options

HOSTILE = [
    "two words",
    "a,b",
    "it's",
    'say "hi"',
    "größe 中文 🎈 👨‍👩‍👧",
    ";rm -rf x",
    "$(touch pwned)",
    "`touch pwned`",
    "[bold]x[/]",
    "[/]",
    "[link=x",
    ":smile:",
    "100%s %d",
    "$x^$",
    "$\\frac{$",
    "{order}",
    "a:b",
    "<script>alert(1)</script>&amp;",
    "-n",
    "1,5",
    "=1+1",
    "x" * 300,
]
JOURNAL = "journal:///studies.log"
COMMANDS = [name for panel in PANELS.values() for name in panel] + ["bench run", "bench report", "bench suites"]


class Terminal(io.StringIO):
    """An output that is a terminal."""

    def isatty(self) -> bool:
        return True


class Output(NamedTuple):
    """The exit code of a command and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The only line of the output."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Run each test in an empty folder, with studies in a journal, which is faster than a database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERGEBO_STORAGE", JOURNAL)
    monkeypatch.delenv("MERGEBO_STUDY", raising=False)
    yield tmp_path
    assert not (tmp_path / "pwned").exists()


def run(*arguments: object, out: io.StringIO | None = None) -> Output:
    """Run `mergebo` with these arguments."""
    out, err = out or io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["mergebo", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    status = ended.value.code
    assert isinstance(status, int)
    return Output(status, out.getvalue(), err.getvalue())


def works(*arguments: object) -> Output:
    """Run a command that succeeds."""
    output = run(*arguments)
    assert (output.status, output.err) == (0, ""), output
    return output


def refused(*arguments: object) -> str:
    """The message for an invalid request, which must be all that is printed."""
    output = run(*arguments)
    assert output.status == 2, output
    assert output.out == ""
    assert output.err.startswith("mergebo: ")
    assert "Traceback" not in output.err
    return output.err.removeprefix("mergebo: ")


def script(code: str, name: str = "simulate.py") -> str:
    """Write a Python program to the current folder; returns the beginning of a command that runs it."""
    Path(name).write_text(code)
    return f"{shlex.quote(sys.executable)} -S {name}"


MISPLACED = """
import sys
order = sys.argv[1:]
print("loss:", sum(abs(slot - "abcdefgh".index(item)) for slot, item in enumerate(order)))
"""


def quoted(items: list[str]) -> str:
    """Items as an argument for `--items`, quoted."""
    return ",".join('"' + item.replace('"', '""') + '"' for item in items)


# ------------------------------------------------------------------------------------------------------------------- help


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    output = works(*command.split(), "--help")
    assert f"Example: mergebo {command}" in output.out


@pytest.mark.parametrize("command", ["new", "optimize"])
def test_help_shows_examples_literally(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich would turn `:100:` into an emoji, also inside backticks."""
    monkeypatch.setenv("COLUMNS", "200")  # so that lines are not wrapped
    assert "heat=20:80, or time=0.1:10:log for a log scale" in works(command, "--help").out


def test_help_has_no_emoji_codes() -> None:
    def texts(command: Any) -> Iterator[str]:
        yield command.help or ""
        yield from (
            parameter.help or "" for parameter in command.params if isinstance(parameter, TyperOption | TyperArgument)
        )
        for each in getattr(command, "commands", {}).values():
            yield from texts(each)

    found = list(texts(get_command(app)))
    assert len(found) > 80
    assert [text for text in found if Emoji.replace(text) != text] == []


@pytest.mark.slow
def test_help_lists_every_command_without_heavy_imports() -> None:
    code = "import sys; from mergebo.cli import main\ntry: main()\nfinally: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    shown, loaded = done.stdout.rstrip().rsplit("\n", 1)
    assert not {"numpy", "scipy", "numba", "torch", "optuna", "sqlalchemy", "matplotlib"} & set(loaded.split())
    for command in COMMANDS:
        assert command.split()[0] in shown


def test_no_arguments_show_the_help() -> None:
    output = run()
    assert "Usage: mergebo" in output.out + output.err


def test_version_and_completion() -> None:
    assert works("--version").out.startswith("mergebo 0.")
    script = subprocess.run(  # as a shell asks for it; --show-completion would detect the shell first
        [sys.executable, "-m", "mergebo"],
        env={**os.environ, "_MERGEBO_COMPLETE": "source_bash"},
        capture_output=True,
        text=True,
    )
    assert "complete -o default" in script.stdout


def test_unknown_commands_and_options_are_refused() -> None:
    for arguments in (["aks"], ["ask", "--cuont", "3"], ["ask", "-k", "0"], ["ask", "-k", "x"], ["new"], ["optimize"]):
        output = run(*arguments)
        assert output.status == 2
        assert output.out == ""


def test_methods_and_problems_are_listed() -> None:
    assert "auto" in works("methods").out
    assert works("methods", "--json").json["random"] == "uniform random orders"
    (first, *_) = works("problems", "lop", "--json").json
    assert first["name"].startswith("lop:")
    assert first["numbers"] > 0
    output = works("problems", "flowshop").out
    assert "flowshop:ta001" in output
    assert "…" not in output  # names are not truncated
    assert "must be one of" in refused("problems", "tps")


def test_errors_of_bench() -> None:
    assert "paper-low" in works("bench", "suites").out
    assert "must be one of" in refused("bench", "run", "--suite", "paper", "--out", "x")


def test_demo() -> None:
    output = works("demo", "--problem", "tsp:random(n=6,seed=0)", "--budget", 4).out
    assert "the shortest round tour of 6 cities" in output
    assert " random  ▁" in output or " random  █" in output
    assert "auto  " in output
    assert "From 4 results" in output
    assert "family:instance" in refused("demo", "--problem", "nothing")


def test_demo_can_be_interrupted() -> None:
    with mock.patch("mergebo.problems.tsp.TSP._evaluate", side_effect=KeyboardInterrupt):
        assert run("demo", "--problem", "tsp:random(n=6,seed=0)", "--budget", 4).status == 130


# ------------------------------------------------------------------------------------------------------- manual studies


@pytest.mark.slow
def test_a_manual_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MERGEBO_STORAGE")
    output = works("new", "--items", "base,acid,salt,water", "--before", "water:acid", "--method", "random")
    assert "study" in output.out
    assert "sqlite:///mergebo.db" in output.out
    asked = works("ask", "-k", 3)
    assert asked.out.count("pending") == 3
    assert "`mergebo tell 0 VALUE`" in asked.out
    assert "Trial 0 has the value 2.5.\nBest of 1: 2.5 in trial 0." in works("tell", 0, 2.5).out
    assert "Best of 2: -3.25 in trial 1." in works("tell", 1, "-3.25").out
    assert "not proposed again" in works("fail", 2, "--reason", "flask broke").out
    best = works("best").out
    assert best.startswith("-3.25 in trial 1\n")
    shown = works("show").out
    assert "study: 2 done, 1 failed" in shown
    assert "flask broke" in shown
    assert best.splitlines()[1] in shown
    assert Path("mergebo.db").exists()


@pytest.mark.slow
def test_json_is_all_that_is_printed() -> None:
    made = works("new", "tests", "--items", "a,b,c,d", "--method", "random", "--json").json
    assert made["study"] == "tests"
    assert made["directions"] == ["minimize"]
    first, second = works("ask", "-k", 2, "--json").json
    assert (first["trial"], first["state"], first["value"]) == (0, "pending", None)
    assert sorted(first["point"]["order"]) == list("abcd")
    recorded = works("tell", 0, 4, "--json").json
    assert recorded == {**first, "state": "done", "value": 4.0}
    assert works("fail", 1, "--reason", "größe", "--json").json == {**second, "state": "failed", "reason": "größe"}
    assert works("best", "--json").json == recorded
    shown = works("show", "--json").json
    assert [trial["trial"] for trial in shown["trials"]] == [0, 1]
    assert shown["setup"]["method"] == "random"
    assert works("export", "--json").json == shown["trials"]
    works("export", "--out", "all.csv")
    assert works("import", "all.csv", "--json").json == {"added": 0, "there already": 1}
    assert "Results so far: 1." in works("show", "--explain", "--json").json["explanations"][0]


@pytest.mark.slow
def test_options_define_a_space() -> None:
    arguments = ["--items", "a,b,c,d,e,f", "--before", "a:b", "--fixed", "c:0", "--window", "d:1-3", "--adjacent", "a:e"]
    arguments += ["--apart", "b:f", "--choose", "5", "--real", "heat=20:80", "--real", "time=0.1:100:log"]
    arguments += ["--integer", "cycles=-1:40", "--choice", 'salt=K,"Na, dry",Li', "--binary", "picks=3"]
    works("new", *arguments, "--method", "random", "--initial", 7, "--seed", 3, "--noisy")
    order = Permutation(
        items=list("abcdef"),
        before=[("a", "b")],
        fixed={"c": 0},
        window={"d": (1, 3)},
        adjacent=[("a", "e")],
        apart=[("b", "f")],
        choose=5,
    )
    expected = Space(
        order=order,
        heat=Real(20.0, 80.0),
        time=Real(0.1, 100.0, log=True),
        cycles=Integer(-1, 40),
        salt=Choice(["K", "Na, dry", "Li"]),
        picks=Binary(3),
    )
    setup = StudyConfig.from_data(works("show", "--json").json["setup"])
    assert setup == StudyConfig(expected, "random", seed=3, initial=7, noisy=True)
    for trial in works("ask", "-k", 3, "--json").json:
        expected.encode(trial["point"])  # raises an error unless the point is feasible


@pytest.mark.parametrize(
    ("arguments", "order"),
    [
        (
            ["a,b,c", "--symmetry", "cycle", "--symmetry", "reversal"],
            {"items": ["a", "b", "c"], "symmetry": ["cycle", "reversal"]},
        ),
        (["a,b,a,a", "--repeated"], {"items": ["a", "b", "a", "a"]}),
        ([" a , b\t, c c ,,"], {"items": ["a", "b", "c c"]}),
        (['"a, dry",5" pipe,"say ""hi"""'], {"items": ["a, dry", '5" pipe', 'say "hi"']}),
    ],
)
def test_repeated_items_and_symmetries(arguments: list[str], order: dict[str, Any]) -> None:
    made = works("new", "--items", *arguments, "--json").json
    assert made["space"]["order"][1] == {"n": len(order["items"]), **order}


@pytest.mark.slow
def test_several_objectives() -> None:
    works("new", "--items", "a,b,c,d", "--direction", "maximize", "--direction", "minimize", "--method", "random")
    assert "mergebo tell 0 VALUE VALUE" in works("ask", "-k", 3).out
    works("tell", 0, 5, "-1")
    works("tell", 1, 7, 2)
    assert "prints the best of 3" in works("tell", 2, 4, 3).out
    assert [trial["value"] for trial in works("best", "--json").json] == [[5, -1], [7, 2]]
    output = works("best").out
    assert "5, -1" in output
    assert "4, 3" not in output
    assert "2 objectives" in refused("tell", works("ask", "--json").json[0]["trial"], 1)
    assert works("show", "--explain").out.count("From 3 results") == 2


@pytest.mark.slow
def test_the_best_of_noisy_values_is_the_best_expected_one() -> None:
    works("new", "--items", "a,b,c", "--noisy", "--method", "random", "--initial", 2)
    points = {}
    for value in (1.0, 9.0, 1.2, 0.8, 9.5, 9.1, 1.1, 5.0):
        (trial,) = works("ask", "--json").json
        points[trial["trial"]] = trial["point"]
        works("tell", trial["trial"], value)
    found = works("best", "--json").json
    assert found["point"] == points[found["trial"]]
    assert found["deviation"] > 0
    assert found["measurements"] >= 1
    output = works("best").out
    assert "±" in output
    assert "expected for trial" in output


@pytest.mark.slow
def test_a_value_with_its_noise_makes_a_study_noisy() -> None:
    works("new", "--items", "a,b,c", "--method", "random")
    works("ask", "-k", 2)
    assert works("tell", 0, 1, "--noise", "0.5", "--json").json["noise"] == 0.5
    works("tell", 1, 2)
    assert "expected for trial 0" in works("best").out
    assert works("ask", "-k", 6).out.count("pending") == 6  # more than there are orders


@pytest.mark.slow
def test_noise_of_several_objectives() -> None:
    works(
        "new",
        "--items",
        "a,b,c,d",
        "--direction",
        "minimize",
        "--direction",
        "maximize",
        "--method",
        "bops-h",
        "--initial",
        2,
    )
    works("ask", "-k", 3)
    assert "one noise for each" in refused("tell", 0, 1, 2, "--noise", 0.1)
    for trial in range(3):
        works("tell", trial, trial, -trial, "--noise", 0.1, "--noise", 0.2)
    works("ask")  # fits models with known noise for each objective
    front = works("best", "--json").json
    assert {"trial", "expected", "deviation", "measurements", "point"} <= front[0].keys()
    assert len(front[0]["expected"]) == 2
    assert "±" in works("best").out


@pytest.mark.slow
def test_two_studies_in_one_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    works("new", "first", "--items", "a,b,c", "--method", "random")
    assert "Studies" not in works("show").out
    works("new", "second one", "--items", "d,e,f", "--method", "random")
    output = works("show").out
    assert "first" in output
    assert "second one" in output
    assert works("show", "--json").json == {"studies": ["first", "second one"]}
    assert "--study: first, second one" in refused("ask")
    assert set(works("ask", "--study", "second one", "--json").json[0]["point"]["order"]) == set("def")
    monkeypatch.setenv("MERGEBO_STUDY", "first")
    assert set(works("ask", "--json").json[0]["point"]["order"]) == set("abc")
    monkeypatch.setenv("MERGEBO_STUDY", "third")
    assert works("new", "--items", "g,h", "--json").json["study"] == "third"
    assert "did you mean 'first'?" in refused("show", "--study", "frist")
    assert "already" in refused("new", "first", "--items", "a,b")


@pytest.mark.slow
def test_show_is_short_and_has_the_best() -> None:
    works("new", "--items", "a,b,c,d,e", "--method", "random", "--direction", "maximize")
    works("ask", "-k", 6)
    for trial, value in enumerate([1, 5, 2, 3, 4, 0]):
        works("tell", trial, value)
    output = works("show", "--last", 2).out
    assert "the last 2 of 6 trials, and the best" in output
    rows = [line.split()[0] for line in output.splitlines() if "→" in line]
    assert rows == ["1", "4", "5"]
    assert "best so far  1 ▁█████ 5" in output
    assert [line.split()[0] for line in works("show", "--all").out.splitlines() if "→" in line] == list("012345")
    assert "From 6 results (larger is better)" in works("show", "--explain").out


@pytest.mark.slow
def test_studies_without_results() -> None:
    assert "does not exist; create one with `mergebo new`" in refused("ask")
    works("new", "--items", "a,b,c")
    assert "no trials yet; use `mergebo ask`" in works("show").out
    for arguments in (["best"], ["best", "--json"], ["plot"]):
        output = run(*arguments)
        assert (output.status, output.out) == (1, "")
        assert "no results yet" in output.err
    assert works("export").out == "trial,state,value,order 1,order 2,order 3,noise,reason\n"
    assert "there are none yet" in refused("tell", 0, 1)
    works("ask")
    assert run("best").status == 1


@pytest.mark.slow
def test_every_point_is_proposed_once() -> None:
    works("new", "--items", "a,b,c", "--method", "random")
    output = run("ask", "-k", 9)
    assert output.status == 0
    assert output.out.count("pending") == 6
    assert "no more points to try" in output.err
    output = run("ask", "--json")
    assert (output.status, output.json) == (1, [])
    assert "every point" in output.err


def test_interrupted_ask_leaves_no_trial() -> None:
    works("new", "--items", "a,b,c", "--method", "random")
    with mock.patch("mergebo.integrations.optuna.suggest", side_effect=KeyboardInterrupt):
        assert run("ask").status == 130
    assert "no trials yet" in works("show").out
    assert works("ask", "--json").json[0]["state"] == "pending"


# ------------------------------------------------------------------------------------------- hostile and unusual names


@pytest.mark.slow
def test_names_are_printed_literally() -> None:
    items = [item for item in HOSTILE if len(item) < 100]
    name = "[/] [bold]x[/] :smile: $x^$ %s"
    assert name in works("new", name, "--items", quoted(items), "--method", "random").out
    asked = works("ask", "-k", 2).out
    works("tell", 0, 1)
    works("fail", 1, "--reason", "[/] :smile: [red]")
    best = works("best").out
    shown = works("show").out
    for item in items:
        assert item in asked
        assert item in best
        assert item in shown
    assert name in shown
    assert "[/] :smile: [red]" in shown
    works("new", "[other]", "--items", "a,b")
    assert name in works("show").out
    assert "[other]" in works("show").out
    assert name in refused("ask")


@pytest.mark.slow
def test_long_names_and_orders_are_not_truncated() -> None:
    items = ["x" * 300, *(f"item number {k}" for k in range(30))]
    works("new", "--items", quoted(items), "--method", "random")
    for output in (works("ask").out, works("show").out):
        (line,) = (line for line in output.splitlines() if "→" in line)
        assert all(item in line for item in items)
        assert "…" not in line


def test_items_from_a_file() -> None:
    Path("items.txt").write_bytes(b'\xef\xbb\xbfa, b\r\n\r\n  c \r\n"d"\r\n' + "e\u2028f\n".encode())
    assert read_items("items.txt") == ["a, b", "c", '"d"', "e\u2028f"]
    assert works("new", "--items", "items.txt", "--json").json["space"]["order"][1]["items"][0] == "a, b"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("", "is neither a file nor a list of two items or more"),
        (" , ,", "is neither a file nor a list"),
        ("alone", "'alone' is neither a file nor a list"),
        ("missing.txt", "'missing.txt' is neither a file nor a list"),
        ("no/such/file", "is neither a file nor a list"),
        ("binary", "not a text file in UTF-8"),
        ("empty", "has fewer than two items"),
        ("folder", "is neither a file nor a list"),
        ("a,b,a,c,c", "duplicate items: 'a', 'c'; use --repeated if this is intended"),
        ('"a,b', "cannot be read"),
        ('"a"x,b', "cannot be read"),
        ("a\nb,c", "cannot be read"),
        ('"a\nb",c', "has a character that cannot be shown"),
        ("a\x1b[31m,b", "has a character that cannot be shown"),
        ("a\udcff,b", "has a character that cannot be shown"),
        ("a\0b,c", "has a character that cannot be shown"),
        ("x" * 5000, "is neither a file nor a list"),
    ],
)
def test_invalid_items(items: str, message: str) -> None:
    Path("binary").write_bytes(bytes(range(256)))
    Path("empty").write_text("\n\n")
    Path("folder").mkdir()
    assert message in refused("new", "--items", items)
    assert not Path("studies.log").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--before a:b --before b:a", "no order satisfies these constraints"),
        ("--before a:x", "must be one of 'a', 'b', 'acid', got 'x'"),
        ("--before a:acdi", "did you mean 'acid'?"),
        ("--before a:a", "has only one item"),
        ("--before a", "use it like --before acid:base"),
        ("--before a:b:acid", "use it like --before acid:base"),
        ("--adjacent a:b --apart a:b", "no order of 3 items satisfies"),
        ("--fixed a:3", "slots of 3 items are 0..2, got 3"),
        ("--fixed a:-1", "slots are counted from 0"),
        ("--fixed a:x", "use it like --fixed water:0"),
        ("--fixed x:0", "got 'x'"),
        ("--fixed a:0 --fixed b:0", "no order of 3 items satisfies"),
        ("--window a:2-1", "from its first to its last slot"),
        ("--window a:1", "use it like --window water:2-5"),
        ("--window a:0-9", "got 9"),
        ("--choose 4", "choose=4 of 3 items"),
        ("--symmetry cycel", "did you mean 'cycle'?"),
        ("--symmetry cycle --before a:b", "undefined there"),
        ("--real heat=80:20", "larger finite high"),
        ("--real heat=20", "low:high is missing"),
        ("--real heat", "name= is missing"),
        ("--real =1:2", "a name consists of letters"),
        ("--real heat=1:inf", "finite"),
        ("--real heat=0:1:log", "positive low"),
        ("--real heat=1:2:lgo", "'lgo' is not 'log'"),
        ("--real heat=a:b", "could not convert"),
        ("--integer k=1.5:3", "use it like --integer"),
        ("--integer k=3:3", "larger finite high"),
        ("--choice s=K", "at least two options"),
        ("--choice s=K,K", "options must differ"),
        ("--choice s=", "at least two options"),
        ("--choice 's=\"K'", "cannot be read"),
        ("--binary p=0", "at least 1"),
        ("--binary p=x", "use it like --binary picks=12"),
        ("--real order=0:1", "two variables are called 'order'"),
        ("--real order0=0:1", "rename one of them"),
        ("--real heat=0:1 --integer heat=1:2", "two variables are called 'heat'"),
        ("--real value=0:1", "choose another name"),
        ("--real trial=0:1", "choose another name"),
        ("--real result=0:1", "choose another name"),
        ("--real 'order 1=0:1'", "a name consists of letters"),
        ("--real {x}=0:1", "a name consists of letters"),
        ("--method mergbo", "did you mean 'mergebo'?"),
        ("--direction maximise", "did you mean 'maximize'?"),
        ("--direction min", "'minimize', 'maximize'"),
        ("''", "must be printable and not blank"),
        ("'  '", "must be printable and not blank"),
        ("'x\x1b'", "must be printable and not blank"),
    ],
)
def test_invalid_studies(arguments: str, message: str) -> None:
    assert message in refused("new", "--items", "a,b,acid", *shlex.split(arguments))
    assert "no studies" in refused("ask")  # and none was created


@pytest.mark.slow
def test_colons_in_items_and_between_them() -> None:
    def order(*arguments: str) -> dict[str, Any]:
        return works("new", f"study of {' '.join(arguments)}", *arguments, "--json").json["space"]["order"][1]

    assert order("--items", "a:b,c", "--before", "a:b:c")["before"] == [["a:b", "c"]]
    assert order("--items", "a:b,c", "--before", "c:a:b")["before"] == [["c", "a:b"]]
    assert order("--items", "a:1,c", "--fixed", "a:1:0")["fixed"] == [["a:1", 0]]
    assert order("--items", "a:1,c", "--window", "a:1:0-1")["window"] == [["a:1", [0, 1]]]
    assert "is ambiguous: 'a' and 'b:c' or 'a:b' and 'c'" in refused("new", "--items", "a,a:b,b:c,c", "--before", "a:b:c")


# ----------------------------------------------------------------------------------------------------------- storages


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", "is not the address of a storage"),
        ("results.db", "did you mean sqlite:///results.db?"),
        ("nosql://x", "is not the address of a storage"),
        ("sqlite://", "does not name a file"),
        ("sqlite:///", "does not name a file"),
        ("sqlite:///:memory:", "does not name a file"),
        ("journal://x.log", "does not name a file"),
        ("sqlite:///no/such/folder/x.db", "the folder of no/such/folder/x.db does not exist"),
        ("journal:///no/such/folder/x.log", "does not exist"),
        ("sqlite:///folder", "folder is a folder"),
        ("sqlite:///text.db", "cannot be opened: file is not a database"),
        ("journal:///text.db", "cannot be opened"),
        ("journal:///binary", "cannot be opened"),
        ("mysql://me:secret@host/db", "needs a driver that is not installed"),
    ],
)
def test_invalid_storages(url: str, expected: str) -> None:
    Path("folder").mkdir()
    Path("text.db").write_text("no database\n" * 500)
    Path("binary").write_bytes(bytes(range(256)))
    message = refused("new", "--items", "a,b", "--storage", url)
    assert expected in message
    assert "secret" not in message
    assert message.count("\n") == 1
    refused("ask", "--storage", url)


def test_absolute_paths_have_four_slashes(folder: Path) -> None:
    message = refused("new", "--items", "a,b", "--storage", f"journal://{folder}/x.log")
    assert f"has four slashes: journal:///{folder}/x.log" in message
    works("new", "--items", "a,b", "--storage", f"journal:///{folder}/x.log")
    assert (folder / "x.log").exists()


def test_passwords_are_not_shown() -> None:
    assert address("postgresql://me:s:e@cret@host:5432/db") == "postgresql://me:***@host:5432/db"
    assert address("postgresql://me@host/db") == "postgresql://me@host/db"
    assert address("sqlite:////a/b.db") == "sqlite:////a/b.db"


@pytest.mark.slow
def test_a_database_that_cannot_be_written() -> None:
    works("new", "--items", "a,b,c", "--method", "random", "--storage", "sqlite:///x.db")
    with contextlib.closing(sqlite3.connect("x.db")) as database:
        database.execute("create trigger t before insert on trials begin select raise(abort, 'no room'); end")
        database.commit()
    message = refused("ask", "--storage", "sqlite:///x.db")
    assert "the storage of the studies failed: no room" in message
    assert message.count("\n") == 1
    assert "study: no trials yet" in works("show", "--storage", "sqlite:///file:x.db?mode=ro&uri=true").out


def test_a_study_of_another_program() -> None:
    backend = optuna.storages.journal.JournalFileBackend("studies.log")
    other = optuna.create_study(storage=optuna.storages.JournalStorage(backend), study_name="other")
    other.ask()
    assert "'other' in journal:///studies.log was not created by mergebo" in refused("ask")
    assert "was not created by mergebo" in refused(
        "optimize", "--study", "other", "--items", "a,b", "--budget", 1, "--command", "ls {order}"
    )


def test_bugs_are_not_hidden() -> None:
    with mock.patch("mergebo.cli.lists.print_json", side_effect=ZeroDivisionError), pytest.raises(ZeroDivisionError):
        run("methods", "--json")


# ------------------------------------------------------------------------------------------------------ tell and fail


@pytest.mark.slow
def test_invalid_results() -> None:
    works("new", "--items", "a,b,c", "--method", "random")
    works("ask", "-k", 3)
    works("tell", 1, 5)
    works("fail", 2)
    before = works("show", "--json").json
    wrong: list[tuple[list[object], str]] = [
        (["tell", 7, 1], "trial 7 does not exist; the last one is 2"),
        (["tell", "--", -1, 1], "trial -1 does not exist"),
        (["tell", 0, "x"], "a value must be a number, got 'x'"),
        (["tell", 0, ""], "a value must be a number"),
        (["tell", 0, "nan"], "mergebo fail"),
        (["tell", 0, "inf"], "mergebo fail"),
        (["tell", 0, 1, 2], "the study has one objective"),
        (["tell", 0, 1, "--nosie", 2], "a value must be a number, got '--nosie'"),
        (["tell", 0, 1, "--noise", "inf"], "standard deviation"),
        (["tell", 0, 1, "--noise", 1, "--noise", 2], "the study has one objective"),
        (["tell", 1, 3], "already has the value 5; nothing was changed. To correct"),
        (["tell", 2, 3], "has already failed"),
        (["fail", 1], "already has the value 5"),
        (["fail", 7], "trial 7 does not exist"),
    ]
    for arguments, output in wrong:
        assert output in refused(*arguments)
    assert works("show", "--json").json == before


@pytest.mark.slow
def test_usage_errors_of_tell_and_fail() -> None:
    works("new", "--items", "a,b,c")
    for arguments in (["tell", "0"], ["tell", "x", "1"], ["tell"], ["tell", "0", "1", "--noise", "-1"], ["fail", "1.5"]):
        output = run(*arguments)
        assert (output.status, output.out) == (2, "")


# ----------------------------------------------------------------------------------------------------------- optimize


def optimize(command: str, budget: int = 6, *arguments: object, items: str = "a,b,c,d", method: str = "random") -> Output:
    return run("optimize", "--items", items, "--command", command, "--budget", budget, "--method", method, *arguments)


@pytest.mark.slow
def test_settings_of_other_packages_are_restored() -> None:
    """The log level of Optuna and the warning filters are the same after a command, or after opening a storage."""
    before = optuna.logging.get_verbosity(), [*warnings.filters]
    works("new", "one", "--items", "a,b,c")
    works("ask", "--json")
    optimize(script(MISPLACED) + " {order}", 2, "--storage", "sqlite:///x.db", items="a,b,c")
    refused("ask", "--storage", "sqlite:///missing.db")
    assert studies.load(JOURNAL, "one").name == "one"
    assert (optuna.logging.get_verbosity(), [*warnings.filters]) == before


def test_optuna_logs_nothing_during_a_command_and_as_usual_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    logger = optuna.logging.get_logger("optuna")
    logger.addHandler(caplog.handler)
    try:
        works("new", "one", "--items", "a,b,c")
        assert not caplog.messages
        optuna.create_study(storage=studies.open_storage(JOURNAL))
        assert "A new study" in caplog.messages[0]
    finally:
        logger.removeHandler(caplog.handler)


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


def wait_for(path: str) -> None:
    end = time.monotonic() + 30
    while not os.path.exists(path):
        assert time.monotonic() < end, f"{path} was not written"
        time.sleep(0.02)


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


# ------------------------------------------------------------------------------------------------------------- tables


EVERYTHING = ["--items", quoted(HOSTILE[:6]), "--real", "heat=0.001:1000:log", "--integer", "cycles=-5:40"]
EVERYTHING += ["--choice", 'salt=K,"Na, dry",[/]', "--binary", "picks=3"]


@pytest.mark.slow
def test_export_and_import() -> None:
    works("new", "one", *EVERYTHING, "--method", "random")
    works("ask", "-k", 4, "--study", "one")
    works("tell", 0, 1.5, "--study", "one")
    works("tell", 1, "-1e-300", "--noise", 0.25, "--study", "one")
    works("fail", 2, "--reason", 'a "bad", bad\nday', "--study", "one")
    assert "Exported 4 trials to all.csv." in works("export", "--out", "all.csv", "--study", "one").out
    assert works("export", "--study", "one").out == Path("all.csv").read_text()
    works("new", "two", *EVERYTHING, "--method", "random")
    assert "Imported 2 results." in works("import", "all.csv", "--study", "two").out
    done = [
        [trial for trial in works("show", "--study", name, "--json").json["trials"] if trial["state"] == "done"]
        for name in ("one", "two")
    ]
    assert done[0] == done[1]
    assert "Imported 0 results; skipped 2 that the study already has." in works("import", "all.csv", "--study", "two").out
    works("ask", "--study", "two")


def test_noisy_results_are_imported_again() -> None:
    works("new", "--items", "a,b,c", "--noisy")
    Path("t.csv").write_text("order,value\na>b>c,1\na>b>c,1\n")
    for count in (2, 4):
        assert "Imported 2 results." in works("import", "t.csv").out
        assert len(works("show", "--json").json["trials"]) == count


TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8).map(str.strip).filter(bool)
NAMES = st.lists(st.one_of(TEXTS, st.sampled_from(HOSTILE)), min_size=6, max_size=6, unique=True)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Space, list[str], list[tuple[dict[str, Any], list[float], list[float]]]]:
    """A space with arbitrary item names, directions, and results whose noise may be unknown."""
    names = draw(NAMES)
    shape = draw(order_options(low=2))
    order = Permutation(**{**shape, "items": [names["abcdef".index(letter)] for letter in shape["items"]]})
    others: dict[str, Any] = {
        "heat": Real(-1e3, 1e6),
        "time": Real(1e-9, 1e9, log=True),
        "cycles": Integer(-7, 10**6),
        "salt": Choice(draw(NAMES)),
        "one": Binary(1),
        "picks": Binary(3),
    }
    chosen = draw(st.lists(st.sampled_from(list(others)), unique=True))
    space = Space(order=order, **{name: others[name] for name in chosen})
    directions = draw(st.lists(st.sampled_from(["minimize", "maximize"]), min_size=1, max_size=3))
    results = []
    for seed in range(draw(st.integers(0, 4))):
        values = draw(st.lists(NUMBERS, min_size=len(directions), max_size=len(directions)))
        noise = draw(st.lists(st.floats(0, 1e9), min_size=len(directions), max_size=len(directions)))
        point = space.decode(space.sample_rows((), seed=seed))
        results.append((point, values, noise if draw(st.booleans()) else []))
    return space, directions, results


@pytest.mark.slow
@given(given=tables())
@settings(max_examples=60)
def test_tables_round_trip(given: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    space, directions, results = given
    study = Study(optuna.create_study(directions=directions), StudyConfig(space), None, "")
    for point, values, noise in results:
        attributes = {NOISE: noise if len(noise) > 1 else noise[0]} if noise else {}
        made = optuna.create_trial(
            params=params(space, point), distributions=distributions(space), values=values, user_attrs=attributes
        )
        study.optuna.add_trial(made)
    path = tmp_path_factory.mktemp("table") / "table.csv"
    path.write_text(table_text(study), encoding="utf-8")
    read = read_table(study, path)
    assert [line.values for line in read] == [values for _, values, _ in results]
    assert [line.noise for line in read] == [noise or None for *_, noise in results]
    for line, (point, *_) in zip(read, results, strict=True):
        np.testing.assert_array_equal(space.encode(line.point), space.encode(point))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "value,order 1,order 2,order 3,heat\n1.5,a,b,c,20\n-2,c,b,a,80\n",
        "\ufeffvalue,order 1,order 2,order 3,heat\r\n1.5,a,b,c,20\r\n\r\n-2,c,b,a,80\r\n",
        "value;order 1;order 2;order 3;heat\n1,5;a;b;c;20,0\n-2;c;b;a;80\n",
        "value\torder 1\torder 2\torder 3\theat\n1,5\ta\tb\tc\t20\n-2\tc\tb\ta\t80\n",
        "heat, value ,order,comment\n20,1.5,a > b>c ,good\n80,-2,c>b>a,\n,,,\n",
        "value,order 1,order 2,order 3,heat,order\n1.5,a,b,c,20,x\n-2,c,b,a,80,y\n",
        'value,order,heat,state\n"1.5","a>b>c","20",done\n5,a>b>c,20,failed\n-2,c>b>a,80,\n,,,pending\n',
    ],
)
def test_tables_from_elsewhere(text: str) -> None:
    works("new", "--items", "a,b,c", "--real", "heat=20:80")
    Path("t.csv").write_text(text, newline="")
    assert works("import", "t.csv", "--json").json == {"added": 2, "there already": 0}
    trials = works("show", "--json").json["trials"]
    assert [(trial["value"], trial["point"]) for trial in trials] == [
        (1.5, {"order": ["a", "b", "c"], "heat": 20.0}),
        (-2.0, {"order": ["c", "b", "a"], "heat": 80.0}),
    ]


HEAD = "value,order 1,order 2,order 3,k,s,p 1,p 2\n"
GOOD = "1,a,b,c,3,K,0,1\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        (GOOD, "has no column 'value'"),
        ("value,order 1,order 2\n1,a,b\n", "has no column 'order 3', 'k', 's', 'p 1', 'p 2'"),
        ("value," + HEAD, "the column 'value' more than once"),
        (HEAD + GOOD + "x,a,b,c,3,K,0,1\n", "line 3: value must be a number, got 'x'"),
        (HEAD + ",a,b,c,3,K,0,1\n", "line 2: value must be a number, got ''"),
        (HEAD + "nan,a,b,c,3,K,0,1\n", "line 2: value must be a finite number"),
        (HEAD + '"1,234",a,b,c,3,K,0,1\n', "line 2: value must be a number, got '1,234'"),
        (HEAD + "1,a,b,d,3,K,0,1\n", "line 2: an item must be one of 'a', 'b', 'c', got 'd'"),
        (HEAD + "1,a,b,,3,K,0,1\n", "line 2: an item must be"),
        (HEAD + "1,a,b,b,3,K,0,1\n", "line 2: "),
        (HEAD + "1,c,b,a,3,K,0,1\n", "line 2: ['c', 'b', 'a'] violates these constraints"),
        (HEAD + "1,a,b,c,3.5,K,0,1\n", "line 2: k must be an integer, got '3.5'"),
        (HEAD + "1,a,b,c,99,K,0,1\n", "line 2: "),
        (HEAD + "1,a,b,c,3,Kk,0,1\n", "did you mean 'K'?"),
        (HEAD + "1,a,b,c,3,K,0,0.5\n", "line 2: p must be an integer, got '0.5'"),
        (HEAD + "1,a,b,c,3,K,0,2\n", "line 2: binary values are 0 or 1"),
        (HEAD + "1,a,b,c,3,K,0\n", "line 2: there are 7 cells for 8 columns"),
        (HEAD + "1,a,b,c,3,K,0,1,\n", "line 2: there are 9 cells for 8 columns"),
        (HEAD + '1,a,"b"x,c,3,K,0,1\n', "is not a table (CSV): line 2"),
        (HEAD + '1,a,"b,c,3,K,0,1\n', "is not a table (CSV): line 2"),
        (HEAD.replace("value", "value,noise") + "1,-2,a,b,c,3,K,0,1\n", "line 2: noise is a standard deviation"),
        (HEAD + "x,a,b,c,3,K,0,1\n" * 20, "line 9: value must be a number, got 'x'\n  and 12 more"),
        ("value,order,k,s,p 1,p 2\n1,a>b,3,K,0,1\n", "line 2: "),
        (HEAD.encode() + b"1,\xff,b,c,3,K,0,1\n", "is not a text file in UTF-8"),
    ],
)
def test_invalid_tables(text: str | bytes, message: str) -> None:
    works("new", "--items", "a,b,c", "--before", "a:b", "--integer", "k=1:9", "--choice", "s=K,Na", "--binary", "p=2")
    Path("t.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert message in refused("import", "t.csv")
    assert works("show", "--json").json["trials"] == []


@pytest.mark.slow
def test_invalid_files() -> None:
    works("new", "--items", "a,b,c", "--method", "random")
    works("ask")
    works("tell", 0, 1)
    assert "missing.csv cannot be read: No such file" in refused("import", "missing.csv")
    assert "cannot be read: Is a directory" in refused("import", ".")
    assert "no/x.csv cannot be written: No such file" in refused("export", "--out", "no/x.csv")
    assert "no/x.png cannot be written: No such file" in refused("plot", "convergence", "--out", "no/x.png")
    assert "use one of them" in refused("export", "--json", "--out", "x.csv")
    Path("t.csv").write_text("value,order\n1,a|b|c\n")
    assert "between two items" in refused("import", "t.csv", "--separator", "")
    assert "Imported 1 result." in works("import", "t.csv", "--separator", " | ").out


# ----------------------------------------------------------------------------------------------------------- plots


STUDIES: dict[str, list[str]] = {
    "plain": ["--items", quoted([item for item in HOSTILE if set(item) & set("$<[中x")])],
    "choose": ["--items", "a,b,c,d,e", "--choose", "3"],
    "repeated": ["--items", "a,a,b,b,c", "--repeated"],
    "symmetric": ["--items", "a,b,c,d,e", "--symmetry", "cycle", "--symmetry", "reversal"],
    "mixed": EVERYTHING,
    "two objectives": ["--items", "a,b,c,d", "--direction", "minimize", "--direction", "maximize"],
    "large": ["--items", ",".join(f"item {k}" for k in range(60))],
}
KINDS = {".png": b"\x89PNG", ".svg": b"<?xml", ".html": b"<!doctype html>"}


def make_study(name: str, count: int = 4) -> None:
    """Create a study with results."""
    arguments = STUDIES[name]
    objectives = max(1, arguments.count("--direction"))
    works("new", name, *arguments, "--method", "random")
    for trial in works("ask", "-k", count, "--json").json:
        items: list[str] = trial["point"]["order"]
        value = sum(slot * (len(item) + ord(item[0]) % 7) for slot, item in enumerate(items))
        works("tell", trial["trial"], *[value, len(items[0])][:objectives])


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_plots(name: str) -> None:
    make_study(name)
    for kind, suffix in zip(pictures.PLOTS, [".png", ".svg", ".html", ".png", ".svg"], strict=True):
        if name == "symmetric" and kind in ("precedence", "positions"):
            assert "see `neighbours`" in refused("plot", kind)
            continue
        output = works("plot", kind, "--out", f"{kind}{suffix}")
        assert output.out == f"{kind}{suffix}\n"
        assert Path(f"{kind}{suffix}").read_bytes().startswith(KINDS[suffix])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "symmetric", "two objectives"])
def test_the_page_is_self_contained(name: str) -> None:
    make_study(name)
    path = works("plot").out.strip()
    assert path == f"{name.replace(' ', '-')}.html"
    page = Path(path).read_text()
    assert "http" not in page
    assert "<script" not in page
    assert page.count("<img ") == {"plain": 5, "symmetric": 3, "two objectives": 6}[name]
    assert page.count("<tr>") == 5
    if name == "plain":
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;" in page


@pytest.mark.slow
def test_plots_of_one_result_and_of_unusual_names() -> None:
    works("new", "../[/] $x^$", "--items", "a,b", "--method", "random")
    works("ask")
    works("tell", 0, 1)
    assert works("plot", "neighbours").out == "x-neighbours.png\n"
    assert works("plot", "convergence", "--json").json == {"study": "../[/] $x^$", "file": "x-convergence.png"}
    assert works("plot").out == "x.html\n"
    assert Path("x-neighbours.png").exists()
    assert "must end in .png, .svg, .pdf or .html, got 'x.gif'" in refused("plot", "--out", "x.gif")
    assert "must end in" in refused("plot", "precedence", "--out", "x")
    assert "all plots together need an HTML page, such as 'x.html'" in refused("plot", "--out", "x.png")
    output = run("plot", "precedenc")
    assert output.status == 2
    assert "positions" in output.err


def test_good_orders_are_the_best_ones() -> None:
    study = Study(
        optuna.create_study(direction="maximize"), StudyConfig(Space(order=Permutation(items=list("abc")))), None, ""
    )
    for order, value in (("abc", 1), ("cab", 9), ("bca", 5), ("acb", 0)):
        held = params(study.space, {"order": list(order)})
        study.optuna.add_trial(optuna.create_trial(params=held, distributions=distributions(study.space), value=value))
    slots, which = pictures.good_slots(study)
    assert slots.tolist() == [[1, 2, 0], [2, 0, 1], [0, 1, 2]]  # of a, b and c
    assert which == "the best 3 orders"
    (image,) = pictures.precedence(study).axes[0].images
    shares = np.ma.filled(image.get_array(), np.nan)
    assert np.nanmax(np.abs(shares + shares.T - 1)) < 1e-9


# -------------------------------------------------------------------------------------------------------------- units


def test_sparkline() -> None:
    assert sparkline([]) == ""
    assert sparkline([3.0]) == "▁"
    assert sparkline([2, 2, 2]) == "▁▁▁"
    assert sparkline([0, 7, 3]) == "▁█▄"
    assert sparkline([1e300, -1e300]) == "█▁"
    long = sparkline(range(1000), 40)
    assert (len(long), long[0], long[-1]) == (40, "▁", "█")
    assert list(long) == sorted(long)


def test_format_number() -> None:
    assert [format_number(each) for each in (None, 3.0, -0.0, 0.1 + 0.2, 1234567.0, 1e20, 12345.678)] == [
        "",
        "3",
        "0",
        "0.3",
        "1234567",
        "1e+20",
        "12345.7",
    ]
    assert format_number(float("nan")) == "nan"
    assert format_number(float("-inf")) == "-inf"
    assert format_numbers([1.0, 2.5]) == "1, 2.5"
    assert format_numbers(None) == ""


def test_point_text() -> None:
    assert point_text(None) == ""
    assert point_text({"order": ["b", "[/]"]}) == "b → [/]"
    point = {"order": ["a"], "heat": 1 / 3, "k": 7, "s": "K", "p": [0, 1, 1], "q": [2, 3]}
    assert point_text(point) == "a   (heat = 0.333333, k = 7, s = K, p = 011, q = [2, 3])"


def test_best_so_far_follows_the_direction() -> None:
    for direction, expected in (("minimize", [3.0, 1.0, 1.0]), ("maximize", [3.0, 3.0, 5.0])):
        study = Study(optuna.create_study(direction=direction), StudyConfig(Space(order=Permutation(2))), None, "")
        for value in (3.0, 1.0, 5.0):
            study.optuna.add_trial(optuna.create_trial(value=value))
        study.optuna.add_trial(optuna.create_trial(state=optuna.trial.TrialState.FAIL))
        assert best_so_far(study, study.trials()) == expected


def test_control_characters_are_escaped() -> None:
    assert escape_control("größe 🎈 👨‍👩‍👧") == "größe 🎈 👨‍👩‍👧"
    assert escape_control("a\tb\x1b[31m\n\udcff") == "a\\tb\\x1b[31m\\n\\udcff"


def test_space_options_without_constraints() -> None:
    assert SpaceOptions("a,b").space() == Space(order=Permutation(items=["a", "b"]))
    with pytest.raises(ArgumentError, match="duplicate items: 'a'"):
        SpaceOptions("a,a").space()
    assert SpaceOptions("a,a", repeated=True).space().size == 1
