"""What layers above the spaces register for each kind of variable: every hook works for every kind."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import mergebo
import mergebo as mb
from mergebo.acquisition import AcquisitionNeighbourhood, LogExpectedImprovement, neighbours
from mergebo.errors import MergeboError, MissingExtraError
from mergebo.gp import GP
from mergebo.similarity import Footrule, Product
from mergebo.spaces import Numeric, Space, Variable

EXAMPLES: dict[type[Variable], Variable] = {
    mb.Permutation: mb.Permutation(4),
    mb.Binary: mb.Binary(3),
    mb.Integer: mb.Integer(1, 9),
    mb.Real: mb.Real(0, 1),
    mb.Choice: mb.Choice(["K", "Na", "Li"]),
}


@cache
def hooks() -> dict[str, Any]:
    """All functions that are registered by kinds of variables, found in all modules that can be imported."""
    found = {}
    for each in pkgutil.walk_packages(mergebo.__path__, "mergebo."):
        try:
            module = importlib.import_module(each.name)
        except MissingExtraError:
            continue
        for name, function in vars(module).items():
            if inspect.isfunction(function) and hasattr(function, "registry") and function.__module__ == each.name:
                first = next(iter(inspect.signature(function.dispatch(object)).parameters.values()))
                if first.annotation in ("Variable", Variable):
                    found[f"{each.name}.{name}"] = function
    return found


def model(variable: Variable) -> tuple[Space, GP]:
    """A model of a few values of one variable."""
    space = Space(x=variable)
    rows = space.sample_rows(6, seed=0)
    return space, GP(Product.of(space, Footrule), rows, np.arange(6.0))


def default_similarity(hook: Any, variable: Variable) -> None:
    space = Space(x=variable)
    rows = space.sample_rows(6, seed=0)
    distances = hook(variable, Footrule, mergebo.similarity.BinarySimilarity).distance(rows, rows)
    np.testing.assert_allclose(distances, np.swapaxes(distances, -1, -2))
    assert (np.diagonal(distances, axis1=-2, axis2=-1) == 0).all()
    assert distances.max() > 0


def scanned_neighbours(hook: Any, variable: Variable) -> None:
    space, surrogate = model(variable)
    row = space.sample_rows(seed=1)
    at = AcquisitionNeighbourhood(surrogate, LogExpectedImprovement(), 0.0)
    found, _ = hook(variable, at, "x", row, 2)
    every = neighbours(row, space)
    assert at.value(found).max() == pytest.approx(at.value(every).max(), abs=1e-6)


def effects_of(hook: Any, variable: Variable) -> None:
    rows = Space(x=variable).sample_rows(40, seed=0)
    effects = hook(variable, "x", "", ())
    assert effects.groups
    for group in effects.groups:
        texts = [group.describe(which) for which in group.which]
        assert len(set(texts)) == len(texts) > 0
        assert len(group.scores(np.ascontiguousarray(effects.read(rows).T), group.which)) == len(group.which)


def random_step(hook: Any, variable: Variable) -> None:
    values = Space(x=variable).sample_rows(30, seed=0)
    moved = [hook(variable, values, np.random.default_rng(seed)) for seed in range(5)]  # small steps of integers are none
    assert any((each != values).any() for each in moved)
    for each in moved:
        assert each.shape == values.shape
        variable.validate(variable.decode(each))


def random_value(hook: Any, variable: Variable) -> None:
    variable.validate(variable.decode(hook(variable, np.random.default_rng(0))))


def invalid_value(hook: Any, variable: Variable) -> None:
    good = variable.decode(variable.sample((), np.random.default_rng(0)))
    with pytest.raises(MergeboError):
        variable.validate(hook(variable, good))


def on_a_device(hook: Any, variable: Variable) -> None:
    from mergebo.kernels import DeviceScan

    space, surrogate = model(variable)
    row = space.sample_rows(seed=1)
    for move in variable.move_kinds(["swap", "insertion"]):
        mean, deviation = DeviceScan(surrogate, "cpu").scan(row, "x", move)
        expected = surrogate.predict_standardised(variable.neighbours(row, move))
        np.testing.assert_allclose(mean, expected[0], atol=1e-4)
        np.testing.assert_allclose(deviation, expected[1], atol=1e-3)


def codec_of(hook: Any, variable: Variable) -> None:
    codec = hook(variable, "x")
    rows = Space(x=variable).sample_rows(10, seed=0)
    stored = [codec.from_row(row) for row in rows]
    assert all(len(numbers) == len(codec.parameters) for numbers in stored)
    for numbers in stored:
        for value, distribution in zip(numbers, codec.parameters.values(), strict=True):
            assert distribution.to_external_repr(distribution.to_internal_repr(value)) == value
    np.testing.assert_array_equal(codec.to_rows(stored), rows)
    assert codec.is_inside(rows).all()


CHECKS: dict[str, tuple[Callable[[Any, Variable], None], set[type[Variable]]]] = {
    "mergebo.acquisition.neighbourhood.scanned_neighbours": (scanned_neighbours, set(EXAMPLES)),
    "mergebo.experiments.competitors._random_value": (random_value, {mb.Permutation, mb.Binary}),
    "mergebo.explain.effects.effects_of": (effects_of, set(EXAMPLES)),
    "mergebo.kernels.device.neighbour_count": (on_a_device, {mb.Permutation, mb.Binary}),
    "mergebo.kernels.device.write_neighbours": (on_a_device, {mb.Permutation, mb.Binary}),
    "mergebo.problems.optima.heuristics._random_step": (random_step, set(EXAMPLES)),
    "mergebo.similarity.product.default_similarity": (default_similarity, set(EXAMPLES)),
    "mergebo.studies.codec.codec_of": (codec_of, set(EXAMPLES)),
    "mergebo.testing.problems.invalid_value": (invalid_value, set(EXAMPLES)),
}
"""What a hook must do, and the kinds of variables for which it must. The others it refuses, or never sees."""
NEED_TORCH = {name for name in CHECKS if name.startswith("mergebo.kernels.")}


def test_every_kind_has_an_example() -> None:
    own = {kind for kind in Variable.kinds.values() if kind.__module__.startswith("mergebo.")}
    assert own - {Numeric} == set(EXAMPLES)


@pytest.mark.needs_torch
def test_every_hook_is_checked() -> None:
    assert set(hooks()) == set(CHECKS)


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs_torch if name in NEED_TORCH else ()) for name in CHECKS]
)
def test_every_hook_works_for_every_kind(name: str, kind: type[Variable]) -> None:
    check, kinds = CHECKS[name]
    if kind in kinds:
        check(hooks()[name], EXAMPLES[kind])
    elif name not in NEED_TORCH:
        with pytest.raises(MergeboError, match=kind.__name__):
            check(hooks()[name], EXAMPLES[kind])
    else:
        with pytest.raises(mb.errors.UnsupportedError, match=kind.__name__):
            hooks()[name](EXAMPLES[kind], "step", *([slice(0, 1), None] if name.endswith("write_neighbours") else []))
