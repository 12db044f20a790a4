"""The scripts in examples/ run and do what they claim: improvements are real, constraints hold, programs stay correct.

`columns.py` is run by the tests of the command line page.
"""

from __future__ import annotations

import itertools
import re
import runpy
import sys
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mergebo.methods import METHODS

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
PERCENT = (
    "order_of_addition",
    "compiler_passes",
    "warehouse_routing",
    "sorting_network",
    "botorch_loop",
    "optuna_study",
)

Names = dict[str, Any]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Names]:
    """Runs a script like `python examples/NAME.py` with a figure, and returns its global variables."""

    def script(name: str, *arguments: str) -> Names:
        picture = tmp_path / "picture.png"
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments, "--out", str(picture)])
        with patch.dict(METHODS):  # some register their own
            names = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        plt.close("all")
        assert picture.read_bytes().startswith(b"\x89PNG")
        return names

    return script


def is_before(order: list[str], first: str, second: str) -> bool:
    return order.index(first) < order.index(second)


def test_order_of_addition(run: Callable[..., Names]) -> None:
    names = run("order_of_addition")
    found, drawn = names["found"], names["drawn"]
    assert len(found.trials) == len(drawn.trials) == names["DAYS"] * names["PER_DAY"]
    assert found.trials[:18] == drawn.trials[:18]
    assert 14.2 <= names["losses"][-1] < names["random_losses"][-1]
    for trial in found.trials:
        assert is_before(trial.point["order"], "ligand", "palladium")
        assert is_before(trial.point["order"], "ketone", "acid")


def test_compiler_passes(run: Callable[..., Names], capsys: pytest.CaptureFixture[str]) -> None:
    names = run("compiler_passes", "--seeds", "1")
    (random,), (auto,) = names["runs"]["random"], names["runs"]["auto"]
    assert auto.best.value < random.best.value <= names["cost"](names["written"]) < names["cost"]([])
    assert auto.trials[:20] == random.trials[:20]
    assert "t3 = and" in capsys.readouterr().out
    rng = np.random.default_rng(0)
    for _ in range(20):  # random passes, possibly repeated: an error if a program computes something else
        names["cost"](rng.choice(list(names["PASSES"]), 15).tolist())

    def wrong(function: Any, program: Any) -> Any:
        return function._replace(result=0)

    names["PASSES"]["fold"] = wrong
    with pytest.raises(SystemExit, match="computes a wrong result after fold"):
        names["cost"](["fold"])


def test_warehouse_routing(run: Callable[..., Names]) -> None:
    names = run("warehouse_routing")
    charge, rounds = names["charge"], names["rounds"]
    assert charge(rounds["auto"]) < 0.95 * charge(rounds["random"])
    assert charge(rounds["random"]) <= charge(rounds["nearest first"])
    for order in rounds.values():
        assert all(is_before(order, *pair) for pair in names["BEFORE"])
        assert order.index("frozen peas") >= names["LATE"][0]
    stops = [names["TABLE"], *(square for square, _ in names["STOPS"].values())]
    for here, there in pairwise(stops):
        walked = [here, *names["way"](here, there)]
        assert all(names["FLOOR"][row][column] == "." for row, column in walked)
        assert all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in pairwise(walked))
        assert len(walked) - 1 == names["metres"][names["number"][here], names["number"][there]]


if find_spec("botorch") is not None:  # the script also has a kernel
    with patch.dict(METHODS):
        NETWORK = runpy.run_path(str(EXAMPLES / "sorting_network.py"), run_name="sorting_network")
    TestBoseNelson, TestBoseNelsonKernel = NETWORK["TestBoseNelson"], NETWORK["TestBoseNelsonKernel"]


@pytest.mark.needs_torch
def test_sorting_network(run: Callable[..., Names]) -> None:
    names = run("sorting_network", "--seeds", "2")
    assert np.mean(names["ends"]["Bose-Nelson"]) < np.mean(names["ends"]["random"])
    assert not names["redundant"]
    for n in range(1, 15):  # as promised by sorts=True
        assert names["NetworkMap"](n, list(names["bose_nelson"](n))).lossless


@pytest.mark.needs_torch
def test_botorch_loop(run: Callable[..., Names]) -> None:
    names = run("botorch_loop")
    for found, baseline in zip(names["found"], names["baseline"], strict=True):
        assert len(found) == len(baseline) == names["BUDGET"]
        np.testing.assert_array_equal(found[: names["INITIAL"]], baseline[: names["INITIAL"]])
    assert np.mean([run.min() for run in names["found"]]) < np.mean([run.min() for run in names["baseline"]])
    assert names["explained"]["Merge, ranks"] > 0.2


def test_optuna_study(run: Callable[..., Names]) -> None:
    names = run("optuna_study", "--seeds", "2")
    means = {name: np.mean([study.best_value for study in studies]) for name, studies in names["studies"].items()}
    assert means["PermutationSampler"] < min(means["TPE"], means["random"])
    for study in itertools.chain(*names["studies"].values()):
        assert len(study.trials) == names["TRIALS"]
        assert all(is_before(trial.user_attrs["order"], "benches", "railings") for trial in study.trials)
    assert "solvent is thinner" in str(names["explanation"])


def test_tour(run: Callable[..., Names], capsys: pytest.CaptureFixture[str]) -> None:
    run("tour", "--seeds", "1", "--budget", "25")
    means = dict(re.findall(r"│ ([\w-]+) +│ +(\d+) │", capsys.readouterr().out))
    assert means.keys() == {"auto", "mergebo", "bops-h", "random"}
    assert float(means["auto"]) < float(means["random"])


def test_explain(run: Callable[..., Names], capsys: pytest.CaptureFixture[str]) -> None:
    run("explain", "--budget", "40")
    assert "next to each other" in capsys.readouterr().out


def test_sorting_kernels(run: Callable[..., Names], capsys: pytest.CaptureFixture[str]) -> None:
    run("sorting_kernels")
    assert "code 010111" in capsys.readouterr().out


@pytest.mark.parametrize("name", PERCENT)
def test_cells(name: str) -> None:
    """A percent script opens as a notebook: text cells have only comments, code cells have code."""
    text = (EXAMPLES / f"{name}.py").read_text()
    _, *cells = re.split(r"^# %%", text, flags=re.MULTILINE)
    assert len(cells) > 8
    for cell in cells:
        first, _, body = cell.partition("\n")
        lines = [line for line in body.splitlines() if line]
        assert first in ("", " [markdown]")
        assert all(line.startswith("#") for line in lines) == (first == " [markdown]")


def test_all_are_in_the_gallery() -> None:
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text()
    make = (EXAMPLES.parent / "Makefile").read_text()
    for path in EXAMPLES.glob("*.py"):
        assert f'--8<-- "examples/{path.name}"' in page
    assert re.search(r"^GALLERY := (.*)$", make, re.MULTILINE)[1].split() == list(PERCENT)
