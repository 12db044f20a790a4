"""The automatic method: find out which structure the values have, and use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import get_args

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.acquisition.search import Acquisition, ascend
from mergebo.compiled.edges import shorten
from mergebo.errors import unknown_choice
from mergebo.moves import MOVES
from mergebo.optimizers.batches import Batch
from mergebo.optimizers.history import History
from mergebo.optimizers.knowledge import Knowledge, fitted
from mergebo.optimizers.modelled import Modelled, expected, reconsidered, score_of
from mergebo.sorting import EnumerationMap
from mergebo.spaces import AnySpace, Binary, Permutation, PermutationSpace
from mergebo.stopwatch import phase
from mergebo.surrogate import (
    GP,
    Adjacency,
    ByMap,
    Joint,
    Positions,
    Product,
    Ranks,
    SameShare,
    Similarity,
    Spacings,
)
from mergebo.surrogate.gp import LENGTHSCALE_PRIOR, NOISE_PRIOR, NOISY_PRIOR, Trends
from mergebo.surrogate.places import PathCosts, fit_places

FAMILIES: dict[str, Callable[[int], Sequence[Similarity]]] = {
    "precedence": lambda n: [_mallows(n), Joint((_mallows(n), Ranks(n)))],
    "positions": lambda n: [Positions(n)],
    "neighbours": lambda n: [Adjacency(n, cyclic=True)],
    "succession": lambda n: [Adjacency(n, directed=True)],
    "spacings": lambda n: [Spacings(n, columns) for columns in range(1, max(2, n // 2 + 1))],
}
"""What may matter about an order: see the docstrings of the similarities. Of several the likeliest one is taken."""


def _mallows(n: int) -> Similarity:
    return ByMap(EnumerationMap(n), "rank")


ROUND = ("neighbours", "succession", "spacings")
"""Families that know orders that are the same from another slot on; others read the one that stands for them all."""

MAPPED = ("neighbours", "succession")
"""Families that can have a map of the items."""

WORTH_A_MAP = np.exp(-6.0)
"""Share of the evidence that a family must have for a map to be looked for."""
WATCHED = 8
"""Recent results by which maps are judged."""
EARLIEST = 26
"""Results before which there is no map."""
SHARES = (0.7, 0.9, 0.98)
"""Shares of the variance that lengths on a map may explain: the more results there are, the more maps are worth."""
MAP_STEPS = 50
"""Of L-BFGS, for each of the shares."""
CALIBRATION = (1.0, 25.0)
"""By how much a map's variances may be stretched to fit its recent errors."""
SMALL = 60
"""Numbers in a point up to which neighbourhoods are looked at whole, and all families are quick enough."""
SMALL_ONLY = ("spacings",)
WHOLES, LOOKED_AT = 6, 2000
"""Whole neighbourhoods of a large point that a climb looks at, and the most items in all of these together.

More climb higher, but take far longer: a neighbourhood grows with the square of the number of items.
"""
MIXED_PRIOR = (1.0, 1.0)
"""Of lengthscales where there are binary choices: few variables matter as much as all of them together."""
SELDOM = 8
"""Results between two looks at which of a family's similarities is the likeliest."""
FITTED = 200
"""Results from which hyperparameters are learned at most; the model knows all of them."""


@dataclass(frozen=True)
class Past:
    """The first results of a run, as a key: what was computed from them is not computed again."""

    space: AnySpace
    row_bytes: bytes
    value_bytes: bytes
    noisy: bool = False
    error_bytes: bytes = b""
    knowledge: Knowledge | None = None

    @classmethod
    def of(
        cls,
        space: AnySpace,
        rows: Rows,
        values: Floats,
        *,
        noisy: bool = False,
        errors: Floats | None = None,
        knowledge: Knowledge | None = None,
    ) -> Past:
        """From arrays, with the values' standard deviations and prior knowledge if there are any."""
        return cls(
            space,
            np.ascontiguousarray(rows, space.dtype).tobytes(),
            np.asarray(values, np.float64).tobytes(),
            noisy,
            b"" if errors is None else np.asarray(errors, np.float64).tobytes(),
            knowledge,
        )

    @property
    def rows(self) -> Rows:
        """The rows."""
        return np.frombuffer(self.row_bytes, self.space.dtype).reshape(-1, self.space.width)

    @property
    def values(self) -> Floats:
        """Their values."""
        return np.frombuffer(self.value_bytes, np.float64)

    @property
    def errors(self) -> Floats | None:
        """Their standard deviations, nan where they are not known; None if none is."""
        return np.frombuffer(self.error_bytes, np.float64) if self.error_bytes else None

    def __len__(self) -> int:
        return len(self.value_bytes) // 8

    def first(self, count: int) -> Past:
        """The results that came first."""
        errors = None if self.errors is None else self.errors[:count]
        rows, values = self.rows[:count], self.values[:count]
        return self.of(self.space, rows, values, noisy=self.noisy, errors=errors, knowledge=self.knowledge)


@lru_cache(maxsize=3 * len(FAMILIES))
def plain_model(past: Past, family: str) -> GP:
    """A model of one family; those of this ask and of the two before it are remembered, which is what `surprise` needs."""
    return _model(past, family, likeliest(past.first(len(past) - len(past) % SELDOM), family))


@lru_cache(maxsize=16)
def likeliest(past: Past, family: str) -> int:
    """Which of a family's similarities fits the results best."""
    orders = [variable for variable in past.space.variables.values() if isinstance(variable, Permutation)]
    count = max((1 if "cycle" in order.symmetry else len(FAMILIES[family](order.n)) for order in orders), default=1)
    if count == 1 or len(past) < 2:
        return 0
    return int(np.argmin([unlikelihood(_model(past, family, which)) for which in range(count)]))


def _model(past: Past, family: str, which: int) -> GP:
    """With one of the family's similarities, or the last one of an order that has fewer."""
    similarity = Product.of(past.space, lambda n: FAMILIES[family](n)[: which + 1][-1], SameShare)
    prior = MIXED_PRIOR if has_picks(past.space) else LENGTHSCALE_PRIOR
    noise_prior = NOISY_PRIOR if past.noisy else NOISE_PRIOR
    errors, hyperparameters = past.errors, None
    if len(past) > FITTED:
        some = np.linspace(0, len(past) - 1, FITTED).astype(np.int64)
        hyperparameters = GP(
            similarity,
            past.rows[some],
            past.values[some],
            prior=prior,
            errors=None if errors is None else errors[some],
            noise_prior=noise_prior,
        ).hyperparameters
    return fitted(
        similarity,
        past.rows,
        past.values,
        past.knowledge,
        hyperparameters=hyperparameters,
        prior=prior,
        errors=errors,
        noise_prior=noise_prior,
    )


def unlikelihood(model: GP) -> float:
    """The model's loss, and half the logarithm of the number of results for each lengthscale (Schwarz 1978).

    The loss is that of the likeliest lengthscales alone, and the more of them there are, the less they say.
    """
    return model.loss + 0.5 * float(np.log(len(model.rows))) * len(model.hyperparameters.lengthscales)


def structures(past: Past, families: tuple[str, ...] = tuple(FAMILIES)) -> dict[str, tuple[GP, float]]:
    """Each family's model and share of the evidence; for large points, slow families only if there are no others."""
    fitting = [name for name in families if suits(past.space, name)] or list(families)
    quick = [name for name in fitting if past.space.width <= SMALL or name not in SMALL_ONLY] or fitting
    if not any(isinstance(variable, Permutation) for variable in past.space.variables.values()):
        del quick[1:]  # without orders all families are the same
    models = {name: plain_model(past, name) for name in quick}
    losses = np.array([unlikelihood(model) for model in models.values()])
    weights = np.exp(losses.min() - losses)
    weights /= weights.sum()
    return {name: (model, float(weight)) for (name, model), weight in zip(models.items(), weights, strict=True)}


def drawn(found: Mapping[str, tuple[GP, float]], rng: np.random.Generator) -> GP:
    """The model of one of the structures, drawn by its share."""
    models, shares = zip(*found.values(), strict=True)
    model: GP = models[rng.choice(len(models), p=shares)]
    return model


def suits(space: AnySpace, family: str) -> bool:
    """Whether a family has anything to say about the shapes of a space's orders that others do not say as well."""
    for order in space.variables.values():
        if isinstance(order, Permutation):
            both = len(order.symmetry) == 2 and family == "succession"  # the same as neighbours
            if both or ("cycle" in order.symmetry and family not in ROUND):
                return False
            if order.choose is not None and family == "spacings":
                return False
    return True


@lru_cache(maxsize=4)
def learned_places(past: Past, family: str) -> tuple[Floats, ...]:
    """Places of the items for each of `SHARES`, from a random start with the first, then each from the one before."""
    model, pairs = plain_model(past, family), _pairs(past.space, family)
    precision = model.whitener.T @ model.whitener
    scale = model.hyperparameters.outputscale * (1 - np.exp(-0.5 / model.hyperparameters.lengthscales[0] ** 2))
    places = np.random.default_rng(len(past)).normal(size=(1 + pairs.directed, pairs.n, 2)) / np.sqrt(pairs.n)
    found = []
    for share in SHARES:
        places = fit_places(
            past.rows,
            model.left,
            precision / (1 - share),
            places,
            variance=share * scale,
            cyclic=pairs.cyclic,
            steps=MAP_STEPS,
        )
        found.append(places)
    return tuple(found)


def mapped_model(past: Past, family: str, share: float, stretch: float = 1.0) -> GP:
    """The family's model with the lengths on a map as its trend; deviations are `stretch` times as large."""
    model, pairs = plain_model(past, family), _pairs(past.space, family)
    places = learned_places(past, family)[SHARES.index(share)]
    factor = (1 - share) * stretch**2
    plain = model.hyperparameters
    scaled = replace(plain, outputscale=factor * plain.outputscale, noise=factor * plain.noise)
    costs = PathCosts(places, pairs.cyclic)
    trend = costs if model.trend is None else Trends((model.trend, costs))
    return GP(model.similarity, past.rows, past.values, hyperparameters=scaled, trend=trend, errors=past.errors)


def _pairs(space: AnySpace, family: str) -> Adjacency:
    """Which neighbouring pairs a family with a map looks at."""
    assert isinstance(space, PermutationSpace)
    (found,) = FAMILIES[family](space.width)
    shaped = found.shaped(space.order)
    assert isinstance(shaped, Adjacency)
    return shaped


@lru_cache(maxsize=128)
def surprise(past: Past, families: tuple[str, ...], family: str = "", share: float = 0.0) -> tuple[float, float]:
    """How wrong the last result was predicted from those before it: squared error, and the same in predicted variances.

    By the family with a map, or without a name by the likeliest plain model.
    """
    before = past.first(len(past) - 1)
    if family:
        model = mapped_model(before, family, share)
    else:
        model = min((plain_model(before, name) for name in families), key=unlikelihood)
    mean, deviation = model.predict_standardised(past.rows[-1:])
    error = float((past.values[-1] - model.centre) / model.spread - mean[0])
    return (error * model.spread) ** 2, (error / float(deviation[0])) ** 2


@dataclass(frozen=True)
class Auto(Modelled):
    """Models of several structures, one drawn in proportion to its evidence at every step.

    Where neighbouring pairs matter, items get places on a map that is learned from the results, as long as that predicts
    new results better than the plain models do. Of binary choices it matters which are taken and how many. LogEI is climbed
    by first improvement over all three moves and steps of numbers, which follow the gradient at last, from the best rows
    and from random ones. With binary choices large values are drawn in.
    """

    families: tuple[str, ...] = tuple(FAMILIES)
    maps: bool = True
    incumbents: int = 5
    randoms: int = 5
    batch: Batch = "fantasies"
    moves: tuple[str, ...] = tuple(MOVES)

    def __post_init__(self) -> None:
        if self.batch not in get_args(Batch):
            raise unknown_choice("batch", self.batch, get_args(Batch))
        for name in self.families:
            if name not in FAMILIES:
                raise unknown_choice("family", name, FAMILIES)

    def _model(self, history: History, rng: np.random.Generator) -> GP:
        """One of the structures drawn by its evidence, or the map."""
        past = past_of(history)
        with phase("fit"):
            found = structures(past, self.families)
            model = drawn(found, rng)
            return (best_map(past, found) if self.maps else None) or model

    def _search(self, model: GP, best: float, history: History, rng: np.random.Generator) -> tuple[Rows, Floats]:
        space, small = history.space, history.space.width <= SMALL
        acquisition = Acquisition(model, score_of("logei", model, history), best, self.moves)
        good = history.best(self.incumbents, expected(model, history))
        others = repaired(model, np.concatenate([good[:1], space.sample_rows(self.randoms, seed=rng)]))
        found = ascend(
            acquisition,
            np.concatenate([good, others]),
            # Only the promising climbs go on, in large neighbourhoods sooner and only as long as it pays.
            probe=8,
            finalists=3 if small else 1,
            enough=0.0 if small else 1e-2,
            wholes=None if small else whole_looks(space),
            first=rng,
            forbidden=history.is_tried,
        )
        return reconsidered(*found, acquisition.score, model, history)


def past_of(history: History) -> Past:
    """The results as models read them: where there are binary choices, with large values drawn in."""
    values, errors = history.values, history.errors
    if has_picks(history.space):
        values, slopes = levelled(values), level_slopes(values)
        errors = None if errors is None else errors * slopes
    noisy, knowledge = history.noisy, history.knowledge
    return Past.of(history.space, history.rows, values, noisy=noisy, errors=errors, knowledge=knowledge)


def has_picks(space: AnySpace) -> bool:
    """Whether some of the choices are binary: how many are taken then matters so much that the rest hardly shows."""
    return any(isinstance(variable, Binary) for variable in space.variables.values())


def whole_looks(space: AnySpace) -> int:
    """How many whole neighbourhoods of a large point a climb looks at."""
    items = max((variable.n for variable in space.variables.values() if isinstance(variable, Permutation)), default=1)
    return max(1, min(WHOLES, LOOKED_AT // max(1, items)))


def levelled(values: Floats) -> Floats:
    """Values with the large ones drawn in, for what is left to improve to be seen beside them.

    The logarithm of one and the gap to the best value in mean gaps: near the best hardly more than another scale.
    """
    gaps = values - values.min()
    return np.asarray(np.log1p(gaps / max(gaps.mean(), 1e-300)))


def level_slopes(values: Floats) -> Floats:
    """By how much `levelled` shrinks small differences at each value."""
    gaps = values - values.min()
    return np.asarray(1 / (max(gaps.mean(), 1e-300) + gaps))


def best_map(past: Past, found: Mapping[str, tuple[GP, float]]) -> GP | None:
    """The model with a map that has lately predicted better than the plain ones did, if there is one.

    Never chosen by evidence: a map always fits what it was fitted to. Its variances are stretched to fit its recent errors.
    """
    space = past.space
    if not isinstance(space, PermutationSpace) or space.order.choose is not None:
        return None
    # On a round, spacings tell much of what neighbours do and may take all of their evidence, though a map tells most.
    least = 0.0 if "cycle" in space.order.symmetry else WORTH_A_MAP
    wanted = [name for name in MAPPED if name in found and found[name][1] >= least]
    if not wanted or space.n < 4 or len(past) < max(EARLIEST, space.n // 2):
        return None
    recent = [past.first(k + 1) for k in range(len(past) - WATCHED, len(past))]
    plain = np.mean([surprise(each, tuple(found))[0] for each in recent])
    judged = [
        (*np.mean([surprise(each, tuple(found), name, share) for each in recent], axis=0), name, share)
        for name in wanted
        for share in SHARES
    ]
    error, ratio, name, share = min(judged)
    return mapped_model(past, name, share, np.sqrt(np.clip(ratio, *CALIBRATION))) if error < plain else None


def repaired(model: GP, rows: Rows) -> Rows:
    """Rows whose orders are rid of neighbouring pairs that the model thinks little of, if it looks at pairs.

    Near a row the expected value is about a sum over pairs. Single moves find few such pairs in a long order. A row that
    breaks the rules of its space by that stays as it was.
    """
    given, rows, first = rows, rows.copy(), 0
    for name, factor in model.similarity.factors.items():
        if isinstance(factor, Adjacency):
            where, known = model.similarity.space.slices[name], model.similarity.space.part(name, model.rows)
            rate = 0.5 / model.hyperparameters.lengthscales[first] ** 2 / factor.n
            for row, weights in zip(rows, rate * model.alpha * model.cross(rows), strict=True):
                costs = _pair_sums(factor, known, weights)
                for trend in Trends.parts_of(model.trend):
                    if isinstance(trend, PathCosts):
                        costs += trend.costs
                order = row[where].astype(np.int64)
                shorten(order, costs, factor.directed, factor.cyclic)
                row[where] = order
        first += factor.lengthscales
    space = model.similarity.space
    if space.ruled:
        rows = np.concatenate([(*space.kept(row[None]), old)[:1] for row, old in zip(rows, given, strict=True)])
    return rows


def _pair_sums(pairs: Adjacency, orders: Rows, weights: Floats) -> Floats:
    """For each pair of items the sum of the weights of the orders in which they are neighbours, `(n, n)`."""
    sums = np.zeros((pairs.n, pairs.n))
    steps = pairs.n if pairs.cyclic else pairs.n - 1
    following = np.roll(orders, -1, axis=1)[:, :steps]
    np.add.at(sums, (orders[:, :steps], following), np.repeat(weights[:, None], steps, axis=1))
    return sums if pairs.directed else sums + sums.T
