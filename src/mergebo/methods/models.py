"""Bayesian optimisation with one kernel, an acquisition function and a search; the published methods are settings of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from mergebo._timing import phase
from mergebo._typing import Floats, Rows
from mergebo.acquisition.device import DeviceScan
from mergebo.acquisition.functions import ACQUISITIONS
from mergebo.acquisition.relaxation import Relaxation
from mergebo.acquisition.search import COMPOUND_MOVE_SIZE, AcquisitionNeighbourhood, local_search
from mergebo.errors import ArgumentError, require, unknown_choice
from mergebo.gp import GP, NOISE_PRIOR, NOISY_PRIOR, check_noise
from mergebo.mean import fit_with_prior_mean
from mergebo.methods.base import History
from mergebo.methods.batch import Batch
from mergebo.methods.bayesian import BayesianMethod, acquisition_function, posterior_means, revalue_incumbent
from mergebo.similarity import ARDPositions, ComparisonSimilarity, Footrule, Product, Similarity, Sum
from mergebo.similarity.base import Combination
from mergebo.sorting import EnumerationMap, MergeMap, RandomComparisons
from mergebo.spaces import SearchSpace

Search: TypeAlias = Literal["scan", "relaxation"]
Ascent: TypeAlias = Literal["auto", "steepest", "first"]

LARGE_WIDTH = 200
"""Width of a point from which on `ascent="auto"` is first improvement, since full scans take long there."""


@dataclass(frozen=True)
class ModelBased(BayesianMethod):
    """Fit a Gaussian process, maximise an acquisition function, propose the maximum.

    The acquisition function is maximised by local search from the `incumbents` best rows and `random_starts` random ones,
    over the neighbourhoods named by `moves`, for at most `steps` steps: by steepest ascent (`ascent="steepest"`) or by
    first improvement (`"first"`), which scans a whole neighbourhood only if none of some random neighbours is better.
    `"auto"` is first improvement for points of at least `LARGE_WIDTH` numbers, where it finds equally good points in a
    fraction of the time, and steepest ascent for others. With `search="relaxation"` the search is by gradients over real
    features, with a projection at the end. Rows are not evaluated twice, unless values are noisy.
    """

    orders: Callable[[int], Similarity]
    """Makes the similarity of orders of n items."""
    acquisition: str = "logei"
    moves: tuple[str, ...] = ("swap",)
    incumbents: int = 1
    random_starts: int = 10
    steps: int = 100
    search: Search = "scan"
    ascent: Ascent = "auto"
    combine: Combination = "product"
    """Whether the kernels of several variables are multiplied (`"product"`), added (`"sum"`), or `"both"`."""
    noise: float | None = None
    """Noise variance of the standardised values; learned if None."""
    device: str | None = None
    """Torch device such as `"cuda"` for neighbourhood scans; compiled code on the CPU if None."""
    batch: Batch = "fantasies"

    def __post_init__(self) -> None:
        if self.acquisition not in (*ACQUISITIONS, "thompson"):
            raise unknown_choice("acquisition", self.acquisition, (*ACQUISITIONS, "thompson"))
        if self.search not in get_args(Search):
            raise unknown_choice("search", self.search, get_args(Search))
        if self.ascent not in get_args(Ascent):
            raise unknown_choice("ascent", self.ascent, get_args(Ascent))
        if self.combine not in get_args(Combination):
            raise unknown_choice("combine", self.combine, get_args(Combination))
        if self.batch not in get_args(Batch):
            raise unknown_choice("batch", self.batch, get_args(Batch))
        check_noise(self.noise)
        if self.device is not None:
            require("torch", "torch", "botorch")  # fail now rather than after the initial design
        if self.search == "relaxation" and self.acquisition != "logei":
            raise ArgumentError(f"the relaxation maximises logei, not {self.acquisition}")
        if self.batch == "law" and self.acquisition == "thompson":
            raise ArgumentError(
                "law weights rows by their acquisition values, and thompson has none; use logei, ei, pi or ucb"
            )

    def similarity(self, space: SearchSpace) -> Product | Sum:
        """The factors of the kernel: this method's for orders, RBF for binary and numeric variables."""
        return Product.of(space, self.orders).combined(self.combine)

    def _is_thompson(self, history: History) -> bool:
        return self.acquisition == "thompson" or super()._is_thompson(history)

    def _model(self, history: History, rng: np.random.Generator) -> GP:
        with phase("fit"):
            return fit_with_prior_mean(
                self.similarity(history.space),
                history.rows,
                history.values,
                history.prior_mean,
                noise=self.noise,
                noise_std=history.noise_std,
                noise_prior=NOISY_PRIOR if history.noisy else NOISE_PRIOR,
            )

    def _search(self, model: GP, best: float, history: History, rng: np.random.Generator) -> tuple[Rows, Floats]:
        device = None if self.device is None else DeviceScan(model, self.device)
        function = acquisition_function(self.acquisition, model, history)
        landscape = AcquisitionNeighbourhood(model, function, best, self.moves, device)
        good = history.best(self.incumbents, posterior_means(model, history))
        starts = np.concatenate([good, history.space.sample_rows(self.random_starts, seed=rng)])
        if self.search == "relaxation":
            ends = Relaxation(model, best).maximise(starts, self.steps)
            rows, steps = history.space.feasible_rows(ends, repair=True), 0
            if not len(rows):
                rows = starts
        else:
            rows, steps = starts, self.steps
        width = history.space.width
        first = rng if self.ascent == "first" or (self.ascent == "auto" and width >= LARGE_WIDTH) else None
        found = local_search(
            landscape,
            rows,
            steps=steps,
            rng=first,
            # In large spaces only the best searches go on after screening, and only as long as it pays.
            screening_steps=3 if width >= COMPOUND_MOVE_SIZE else None,
            min_improvement=1e-3 if width >= COMPOUND_MOVE_SIZE else 0.0,
            exclude=history.is_tried,
        )
        return revalue_incumbent(*found, landscape.function, model, history)


def merge_orders(n: int) -> Similarity:
    """MergeBO: merge-sort comparisons of the order as given."""
    return ComparisonSimilarity(MergeMap(n))


def mallows_orders(n: int) -> Similarity:
    """BOPS-H: which item comes before which, for all pairs; invariant to relabelling of the items."""
    return ComparisonSimilarity(EnumerationMap(n), view="rank")


def random_orders(n: int) -> Similarity:
    """BOPS-random: as many random pairs as Merge has comparisons, as a control."""
    return ComparisonSimilarity(RandomComparisons(n), view="rank")


def slot_orders(n: int) -> Similarity:
    """COMBO: which item is in which slot, with a lengthscale for each slot."""
    return ARDPositions(n)


def footrule_orders(n: int) -> Similarity:
    """Spearman's footrule on ranks."""
    return Footrule(n)
