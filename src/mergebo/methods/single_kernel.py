"""Bayesian optimisation with one kernel for orders; the published methods are settings of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from mergebo.acquisition import ACQUISITIONS, AcquisitionFunction, SearchLimits, acquisition_function
from mergebo.errors import ArgumentError, unknown_choice
from mergebo.methods.batch import Batch
from mergebo.methods.bayesian import Bayesian, Preset
from mergebo.methods.models import KernelModel
from mergebo.methods.search import Ascent, NeighbourhoodSearch, RelaxationSearch, ThompsonSampling
from mergebo.similarity import ARDPositions, ComparisonSimilarity, Footrule, Similarity
from mergebo.similarity.product import Combination
from mergebo.sorting import EnumerationMap, MergeMap, RandomComparisons

if TYPE_CHECKING:
    from mergebo.methods.models import OrderKernel

__all__ = [
    "SingleKernel",
    "footrule_kernel",
    "mallows_kernel",
    "merge_kernel",
    "random_kernel",
    "slot_kernel",
]

Search: TypeAlias = Literal["scan", "relaxation"]

SCREENING_STEPS, MIN_IMPROVEMENT = 3, 1e-3
"""In large spaces only the best searches go on after this number of steps, as long as ten steps improve by this share."""


@dataclass(frozen=True)
class SingleKernel(Preset):
    """Fit a Gaussian process with one kernel, maximise an acquisition function, propose the maximum.

    Rows are not evaluated twice, unless values are noisy.
    """

    kernel: OrderKernel
    """Makes the similarity of orders of n items, or their GPyTorch kernel: `SingleKernel(MyKernel)`."""
    acquisition: str | AcquisitionFunction = "logei"
    """`"logei"`, `"ei"`, `"pi"`, `"ucb"`, `"thompson"`, or an acquisition function."""
    moves: tuple[str, ...] = ("swap",)
    """Moves of orders that the search uses: `"swap"`, `"insertion"`, `"reversal"`."""
    incumbents: int = 1
    """Number of best rows from which the search starts."""
    random_starts: int = 10
    """Number of random rows from which the search starts."""
    steps: int = 100
    """Largest number of steps of a search."""
    search: Search = "scan"
    """Local search, or by gradients over real features with a projection at the end (`"relaxation"`)."""
    ascent: Ascent = "auto"
    """`"steepest"`, `"first"` for first improvement, or `"auto"`, by the size of a point; see `NeighbourhoodSearch`."""
    combine: Combination = "product"
    """Whether the kernels of several variables are multiplied (`"product"`), added (`"sum"`), or `"both"`."""
    noise: float | None = None
    """Noise variance of the standardised values; learned if None."""
    device: str | None = None
    """Torch device such as `"cuda"` for neighbourhood scans; compiled code on the CPU if None."""
    batch: Batch = "fantasies"
    """How the points of a batch are chosen; see `Bayesian`."""
    exploration: float | None = 1.0
    """Factor by which the acquisition function sees standard deviations multiplied; None to derive it, as in `auto`."""

    def __post_init__(self) -> None:
        if self.acquisition == "thompson":
            if self.batch == "law":
                raise ArgumentError(
                    "law weights rows by their acquisition values, and thompson has none; use logei, ei, pi or ucb"
                )
        elif isinstance(self.acquisition, str) and self.acquisition not in ACQUISITIONS:
            raise unknown_choice("acquisition", self.acquisition, (*ACQUISITIONS, "thompson"))
        if self.search not in get_args(Search):
            raise unknown_choice("search", self.search, get_args(Search))
        if self.search == "relaxation" and self.acquisition != "logei":
            raise ArgumentError(f"the relaxation maximises logei, not {self.acquisition}")
        super().__post_init__()

    def bayesian(self) -> Bayesian:
        model = KernelModel(self.kernel, self.combine, self.noise)
        scan = NeighbourhoodSearch(
            self.moves,
            self.incumbents,
            self.random_starts,
            self.ascent,
            SearchLimits(self.steps),
            SearchLimits(self.steps, screening_steps=SCREENING_STEPS, min_improvement=MIN_IMPROVEMENT),
            device=self.device,
        )
        if self.acquisition == "thompson":
            thompson = ThompsonSampling(self.moves, self.incumbents)
            return Bayesian(model, search=thompson, batch=self.batch, exploration=self.exploration)
        if self.search == "relaxation":
            relaxation = RelaxationSearch(self.moves, self.incumbents, self.random_starts, self.steps)
            return Bayesian(model, search=relaxation, batch=self.batch, exploration=self.exploration)
        return Bayesian(model, acquisition_function(self.acquisition), scan, self.batch, self.exploration)


def merge_kernel(n: int) -> Similarity:
    """MergeBO: merge-sort comparisons of the order as given."""
    return ComparisonSimilarity(MergeMap(n))


def mallows_kernel(n: int) -> Similarity:
    """BOPS-H: which item comes before which, for all pairs; invariant to relabelling of the items."""
    return ComparisonSimilarity(EnumerationMap(n), view="rank")


def random_kernel(n: int) -> Similarity:
    """BOPS-random: as many random pairs as Merge has comparisons, as a control."""
    return ComparisonSimilarity(RandomComparisons(n), view="rank")


def slot_kernel(n: int) -> Similarity:
    """COMBO: which item is in which slot, with a lengthscale for each slot."""
    return ARDPositions(n)


def footrule_kernel(n: int) -> Similarity:
    """Spearman's footrule on ranks."""
    return Footrule(n)
