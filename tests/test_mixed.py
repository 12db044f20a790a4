"""Mixed spaces, with numeric and categorical variables: points, steps, kernels, gradients, and every method on them."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import mergebo as mb
from mergebo import acquisition, errors
from mergebo.acquisition import ACQUISITIONS, AfterMeasurement
from mergebo.gp import GP
from mergebo.methods import mallows_kernel
from mergebo.methods.base import enumerate_rows
from mergebo.methods.turbo import from_cube, to_cube
from mergebo.neighbours import MOVES, neighbourhoods, random_neighbours, steps
from mergebo.similarity import Product
from mergebo.spaces import Numeric, Space
from mergebo.testing import strategies as our

MIXED = mb.Space(
    order=mb.Permutation(5),
    picks=mb.Binary(3),
    dose=mb.Integer(1, 50, log=True),
    celsius=mb.Real(20, 80),
    salt=mb.Choice(["K", "Na", None]),
    pace=mb.Real(0.1, 10, log=True),
)


def loss(point: dict[str, Any]) -> float:
    """An objective that depends on all variables."""
    order = float(mb.distances.kendall(point["order"], np.arange(5), view="rank"))
    quantities = ((point["celsius"] - 50) / 20) ** 2 + np.log(point["pace"]) ** 2 + np.log(point["dose"] / 7) ** 2
    return order + float(point["picks"].sum() + quantities + (point["salt"] != "Na"))


def model(how: Any = "product", count: int = 25, space: Space = MIXED) -> GP:
    rows = space.sample_rows(count, seed=0)
    values = np.array([loss(space.decode(row)) for row in rows])
    return GP(Product.of(space, mallows_kernel).combined(how), rows, values)


# --------------------------------------------------------------------------------------------------------------- spaces


@given(space=our.spaces(), seed=st.integers(0, 99))
def test_points_and_rows_correspond_one_to_one(space: Space, seed: int) -> None:
    rows = space.sample_rows(4, seed=seed)
    assert rows.dtype == space.dtype
    np.testing.assert_array_equal(space.encode(space.decode(rows)), rows)
    np.testing.assert_array_equal(space.encode([space.decode(row) for row in rows]), rows)
    assert pickle.loads(pickle.dumps(space)) == space
    assert hash(pickle.loads(pickle.dumps(space))) == hash(space)


def test_points_have_plain_python_values() -> None:
    point = MIXED.decode(MIXED.sample_rows(seed=1))
    assert [type(point[name]) for name in ("dose", "celsius", "pace")] == [int, float, float]
    assert point["salt"] in ("K", "Na", None)
    assert json.dumps({name: point[name] for name in ("dose", "celsius", "salt")})
    row = MIXED.encode({**point, "dose": np.int64(3), "celsius": np.float32(25), "salt": np.str_("K")})
    assert row[8:11].tolist() == [3, 25, 0]


def test_an_option_may_be_anything() -> None:
    choice = mb.Choice([None, [1, 2], {"a": 1}, 1.5, "x"])
    space = mb.Space(choice=choice)
    assert space.encode({"choice": [1, 2]}).tolist() == [1]
    assert space.encode({"choice": [[1, 2], None, {"a": 1}]}).tolist() == [[1], [0], [2]]
    assert space.decode(np.array([[2], [4]]))["choice"].tolist() == [{"a": 1}, "x"]
    assert hash(space) == hash(mb.Space(choice=mb.Choice([None, [1, 2], {"a": 1}, 1.5, "x"])))


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


@given(variable=our.variables().filter(lambda each: isinstance(each, Numeric)), seed=st.integers(0, 99))
def test_the_unit_scale(variable: Numeric, seed: int) -> None:
    values = variable.sample((9,), np.random.default_rng(seed))
    units = variable.to_unit(values)
    assert units.min() >= -1e-9
    assert units.max() <= 1 + 1e-9
    np.testing.assert_allclose(variable.from_unit(units), values, rtol=1e-9)
    np.testing.assert_array_equal(variable.from_unit(np.array([-0.5, 0, 1, 7])), [variable.low] * 2 + [variable.high] * 2)
    if variable.log:
        halfway = Numeric.from_unit(variable, np.array(0.5))
        assert halfway == pytest.approx(np.sqrt(variable.low * variable.high))


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


def test_relabelled_options() -> None:
    choice = mb.Choice(["a", "b", "c", "d"])
    labels = choice.sample_labels(np.random.default_rng(0))
    values = np.array([[0], [3], [1]])
    np.testing.assert_array_equal(choice.undo_relabel(choice.relabel(values, labels), labels), values)
    assert labels[3] == choice.relabel(values, labels)[1, 0]


# ---------------------------------------------------------------------------------------------------------------- steps


@given(space=our.spaces(), seed=st.integers(0, 99))
def test_neighbours_are_other_points_of_the_space(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = space.sample_rows(seed=rng)
    for around in [*neighbourhoods(row, space, tuple(MOVES)), random_neighbours(row, space, tuple(MOVES), 9, rng)]:
        assert around.dtype == row.dtype
        assert around.shape[1:] == row.shape
        if len(around):
            np.testing.assert_array_equal(space.encode([space.decode(each) for each in around]), around)
    for name, where in space.slices.items():
        if not isinstance(space.variables[name], mb.Permutation):
            found = steps(space.variables[name], row[where])
            assert (found != row[where]).any(axis=1).all()
            assert len(np.unique(found, axis=0)) == len(found) > 0


def test_steps_by_example() -> None:
    assert steps(mb.Integer(-3, 20), np.array([2])).ravel().tolist() == [-2, 0, 1, 3, 4, 6, 10, 18]
    assert steps(mb.Choice(["a", "b", "c"]), np.array([1.0])).tolist() == [[0.0], [2.0]]
    assert steps(mb.Binary(2), np.array([1.0, 0.0])).tolist() == [[0, 0], [1, 1]]
    found = steps(mb.Real(1, 16, log=True), np.array([4.0])).ravel()
    assert found[[0, -1]].tolist() == [1, 16]
    assert {2.0, 8.0} <= set(found.round(9))
    at_the_end = steps(mb.Real(0, 8), np.array([8.0])).ravel()
    assert at_the_end.max() < 8
    assert {4.0, 6.0, 7.0} <= set(at_the_end)


def test_random_steps_of_a_real_number_are_of_all_sizes() -> None:
    space = mb.Space(heat=mb.Real(0, 1))
    found = random_neighbours(np.array([0.5]), space, (), 4000, np.random.default_rng(0)).ravel()
    sizes = np.abs(found - 0.5)
    for low, high in pairwise((0, 0.01, 0.05, 0.25, 0.51)):
        assert 0.03 < ((sizes >= low) & (sizes < high)).mean() < 0.6


def test_small_spaces_are_enumerated() -> None:
    space = mb.Space(order=mb.Permutation(3), dose=mb.Integer(-1, 2), salt=mb.Choice(["K", "Na"]))
    rows = enumerate_rows(space)
    assert len(rows) == len(np.unique(rows, axis=0)) == space.size == 6 * 4 * 2
    np.testing.assert_array_equal(space.encode(space.decode(rows)), rows)


# -------------------------------------------------------------------------------------------------------------- kernels


# --------------------------------------------------------------------------------------------------------------- search


@pytest.mark.parametrize("name", ACQUISITIONS)
@pytest.mark.parametrize("noise", [None, 0.3, 2.0])
@given(mean=st.floats(-3, 8), deviation=st.floats(0.05, 3), best=st.floats(-2, 2))
@example(mean=0.3, deviation=0.7, best=0.1)
@example(mean=-1.0, deviation=2.0, best=0.5)
def test_gradients_of_acquisition_functions(
    name: str, noise: float | None, mean: float, deviation: float, best: float
) -> None:
    function = ACQUISITIONS[name] if noise is None else AfterMeasurement(ACQUISITIONS[name], noise)
    by_mean, by_deviation = function.gradient(np.array([mean]), np.array([deviation]), best)
    step = 1e-6
    around = function.value(
        np.array([mean + step, mean - step, mean, mean]), np.r_[[deviation] * 2, deviation + step, deviation - step], best
    )
    assert by_mean[0] == pytest.approx((around[0] - around[1]) / (2 * step), rel=1e-3, abs=1e-4)
    assert by_deviation[0] == pytest.approx((around[2] - around[3]) / (2 * step), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("name", ACQUISITIONS)
@pytest.mark.parametrize("how", ["product", "both"])
def test_a_continuous_step_ends_at_a_local_optimum(name: str, how: str) -> None:
    """Other variables are unchanged, the value is better, and no small change of a real variable improves it."""
    fitted = model(how)
    landscape = acquisition.AcquisitionNeighbourhood(fitted, ACQUISITIONS[name], float(fitted.y.min()))
    columns = [MIXED.slices[each].start for each in MIXED.reals]
    for row in MIXED.sample_rows(4, seed=2):
        found = landscape.continuous_step(row)
        MIXED.encode(MIXED.decode(found))
        others = np.delete(np.arange(len(row)), columns)
        np.testing.assert_array_equal(found[others], row[others])
        here = landscape.value(found[None])[0]
        assert here >= landscape.value(row[None])[0]
        for column, real in zip(columns, MIXED.reals.values(), strict=True):
            for unit in real.to_unit(found[column]) + np.array([-0.01, 0.01]):
                moved = found.copy()
                moved[column] = real.from_unit(np.array(unit))
                assert landscape.value(moved[None])[0] <= here + 1e-3 * max(1, abs(here))


def test_the_best_neighbours_are_as_good_as_those_of_an_exhaustive_scan() -> None:
    fitted = model()
    landscape = acquisition.AcquisitionNeighbourhood(fitted, ACQUISITIONS["logei"], float(fitted.y.min()), tuple(MOVES))
    exhaustive = acquisition.ExhaustiveNeighbourhood(landscape.value, MIXED, tuple(MOVES))
    for row in MIXED.sample_rows(5, seed=4):
        found, oracle = (each.best_neighbours(row, 5) for each in (landscape, exhaustive))
        assert landscape.value(found).max() >= landscape.value(oracle).max() - 1e-9
        MIXED.encode([MIXED.decode(each) for each in found])


@pytest.mark.parametrize("seed", [None, 0])
def test_a_local_search_ends_where_neither_moves_nor_continuous_steps_improve(seed: int | None) -> None:
    fitted = model()
    landscape = acquisition.AcquisitionNeighbourhood(fitted, ACQUISITIONS["logei"], float(fitted.y.min()), tuple(MOVES))
    rows, values = acquisition.local_search(
        landscape, MIXED.sample_rows(2, seed=0), rng=None if seed is None else np.random.default_rng(seed)
    )
    assert values[0] >= landscape.value(acquisition.neighbours(rows[0], MIXED, tuple(MOVES))).max() - 1e-6
    assert values[0] >= landscape.value(landscape.continuous_step(rows[0])[None])[0] - 1e-6


# -------------------------------------------------------------------------------------------------------------- methods


def drive(optimizer: mb.Optimizer, count: int) -> list[list[float]]:
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, loss(trial.point))
    return [optimizer.space.encode(trial.point).tolist() for trial in optimizer.trials]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random", "bops-h", "auto", "local-search", "genetic", "turbo"])
def test_a_small_space_is_exhausted(method: str) -> None:
    space = mb.Space(dose=mb.Integer(1, 4), salt=mb.Choice(["K", "Na"]))
    result = mb.minimize(lambda p: p["dose"] + (p["salt"] == "K"), space, budget=20, method=method, initial=3)
    assert len(result.trials) == 8
    assert result.best.point == {"dose": 1, "salt": "Na"}
    assert result.ended == "all 8 points of the space were tried"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "bops-h"])
def test_two_orders_and_spaces_without_orders(method: str) -> None:
    two = mb.Space(first=mb.Permutation(4), second=mb.Permutation(3), heat=mb.Real(0, 1))

    def value(point: dict[str, Any]) -> float:
        orders = sum(float(mb.distances.kendall(point[name], np.arange(len(point[name])))) for name in ("first", "second"))
        return orders + (point["heat"] - 0.3) ** 2

    found = mb.minimize(value, two, budget=35, method=method, seed=0, initial=12)
    assert found.best.value < 0.2
    numbers = mb.Space(x=mb.Real(-5, 10), y=mb.Integer(0, 15))
    found = mb.minimize(
        lambda p: (p["x"] - 2) ** 2 + (p["y"] - 11) ** 2, numbers, budget=25, method=method, seed=0, initial=8
    )
    assert found.best.value < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sum", "both"])
def test_kernels_are_combined_by_name(how: str) -> None:
    optimizer = mb.Optimizer(MIXED, "bops-h", seed=0, initial=10, combine=how)
    drive(optimizer, 14)
    assert mb.Optimizer.from_state(optimizer.state()).method == optimizer.method
    with pytest.raises(errors.ArgumentError, match="did you mean 'both'"):
        mb.Optimizer(MIXED, "bops-h", combine="boht")
    with pytest.raises(errors.UnsupportedError, match="not a sum"):
        acquisition.Relaxation(model(how), 0.0)


@given(space=our.spaces(), seed=st.integers(0, 99))
def test_turbo_decodes_all_variables_from_the_cube(space: Space, seed: int) -> None:
    rows = space.sample_rows(6, seed=seed)
    cube = to_cube(rows, space)
    assert cube.min() >= -1e-9
    assert cube.max() <= 1 + 1e-9
    np.testing.assert_allclose(from_cube(cube, space), rows, rtol=1e-9)
    sampled = from_cube(np.random.default_rng(seed).random(cube.shape), space)
    np.testing.assert_array_equal(space.encode([space.decode(row) for row in sampled]), sampled)


def test_options_that_json_does_not_support() -> None:
    for option in (object(), (1, 2), {1: 2}, 1j):
        optimizer = mb.Optimizer(mb.Space(salt=mb.Choice(["K", option])), "random")
        optimizer.ask()
        with pytest.raises(errors.UnsupportedError, match="of salt is not; use strings or numbers"):
            optimizer.state()


def test_explanations_show_the_effects_of_numbers_and_options() -> None:
    space = mb.Space(dose=mb.Integer(0, 10), heat=mb.Real(0, 1), salt=mb.Choice(["K", "Na", "Li"]))
    optimizer = mb.Optimizer(space, "random", initial=40)
    for trial in optimizer.ask(40):
        point = trial.point
        optimizer.tell(trial, (point["dose"] - 3) ** 2 + 10 * point["heat"] + 5 * (point["salt"] == "Na"))
    found = optimizer.explain()
    most_significant = {effect.variable: effect for effect in found.effects[::-1]}
    assert most_significant["dose"].description == "dose above 6.67"
    assert most_significant["salt"].description == "salt is Na"
    assert most_significant["salt"].estimate == pytest.approx(5, abs=1)
    high = next(effect for effect in found.effects if effect.description == "heat above 0.667")
    assert high.estimate == pytest.approx(5, abs=1)
    assert not high.better
    assert "how much of each quantity" in str(found)
    found.plot()


@pytest.mark.slow
def test_auto_is_ahead_of_random_search() -> None:
    runs = {
        method: [mb.minimize(loss, MIXED, budget=40, method=method, seed=seed).best.value for seed in range(2)]
        for method in ("auto", "random")
    }
    assert max(runs["auto"]) < min(runs["random"]) / 2


def test_optuna_has_native_numbers_and_options() -> None:
    """The initial design comes first, unchanged, and later points are in the space."""
    from mergebo.experiments.competitors import BudgetExhausted, optuna_tpe

    seen: list[np.ndarray] = []

    def objective(row: np.ndarray) -> float:
        if len(seen) == 16:
            raise BudgetExhausted
        seen.append(row)
        return loss(MIXED.decode(row))

    design = MIXED.sample_rows(12, seed=0)
    with pytest.raises(BudgetExhausted):
        optuna_tpe(MIXED, objective, design, 0)
    np.testing.assert_allclose(seen[:12], design, rtol=1e-12)
    MIXED.encode([MIXED.decode(row) for row in seen])
    assert len({tuple(row) for row in seen}) == 16
