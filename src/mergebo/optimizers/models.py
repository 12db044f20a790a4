"""Bayesian optimisation: a Gaussian process, an acquisition function, a search over it. The paper's methods are settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.acquisition.device import DeviceScan
from mergebo.acquisition.relaxation import Relaxation
from mergebo.acquisition.search import COMPOUND, Acquisition, ascend
from mergebo.acquisition.values import ACQUISITIONS
from mergebo.errors import ArgumentError, require, unknown_choice
from mergebo.optimizers.batches import Batch
from mergebo.optimizers.history import History
from mergebo.optimizers.knowledge import fitted
from mergebo.optimizers.modelled import Modelled, expected, reconsidered, score_of
from mergebo.sorting import EnumerationMap, MergeMap, RandomComparisons
from mergebo.spaces import AnySpace
from mergebo.stopwatch import phase
from mergebo.surrogate import GP, ByMap, Footrule, Product, SameSlots, Similarity, Sum, check_noise
from mergebo.surrogate.gp import NOISE_PRIOR, NOISY_PRIOR
from mergebo.surrogate.similarity import Combination

Search: TypeAlias = Literal["scan", "relaxation"]
Ascent: TypeAlias = Literal["auto", "steepest", "first"]

LARGE = 200
"""Points of so many numbers or more are climbed by first improvement: a scan of all neighbours takes long then."""


@dataclass(frozen=True)
class ModelBased(Modelled):
    """Fit, acquire, propose.

    The acquisition is climbed from `incumbents` of the best rows and `randoms` random ones, over the neighbourhoods that
    `moves` name, at most `steps` steps: by steepest ascent (`ascent="steepest"`) or by first improvement (`"first"`), which
    looks at whole neighbourhoods only where none of some random neighbours is better. `"auto"` is first improvement for
    points of `LARGE` numbers or more, where it comes as high in a fraction of the time, and steepest ascent for others.
    With `search="relaxation"` the climb is by gradients over real features, projected at the end. Rows that were tried are
    not proposed again, unless values are noisy.
    """

    orders: Callable[[int], Similarity]
    """The similarity of orders of n items."""
    acquisition: str = "logei"
    moves: tuple[str, ...] = ("swap",)
    incumbents: int = 1
    randoms: int = 10
    steps: int = 100
    search: Search = "scan"
    ascent: Ascent = "auto"
    combine: Combination = "product"
    """Whether the kernels of several variables are multiplied, added up (`"sum"`), or `"both"`."""
    noise: float | None = None
    """The noise's variance, where the values have variance 1; learned if None."""
    device: str | None = None
    """Such as `"cuda"`: neighbourhoods are scanned there, with torch; on the CPU, by compiled code, if None."""
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
            require("torch", "torch", "botorch")  # an error now rather than after the initial design
        if self.search == "relaxation" and self.acquisition != "logei":
            raise ArgumentError(f"the relaxation climbs logei, not {self.acquisition}")
        if self.batch == "law" and self.acquisition == "thompson":
            raise ArgumentError(
                "law weighs rows by their acquisition values, and thompson has none; take logei, ei, pi or ucb"
            )

    def similarity(self, space: AnySpace) -> Product | Sum:
        """The kernel's factors: this method's for orders, RBF for binary choices and numbers."""
        return Product.of(space, self.orders).combined(self.combine)

    def _draws(self, history: History) -> bool:
        return self.acquisition == "thompson" or super()._draws(history)

    def _model(self, history: History, rng: np.random.Generator) -> GP:
        with phase("fit"):
            return fitted(
                self.similarity(history.space),
                history.rows,
                history.values,
                history.knowledge,
                noise=self.noise,
                errors=history.errors,
                noise_prior=NOISY_PRIOR if history.noisy else NOISE_PRIOR,
            )

    def _search(self, model: GP, best: float, history: History, rng: np.random.Generator) -> tuple[Rows, Floats]:
        device = None if self.device is None else DeviceScan(model, self.device)
        landscape = Acquisition(model, score_of(self.acquisition, model, history), best, self.moves, device)
        good = history.best(self.incumbents, expected(model, history))
        starts = np.concatenate([good, history.space.sample_rows(self.randoms, seed=rng)])
        if self.search == "relaxation":
            ends = Relaxation(model, best).climb(starts, self.steps)
            rows, steps = history.space.kept(ends, closest=True), 0
            if not len(rows):
                rows = starts
        else:
            rows, steps = starts, self.steps
        width = history.space.width
        first = rng if self.ascent == "first" or (self.ascent == "auto" and width >= LARGE) else None
        found = ascend(
            landscape,
            rows,
            steps=steps,
            first=first,
            # Only promising climbs go on, and only as long as it pays, where that takes long.
            probe=3 if width >= COMPOUND else None,
            enough=1e-3 if width >= COMPOUND else 0.0,
            forbidden=history.is_tried,
        )
        return reconsidered(*found, landscape.score, model, history)


def merge_orders(n: int) -> Similarity:
    """MergeBO: merge-sort comparisons of the order as it is given."""
    return ByMap(MergeMap(n))


def mallows_orders(n: int) -> Similarity:
    """BOPS-H: which item comes before which, for all pairs; indifferent to how items are numbered."""
    return ByMap(EnumerationMap(n), view="rank")


def random_orders(n: int) -> Similarity:
    """The control: as many random pairs as Merge has comparisons."""
    return ByMap(RandomComparisons(n), view="rank")


def slot_orders(n: int) -> Similarity:
    """COMBO: which item is in which slot, with a lengthscale for every slot."""
    return SameSlots(n)


def footrule_orders(n: int) -> Similarity:
    """Spearman's footrule on ranks."""
    return Footrule(n)
