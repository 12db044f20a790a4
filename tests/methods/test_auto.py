"""The default method."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import mergebo as mb
from mergebo.errors import MergeboError
from mergebo.methods import Auto, History
from mergebo.methods.structures import MAX_FITTED, SMALL_WIDTH
from method_helpers import make_history
from mixed_space import MIXED, loss


def test_large_points_with_binary_choices() -> None:
    known = make_history("ttp:random(n=40,seed=1)", 12)
    row = Auto().propose(known, np.random.default_rng(0))
    assert known.space.width > SMALL_WIDTH
    assert sorted(row[:40].tolist()) == list(range(40))
    assert set(row[40:].tolist()) <= {0, 1}
    assert row.tobytes() not in known.tried


@pytest.mark.slow
def test_it_is_ahead_of_the_published_kernels_on_tours() -> None:
    found = {}
    problem = mb.problems.get("tsp:random(n=12,seed=7)")
    for method in ("auto", "bops-h"):
        runs = [
            mb.minimize(lambda order: float(problem.evaluate(order)), problem.space, budget=50, method=method, seed=seed)
            for seed in range(3)
        ]
        found[method] = np.mean([run.best.value for run in runs if run.best])
    assert found["auto"] < found["bops-h"]


@pytest.mark.slow
def test_auto_is_ahead_of_random_search() -> None:
    runs = {
        method: [mb.minimize(loss, MIXED, budget=40, method=method, seed=seed).best.value for seed in range(2)]
        for method in ("auto", "random")
    }
    assert max(runs["auto"]) < min(runs["random"]) / 2


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, MAX_FITTED + 5])
def test_many_results_and_many_items(count: int) -> None:
    for n in (7, SMALL_WIDTH + 10):
        known = make_history(f"lop:planted(n={n},seed=1)", count)
        row = Auto().propose(known, np.random.default_rng(0))
        assert sorted(row.tolist()) == list(range(n))
        assert row.tobytes() not in known.tried


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.0, 1e-12, 1e12])
def test_degenerate_values(scale: float) -> None:
    known = make_history("tsp:random(n=8,seed=1)", 30)
    flat = History(known.space, known.rows, scale * known.values, known.failed, known.pending, 30)
    assert sorted(Auto().propose(flat, np.random.default_rng(0)).tolist()) == list(range(8))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"structures": ("position",)}, "did you mean 'positions'"),
        ({"structures": "positions"}, "structures are a list such as .*, got 'positions'"),
        ({"structures": ()}, "structures are a list"),
        ({"moves": ("swp",)}, "did you mean 'swap'"),
        ({"moves": "swap"}, "moves are a list such as .*, got 'swap'"),
        ({"incumbents": -1}, "incumbents must be a number of starts of the search, at least 0, got -1"),
        ({"incumbents": 0, "random_starts": 0}, "at least one start"),
        ({"acquisition": "loegi"}, "did you mean 'logei'"),
        ({"acquisition": 3}, "a name such as 'logei' or an object, got 3"),
        ({"batch": "laws"}, "did you mean 'law'"),
    ],
)
def test_mistakes_are_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MergeboError, match=message):
        Auto(**settings)


def test_methods_can_be_pickled_and_compared() -> None:
    auto = Auto(embedding=False)
    auto.bayesian()
    assert pickle.loads(pickle.dumps(auto)) == auto == Auto(embedding=False) != Auto()
    assert repr(auto.bayesian().model).startswith("StructureModels(structures=(Structure('precedence'), ")
