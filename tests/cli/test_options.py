"""Options that define a study and its space, and the messages for invalid ones."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from cli_helpers import (
    refused,
    works,
)
from mergebo.cli.options import SpaceOptions, read_items
from mergebo.errors import ArgumentError
from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, Space
from mergebo.studies import StudyConfig


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
        ([" a , b\t, c c "], {"items": ["a", "b", "c c"]}),
        (['"a, dry",5" pipe,"say ""hi"""'], {"items": ["a, dry", '5" pipe', 'say "hi"']}),
    ],
)
def test_repeated_items_and_symmetries(arguments: list[str], order: dict[str, Any]) -> None:
    made = works("new", "--items", *arguments, "--json").json
    assert made["space"]["order"][1] == {"n": len(order["items"]), **order}


def test_items_from_a_file() -> None:
    Path("items.txt").write_bytes(b'\xef\xbb\xbfa, b\r\n\r\n  c \r\n"d"\r\n' + "e\u2028f\n".encode())
    assert read_items("items.txt") == ["a, b", "c", '"d"', "e\u2028f"]
    assert works("new", "--items", "items.txt", "--json").json["space"]["order"][1]["items"][0] == "a, b"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("", "is neither a file nor a list of two items or more"),
        (" , ,", "has an empty part between its commas"),
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


@pytest.mark.parametrize("items", ["a,,c", "a,b,", ",a,b", "a, ,c"])
def test_empty_items(items: str) -> None:
    with pytest.raises(ArgumentError, match=r"--items .* has an empty part between its commas; remove the surplus comma"):
        SpaceOptions(items).space()
    with pytest.raises(ArgumentError, match=r"--choice .* empty part"):
        SpaceOptions("a,b", choice=[f"salt={items}"]).space()


def test_space_options_without_constraints() -> None:
    assert SpaceOptions("a,b").space() == Space(order=Permutation(items=["a", "b"]))
    with pytest.raises(ArgumentError, match="duplicate items: 'a'"):
        SpaceOptions("a,a").space()
    assert SpaceOptions("a,a", repeated=True).space().size == 1
