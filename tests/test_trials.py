"""Trials: what users do to a point that they were given changes nothing."""

from __future__ import annotations

import pickle
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

import mergebo as mb
from mergebo.studies import StudyConfig, create
from mergebo.trials import Recommendation

NAMED = mb.PermutationSpace(items=["acid", "base", "salt", "water"])
MIXED = mb.Space(
    order=mb.Permutation(items=["acid", "base", "salt"]),
    picks=mb.Binary(3),
    tour=mb.Permutation(3),
    recipe=mb.Choice([["K", "Na"], {"Li": [1, 2]}]),
)
SPACES = {"names": NAMED, "numbers": mb.PermutationSpace(4), "several": MIXED}


def plain(value: Any) -> Any:
    """A copy that compares with ==."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def spoil(value: Any) -> None:
    """Change all that can be changed in place."""
    if isinstance(value, np.ndarray):
        value[...] = 0
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            spoil(each)
        value.clear()


@pytest.fixture(params=SPACES)
def space(request: pytest.FixtureRequest) -> mb.PermutationSpace | mb.Space:
    return SPACES[request.param]


@pytest.mark.parametrize("workers", [None, 2])
def test_an_objective_may_change_its_argument(space: Any, workers: int | None) -> None:
    seen = []

    def objective(point: Any) -> float:
        seen.append(plain(point))
        spoil(point)
        return float(len(seen))

    result = mb.minimize(objective, space, budget=5, method="random", workers=workers)
    points = [plain(trial.point) for trial in result.trials]
    assert sorted(map(str, points)) == sorted(map(str, seen))
    assert plain(result.best.point) in seen
    assert [plain(space.decode(row)) for row in result.optimizer._log.rows] == points


@pytest.mark.parametrize("noisy", [False, True])
def test_whatever_is_read_may_be_changed(space: Any, noisy: bool) -> None:
    optimizer = mb.Optimizer(space, "random", noisy=noisy)
    asked = optimizer.ask()
    before = plain(asked.point)
    spoil(asked.point)
    assert plain(asked.point) == plain(optimizer.trials[0].point) == before
    optimizer.tell(asked, 1.0)
    assert isinstance(optimizer.best, Recommendation) == noisy
    for trial in (optimizer.best, optimizer.trials[0], optimizer.pareto[0]):
        spoil(trial.point)
        assert plain(trial.point) == before
    assert all(plain(trial.point) == before for trial in (optimizer.best, *optimizer.trials, *optimizer.pareto))
    row = space.encode(before)
    spoil(space.decode(row))
    assert plain(space.decode(row)) == before


def test_the_point_of_a_user_is_copied() -> None:
    optimizer = mb.Optimizer(mb.PermutationSpace(4), "random")
    given = np.array([2, 0, 1, 3])
    optimizer.attach(given)
    optimizer.tell(other := [3, 2, 1, 0], 1.0)
    given[:], other[:] = [0, 1, 2, 3], [0, 1, 2, 3]
    assert [trial.point.tolist() for trial in optimizer.trials] == [[2, 0, 1, 3], [3, 2, 1, 0]]


def test_a_heuristic_may_change_its_argument() -> None:
    optimizer = mb.Optimizer(MIXED, "random", heuristic=lambda point: spoil(point) or 1.0)
    assert plain(optimizer.ask().point)["recipe"] in [["K", "Na"], {"Li": [1, 2]}]


def test_points_of_a_study(tmp_path: Any) -> None:
    space = mb.Space(order=NAMED.order, picks=mb.Binary(2))
    study = create(f"sqlite:///{tmp_path}/studies.db", "study", StudyConfig(space, "random"))
    (trial,) = study.ask()
    before = plain(study.point(trial))
    for read in (lambda: study.point(trial), lambda: study.data(trial)["point"]):
        spoil(read())
        assert study.point(trial) == before
    study.tell(trial.number, [1.0])
    spoil(study.best()[0]["point"])
    assert study.best()[0]["point"] == before


def test_a_trial_remains_a_frozen_dataclass() -> None:
    trial = mb.Trial(3, ["a", "b"])
    assert repr(trial) == "Trial(id=3, point=['a', 'b'], state='pending', value=None, noise_std=None)"
    assert trial == replace(trial) == pickle.loads(pickle.dumps(trial))
    assert asdict(trial)["point"] == ["a", "b"]
    with pytest.raises(AttributeError, match="point"):
        trial.point = []  # type: ignore[misc]
    with pytest.raises(TypeError, match="'point'"):
        mb.Trial(3)  # type: ignore[call-arg]
