"""Variables of every kind: samples, points, and errors."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import mergebo as mb
from mergebo import errors
from mixed_space import MIXED


@pytest.mark.parametrize(
    ("variable", "bins"),
    [
        (mb.Real(1, 1000), [1, 334, 667, 1000]),
        (mb.Real(1, 1000, log=True), [1, 10, 100, 1000]),
        (mb.Integer(0, 2), [-0.5, 0.5, 1.5, 2.5]),
        (mb.Integer(1, 7, log=True), [0.5, 1.5, 3.5, 7.5]),
        (mb.Choice(["a", "b", "c"]), [-0.5, 0.5, 1.5, 2.5]),
    ],
    ids=repr,
)
def test_samples_are_uniform(variable, bins: list[float]) -> None:
    """On the scale of the variable: a third of the samples in each bin."""
    values = variable.sample((6000,), np.random.default_rng(0))
    assert values.shape == (6000, 1)
    counts, _ = np.histogram(values, bins)
    assert counts.sum() == 6000
    np.testing.assert_allclose(counts / 6000, 1 / 3, atol=0.025)


def test_points_have_plain_python_values() -> None:
    point = MIXED.decode(MIXED.sample_rows(seed=1))
    assert [type(point[name]) for name in ("dose", "celsius", "pace")] == [int, float, float]
    assert point["salt"] in ("K", "Na", None)
    assert json.dumps({name: point[name] for name in ("dose", "celsius", "salt")})
    row = MIXED.encode({**point, "dose": np.int64(3), "celsius": np.float32(25), "salt": np.str_("K")})
    assert row[8:11].tolist() == [3, 25, 0]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"dose": 51}, errors.ArgumentError, "an integer between 1 and 50, got 51"),
        ({"dose": 2.5}, errors.ArgumentTypeError, "an integer between 1 and 50, got 2.5"),
        ({"dose": True}, errors.ArgumentTypeError, "got True"),
        ({"dose": float("nan")}, errors.ArgumentTypeError, "got nan"),
        ({"dose": float("inf")}, errors.ArgumentError, "got inf"),
        ({"dose": [[1], [2, 3]]}, errors.ArgumentTypeError, "an integer between 1 and 50"),
        ({"dose": "many"}, errors.ArgumentTypeError, "got 'many'"),
        ({"celsius": 81}, errors.ArgumentError, "a number between 20 and 80, got 81"),
        ({"salt": "Naa"}, errors.ArgumentError, "did you mean 'Na'"),
        ({"salt": ["K", ["Na"]]}, errors.ShapeError, "rectangular"),
        ({"salt": ["K", "Na"]}, errors.ShapeError, "same batch shape"),
    ],
)
def test_bad_points(change: dict[str, Any], error: type[Exception], message: str) -> None:
    good = MIXED.decode(MIXED.sample_rows(seed=0))
    with pytest.raises(error, match=message):
        MIXED.encode({**good, **change})


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: mb.Integer(3, 3), errors.ArgumentError, "larger finite high, got 3 and 3"),
        (lambda: mb.Integer(1.5, 3), errors.ArgumentTypeError, "integer within ±2\\^53, got 1.5; otherwise use Real"),
        (lambda: mb.Integer(0, 2**60), errors.ArgumentTypeError, "2\\^53"),
        (lambda: mb.Integer(0, 9, log=True), errors.ArgumentError, "positive low, got low=0"),
        (lambda: mb.Real(-1, 9, log=True), errors.ArgumentError, "positive low, got low=-1"),
        (lambda: mb.Real(1, float("inf")), errors.ArgumentError, "finite"),
        (lambda: mb.Real("1", 2), errors.ArgumentTypeError, "low of a real variable is a number, got '1'"),
        (lambda: mb.Real(False, True), errors.ArgumentTypeError, "got False"),
        (lambda: mb.Real(1, 2, log="yes"), errors.ArgumentError, "True or False, got 'yes'"),
        (lambda: mb.Choice(["a"]), errors.ArgumentError, "at least two options"),
        (lambda: mb.Choice("ab"), errors.ArgumentTypeError, "a list such as"),
        (lambda: mb.Choice(["a", "b", "a"]), errors.ArgumentError, "repeated: 'a'"),
        (lambda: mb.Choice([1, float("nan")]), errors.ArgumentError, "compared with =="),
        (lambda: mb.Choice([1, np.zeros(2)]), errors.ArgumentError, "compared with =="),
    ],
)
def test_bad_variables(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
