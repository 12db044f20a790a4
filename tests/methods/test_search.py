"""How methods maximise acquisition functions."""

from __future__ import annotations

import numpy as np
import pytest

import mergebo as mb
from mergebo import distances, errors
from mergebo.acquisition import ACQUISITIONS, AfterMeasurement
from mergebo.gp import GP
from mergebo.methods import Auto, History
from mergebo.methods.search import NeighbourhoodSearch, revalue_incumbent
from mergebo.similarity import Positions, Product
from optimizer_helpers import objective


def test_the_incumbent_is_worth_its_chance_to_fall_behind() -> None:
    """The expected smallest mean after a measurement, by simulation."""
    space = mb.PermutationSpace(4)
    rows = np.unique(space.sample_rows(8, seed=0), axis=0)
    values = np.array([objective(row) for row in rows])
    known = History(space, rows, values, rows[:0], rows[:0], 3, noisy=True)
    model = GP(Product.of(space, Positions), rows, values, noise=0.3)
    function = AfterMeasurement(ACQUISITIONS["ei"], 0.3)
    means = model.predict_standardised(rows)[0]
    first, second = rows[means.argmin()], np.sort(means)[1]
    ordered, found = revalue_incumbent(rows, np.arange(len(rows), 0.0, -1), function, model, known)
    assert sorted(map(tuple, ordered)) == sorted(map(tuple, rows))
    assert (np.diff(found) <= 0).all()
    deviation = model.predict_standardised(first[None])[1][0]
    step = deviation**2 / np.sqrt(deviation**2 + 0.3)
    after = means.min() + step * np.random.default_rng(0).normal(size=400_000)
    gain = means.min() - np.minimum(after, second).mean()
    assert found[(ordered == first).all(axis=1)][0] == pytest.approx(gain, abs=2e-3)


def test_very_large_neighbourhoods_are_scanned_less_often() -> None:
    mixed = mb.Space(route=mb.Permutation(280), picks=mb.Binary(837))
    spaces = [mb.Space(picks=mb.Binary(100)), mixed, *map(mb.PermutationSpace, (300, 1000, 5000))]
    search = Auto().bayesian().search
    assert isinstance(search, NeighbourhoodSearch)
    assert [search.limits_for(space).max_full_scans for space in spaces] == [6, 6, 6, 2, 1]


@pytest.mark.slow
@pytest.mark.parametrize("n", [7, 55])
def test_first_improvement_by_name(n: int) -> None:
    space = mb.PermutationSpace(n)
    runs = []
    for _ in range(2):
        result = mb.minimize(
            lambda order: float(distances.footrule(order, np.arange(n))),
            space,
            budget=14,
            initial=8,
            method="bops-h",
            ascent="first",
        )
        assert len({tuple(trial.point) for trial in result.trials}) == 14
        runs.append([trial.point.tolist() for trial in result.trials])
    assert runs[0] == runs[1]
    with pytest.raises(errors.ArgumentError, match="did you mean 'first'"):
        mb.Optimizer(space, "bops-h", ascent="frist")


@pytest.mark.slow
def test_relaxation_by_name() -> None:
    problem = mb.problems.get("lop:planted(n=9,seed=1,noise=0.0)").relabelled(3)
    ends = {
        name: np.mean(
            [mb.minimize(problem.evaluate, problem.space, budget=45, seed=s, **options).best.value for s in range(4)]
        )
        for name, options in {
            "relaxed": {"method": "mergebo", "search": "relaxation"},
            "random": {"method": "random"},
        }.items()
    }
    assert ends["relaxed"] < ends["random"]
    with pytest.raises(errors.ArgumentError, match="did you mean 'relaxation'"):
        mb.Optimizer(mb.PermutationSpace(8), "mergebo", search="relaxtion")
    with pytest.raises(errors.ArgumentError, match="maximises logei, not ei"):
        mb.Optimizer(mb.PermutationSpace(8), "mergebo", search="relaxation", acquisition="ei")
