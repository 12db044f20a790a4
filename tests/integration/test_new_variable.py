"""A kind of variable of one's own, defined in this file, is optimised, stored and exported like any other."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from numpy.typing import ArrayLike
from optuna.distributions import FloatDistribution

import mergebo as mb
from mergebo import studies
from mergebo._typing import Floats, Rows
from mergebo.errors import ArgumentError, ExhaustedError
from mergebo.integrations.optuna import PermutationSampler, suggest
from mergebo.similarity import Similarity, default_similarity
from mergebo.spaces import SearchSpace, Variable
from mergebo.studies import StudyConfig
from mergebo.studies.codec import NumbersCodec, codec_of
from mergebo.studies.table import add_results, read_table, table_text
from mergebo.testing import SpaceSuite

STEPS = 2.0 ** np.arange(8)
"""Steps of a direction, in degrees."""


@dataclass(frozen=True)
class Direction(Variable):
    """A direction in degrees from north: 360 is 0 again."""

    dtype = np.float64

    @property
    def width(self) -> int:
        return 1

    @property
    def size(self) -> float:
        return np.inf

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        return rng.uniform(0, 360, (*shape, 1))

    def enumerate(self) -> Rows:
        raise ExhaustedError("directions cannot be enumerated")

    def validate(self, values: ArrayLike) -> Rows:
        array = np.asarray(values, np.float64)
        if not np.isfinite(array).all():
            raise ArgumentError(f"a direction is a number of degrees, got {values!r}")
        return (array % 360)[..., None]

    def decode(self, values: Rows) -> Any:
        return values[..., 0] if values.ndim > 1 else values[..., 0].item()

    def from_cells(self, name: str, cells: Sequence[str]) -> float:
        return float(cells[0])

    def neighbours(self, value: Rows, move: str = "step") -> Rows:
        return np.asarray((value + np.concatenate([-STEPS, STEPS])) % 360)[:, None]

    def to_unit(self, values: Rows) -> Floats:
        return np.asarray(values / 360)

    def from_unit(self, points: Floats) -> Rows:
        return np.asarray(points * 360 % 360)


@dataclass(frozen=True)
class ChordSimilarity(Similarity):
    """Directions are as far apart as their points on a circle."""

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray(np.sin(np.radians(a - b.T) / 2) ** 2)


@default_similarity.register
def _(variable: Direction, orders: Callable[[int], Similarity], choices: Callable[[int], Similarity]) -> Similarity:
    return ChordSimilarity()


class DirectionCodec(NumbersCodec):
    """The degrees; 360 is never stored."""


@codec_of.register
def _(variable: Direction, name: str) -> DirectionCodec:
    return DirectionCodec(variable, {name: FloatDistribution(0, 360)})


SPACE = mb.Space(route=mb.Permutation(5), wind=Direction())


def value(point: dict[str, Any]) -> float:
    """Least for the identity, and for wind from 350 degrees."""
    return float(np.abs(point["route"] - np.arange(5)).sum() + 4 * np.sin(np.radians(point["wind"] - 350) / 2) ** 2)


class TestSpace(SpaceSuite):
    def make(self) -> SearchSpace:
        return SPACE


@pytest.mark.slow
def test_it_is_optimised_across_north() -> None:
    result = mb.minimize(value, SPACE, budget=40, seed=0, initial=10)
    assert result.best.value < 0.2
    random = mb.minimize(value, SPACE, budget=40, seed=0, initial=10, method="random")
    assert result.best.value < random.best.value


@pytest.mark.parametrize("method", ["auto", "mergebo", "local-search", "genetic"])
def test_a_state_continues_identically(method: str) -> None:
    opt = mb.Optimizer(SPACE, method, seed=1, initial=4)
    for _ in range(6):
        trial = opt.ask()
        opt.tell(trial, value(trial.point))
    again = mb.Optimizer.from_state(json.loads(json.dumps(opt.state())))
    assert again.space == SPACE
    point, expected = again.ask().point, opt.ask().point
    assert point["wind"] == expected["wind"]
    np.testing.assert_array_equal(point["route"], expected["route"])


def test_what_is_known_of_it_is_explained() -> None:
    opt = mb.Optimizer(SPACE, seed=1, initial=12)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, value(trial.point))
    assert "12" in str(opt.explain())


def test_it_is_stored_and_exported(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/winds.db"
    study = studies.create(url, "winds", StudyConfig(SPACE, initial=4))
    for trial in study.ask(5):
        study.tell(trial.number, [value(study.point(trial))])
    (best,) = study.best()
    assert best["value"] == min(trial.value for trial in study.trials())
    again = studies.load(url)
    assert again.space == SPACE
    table = table_text(again)
    assert table.startswith("trial,state,value,route 1,route 2,route 3,route 4,route 5,wind,noise,reason,duration (s)\n")
    (tmp_path / "winds.csv").write_text(table)
    other = studies.create(url, "others", StudyConfig(SPACE))
    add_results(other, read_table(other, tmp_path / "winds.csv"), "winds.csv")
    assert [other.point(trial) for trial in other.trials()] == [again.point(trial) for trial in again.trials()]
    assert [trial.value for trial in other.trials()] == [trial.value for trial in again.trials()]


def test_optuna_samples_it() -> None:
    study = optuna.create_study(sampler=PermutationSampler(space=SPACE, seed=0, n_startup_trials=4))
    study.optimize(lambda trial: value(suggest(trial, SPACE)), n_trials=8)
    assert all(0 <= trial.params["wind"] < 360 for trial in study.trials)


@pytest.mark.needs_torch
def test_its_kernel_is_one_of_gpytorch() -> None:
    import torch

    from mergebo.kernels import product_kernel
    from mergebo.similarity import Footrule, Product

    product = Product.of(SPACE, Footrule)
    rows = SPACE.sample_rows(6, seed=0)
    kernel = product_kernel(product)(torch.from_numpy(rows)).to_dense().detach().numpy()
    np.testing.assert_allclose(kernel, kernel.T)
    assert np.linalg.eigvalsh(kernel).min() > -1e-9
