"""Acquisition values of whole neighbourhoods against evaluating each neighbour, and continuous steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mergebo as mb
from constrained_spaces import SPACES, objective
from mergebo import acquisition
from mergebo.acquisition import ACQUISITIONS
from mergebo.acquisition.neighbourhood import top_k
from mergebo.gp import GP
from mergebo.methods import KernelModel, footrule_kernel, mallows_kernel, merge_kernel
from mergebo.neighbours import MOVES
from method_helpers import ORDERS
from mixed_space import MIXED
from mixed_space import model as mixed_model


@pytest.mark.parametrize("method", ORDERS)
@pytest.mark.parametrize(
    "space", [mb.PermutationSpace(9), mb.Space(a=mb.Permutation(6), b=mb.Binary(4), c=mb.Permutation(5))]
)
def test_scanned_values_agree_with_evaluation(method: str, space) -> None:
    """Acquisition values of a scan, and its best neighbour, agree with evaluating all neighbours."""
    rows = space.sample_rows(25, seed=0)
    values = np.random.default_rng(0).normal(size=25) + rows[:, 0]
    model = GP(KernelModel(ORDERS[method]).similarity(space), rows, values)
    best = float(model.y.min())
    moves = tuple(MOVES)
    scanned = acquisition.AcquisitionNeighbourhood(model, acquisition.LogExpectedImprovement(), best, moves)
    enumerated = acquisition.ExhaustiveNeighbourhood(scanned.value, space, moves)
    for centre in space.sample_rows(4, seed=5):
        scans = [
            scanned.scan(centre, name, move)
            for name, variable in space.variables.items()
            for move in (moves if isinstance(variable, mb.Permutation) else ("flip",))
        ]
        around = acquisition.neighbours(centre, space, moves)
        expected = scanned.value(around)
        negligible = expected < -40  # next to tried points, where single precision is not sufficient
        np.testing.assert_allclose(np.concatenate(scans)[~negligible], expected[~negligible], rtol=2e-3, atol=2e-3)
        assert (np.concatenate(scans)[negligible] < -30).all()
        fast, slow = scanned.best_neighbours(centre, 5), enumerated.best_neighbours(centre, 5)
        assert scanned.value(fast).max() == pytest.approx(scanned.value(slow).max(), rel=1e-9)


@pytest.mark.parametrize("device", [None, pytest.param("cpu", marks=pytest.mark.needs_torch)])
def test_a_single_point_has_no_neighbours(device: str | None) -> None:
    space = mb.PermutationSpace(1)
    fitted = GP(KernelModel(merge_kernel).similarity(space), np.zeros((1, 1), int), np.array([1.0]))
    scan = None if device is None else mb.kernels.DeviceScan(fitted, device)
    landscape = acquisition.AcquisitionNeighbourhood(fitted, acquisition.ExpectedImprovement(), 0.0, scanner=scan)
    assert landscape.scan(np.array([0]), "order", "swap").shape == (0,)
    assert [each.shape for each in (scan or fitted).scan(np.array([0]), "order", "swap")] == [(0,), (0,)]
    assert landscape.best_neighbours(np.array([0]), 5).shape == (0, 1)
    assert landscape.best_neighbours(np.array([0]), 5).dtype == int
    rows, values = acquisition.local_search(landscape, np.array([[0]]))
    assert (rows.tolist(), values.shape) == ([[0]], (1,))
    around = acquisition.neighbours(np.array([0]), space, ())
    assert (around.shape, around.dtype) == ((0, 1), int)


def test_every_variable_is_moved_whatever_its_column() -> None:
    space = mb.Space(dose=mb.Integer(1, 9), picks=mb.Binary(3), route=mb.Permutation(4), salt=mb.Choice(["Na", "K"]))
    rows = space.sample_rows(12, seed=0)
    fitted = GP(KernelModel(merge_kernel).similarity(space), rows, rows[:, 0] + rows[:, 4] + 0.1 * rows[:, 1])
    landscape = acquisition.AcquisitionNeighbourhood(fitted, acquisition.LogExpectedImprovement(), 0.0)
    around = landscape.best_neighbours(rows[0], 3)
    moved = {name for name, where in space.slices.items() if (around[:, where] != rows[0, where]).any()}
    assert moved == set(space.variables)


def test_the_top_k_include_indistinguishable_values() -> None:
    values = np.array([0.0, 2.0, 1.0, 0.9995, -np.inf, 1.0, 0.5, -np.inf])
    assert top_k(values, 2).tolist() == [1, 2, 3, 5]
    assert top_k(values, 8).tolist() == [0, 1, 2, 3, 5, 6]
    assert top_k(np.full(3, -np.inf), 2).tolist() == []


@pytest.mark.parametrize(
    "kind", ["before", "slots", "adjacency", "predicate", "repeated", "cycle", "ring", "subset", "mixed"]
)
@pytest.mark.parametrize("orders", [mallows_kernel, footrule_kernel])
def test_best_neighbours_agree_with_enumeration(kind: str, orders: Any) -> None:
    space = SPACES[kind]
    rows = space.sample_rows(15, seed=0)
    values = np.array([objective(space, space.decode(row)) for row in rows])
    model = GP(KernelModel(orders).similarity(space), rows, values)
    scanned = acquisition.AcquisitionNeighbourhood(
        model, acquisition.LogExpectedImprovement(), float(model.y.min()), tuple(MOVES)
    )
    listed = acquisition.ExhaustiveNeighbourhood(scanned.value, space, tuple(MOVES))
    for row in rows[:5]:
        around = scanned.best_neighbours(row, 5)
        every = {tuple(each) for each in listed.best_neighbours(row, 10**6).tolist()}
        assert {tuple(each) for each in around.tolist()} <= every
        if kind in ("before", "slots", "adjacency", "mixed"):  # canonical forms of others are evaluated at another row
            best = max(scanned.value(np.array(list(every))))
            assert scanned.value(around).max() == pytest.approx(best, abs=1e-6)
        some = space.random_neighbours(row, tuple(MOVES), 20, np.random.default_rng(0))
        assert {tuple(each) for each in some.tolist()} <= every


@pytest.mark.parametrize("name", ACQUISITIONS)
@pytest.mark.parametrize("how", ["product", "both"])
def test_a_continuous_step_ends_at_a_local_optimum(name: str, how: str) -> None:
    """Other variables are unchanged, the value is better, and no small change of a real variable improves it."""
    fitted = mixed_model(how)
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
    fitted = mixed_model()
    landscape = acquisition.AcquisitionNeighbourhood(fitted, ACQUISITIONS["logei"], float(fitted.y.min()), tuple(MOVES))
    exhaustive = acquisition.ExhaustiveNeighbourhood(landscape.value, MIXED, tuple(MOVES))
    for row in MIXED.sample_rows(5, seed=4):
        found, oracle = (each.best_neighbours(row, 5) for each in (landscape, exhaustive))
        assert landscape.value(found).max() >= landscape.value(oracle).max() - 1e-9
        MIXED.encode([MIXED.decode(each) for each in found])
