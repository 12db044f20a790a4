"""`mergebo tell` and `mergebo fail`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_helpers import (
    refused,
    run,
    works,
)


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
    assert {"trial", "expected", "std", "measurements", "point"} <= front[0].keys()
    assert len(front[0]["expected"]) == 2
    assert "±" in works("best").out


@pytest.mark.slow
def test_a_value_is_read_as_import_does() -> None:
    works("new", "--items", "a,b,c", "--method", "random")
    works("ask", "-k", 2)
    works("tell", 0, "58,2", "--noise", "0,5")
    assert [works("show", "--json").json["trials"][0][name] for name in ("value", "noise")] == [58.2, 0.5]
    assert "write it without the unit: 58.2" in refused("tell", 1, "58.2%")
    Path("t.csv").write_text('value;order\n"64,5";c>b>a\n1,234;b>c>a\n')
    works("import", "t.csv")
    Path("t.csv").write_text('value,order\n"65,5",c>a>b\n')
    works("import", "t.csv")
    assert [trial["value"] for trial in works("show", "--json").json["trials"]] == [58.2, None, 64.5, 1.234, 65.5]
    Path("t.csv").write_text("value,order\n58.2%,a>b>c\n")
    assert "line 2: value must be a number, got '58.2%'; write it without the unit: 58.2" in refused("import", "t.csv")


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
