"""The automatic method: find out which structure the values have, and use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from mergebo.acquisition.search import Acquisition, Landscape, Listed, ascend
from mergebo.acquisition.values import ACQUISITIONS
from mergebo.errors import unknown_choice
from mergebo.moves import MOVES
from mergebo.optimizers.history import History
from mergebo.sorting import EnumerationMap
from mergebo.spaces import AnySpace, Binary, PermutationSpace, Rows
from mergebo.stopwatch import phase
from mergebo.surrogate import GP, Adjacency, ByMap, Positions, Product, Regions, SameShare, Similarity, Spacings
from mergebo.surrogate.embedding import Embedded, Pairs, fit_map
from mergebo.surrogate.gp import standardised
from mergebo.surrogate.similarity import Floats
from mergebo.surrogate.warp import logarithmic

FAMILIES: dict[str, Callable[[int], Similarity]] = {
    "precedence": lambda n: ByMap(EnumerationMap(n), "rank"),
    "positions": Positions,
    "regions": Regions,
    "neighbours": lambda n: Adjacency(n, cyclic=True),
    "succession": lambda n: Adjacency(n, directed=True),
    "spacings": Spacings,
}
"""What may matter about an order: see the docstrings of the similarities."""

MAPPED = ("neighbours", "succession")
"""Families that can have a map of the items."""

CLOSE = 6.0
"""A family this close to the drawn one, in log evidence, is worth a map."""
WATCHED = 8
"""Recent results by which maps are judged."""
EARLIEST = 26
"""Results before which there is no map."""
CALIBRATION = (1.0, 25.0)
"""By how much a map's variances may be stretched to fit its recent errors."""
SMALL = 60
"""Numbers in a point up to which there are maps and families that write neighbours out."""
SMALL_ONLY = ("spacings",)
WHOLES = 2
"""Whole neighbourhoods that a climb of a large point with choices looks at: more climb higher, but take far longer."""
FITTED = 200
"""Results from which hyperparameters are learned at most; the model knows all of them."""


@dataclass(frozen=True)
class Past:
    """The first results of a run, as a key: what was computed from them is not computed again."""

    space: AnySpace
    row_bytes: bytes
    value_bytes: bytes

    @classmethod
    def of(cls, space: AnySpace, rows: Rows, values: Floats) -> Past:
        """From arrays."""
        return cls(space, np.ascontiguousarray(rows, np.int64).tobytes(), np.asarray(values, np.float64).tobytes())

    @property
    def rows(self) -> Rows:
        """The rows."""
        return np.frombuffer(self.row_bytes, np.int64).reshape(-1, self.space.width)

    @property
    def values(self) -> Floats:
        """Their values."""
        return np.frombuffer(self.value_bytes, np.float64)

    def __len__(self) -> int:
        return len(self.value_bytes) // 8

    def first(self, count: int) -> Past:
        """The results that came first."""
        return self.of(self.space, self.rows[:count], self.values[:count])


@lru_cache(maxsize=2)
def plain_models(past: Past, families: tuple[str, ...]) -> tuple[GP, ...]:
    """A model of each family: of the values, or for points with choices of their logarithms if these are likelier."""
    models = _models(past, past.values, families)
    if not _has_choices(past.space):
        return models
    warped, log_jacobian = logarithmic(past.values)
    others = _models(past, warped, families)
    return others if _loss(others) - log_jacobian < _loss(models) else models


def _has_choices(space: AnySpace) -> bool:
    return any(isinstance(variable, Binary) for variable in space.variables.values())


def _models(past: Past, values: Floats, families: tuple[str, ...]) -> tuple[GP, ...]:
    """A model of each family, of these values."""
    models = []
    for name in families:
        similarity = Product.of(past.space, FAMILIES[name], SameShare)
        hyperparameters = None
        if len(past) > FITTED:
            some = np.linspace(0, len(past) - 1, FITTED).astype(np.int64)
            hyperparameters = GP(similarity, past.rows[some], values[some]).hyperparameters
        models.append(GP(similarity, past.rows, values, hyperparameters=hyperparameters))
    return tuple(models)


def _loss(models: tuple[GP, ...]) -> float:
    """The least one, for values as they are, not standardised."""
    return min(model.loss + len(model.y) * float(np.log(model.spread)) for model in models)


@lru_cache(maxsize=64)
def learned_map(past: Past, family: str) -> tuple[float, Floats]:
    """Loss and parameters of a family's map: from scratch at every fourth result, in between a few steps further."""
    pairs, count = _pairs(past, family), len(past)
    y, _, _ = standardised(past.values)
    share = -0.5 if count < 60 else 0.5  # few results must not stretch the map
    last = count - count % 4
    found = []
    earlier = last if last < count else last - 4
    if earlier >= EARLIEST - WATCHED:
        found.append(fit_map(pairs, past.rows, y, learned_map(past.first(earlier), family)[1], steps=8, share=share))
    if last == count or not found:
        draws = np.random.default_rng([count, 2]).normal(size=2 * pairs.n)
        start = np.concatenate([0.5 * draws, [-0.5, -8.0]])
        found.append(fit_map(pairs, past.rows, y, start, steps=40, share=share))
    return min(found, key=lambda pair: pair[0])


def mapped_model(past: Past, family: str) -> Embedded:
    """The model with the map."""
    return Embedded.of(_pairs(past, family), past.rows, past.values, learned_map(past, family)[1])


def _pairs(past: Past, family: str) -> Pairs:
    """The neighbouring pairs that a family with a map looks at."""
    similarity = FAMILIES[family](past.space.width)
    assert isinstance(similarity, Adjacency)
    return Pairs(similarity.n, similarity.directed, similarity.cyclic)


@lru_cache(maxsize=64)
def surprise(past: Past, families: tuple[str, ...], family: str = "") -> tuple[float, float]:
    """How wrong the last result was predicted from those before it: squared error, and the same in predicted variances.

    By the family with its map, or without a name by the likeliest plain model.
    """
    before = past.first(len(past) - 1)
    model = mapped_model(before, family) if family else min(plain_models(before, families), key=lambda each: each.loss)
    mean, deviation = model.predict_standardised(past.rows[-1:])
    error = float((past.values[-1] - model.centre) / model.spread - mean[0])
    return (error * model.spread) ** 2, (error / float(deviation[0])) ** 2


@dataclass(frozen=True)
class Auto:
    """Models of several structures, one drawn in proportion to its evidence at every step.

    Where neighbouring pairs matter, items get places on a map that is learned from the results, as long as that predicts
    new results better than the plain models do. Of binary choices it matters which are taken and how many; with them, values
    may be seen through a logarithm. LogEI is climbed by first improvement over all three moves, from the best
    rows and from random ones.
    """

    families: tuple[str, ...] = tuple(FAMILIES)
    maps: bool = True
    incumbents: int = 5
    randoms: int = 5

    def __post_init__(self) -> None:
        for name in self.families:
            if name not in FAMILIES:
                raise unknown_choice("family", name, FAMILIES)

    def propose(self, history: History, rng: np.random.Generator) -> Rows:
        if len(history.values) < 2:
            return history.fresh_row(rng)
        past = Past.of(history.space, history.rows, history.values)
        small = past.space.width <= SMALL
        families = tuple(name for name in self.families if small or name not in SMALL_ONLY)
        with phase("fit"):
            models = plain_models(past, families)
            losses = np.array([model.loss for model in models])
            weights = np.exp(losses.min() - losses)
            drawn = rng.choice(len(models), p=weights / weights.sum())
            close = [name for name, loss in zip(families, losses, strict=True) if loss < losses[drawn] + CLOSE]
            mapped = _best_map(past, families, close) if self.maps else None
        starts = np.concatenate([history.best(self.incumbents), past.space.sample_rows(self.randoms, seed=rng)])
        rows, _ = ascend(
            _landscape(models[drawn] if mapped is None else mapped, history),
            starts,
            # Only the promising climbs go on, in large neighbourhoods sooner and only as long as it pays.
            probe=8 if small else 3,
            finalists=3 if small else 2,
            enough=0.0 if small else 1e-3,
            first=rng,
            wholes=WHOLES if _has_choices(past.space) and not small else None,
            forbidden=history.is_tried,
        )
        return rows[0] if rows[0].tobytes() not in history.tried else history.fresh_row(rng)


def _landscape(model: GP | Embedded, history: History) -> Landscape:
    """LogEI of the model; what is awaited is taken to come out as the model expects."""
    best, score = float(model.y.min()), ACQUISITIONS["logei"]
    if len(history.pending):
        model = model.with_points(history.pending)
    if isinstance(model, GP):
        return Acquisition(model, score, best, tuple(MOVES))
    predict = model.predict_standardised
    return Listed(lambda rows: score(*predict(rows), best), history.space, tuple(MOVES))


def _best_map(past: Past, families: tuple[str, ...], close: list[str]) -> Embedded | None:
    """The model with a map that has lately predicted better than the plain ones did, if there is one.

    Never chosen by evidence: a map always fits what it was fitted to. Its variances are stretched to fit its recent errors.
    """
    space = past.space
    wanted = [name for name in MAPPED if name in close]
    if not wanted or len(past) < EARLIEST or not isinstance(space, PermutationSpace) or not 3 < space.n <= SMALL:
        return None
    recent = [past.first(k + 1) for k in range(len(past) - WATCHED, len(past))]
    plain = np.mean([surprise(each, families)[0] for each in recent])
    found = [(*np.mean([surprise(each, families, name) for each in recent], axis=0), name) for name in wanted]
    errors, ratios, name = min(found)
    if not errors < plain:
        return None
    return replace(mapped_model(past, name), stretch=float(np.sqrt(np.clip(ratios, *CALIBRATION))))
