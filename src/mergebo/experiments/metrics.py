"""Metrics of a run: regret, area under the curve, score relative to random search, evaluations to a target.

All are functions of the values in the order of evaluation. A run that exhausted the space before its budget keeps its best
value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from mergebo._names import read_call
from mergebo._typing import Floats
from mergebo.errors import ArgumentError
from mergebo.experiments.jobs import Job
from mergebo.methods.design import Design
from mergebo.methods.models import KernelModel
from mergebo.methods.registry import METHODS
from mergebo.methods.single_kernel import SingleKernel
from mergebo.problems import get

__all__ = [
    "area_under_curve",
    "best_so_far",
    "evaluations_to_match",
    "feature_length",
    "median_evaluations",
    "normalised_score",
    "random_search",
    "simple_regret",
]

RANDOM_SEARCHES = 200
"""Simulated runs of random search, whose mean is the baseline of the scores."""

TOLERANCE = 1e-9
"""Relative tolerance below which values are equal: one tour may be summed up from different cities."""


def best_so_far(values: Sequence[float], budget: int) -> Floats:
    """The best value after each of `budget` evaluations.

    >>> best_so_far([3, 5, 2], 5)
    array([3., 3., 2., 2., 2.])
    """
    if not 0 < len(values) <= budget:
        raise ArgumentError(f"a run with a budget of {budget} has between 1 and {budget} values, got {len(values)}")
    best = np.minimum.accumulate(np.asarray(values, np.float64))
    return np.concatenate([best, np.full(budget - len(values), best[-1])])


def simple_regret(best: ArrayLike, reference: float) -> Floats:
    """The best values minus the reference, 0 if they differ only by rounding; negative if they are better.

    >>> simple_regret([3.0, 2.0], 2.0)
    array([1., 0.])
    """
    regret = np.asarray(best, np.float64) - reference
    return np.where(np.abs(regret) <= TOLERANCE * max(1.0, abs(reference)), 0.0, regret)


def area_under_curve(regret: ArrayLike) -> Floats:
    """AUC: the sum of the simple regret after each evaluation, initial ones included, over the last axis.

    >>> float(area_under_curve([1.0, 0.5, 0.5]))
    2.0
    """
    return np.asarray(np.sum(np.asarray(regret, np.float64), axis=-1))


def normalised_score(best: ArrayLike, random: float, reference: float) -> Floats:
    """`(random - best) / (random - reference)`: 0 is as good as random search, 1 as good as the reference.

    NaN where random search reaches the reference.

    >>> normalised_score([8.0, 6.0, 10.0], random=8.0, reference=4.0)
    array([ 0. ,  0.5, -0.5])
    """
    scale = random - reference
    if scale <= TOLERANCE * max(1.0, abs(reference)):
        return np.full(np.shape(best), np.nan)
    return (random - np.asarray(best, np.float64)) / scale


@cache
def random_search(problem: str, budget: int, design: Design = "stratified") -> Floats:
    """The mean best value of random search after each of `budget` evaluations, all drawn like an initial design.

    It is simulated with a fixed seed, and invariant to relabelling the items.
    """
    found = get(problem)
    rng = np.random.default_rng(0)

    def search() -> Floats:
        stratified = design == "stratified"
        rows = found.space.design_rows(range(budget), seed=rng) if stratified else found.space.sample_rows(budget, seed=rng)
        return found.evaluate_rows(rows)

    searches = [search() for _ in range(RANDOM_SEARCHES)]
    mean: Floats = np.minimum.accumulate(searches, axis=1).mean(axis=0)
    mean.setflags(write=False)
    return mean


def evaluations_to_match(best: ArrayLike, target: float) -> int | None:
    """Evaluations until a value as good as `target`; None if there was none.

    >>> evaluations_to_match([5.0, 3.0, 2.0], 3.5)
    2
    """
    reached = np.asarray(best, np.float64) <= target + TOLERANCE * max(1.0, abs(target))
    return int(np.argmax(reached)) + 1 if reached.any() else None


def median_evaluations(counts: Iterable[int | None]) -> float | None:
    """The median, with None as infinity: None if at least half of the runs never reached the target.

    >>> median_evaluations([10, None, 20]), median_evaluations([10, None])
    (20.0, None)
    """
    median = float(np.median([np.inf if count is None else count for count in counts]))
    return median if np.isfinite(median) else None


def feature_length(job: Job) -> int | None:
    """Number of comparisons in the features of the job's method; None if it has no such features.

    >>> feature_length(Job("tsp:random(n=15)", "mergebo", seed=0, budget=9, initial=5))
    45
    """
    name, _ = read_call(job.method)
    info = METHODS.get(name)
    if info is None or info.make is not SingleKernel:  # others need not be installed
        return None
    method = info(**job.settings)
    assert isinstance(method, SingleKernel)
    similarity = KernelModel(method.kernel).similarity(get(job.problem).space)
    maps = [getattr(factor, "map", None) for factor in similarity.factors.values()]
    lengths = [int(each.length) for each in maps if each is not None]
    return sum(lengths) if lengths else None
