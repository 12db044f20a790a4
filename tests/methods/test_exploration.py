"""How much a search explores."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mergebo as mb
from mergebo import errors
from mergebo.gp import GP
from mergebo.mean import PathLengthMean, SumMean
from mergebo.methods import Auto, Bayesian, KernelModel, mallows_kernel, merge_kernel
from mergebo.methods.exploration import LAYOUT, PRECEDENCE, exploration_factor
from mergebo.similarity import Adjacency, Positions, Product, Similarity, SlotDistances
from method_helpers import make_history


def model(space: mb.PermutationSpace | mb.Space, orders: Any) -> GP:
    """A model of random values."""
    rows = space.sample_rows(12, seed=0)
    return GP(Product.of(space, orders), rows, np.random.default_rng(0).normal(size=12))


@pytest.mark.parametrize(
    ("orders", "rate"),
    [(mallows_kernel, PRECEDENCE), (merge_kernel, PRECEDENCE), (Positions, LAYOUT), (SlotDistances, LAYOUT)],
)
def test_the_factor_grows_with_the_space(orders: Any, rate: float) -> None:
    for n in (20, 40):
        found = exploration_factor(model(mb.PermutationSpace(n), orders))
        assert found == pytest.approx(max(1, rate * math.sqrt(math.lgamma(n + 1))))


def test_constraints_make_it_smaller_and_numbers_larger() -> None:
    free, constrained = mb.PermutationSpace(20), mb.PermutationSpace(20, before=[(k, k + 1) for k in range(10)])
    more = mb.Space(order=mb.Permutation(20), heat=mb.Real(0, 1), salt=mb.Choice(["K", "Na"]))
    small, middle, large = (exploration_factor(model(each, mallows_kernel)) for each in (constrained, free, more))
    assert small < middle < large


@pytest.mark.parametrize(
    ("space", "orders"),
    [
        (mb.PermutationSpace(30), Adjacency),
        (mb.Space(order=mb.Permutation(30), picks=mb.Binary(5)), mallows_kernel),
        (mb.PermutationSpace(3), mallows_kernel),
    ],
    ids=["adjacency", "binary variables", "a small space"],
)
def test_it_is_one(space: mb.PermutationSpace | mb.Space, orders: Any) -> None:
    assert exploration_factor(model(space, orders)) == 1


def test_models_with_an_embedding_are_trusted() -> None:
    fitted = model(mb.PermutationSpace(30), mallows_kernel)
    assert exploration_factor(fitted) > 1
    lengths = PathLengthMean(np.zeros((1, 30, 2)), True)
    for each in (lengths, SumMean((lengths,))):
        fitted.mean_function = each
        assert exploration_factor(fitted) == 1


def test_it_is_a_setting_of_every_method_with_a_model() -> None:
    """The larger the factor, the more uncertain the proposals; None is the derived one, 1 that of the published methods."""
    history = make_history("lop:planted(n=15,seed=1)", 40)
    for base in (Auto().bayesian(), Bayesian(KernelModel(mallows_kernel))):
        chosen = {}
        for factor in (1.0, 6.0, None):
            rng = np.random.default_rng(1)
            method = replace(base, exploration=factor)
            row = method.propose(history, rng)
            fitted = method.model.build(history, np.random.default_rng(1))
            chosen[factor] = float(fitted.predict_standardised(row[None])[1][0])
        assert chosen[1.0] < chosen[6.0]
        assert chosen[1.0] <= chosen[None] + 1e-9
    assert Bayesian(KernelModel(mallows_kernel)).exploration == 1
    assert mb.methods.make_method("bops-h").bayesian().exploration == 1
    assert mb.methods.make_method("mergebo", exploration=2.0).bayesian().exploration == 2
    assert mb.methods.make_method("auto").bayesian().exploration is None


@pytest.mark.parametrize("wrong", [0, -1.0, math.inf, math.nan, True, "2"])
def test_mistakes(wrong: Any) -> None:
    with pytest.raises(errors.ArgumentError, match="exploration must be a factor of standard deviations"):
        mb.Optimizer(mb.PermutationSpace(5), exploration=wrong)


def test_other_similarities_may_have_a_rate_of_their_own() -> None:
    class Own(Similarity):
        num_lengthscales = 1

        def distance(self, a, b):
            return (a[:, None, :1] != b[None, :, :1]).any(axis=2)[None].astype(float)

    assert exploration_factor(model(mb.PermutationSpace(30), lambda n: Own())) > 1
