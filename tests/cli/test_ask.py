"""`mergebo ask`."""

from __future__ import annotations

from unittest import mock

import pytest

from cli_helpers import (
    run,
    works,
)


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
    with mock.patch("mergebo.studies.proposals.Proposer.row", side_effect=KeyboardInterrupt):
        assert run("ask").status == 130
    assert "no trials yet" in works("show").out
    assert works("ask", "--json").json[0]["state"] == "pending"
