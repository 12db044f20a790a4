"""`mergebo new`, and studies from their creation to their results."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_helpers import (
    HOSTILE,
    quoted,
    refused,
    run,
    works,
)


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
    assert works("import", "all.csv", "--json").json == {"added": 0, "skipped": 1}
    assert "Results so far: 1." in works("show", "--explain", "--json").json["explanations"][0]


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
def test_studies_without_results() -> None:
    assert "does not exist; create one with `mergebo new --items a,b,c`" in refused("ask")
    works("new", "--items", "a,b,c")
    assert "no trials yet; use `mergebo ask`" in works("show").out
    for arguments in (["best"], ["best", "--json"], ["plot"]):
        output = run(*arguments)
        assert (output.status, output.out) == (1, "")
        assert "no results yet" in output.err
    assert works("export").out == "trial,state,value,order 1,order 2,order 3,noise,reason,duration (s)\n"
    assert "there are none yet" in refused("tell", 0, 1)
    works("ask")
    assert run("best").status == 1


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
