"""The command line as users meet it: what they type, what they see, and what becomes of what they got wrong."""

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

from mergebo.cli import PANELS, main, pictures, studies
from mergebo.cli.exchange import read_table, table_text
from mergebo.cli.screen import best_so_far, number, numbers, point_text, sparkline, visible
from mergebo.cli.studies import Setup, Study, address
from mergebo.cli.words import Words, read_items
from mergebo.cli.workers import Workers
from mergebo.errors import ArgumentError
from mergebo.integrations.optuna import NOISE, distributions, params
from mergebo.optimizers import explanation
from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, Space
from mergebo.testing.strategies import shapes

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
    """An output that somebody looks at."""

    def isatty(self) -> bool:
        return True


class Said(NamedTuple):
    """What a command ended with and printed."""

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
    """Each test in an empty folder of its own; studies are in a journal there, which is quicker than a database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERGEBO_STORAGE", JOURNAL)
    monkeypatch.delenv("MERGEBO_STUDY", raising=False)
    yield tmp_path
    assert not (tmp_path / "pwned").exists()


def run(*words: object, out: io.StringIO | None = None) -> Said:
    """`mergebo` with these words."""
    out, err = out or io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["mergebo", *map(str, words)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    status = ended.value.code
    assert isinstance(status, int)
    return Said(status, out.getvalue(), err.getvalue())


def works(*words: object) -> Said:
    said = run(*words)
    assert (said.status, said.err) == (0, ""), said
    return said


def refused(*words: object) -> str:
    """What is said of something that cannot be: one message and nothing else."""
    said = run(*words)
    assert said.status == 2, said
    assert said.out == ""
    assert said.err.startswith("mergebo: ")
    assert "Traceback" not in said.err
    return said.err.removeprefix("mergebo: ")


def script(code: str, name: str = "simulate.py") -> str:
    """A Python program in the current folder, as the first words of a command."""
    Path(name).write_text(code)
    return f"{shlex.quote(sys.executable)} -S {name}"


MISPLACED = """
import sys
order = sys.argv[1:]
print("loss:", sum(abs(slot - "abcdefgh".index(item)) for slot, item in enumerate(order)))
"""


def quoted(items: list[str]) -> str:
    """Items as `--items` takes them, whatever is in them."""
    return ",".join('"' + item.replace('"', '""') + '"' for item in items)


# ------------------------------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    said = works(*command.split(), "--help")
    assert f"Example: mergebo {command}" in said.out


def test_help_lists_every_command_and_loads_nothing_large() -> None:
    code = "import sys; from mergebo.cli import main\ntry: main()\nfinally: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    shown, loaded = done.stdout.rstrip().rsplit("\n", 1)
    assert not {"numpy", "scipy", "numba", "torch", "optuna", "sqlalchemy", "matplotlib"} & set(loaded.split())
    for command in COMMANDS:
        assert command.split()[0] in shown


def test_no_words_are_a_question() -> None:
    said = run()
    assert "Usage: mergebo" in said.out + said.err


def test_version_and_completion() -> None:
    assert works("--version").out.startswith("mergebo 0.")
    script = subprocess.run(  # what a shell asks for: --show-completion first finds out which shell runs it
        [sys.executable, "-m", "mergebo"],
        env={**os.environ, "_MERGEBO_COMPLETE": "source_bash"},
        capture_output=True,
        text=True,
    )
    assert "complete -o default" in script.stdout


def test_unknown_commands_and_options_are_refused() -> None:
    for words in (["aks"], ["ask", "--cuont", "3"], ["ask", "-k", "0"], ["ask", "-k", "x"], ["new"], ["optimize"]):
        said = run(*words)
        assert said.status == 2
        assert said.out == ""


def test_methods_and_problems_are_listed() -> None:
    assert "auto" in works("methods").out
    assert works("methods", "--json").json["random"] == "uniform random orders"
    (first, *_) = works("problems", "lop", "--json").json
    assert first["name"].startswith("lop:")
    assert first["numbers"] > 0
    said = works("problems", "flowshop").out
    assert "flowshop:ta001" in said
    assert "…" not in said  # names are whole
    assert "must be one of" in refused("problems", "tps")


def test_bench_says_what_is_wrong() -> None:
    assert "paper-low" in works("bench", "suites").out
    assert "must be one of" in refused("bench", "run", "--suite", "paper", "--out", "x")


def test_demo() -> None:
    said = works("demo", "--problem", "tsp:random(n=6,seed=0)", "--budget", 4).out
    assert "the shortest round tour of 6 cities" in said
    assert " random  ▁" in said or " random  █" in said
    assert "auto  " in said
    assert "From 4 results" in said
    assert "family:instance" in refused("demo", "--problem", "nothing")


def test_demo_can_be_stopped() -> None:
    with mock.patch("mergebo.problems.routes.TSP._evaluate", side_effect=KeyboardInterrupt):
        assert run("demo", "--problem", "tsp:random(n=6,seed=0)", "--budget", 4).status == 130


# ------------------------------------------------------------------------------------------------------- the human loop


def test_the_loop_of_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MERGEBO_STORAGE")
    said = works("new", "--items", "base,acid,salt,water", "--before", "water:acid", "--method", "random")
    assert "study" in said.out
    assert "sqlite:///mergebo.db" in said.out
    asked = works("ask", "-k", 3)
    assert asked.out.count("pending") == 3
    assert "`mergebo tell 0 VALUE`" in asked.out
    assert "Trial 0 has the value 2.5.\nBest of 1: 2.5 in trial 0." in works("tell", 0, 2.5).out
    assert "Best of 2: -3.25 in trial 1." in works("tell", 1, "-3.25").out
    assert "not asked for again" in works("fail", 2, "--reason", "flask broke").out
    best = works("best").out
    assert best.startswith("-3.25 in trial 1\n")
    shown = works("show").out
    assert "study: 2 done, 1 failed" in shown
    assert "flask broke" in shown
    assert best.splitlines()[1] in shown
    assert Path("mergebo.db").exists()


def test_json_is_all_that_is_printed() -> None:
    made = works("new", "tests", "--items", "a,b,c,d", "--method", "random", "--json").json
    assert made["study"] == "tests"
    assert made["directions"] == ["minimize"]
    first, second = works("ask", "-k", 2, "--json").json
    assert (first["trial"], first["state"], first["value"]) == (0, "pending", None)
    assert sorted(first["point"]["order"]) == list("abcd")
    told = works("tell", 0, 4, "--json").json
    assert told == {**first, "state": "done", "value": 4.0}
    assert works("fail", 1, "--reason", "größe", "--json").json == {**second, "state": "failed", "reason": "größe"}
    assert works("best", "--json").json == told
    shown = works("show", "--json").json
    assert [trial["trial"] for trial in shown["trials"]] == [0, 1]
    assert shown["setup"]["method"] == "random"
    assert works("export", "--json").json == shown["trials"]
    works("export", "--out", "all.csv")
    assert works("import", "all.csv", "--json").json == {"added": 0, "there already": 1}
    assert "Results so far: 1." in works("show", "--explain", "--json").json["explanations"][0]


def test_words_become_a_space() -> None:
    words = ["--items", "a,b,c,d,e,f", "--before", "a:b", "--fixed", "c:0", "--window", "d:1-3", "--adjacent", "a:e"]
    words += ["--apart", "b:f", "--choose", "5", "--real", "heat=20:80", "--real", "time=0.1:100:log"]
    words += ["--integer", "cycles=-1:40", "--choice", 'salt=K,"Na, dry",Li', "--binary", "picks=3"]
    works("new", *words, "--method", "random", "--initial", 7, "--seed", 3, "--noisy")
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
    setup = Setup.from_data(works("show", "--json").json["setup"])
    assert setup == Setup(expected, "random", seed=3, initial=7, noisy=True)
    for trial in works("ask", "-k", 3, "--json").json:
        expected.encode(trial["point"])  # keeps all rules


@pytest.mark.parametrize(
    ("words", "order"),
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
def test_shapes_of_orders(words: list[str], order: dict[str, Any]) -> None:
    made = works("new", "--items", *words, "--json").json
    assert made["space"]["order"][1] == {"n": len(order["items"]), **order}


def test_several_objectives() -> None:
    works("new", "--items", "a,b,c,d", "--direction", "maximize", "--direction", "minimize", "--method", "random")
    assert "mergebo tell 0 VALUE VALUE" in works("ask", "-k", 3).out
    works("tell", 0, 5, "-1")
    works("tell", 1, 7, 2)
    assert "says what is best of 3" in works("tell", 2, 4, 3).out
    assert [trial["value"] for trial in works("best", "--json").json] == [[5, -1], [7, 2]]
    said = works("best").out
    assert "5, -1" in said
    assert "4, 3" not in said
    assert "2 objectives" in refused("tell", works("ask", "--json").json[0]["trial"], 1)
    assert works("show", "--explain").out.count("From 3 results") == 2


def test_noisy_values_are_expected_not_lucky() -> None:
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
    said = works("best").out
    assert "±" in said
    assert "expected of trial" in said


def test_a_value_with_its_noise_makes_a_study_noisy() -> None:
    works("new", "--items", "a,b,c", "--method", "random")
    works("ask", "-k", 2)
    assert works("tell", 0, 1, "--noise", "0.5", "--json").json["noise"] == 0.5
    works("tell", 1, 2)
    assert "expected of trial 0" in works("best").out
    assert works("ask", "-k", 6).out.count("pending") == 6  # more than there are orders


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
    assert "noise for each" in refused("tell", 0, 1, 2, "--noise", 0.1)
    for trial in range(3):
        works("tell", trial, trial, -trial, "--noise", 0.1, "--noise", 0.2)
    works("ask")  # a model with noise of each objective
    front = works("best", "--json").json
    assert {"trial", "expected", "deviation", "measurements", "point"} <= front[0].keys()
    assert len(front[0]["expected"]) == 2
    assert "±" in works("best").out


def test_two_studies_in_one_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    works("new", "first", "--items", "a,b,c", "--method", "random")
    assert "Studies" not in works("show").out
    works("new", "second one", "--items", "d,e,f", "--method", "random")
    said = works("show").out
    assert "first" in said
    assert "second one" in said
    assert works("show", "--json").json == {"studies": ["first", "second one"]}
    assert "--study: first, second one" in refused("ask")
    assert set(works("ask", "--study", "second one", "--json").json[0]["point"]["order"]) == set("def")
    monkeypatch.setenv("MERGEBO_STUDY", "first")
    assert set(works("ask", "--json").json[0]["point"]["order"]) == set("abc")
    monkeypatch.setenv("MERGEBO_STUDY", "third")
    assert works("new", "--items", "g,h", "--json").json["study"] == "third"
    assert "did you mean 'first'?" in refused("show", "--study", "frist")
    assert "already" in refused("new", "first", "--items", "a,b")


def test_show_is_short_and_has_the_best() -> None:
    works("new", "--items", "a,b,c,d,e", "--method", "random", "--direction", "maximize")
    works("ask", "-k", 6)
    for trial, value in enumerate([1, 5, 2, 3, 4, 0]):
        works("tell", trial, value)
    said = works("show", "--last", 2).out
    assert "the last 2 of 6, and the best" in said
    rows = [line.split()[0] for line in said.splitlines() if "→" in line]
    assert rows == ["1", "4", "5"]
    assert "best so far  1 ▁█████ 5" in said
    assert [line.split()[0] for line in works("show", "--all").out.splitlines() if "→" in line] == list("012345")
    assert "From 6 results (larger is better)" in works("show", "--explain").out


def test_nothing_is_there_yet() -> None:
    assert "does not exist; `mergebo new` begins one" in refused("ask")
    works("new", "--items", "a,b,c")
    assert "no trials yet: `mergebo ask`" in works("show").out
    for words in (["best"], ["best", "--json"], ["plot"]):
        said = run(*words)
        assert (said.status, said.out) == (1, "")
        assert "no result yet" in said.err
    assert works("export").out == "trial,state,value,order 1,order 2,order 3,noise,reason\n"
    assert "there are none yet" in refused("tell", 0, 1)
    works("ask")
    assert run("best").status == 1


def test_every_point_is_asked_for_once() -> None:
    works("new", "--items", "a,b,c", "--method", "random")
    said = run("ask", "-k", 9)
    assert said.status == 0
    assert said.out.count("pending") == 6
    assert "no more to try" in said.err
    said = run("ask", "--json")
    assert (said.status, said.json) == (1, [])
    assert "every point" in said.err


def test_ask_that_is_stopped_leaves_no_trial() -> None:
    works("new", "--items", "a,b,c", "--method", "random")
    with mock.patch("mergebo.integrations.optuna.suggest", side_effect=KeyboardInterrupt):
        assert run("ask").status == 130
    assert "no trials yet" in works("show").out
    assert works("ask", "--json").json[0]["state"] == "pending"


# ------------------------------------------------------------------------------------------- hostile and clumsy names


def test_names_are_printed_as_they_are() -> None:
    items = [item for item in HOSTILE if len(item) < 100]
    name = "[/] [bold]x[/] :smile: $x^$ %s"
    assert name in works("new", name, "--items", quoted(items), "--method", "random").out
    asked = works("ask", "-k", 2).out
    works("tell", 0, 1)
    works("fail", 1, "--reason", "[/] :smile: [red]")
    told = works("best").out
    shown = works("show").out
    for item in items:
        assert item in asked
        assert item in told
        assert item in shown
    assert name in shown
    assert "[/] :smile: [red]" in shown
    works("new", "[other]", "--items", "a,b")
    assert name in works("show").out
    assert "[other]" in works("show").out
    assert name in refused("ask")


def test_long_names_and_orders_are_not_cut() -> None:
    items = ["x" * 300, *(f"item number {k}" for k in range(30))]
    works("new", "--items", quoted(items), "--method", "random")
    for said in (works("ask").out, works("show").out):
        (line,) = (line for line in said.splitlines() if "→" in line)
        assert all(item in line for item in items)
        assert "…" not in line


def test_items_from_a_file() -> None:
    Path("items.txt").write_bytes(b'\xef\xbb\xbfa, b\r\n\r\n  c \r\n"d"\r\n' + "e\u2028f\n".encode())
    assert read_items("items.txt") == ["a, b", "c", '"d"', "e\u2028f"]
    assert works("new", "--items", "items.txt", "--json").json["space"]["order"][1]["items"][0] == "a, b"


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ("", "no comma between two items"),
        (" , ,", "no comma between two items"),
        ("alone", "there is no file 'alone'"),
        ("missing.txt", "there is no file 'missing.txt'"),
        ("no/such/file", "there is no file"),
        ("binary", "not a text file in UTF-8"),
        ("empty", "no two lines"),
        ("folder", "there is no file"),
        ("a,b,a,c,c", "more than once there is 'a', 'c'; if that is meant, say --repeated"),
        ('"a,b', "cannot be read"),
        ('"a"x,b', "cannot be read"),
        ("a\nb,c", "cannot be read"),
        ('"a\nb",c', "has a character that cannot be shown"),
        ("a\x1b[31m,b", "has a character that cannot be shown"),
        ("a\udcff,b", "has a character that cannot be shown"),
        ("a\0b,c", "has a character that cannot be shown"),
        ("x" * 5000, "there is no file"),
    ],
)
def test_items_that_cannot_be(items: str, said: str) -> None:
    Path("binary").write_bytes(bytes(range(256)))
    Path("empty").write_text("\n\n")
    Path("folder").mkdir()
    assert said in refused("new", "--items", items)
    assert not Path("studies.log").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--before a:b --before b:a", "no order keeps these rules"),
        ("--before a:x", "must be one of 'a', 'b', 'acid', got 'x'"),
        ("--before a:acdi", "did you mean 'acid'?"),
        ("--before a:a", "has one item only"),
        ("--before a", "it reads like --before acid:base"),
        ("--before a:b:acid", "it reads like --before acid:base"),
        ("--adjacent a:b --apart a:b", "no order of 3 items keeps"),
        ("--fixed a:3", "slots of 3 items are 0..2, got 3"),
        ("--fixed a:-1", "slots are counted from 0"),
        ("--fixed a:x", "it reads like --fixed water:0"),
        ("--fixed x:0", "got 'x'"),
        ("--fixed a:0 --fixed b:0", "no order of 3 items keeps"),
        ("--window a:2-1", "from its first to its last slot"),
        ("--window a:1", "it reads like --window water:2-5"),
        ("--window a:0-9", "got 9"),
        ("--choose 4", "choose=4 of 3 items"),
        ("--symmetry cycel", "did you mean 'cycle'?"),
        ("--symmetry cycle --before a:b", "mean nothing there"),
        ("--real heat=80:20", "larger finite high"),
        ("--real heat=20", "there is no low:high"),
        ("--real heat", "there is no name="),
        ("--real =1:2", "a name has letters"),
        ("--real heat=1:inf", "finite"),
        ("--real heat=0:1:log", "positive low"),
        ("--real heat=1:2:lgo", "'lgo' is not 'log'"),
        ("--real heat=a:b", "could not convert"),
        ("--integer k=1.5:3", "it reads like --integer"),
        ("--integer k=3:3", "larger finite high"),
        ("--choice s=K", "two options or more"),
        ("--choice s=K,K", "options must differ"),
        ("--choice s=", "two options or more"),
        ("--choice 's=\"K'", "cannot be read"),
        ("--binary p=0", "at least 1"),
        ("--binary p=x", "it reads like --binary picks=12"),
        ("--real order=0:1", "two variables are called 'order'"),
        ("--real order0=0:1", "call one of them otherwise"),
        ("--real heat=0:1 --integer heat=1:2", "two variables are called 'heat'"),
        ("--real value=0:1", "call it otherwise"),
        ("--real trial=0:1", "call it otherwise"),
        ("--real result=0:1", "call it otherwise"),
        ("--real 'order 1=0:1'", "a name has letters"),
        ("--real {x}=0:1", "a name has letters"),
        ("--method mergbo", "did you mean 'mergebo'?"),
        ("--direction maximise", "did you mean 'maximize'?"),
        ("--direction min", "'minimize', 'maximize'"),
        ("''", "a name that can be read"),
        ("'  '", "a name that can be read"),
        ("'x\x1b'", "a name that can be read"),
    ],
)
def test_studies_that_cannot_be(words: str, said: str) -> None:
    assert said in refused("new", "--items", "a,b,acid", *shlex.split(words))
    assert "no studies" in refused("ask")  # and none was begun


def test_colons_in_items_and_between_them() -> None:
    def order(*words: str) -> dict[str, Any]:
        return works("new", f"study of {' '.join(words)}", *words, "--json").json["space"]["order"][1]

    assert order("--items", "a:b,c", "--before", "a:b:c")["before"] == [["a:b", "c"]]
    assert order("--items", "a:b,c", "--before", "c:a:b")["before"] == [["c", "a:b"]]
    assert order("--items", "a:1,c", "--fixed", "a:1:0")["fixed"] == [["a:1", 0]]
    assert order("--items", "a:1,c", "--window", "a:1:0-1")["window"] == [["a:1", [0, 1]]]
    assert "can be read as 'a' and 'b:c' or 'a:b' and 'c'" in refused("new", "--items", "a,a:b,b:c,c", "--before", "a:b:c")


# ----------------------------------------------------------------------------------------------------------- storages


@pytest.mark.parametrize(
    ("url", "said"),
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
def test_storages_that_cannot_be(url: str, said: str) -> None:
    Path("folder").mkdir()
    Path("text.db").write_text("no database\n" * 500)
    Path("binary").write_bytes(bytes(range(256)))
    message = refused("new", "--items", "a,b", "--storage", url)
    assert said in message
    assert "secret" not in message
    assert message.count("\n") == 1
    refused("ask", "--storage", url)


def test_paths_from_the_root_have_four_slashes(folder: Path) -> None:
    message = refused("new", "--items", "a,b", "--storage", f"journal://{folder}/x.log")
    assert f"has four slashes: journal:///{folder}/x.log" in message
    works("new", "--items", "a,b", "--storage", f"journal:///{folder}/x.log")
    assert (folder / "x.log").exists()


def test_passwords_are_not_shown() -> None:
    assert address("postgresql://me:s:e@cret@host:5432/db") == "postgresql://me:***@host:5432/db"
    assert address("postgresql://me@host/db") == "postgresql://me@host/db"
    assert address("sqlite:////a/b.db") == "sqlite:////a/b.db"


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
    theirs = optuna.create_study(storage=optuna.storages.JournalStorage(backend), study_name="theirs")
    theirs.ask()
    assert "'theirs' in journal:///studies.log is not one of mergebo" in refused("ask")
    assert "not one of mergebo" in refused(
        "optimize", "--study", "theirs", "--items", "a,b", "--budget", 1, "--command", "ls {order}"
    )


def test_errors_of_our_own_are_not_hidden() -> None:
    with mock.patch("mergebo.cli.lists.print_json", side_effect=ZeroDivisionError), pytest.raises(ZeroDivisionError):
        run("methods", "--json")


# ------------------------------------------------------------------------------------------------------ tell and fail


def test_results_that_cannot_be() -> None:
    works("new", "--items", "a,b,c", "--method", "random")
    works("ask", "-k", 3)
    works("tell", 1, 5)
    works("fail", 2)
    before = works("show", "--json").json
    wrong: list[tuple[list[object], str]] = [
        (["tell", 7, 1], "there is no trial 7; the last one is 2"),
        (["tell", "--", -1, 1], "there is no trial -1"),
        (["tell", 0, "x"], "a value is a number, got 'x'"),
        (["tell", 0, ""], "a value is a number"),
        (["tell", 0, "nan"], "mergebo fail"),
        (["tell", 0, "inf"], "mergebo fail"),
        (["tell", 0, 1, 2], "the study has one objective"),
        (["tell", 0, 1, "--nosie", 2], "a value is a number, got '--nosie'"),
        (["tell", 0, 1, "--noise", "inf"], "standard deviation"),
        (["tell", 0, 1, "--noise", 1, "--noise", 2], "the study has one objective"),
        (["tell", 1, 3], "has the value 5 already; nothing was changed. To correct"),
        (["tell", 2, 3], "has failed already"),
        (["fail", 1], "has the value 5 already"),
        (["fail", 7], "there is no trial 7"),
    ]
    for words, said in wrong:
        assert said in refused(*words)
    assert works("show", "--json").json == before


def test_missing_values_and_wrong_numbers_are_usage() -> None:
    works("new", "--items", "a,b,c")
    for words in (["tell", "0"], ["tell", "x", "1"], ["tell"], ["tell", "0", "1", "--noise", "-1"], ["fail", "1.5"]):
        said = run(*words)
        assert (said.status, said.out) == (2, "")


# ----------------------------------------------------------------------------------------------------------- optimize


def optimize(command: str, budget: int = 6, *words: object, items: str = "a,b,c,d", method: str = "random") -> Said:
    return run("optimize", "--items", items, "--command", command, "--budget", budget, "--method", method, *words)


def test_settings_of_other_packages_stay_as_they_were() -> None:
    """Optuna logs, and Python warns, after a command as it did before; and also where a storage is opened without one."""
    before = optuna.logging.get_verbosity(), [*warnings.filters]
    works("new", "one", "--items", "a,b,c")
    works("ask", "--json")
    optimize(script(MISPLACED) + " {order}", 2, "--storage", "sqlite:///x.db", items="a,b,c")
    refused("ask", "--storage", "sqlite:///missing.db")
    assert studies.load(JOURNAL, "one").name == "one"
    assert (optuna.logging.get_verbosity(), [*warnings.filters]) == before


def test_optuna_logs_nothing_during_a_command_and_as_ever_after_it(caplog: pytest.LogCaptureFixture) -> None:
    logger = optuna.logging.get_logger("optuna")
    logger.addHandler(caplog.handler)
    try:
        works("new", "one", "--items", "a,b,c")
        assert not caplog.messages
        optuna.create_study(storage=studies.open_storage(JOURNAL))
        assert "A new study" in caplog.messages[0]
    finally:
        logger.removeHandler(caplog.handler)


def test_optimize_hides_no_other_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only that one of Optuna's functions is experimental is known, and said to nobody."""

    def start(self: Workers) -> None:
        warnings.warn("this is", ExperimentalWarning, stacklevel=1)
        warnings.warn("something else", RuntimeWarning, stacklevel=1)
        begin(self)

    begin = Workers.start
    monkeypatch.setattr(Workers, "start", start)
    with pytest.warns(RuntimeWarning, match="something else") as shown:
        optimize(script(MISPLACED) + " {order}", 1)
    assert len(shown) == 1


def test_optimize_improves_and_keeps_rules() -> None:
    words = ["--items", "a,b,c,d,e,f", "--before", "c:a", "--budget", 16, "--initial", 6, "--method", "bops-h", "--json"]
    *trials, summary = works("optimize", "--command", script(MISPLACED) + " {order}", *words).lines
    assert [trial["trial"] for trial in trials] == list(range(16))
    orders = [trial["point"]["order"] for trial in trials]
    assert all(order.index("c") < order.index("a") for order in orders)
    assert len({tuple(order) for order in orders}) == 16
    for trial in trials:
        assert trial["value"] == sum(abs(k - "abcdef".index(item)) for k, item in enumerate(trial["point"]["order"]))
    assert summary["done"] == 16
    assert summary["best"][0]["value"] == min(trial["value"] for trial in trials)
    assert min(trial["value"] for trial in trials[6:]) < np.median([trial["value"] for trial in trials[:6]])


def test_optimize_goes_on_until_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MERGEBO_STORAGE")
    command = script(MISPLACED + "open('log', 'a').write('x')\n") + " {order}"
    said = optimize(command, 3)
    assert said.status == 0
    assert said.out.count("trial") >= 3
    assert "Best: " in said.out
    said = optimize(command, 3)
    assert "study has 3 trials; the budget is spent." in said.out
    assert "3 trials" in said.out
    assert Path("log").read_text() == "xxx"
    said = optimize(command, 5)
    assert "study has 3 trials; going on." in said.out
    assert Path("log").read_text() == "xxxxx"
    assert "study: 5 done" in works("show").out
    assert optimize(command, 5, "-q").out.count("trial") == 2  # how many, and which is best


def test_optimize_keeps_how_many_points_are_random() -> None:
    command = script(MISPLACED) + " {order}"
    optimize(command, 3)
    assert works("show", "--json").json["setup"]["initial"] == 1
    optimize(command, 6, method="local-search")  # a third of which would be 2
    setup = works("show", "--json").json["setup"]
    assert (setup["initial"], setup["method"]) == (1, "local-search")
    optimize(command, 6, "--initial", 3)
    assert works("show", "--json").json["setup"]["initial"] == 3


def test_optimize_refuses_another_space() -> None:
    command = script(MISPLACED) + " {order}"
    optimize(command, 1)
    words = ["--command", command, "--budget", 2]
    assert "is about something else" in refused("optimize", "--items", "a,b", *words)
    assert "directions" in refused("optimize", "--items", "a,b,c,d", "--direction", "maximize", *words)
    assert "is about something else" in refused("optimize", "--items", "a,b,c,d", "--before", "a:b", *words)


def test_optimize_tries_every_order_once() -> None:
    said = optimize(script(MISPLACED) + " {order}", 50, "--jobs", 3, items="a,b,c")
    assert said.status == 0
    assert "There is nothing left to try: all 6 points of the space were tried.\n6 trials\nBest: 0" in said.out
    assert optimize(script(MISPLACED) + " {order}", 50, items="a,b,c").out.count("→") == 2  # only the best one


def test_optimize_beside_a_person() -> None:
    """Trials that somebody else has pending are not waited for, and not counted."""
    works("new", "--items", "a,b,c,d", "--method", "random")
    works("ask", "-k", 3)
    said = optimize(script(MISPLACED) + " {order}", 4)
    assert said.status == 0
    assert "study: 3 pending, 4 done" in works("show").out
    works("tell", 0, 1)
    assert "the budget is spent" in optimize(script(MISPLACED) + " {order}", 5).out


def test_optimize_maximizes_several_objectives() -> None:
    command = script("import sys\na = sys.argv[1:].index('a')\nprint('values', a, a * a)") + " {order}"
    said = optimize(command, 20, "--direction", "maximize", "--direction", "minimize", "--json")
    assert sorted(trial["value"] for trial in said.lines[-1]["best"])[0] == [0, 0]
    assert len({trial["value"][0] for trial in said.lines[-1]["best"]}) == 4
    assert "No other trial beats these" in optimize(command, 20, "--direction", "maximize", "--direction", "minimize").out


def test_optimize_passes_other_variables() -> None:
    code = "import json, sys\nopen('got', 'a').write(json.dumps(sys.argv[1:]) + '\\n')\nprint(1)"
    words = ["--real", "heat=20:80", "--integer", "cycles=1:4", "--choice", "salt=K,Na", "--binary", "picks=2"]
    command = script(code) + " --heat={heat} {cycles} {salt} {picks} {order:-} {trial} {json}"
    *trials, _ = optimize(command, 3, *words, "--json").lines
    got = [json.loads(line) for line in Path("got").read_text().splitlines()]
    for trial, arguments in zip(trials, got, strict=True):
        point = trial["point"]
        picks = list(map(str, point["picks"]))
        assert arguments[:3] == [f"--heat={point['heat']}", str(point["cycles"]), point["salt"]]
        assert arguments[3:5] == picks
        assert arguments[5:7] == ["-".join(point["order"]), str(trial["trial"])]
        assert json.loads(arguments[7]) == point


def test_optimize_with_hostile_names() -> None:
    items = [item for item in HOSTILE if len(item) < 100]
    command = script("import json, sys\njson.dump(sys.argv[1:], open('got', 'w'))\nprint(1)") + " {order}"
    for shell in ([], ["--shell"]):
        said = optimize(command, 1, "--study", f"[/] {shell}", *shell, items=quoted(items))
        assert said.status == 0
        got = json.loads(Path("got").read_text())
        assert sorted(got) == sorted(items)
        assert " → ".join(got) in said.out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("nosuchprogram {order}", "there is no program 'nosuchprogram'"),
        ("ls", "does not say where {order} should be"),
        ("ls {ordre}", "did you mean 'order'?"),
        ("ls {order} {", "a lone {"),
        ("", "the command is empty"),
        ("ls {order} | sort", "add --shell"),
        ("ls '{order}", "quotes"),
    ],
)
def test_commands_that_cannot_be(command: str, said: str) -> None:
    assert said in refused("optimize", "--items", "a,b,c", "--budget", 3, "--command", command)
    assert not Path("studies.log").exists()


@pytest.mark.parametrize(
    "words", [["--budget", 0], ["--budget", "x"], ["--budget", 3, "--jobs", 0], ["--budget", 3, "--timeout", 0]]
)
def test_numbers_that_cannot_be(words: list[object]) -> None:
    said = run("optimize", "--items", "a,b,c", "--command", "ls {order}", *words)
    assert (said.status, said.out) == (2, "")


def test_programs_that_fail_now_and_then() -> None:
    code = "import sys\nprint(1, '[/]', file=sys.stderr)\nassert sys.argv[1] != 'a', '[bold]'\nprint(2)"
    said = optimize(script(code) + " {order}", 24)
    assert said.status == 0
    assert "18 trials, 6 failed" in said.out
    assert "failed: the program ended with exit status 1" in said.out
    assert "AssertionError: [bold]" in said.out
    states = [trial["state"] for trial in works("show", "--json").json["trials"]]
    assert (states.count("done"), states.count("failed")) == (18, 6)


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        ("import sys; sys.exit(3)", [], "exit status 3"),
        ("import time; time.sleep(60)", ["--timeout", 0.3, "--jobs", 5], "took longer than 0.3 s"),
        ("print('3.5 seconds')", [], "should end with a number"),
        ("", [], "printed nothing"),
        ("print('nan')", [], "not a finite number"),
        ("print(1, 2)", ["--direction", "minimize"] * 3, "should end with 3 numbers"),
    ],
)
def test_a_program_that_never_works_is_given_up(code: str, words: list[object], said: str) -> None:
    ended = optimize(script(code) + " {order}", 30, *words)
    assert ended.status == 1
    assert "all failed, so this was given up" in ended.err
    assert said in ended.err
    assert "Best" not in ended.out
    failed = works("show", "--json").json["trials"]
    assert 5 <= len([trial for trial in failed if trial["state"] == "failed"]) <= 10


def test_a_budget_of_failures() -> None:
    said = optimize(script("import sys; sys.exit(3)") + " {order}", 3, "--json")
    assert said.status == 1
    assert said.err == "mergebo: no trial gave a value\n"
    assert said.lines[-1] == {"study": "study", "done": 0, "failed": 3, "best": []}
    assert said.lines[0]["reason"].startswith("the program ended with exit status 3")


def test_retries() -> None:
    code = "import os, sys\nname = 'x' + os.environ['MERGEBO_TRIAL']\nfirst = not os.path.exists(name)\n"
    code += "open(name, 'a').write('x')\nsys.exit(1) if first else print(5)"
    assert optimize(script(code) + " {order}", 2, "--retries", 1).status == 0
    assert Path("x0").read_text() == Path("x1").read_text() == "xx"
    assert "study: 2 done" in works("show").out


def test_jobs_run_at_the_same_time() -> None:
    """Each program waits until three of them run, which never happens one after the other."""
    code = """
import os, time
open("here" + os.environ["MERGEBO_TRIAL"], "w").close()
end = time.monotonic() + 20
while sum(name.startswith("here") for name in os.listdir()) < 3:
    assert time.monotonic() < end
    time.sleep(0.01)
print(1)
"""
    said = optimize(script(code) + " {order}", 3, "--jobs", 3)
    assert said.status == 0
    assert "3 trials\n" in said.out


def test_noisy_programs_are_run_again() -> None:
    said = optimize(script("import time; print(time.time() % 1)") + " {order}", 8, "--noisy", items="a,b")
    assert said.status == 0
    assert "8 trials" in said.out
    assert "mergebo best" in said.out


def wait_for(path: str) -> None:
    end = time.monotonic() + 30
    while not os.path.exists(path):
        assert time.monotonic() < end, f"{path} was not written"
        time.sleep(0.02)


def test_stopping_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle: what is done stays, what was running is tried again, and nothing is counted twice."""
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
    words = ["optimize", "--items", "a,b,c,d", "--method", "random", "--budget", "6", "--command", script(code) + " {order}"]
    with subprocess.Popen(
        [sys.executable, "-m", "mergebo", *words, "--json", "--jobs", "2"],
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
    assert "the same command goes on" in err
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
    said = works(*words)
    assert "study has 2 trials; going on." in said.out
    shown = works("show", "--json").json["trials"]
    assert [trial["state"] for trial in shown] == ["done"] * 6
    orders = [" ".join(trial["point"]["order"]) for trial in shown]
    assert len(set(orders)) == 6
    assert queued <= set(orders)
    assert Path("log").read_text().splitlines()[4:] == orders[2:]


def test_stopping_before_anything_is_done() -> None:
    """In this process: the first program sends the signal."""
    code = "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(60)"
    before = signal.getsignal(signal.SIGINT)
    said = optimize(script(code) + " {order}", 3)
    assert said.status == 130
    assert said.err.startswith("Stopped.")
    assert signal.getsignal(signal.SIGINT) is before
    assert [trial["state"] for trial in works("show", "--json").json["trials"]] == ["queued"]
    assert works("ask", "--json").json[0]["state"] == "pending"  # a person may take it, too


def test_the_live_table() -> None:
    """What a terminal shows while programs run."""
    words = ["--items", "a,b,c,d", "--budget", 4, "--method", "random", "--study", "[/] :smile:"]
    said = run("optimize", "--command", script(MISPLACED) + " {order}", *words, out=Terminal())
    assert (said.status, said.err) == (0, "")
    assert "[/] :smile:: 4 of 4 trials, 0 running" in said.out
    assert "best so far" in said.out


# ------------------------------------------------------------------------------------------------------------- tables


EVERYTHING = ["--items", quoted(HOSTILE[:6]), "--real", "heat=0.001:1000:log", "--integer", "cycles=-5:40"]
EVERYTHING += ["--choice", 'salt=K,"Na, dry",[/]', "--binary", "picks=3"]


def test_export_and_import() -> None:
    works("new", "one", *EVERYTHING, "--method", "random")
    works("ask", "-k", 4, "--study", "one")
    works("tell", 0, 1.5, "--study", "one")
    works("tell", 1, "-1e-300", "--noise", 0.25, "--study", "one")
    works("fail", 2, "--reason", 'a "bad", bad\nday', "--study", "one")
    assert "4 trials are in all.csv." in works("export", "--out", "all.csv", "--study", "one").out
    assert works("export", "--study", "one").out == Path("all.csv").read_text()
    works("new", "two", *EVERYTHING, "--method", "random")
    assert "2 results were added." in works("import", "all.csv", "--study", "two").out
    told = [
        [trial for trial in works("show", "--study", name, "--json").json["trials"] if trial["state"] == "done"]
        for name in ("one", "two")
    ]
    assert told[0] == told[1]
    assert "0 results were added, 2 were there already." in works("import", "all.csv", "--study", "two").out
    works("ask", "--study", "two")


def test_noisy_results_are_added_again() -> None:
    works("new", "--items", "a,b,c", "--noisy")
    Path("t.csv").write_text("order,value\na>b>c,1\na>b>c,1\n")
    for count in (2, 4):
        assert "2 results were added." in works("import", "t.csv").out
        assert len(works("show", "--json").json["trials"]) == count


TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8).map(str.strip).filter(bool)
NAMES = st.lists(st.one_of(TEXTS, st.sampled_from(HOSTILE)), min_size=6, max_size=6, unique=True)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Space, list[str], list[tuple[dict[str, Any], list[float], list[float]]]]:
    """A space with items of any name, directions, and results with their noise, which may be unknown."""
    names = draw(NAMES)
    shape = draw(shapes(low=2))
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


@given(given=tables())
@settings(max_examples=60)
def test_tables_are_read_as_they_were_written(given: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    space, directions, results = given
    study = Study(optuna.create_study(directions=directions), Setup(space), None, "")
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        (GOOD, "has no column 'value'"),
        ("value,order 1,order 2\n1,a,b\n", "has no column 'order 3', 'k', 's', 'p 1', 'p 2'"),
        ("value," + HEAD, "the column 'value' more than once"),
        (HEAD + GOOD + "x,a,b,c,3,K,0,1\n", "line 3: value is a number, got 'x'"),
        (HEAD + ",a,b,c,3,K,0,1\n", "line 2: value is a number, got ''"),
        (HEAD + "nan,a,b,c,3,K,0,1\n", "line 2: value is a finite number"),
        (HEAD + '"1,234",a,b,c,3,K,0,1\n', "line 2: value is a number, got '1,234'"),
        (HEAD + "1,a,b,d,3,K,0,1\n", "line 2: an item must be one of 'a', 'b', 'c', got 'd'"),
        (HEAD + "1,a,b,,3,K,0,1\n", "line 2: an item must be"),
        (HEAD + "1,a,b,b,3,K,0,1\n", "line 2: "),
        (HEAD + "1,c,b,a,3,K,0,1\n", "line 2: ['c', 'b', 'a'] breaks these rules"),
        (HEAD + "1,a,b,c,3.5,K,0,1\n", "line 2: k is a whole number, got '3.5'"),
        (HEAD + "1,a,b,c,99,K,0,1\n", "line 2: "),
        (HEAD + "1,a,b,c,3,Kk,0,1\n", "did you mean 'K'?"),
        (HEAD + "1,a,b,c,3,K,0,0.5\n", "line 2: p is a whole number, got '0.5'"),
        (HEAD + "1,a,b,c,3,K,0,2\n", "line 2: choices are 0 or 1"),
        (HEAD + "1,a,b,c,3,K,0\n", "line 2: there are 7 cells for 8 columns"),
        (HEAD + "1,a,b,c,3,K,0,1,\n", "line 2: there are 9 cells for 8 columns"),
        (HEAD + '1,a,"b"x,c,3,K,0,1\n', "is not a table (CSV): line 2"),
        (HEAD + '1,a,"b,c,3,K,0,1\n', "is not a table (CSV): line 2"),
        (HEAD.replace("value", "value,noise") + "1,-2,a,b,c,3,K,0,1\n", "line 2: noise is a standard deviation"),
        (HEAD + "x,a,b,c,3,K,0,1\n" * 20, "line 9: value is a number, got 'x'\n  and 12 more"),
        ("value,order,k,s,p 1,p 2\n1,a>b,3,K,0,1\n", "line 2: "),
        (HEAD.encode() + b"1,\xff,b,c,3,K,0,1\n", "is not a text file in UTF-8"),
    ],
)
def test_tables_that_cannot_be(text: str | bytes, said: str) -> None:
    works("new", "--items", "a,b,c", "--before", "a:b", "--integer", "k=1:9", "--choice", "s=K,Na", "--binary", "p=2")
    Path("t.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert said in refused("import", "t.csv")
    assert works("show", "--json").json["trials"] == []


def test_files_that_cannot_be() -> None:
    works("new", "--items", "a,b,c", "--method", "random")
    works("ask")
    works("tell", 0, 1)
    assert "missing.csv cannot be read: No such file" in refused("import", "missing.csv")
    assert "cannot be read: Is a directory" in refused("import", ".")
    assert "no/x.csv cannot be written: No such file" in refused("export", "--out", "no/x.csv")
    assert "no/x.png cannot be written: No such file" in refused("plot", "convergence", "--out", "no/x.png")
    assert "leave one of them out" in refused("export", "--json", "--out", "x.csv")
    Path("t.csv").write_text("value,order\n1,a|b|c\n")
    assert "between two items" in refused("import", "t.csv", "--separator", "")
    assert "1 result was added." in works("import", "t.csv", "--separator", " | ").out


# ----------------------------------------------------------------------------------------------------------- pictures


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


@pytest.fixture
def roughly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Explanations from fewer random orders, which are quicker and look the same."""
    monkeypatch.setattr(explanation, "ORDERS", 500)
    monkeypatch.setattr(explanation, "JOINT", 100)


def filled(name: str, count: int = 4) -> None:
    """A study with results."""
    words = STUDIES[name]
    objectives = max(1, words.count("--direction"))
    works("new", name, *words, "--method", "random")
    for trial in works("ask", "-k", count, "--json").json:
        items: list[str] = trial["point"]["order"]
        value = sum(slot * (len(item) + ord(item[0]) % 7) for slot, item in enumerate(items))
        works("tell", trial["trial"], *[value, len(items[0])][:objectives])


@pytest.mark.usefixtures("roughly")
@pytest.mark.parametrize("name", STUDIES)
def test_pictures(name: str) -> None:
    filled(name)
    for kind, suffix in zip(pictures.DRAWN, [".png", ".svg", ".html", ".png", ".svg"], strict=True):
        if name == "symmetric" and kind in ("precedence", "positions"):
            assert "see `neighbours`" in refused("plot", kind)
            continue
        said = works("plot", kind, "--out", f"{kind}{suffix}")
        assert said.out == f"{kind}{suffix}\n"
        assert Path(f"{kind}{suffix}").read_bytes().startswith(KINDS[suffix])


@pytest.mark.usefixtures("roughly")
@pytest.mark.parametrize("name", ["plain", "symmetric", "two objectives"])
def test_the_page_needs_nothing_else(name: str) -> None:
    filled(name)
    path = works("plot").out.strip()
    assert path == f"{name.replace(' ', '-')}.html"
    page = Path(path).read_text()
    assert "http" not in page
    assert "<script" not in page
    assert page.count("<img ") == {"plain": 5, "symmetric": 3, "two objectives": 6}[name]
    assert page.count("<tr>") == 5
    if name == "plain":
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;" in page


def test_pictures_of_one_result_and_of_awkward_names() -> None:
    works("new", "../[/] $x^$", "--items", "a,b", "--method", "random")
    works("ask")
    works("tell", 0, 1)
    assert works("plot", "neighbours").out == "x-neighbours.png\n"
    assert works("plot", "convergence", "--json").json == {"study": "../[/] $x^$", "file": "x-convergence.png"}
    assert works("plot").out == "x.html\n"
    assert Path("x-neighbours.png").exists()
    assert "ends in .png, .svg, .pdf or .html, got 'x.gif'" in refused("plot", "--out", "x.gif")
    assert "ends in" in refused("plot", "precedence", "--out", "x")
    assert "all pictures are a page: 'x.html'" in refused("plot", "--out", "x.png")
    said = run("plot", "precedenc")
    assert said.status == 2
    assert "positions" in said.err


def test_good_orders_are_the_best_ones() -> None:
    study = Study(optuna.create_study(direction="maximize"), Setup(Space(order=Permutation(items=list("abc")))), None, "")
    for order, value in (("abc", 1), ("cab", 9), ("bca", 5), ("acb", 0)):
        held = params(study.space, {"order": list(order)})
        study.optuna.add_trial(optuna.create_trial(params=held, distributions=distributions(study.space), value=value))
    slots, which = pictures._good_slots(study)
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


def test_numbers_to_read() -> None:
    assert [number(each) for each in (None, 3.0, -0.0, 0.1 + 0.2, 1234567.0, 1e20, 12345.678)] == [
        "",
        "3",
        "0",
        "0.3",
        "1234567",
        "1e+20",
        "12345.7",
    ]
    assert number(float("nan")) == "nan"
    assert number(float("-inf")) == "-inf"
    assert numbers([1.0, 2.5]) == "1, 2.5"
    assert numbers(None) == ""


def test_points_to_read() -> None:
    assert point_text(None) == ""
    assert point_text({"order": ["b", "[/]"]}) == "b → [/]"
    point = {"order": ["a"], "heat": 1 / 3, "k": 7, "s": "K", "p": [0, 1, 1], "q": [2, 3]}
    assert point_text(point) == "a   (heat = 0.333333, k = 7, s = K, p = 011, q = [2, 3])"


def test_best_so_far_follows_the_direction() -> None:
    for direction, expected in (("minimize", [3.0, 1.0, 1.0]), ("maximize", [3.0, 3.0, 5.0])):
        study = Study(optuna.create_study(direction=direction), Setup(Space(order=Permutation(2))), None, "")
        for value in (3.0, 1.0, 5.0):
            study.optuna.add_trial(optuna.create_trial(value=value))
        study.optuna.add_trial(optuna.create_trial(state=optuna.trial.TrialState.FAIL))
        assert best_so_far(study, study.trials()) == expected


def test_what_cannot_be_seen_is_escaped() -> None:
    assert visible("größe 🎈 👨‍👩‍👧") == "größe 🎈 👨‍👩‍👧"
    assert visible("a\tb\x1b[31m\n\udcff") == "a\\tb\\x1b[31m\\n\\udcff"


def test_words_without_rules() -> None:
    assert Words("a,b").space() == Space(order=Permutation(items=["a", "b"]))
    with pytest.raises(ArgumentError, match="more than once"):
        Words("a,a").space()
    assert Words("a,a", repeated=True).space().size == 1
