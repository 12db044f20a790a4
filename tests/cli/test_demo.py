"""`mergebo demo`."""

from __future__ import annotations

from unittest import mock

from cli_helpers import (
    refused,
    run,
    works,
)


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
