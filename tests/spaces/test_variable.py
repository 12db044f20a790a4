"""Every kind of variable does all that the library asks of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo import errors
from mergebo.errors import ExhaustedError, MergeboError
from mergebo.neighbours import MOVES
from mergebo.spaces import Numeric, Variable
from mergebo.testing import strategies
from mixed_space import MIXED

CONSTRAINED = st.builds(
    lambda options, constraints: mb.Permutation(4, **options, **constraints),
    st.sampled_from([{}, {"choose": 3}]),
    st.sampled_from([{"before": [(0, 1)]}, {"window": {2: (0, 1)}}, {"adjacent": [(0, 3)]}, {"apart": [(1, 2)]}]),
)
VARIABLES = st.one_of(strategies.variables(), CONSTRAINED)


def test_the_strategies_have_every_kind() -> None:
    concrete = {kind for kind in Variable.kinds.values() if kind.__module__.startswith("mergebo.spaces") and kind != Numeric}
    assert set(strategies.VARIABLES) == concrete


@given(VARIABLES, st.integers(0, 99))
def test_samples_are_values(variable: Variable, seed: int) -> None:
    for values in (
        variable.sample((30,), np.random.default_rng(seed)),
        variable.stratified(np.arange(30), np.random.default_rng(seed)),
    ):
        assert values.shape == (30, variable.width)
        assert values.dtype == variable.dtype
        assert variable.is_feasible(values).all()
        np.testing.assert_array_equal(variable.canonical(values), values)
        np.testing.assert_array_equal(variable.repair(values), values)
        np.testing.assert_array_equal(variable.validate(variable.decode(values)), values)


@given(VARIABLES, st.integers(0, 99))
def test_a_table_has_a_cell_for_each_column(variable: Variable, seed: int) -> None:
    for value in variable.sample((5,), np.random.default_rng(seed)):
        point = variable.decode(value)
        cells = variable.to_cells(point)
        assert len(cells) == len(variable.columns("x")) == len(set(variable.columns("x")))
        assert all(column.startswith("x") for column in variable.columns("x"))
        np.testing.assert_array_equal(variable.validate(variable.from_cells("x", [str(cell) for cell in cells])), value)


@pytest.mark.parametrize(
    ("variable", "cells"),
    [
        (mb.Permutation(items=["a", "b"]), ["a", "c"]),
        (mb.Binary(2), ["1", "0.5"]),
        (mb.Real(0, 1), ["warm"]),
        (mb.Real(0, 1), ["nan"]),
        (mb.Integer(1, 9), ["2.5"]),
        (mb.Choice(["K", "Na"]), ["Li"]),
    ],
)
def test_a_cell_that_is_wrong_is_shown(variable: Variable, cells: list[str]) -> None:
    with pytest.raises(MergeboError, match=cells[-1]):
        variable.from_cells("x", cells)


@given(VARIABLES)
def test_a_variable_survives_json(variable: Variable) -> None:
    arguments = json.loads(json.dumps(variable.to_data("x")))
    assert type(variable).from_data("x", arguments, None) == variable
    assert Variable.kinds[type(variable).__name__] is type(variable)


@given(VARIABLES, st.integers(0, 99))
def test_neighbours_differ_from_the_value(variable: Variable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    value = variable.sample((), rng)
    for move in variable.move_kinds(MOVES):
        around = variable.neighbours(value, move)
        assert around.dtype == value.dtype
        assert around.shape == (len(around), variable.width)
        assert (around != value).any(axis=1).all()
        assert len(np.unique(around, axis=0)) == len(around)
        drawn = variable.random_neighbours(value, move, 3, rng)
        assert len(drawn) <= 3
        assert variable.is_feasible(variable.canonical(drawn)).all()
        if variable.size < np.inf and variable.dtype is np.int64:
            assert {tuple(row) for row in drawn.tolist()} <= {tuple(row) for row in around.tolist()}


@given(VARIABLES, st.integers(0, 99))
def test_values_are_points_of_the_unit_cube(variable: Variable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = variable.sample((20,), rng)
    units = variable.to_unit(values)
    assert units.shape == (20, variable.unit_width)
    assert (units >= 0).all()
    assert (units <= 1).all()
    np.testing.assert_allclose(variable.canonical(variable.from_unit(units)), values, rtol=1e-9)
    anywhere = variable.from_unit(rng.random((20, variable.unit_width)))
    assert anywhere.shape == values.shape


@given(VARIABLES)
def test_all_values_are_enumerated(variable: Variable) -> None:
    if variable.size > 1000:
        return
    every = variable.enumerate()
    assert len(every) == variable.size
    assert len(np.unique(every, axis=0)) == len(every)
    assert variable.is_feasible(every).all()
    sampled = variable.sample((40,), np.random.default_rng(0))
    assert {tuple(row) for row in sampled.tolist()} <= {tuple(row) for row in every.tolist()}


@pytest.mark.parametrize(
    "variable",
    [mb.Permutation(10), mb.Permutation(12, before=[(0, 1)]), mb.Binary(20), mb.Integer(0, 10**6), mb.Real(0, 1)],
    ids=repr,
)
def test_too_many_values_are_not_enumerated(variable: Variable) -> None:
    with pytest.raises(ExhaustedError, match=f"{type(variable).__name__}.*too many to enumerate"):
        variable.enumerate()
    with pytest.raises(ExhaustedError, match="too many to enumerate"):
        mb.Space(x=variable).enumerate_rows()


def test_too_many_points_are_not_enumerated() -> None:
    space = mb.Space(a=mb.Binary(9), b=mb.Binary(9))
    with pytest.raises(ExhaustedError, match=r"2\.62e\+05 points"):
        space.enumerate_rows()


@given(VARIABLES, st.integers(0, 99))
def test_a_child_has_the_numbers_of_its_parents(variable: Variable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = variable.sample((2,), rng)
    child = variable.crossover(a, b, rng)
    if "swap" in variable.move_kinds(["swap"]):
        assert sorted(child.tolist()) == list(range(variable.width))
    else:
        assert ((child == a) | (child == b)).all()


@given(strategies.variables(), st.integers(0, 99))
def test_relabelling_can_be_undone(variable: Variable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, labels = variable.sample((5,), rng), variable.sample_labels(rng)
    np.testing.assert_array_equal(variable.undo_relabel(variable.relabel(values, labels), labels), values)


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
        (lambda: mb.Real(-1e308, 1e308), errors.ArgumentError, "whose difference is too large"),
        (lambda: mb.Real(0, 10**400), errors.ArgumentError, "whose difference is too large"),
        (lambda: mb.Space(mb.Permutation(4)), errors.ArgumentTypeError, r"has a name: Space\(order=Permutation\(n=4\)\)"),
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
