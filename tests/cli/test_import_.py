"""`mergebo import`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_helpers import (
    refused,
    works,
)


def test_noisy_results_are_imported_again() -> None:
    works("new", "--items", "a,b,c", "--noisy")
    Path("t.csv").write_text("order,value\na>b>c,1\na>b>c,1\n")
    for count in (2, 4):
        assert "Imported 2 results." in works("import", "t.csv").out
        assert len(works("show", "--json").json["trials"]) == count


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
    assert works("import", "t.csv", "--json").json == {"added": 2, "skipped": 0}
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
        (HEAD + "1,a,b,d,3,K,0,1\n", "line 2: an item of order must be one of 'a', 'b', 'c', got 'd'"),
        (HEAD + "1,a,b,,3,K,0,1\n", "line 2: an item of order must be"),
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
