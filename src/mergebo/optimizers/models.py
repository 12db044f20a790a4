"""Bayesian optimisation: a Gaussian process, an acquisition function, a search over it. The paper's methods are settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from mergebo.acquisition.device import DeviceScan
from mergebo.acquisition.relaxation import Relaxation
from mergebo.acquisition.search import COMPOUND, Acquisition, ascend
from mergebo.acquisition.values import ACQUISITIONS, NoisyScore, Score
from mergebo.errors import ArgumentError, ExhaustedError, unknown_choice
from mergebo.moves import random_neighbours
from mergebo.optimizers.baselines import RandomSearch
from mergebo.optimizers.batches import Batch, law
from mergebo.optimizers.history import History, propose_each
from mergebo.optimizers.knowledge import fitted
from mergebo.sorting import EnumerationMap, MergeMap, RandomComparisons
from mergebo.spaces import AnySpace, Rows
from mergebo.stopwatch import phase
from mergebo.surrogate import GP, ByMap, Footrule, Product, SameSlots, Similarity, Sum, check_noise
from mergebo.surrogate.gp import NOISE_PRIOR, NOISY_PRIOR
from mergebo.surrogate.similarity import Combination, Floats

Search: TypeAlias = Literal["scan", "relaxation"]
Ascent: TypeAlias = Literal["auto", "steepest", "first"]

CANDIDATES = 400
"""Of each kind, for Thompson sampling: a joint draw of them costs the cube of their number."""

LARGE = 200
"""Points of so many numbers or more are climbed by first improvement: a scan of all neighbours takes long then."""


@dataclass(frozen=True)
class ModelBased:
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
    """Such as `"cuda"`: neighbourhoods are scanned there; on the CPU, by compiled code, if None."""
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
        if self.search == "relaxation" and self.acquisition != "logei":
            raise ArgumentError(f"the relaxation climbs logei, not {self.acquisition}")
        if self.batch == "law" and self.acquisition == "thompson":
            raise ArgumentError(
                "law weighs rows by their acquisition values, and thompson has none; take logei, ei, pi or ucb"
            )

    def similarity(self, space: AnySpace) -> Product | Sum:
        """The kernel's factors: this method's for orders, RBF for binary choices and numbers."""
        return Product.of(space, self.orders).combined(self.combine)

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        if len(history.values) < 2:
            return history.fresh_row(rng)
        if self.acquisition == "thompson" or (self.batch == "thompson" and len(history.pending)):
            return self._drawn(history, rng)
        model, best = self._model(history)
        rows, _ = self._search(model, best, history, rng)
        return rows[0] if rows[0].tobytes() not in history.tried else history.fresh_row(rng)

    def propose_batch(self, history: History, count: int, rng: np.random.Generator) -> Rows:
        if self.batch == "fantasies" or len(history.values) < 2:
            return propose_each(self.propose, history, count, rng)
        if self.batch == "thompson":
            return propose_each(self._drawn, history, count, rng)
        model, best = self._model(history)
        return law_or_fresh(model, *self._search(model, best, history, rng), history, count, rng)

    def _drawn(self, history: History, rng: np.random.Generator) -> Rows:
        model, _ = self._model(history)
        return best_drawn(model, history, self.incumbents, self.moves, rng)

    def _model(self, history: History) -> tuple[GP, float]:
        """A model of the results and of what is expected of pending rows, and the best standardised value to improve on."""
        with phase("fit"):
            model = fitted(
                self.similarity(history.space),
                history.rows,
                history.values,
                history.knowledge,
                noise=self.noise,
                errors=history.errors,
                noise_prior=NOISY_PRIOR if history.noisy else NOISE_PRIOR,
            )
        return with_pending(model, history)

    def _search(self, model: GP, best: float, history: History, rng: np.random.Generator) -> tuple[Rows, Floats]:
        """Untried rows with their acquisition values, best first."""
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


def expected(model: GP, history: History) -> Floats | None:
    """What a model expects at the rows that were tried, where values are noisy; None where they are what they are."""
    return model.predict_standardised(history.rows)[0] if history.noisy else None


def score_of(acquisition: str, model: GP, history: History) -> Score:
    """The acquisition function of this name; where values are noisy, that of what another measurement would tell."""
    score = ACQUISITIONS[acquisition]
    return NoisyScore(score, model.hyperparameters.noise) if history.noisy else score


def reconsidered(rows: Rows, values: Floats, score: Score, model: GP, history: History) -> tuple[Rows, Floats]:
    """Rows with their acquisition values, best first, once the best of noisy rows is valued as what it is.

    To measure it again can only show that it is not the best: its chance to fall behind the next best counts, as in the
    knowledge gradient. It would be measured for ever if it were to improve on itself.
    """
    means = expected(model, history)
    if means is None:
        return rows, values
    first = history.rows[means.argmin()]
    others = (history.rows != first).any(axis=1)
    own = (rows == first).all(axis=1)
    if own.any() and others.any():
        _, deviation = model.predict_standardised(rows[own])
        values = values.copy()
        values[own] = score(np.full(len(deviation), means[others].min()), deviation, float(means.min()))
    order = np.argsort(-values, kind="stable")
    return rows[order], values[order]


def with_pending(model: GP, history: History) -> tuple[GP, float]:
    """The model after it has seen what it expects of pending rows, and the best standardised value, theirs included.

    So what is awaited is not proposed again, nor anything close to it: the next row has to promise more than that.
    Among noisy values the best is the best expected one, not the luckiest.
    """
    means = expected(model, history)
    best = float((model.y if means is None else means).min())
    if not len(history.pending):
        return model, best
    model = model.with_points(history.pending)
    return model, min(best, float(model.y[-len(history.pending) :].min()))


def best_drawn(model: GP, history: History, incumbents: int, moves: tuple[str, ...], rng: np.random.Generator) -> Rows:
    """The best of some candidates in one draw from the posterior: neighbours of good rows, and random ones."""
    good = history.best(incumbents, expected(model, history))
    some = -(-CANDIDATES // len(good))
    near = np.concatenate([random_neighbours(row, history.space, moves, some, rng) for row in good])
    candidates = np.concatenate([near, history.space.sample_rows(CANDIDATES, seed=rng)])
    candidates = candidates[~history.is_tried(candidates)]
    if not len(candidates):
        return history.fresh_row(rng)
    chosen: Rows = candidates[model.sample(candidates, rng).argmin()]
    return chosen


def law_or_fresh(model: GP, rows: Rows, values: Floats, history: History, count: int, rng: np.random.Generator) -> Rows:
    """The batch of LAW from rows that a search met; random rows where it met too few that were not tried."""
    new = ~history.is_tried(rows)
    chosen = law(model, rows[new], values[new], count) if new.any() else rows[:0]
    if len(chosen) == count:
        return chosen
    try:
        others = propose_each(RandomSearch().propose, history.awaiting(chosen), count - len(chosen), rng)
    except ExhaustedError:
        if not len(chosen):
            raise
        return chosen
    return np.concatenate([chosen, others])


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
