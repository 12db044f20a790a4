"""`mergebo best`."""

from __future__ import annotations

import pytest

from cli_helpers import (
    works,
)


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
    assert found["std"] > 0
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
