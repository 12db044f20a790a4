"""Explanations: which structure the results support, and the effects of precedence, position and adjacency on the value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Ints, Rows, Singles
from mergebo.gp import GP
from mergebo.methods.auto import Dataset, select_embedding, weigh_structures
from mergebo.methods.base import History, enumerate_rows
from mergebo.methods.embedding import PathLengthMean
from mergebo.permutations import invert
from mergebo.spaces import Binary, Choice, Numeric, Permutation, SearchSpace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["precedence", "adjusted", "position", "adjacency", "choice", "quantity"]

STRUCTURE_DESCRIPTIONS: dict[str, tuple[str, Kind]] = {
    "precedence": ("which item comes before which", "precedence"),
    "positions": ("which item is in which slot", "position"),
    "adjacency": ("which items are next to each other, the last and the first included", "adjacency"),
    "directed-adjacency": ("which item comes right after which", "adjacency"),
    "slot-distances": ("how far apart items are", "adjacency"),
    "choices": ("which choices are made", "choice"),
    "quantities": ("how much of each quantity is taken", "quantity"),
}
"""Each structure in words, and the kind of effects that shows it best."""

HEADINGS: dict[Kind, str] = {
    "precedence": "Precedence",
    "adjusted": "Pairs, all other pairs held fixed",
    "position": "Position",
    "adjacency": "Adjacency",
    "choice": "Choices",
    "quantity": "Quantities",
}
REGIONS = {1: ("anywhere",), 2: ("first", "last"), 3: ("early", "in the middle", "late")}

MIN_Q2, MIN_RESULTS = 0.2, 10
"""Leave-one-out R² and number of results below which no effects are reported."""
SIGNIFICANT_STDS = 2.0
"""Standard deviations from zero beyond which an effect counts as significant."""
MIN_PROBABILITY = 0.01
"""Posterior probability below which a structure does not contribute to the effects."""
SAMPLED_ORDERS, JOINT_ORDERS = 20_000, 2_000
"""Random orders over which effects are averaged, and how many of them have their joint covariance computed."""
MAX_ENTRIES = 1_000_000
"""Entries in all sampled orders together: of long orders fewer are sampled."""
MAX_EFFECTS = 500
"""Effects of each kind, the largest ones, whose standard deviation is computed."""


@dataclass(frozen=True)
class Effect:
    """The effect of a property on the value: its mean over random points with the property minus that over those without.

    In that sense, an item that is good early is good before every other one. Effects of the kind "adjusted" correct for
    this: they are the coefficients of the pairs in a linear regression, each with all other pairs held fixed.
    """

    kind: Kind
    description: str
    """Such as "acid before base"."""
    variable: str
    where: tuple[int, ...]
    """The two items; the item and the third of the slots; the binary choice or the option; or the third of the range."""
    estimate: float
    std: float
    """Posterior standard deviation of the estimate."""
    better: bool
    """Whether the value improves."""

    @property
    def lower_bound(self) -> float:
        """The size of the effect less two standard deviations; positive if the effect is significant."""
        return abs(self.estimate) - SIGNIFICANT_STDS * self.std

    def __str__(self) -> str:
        moves = "raises" if self.estimate > 0 else "lowers"
        return f"{self.description}: {moves} the value by {self.size} ({'better' if self.better else 'worse'})"

    @property
    def size(self) -> str:
        """Its size and standard deviation, rounded to significant digits."""
        digits = int(np.clip(1 - np.floor(np.log10(1.05 * max(self.std, 1e-3 * abs(self.estimate), 1e-300))), -15, 15))
        shown = (round(each, digits) for each in (abs(self.estimate), self.std))
        return " ± ".join(f"{each:.{max(0, digits)}f}" for each in shown)


@dataclass(frozen=True, eq=False)
class Explanation:
    """An explanation of the results of a run. `print` it, or `plot` it."""

    results: int
    direction: str
    structures: Mapping[str, float]
    """Posterior probability of each structure, largest first; empty for fewer than two results or only equal ones."""
    q2: float
    """Leave-one-out R²: share of the variance predicted when each result is left out in turn. May be negative."""
    effects: tuple[Effect, ...]
    """Most significant first."""
    embedding: Floats | None
    """Learned coordinates of the items, `(n, 2)`, if adjacency matters and they predict better than models without them."""
    items: Mapping[str, tuple[str, ...]]
    """Names of the items of each order."""

    @property
    def is_informative(self) -> bool:
        """Whether the models predict well enough for effects to be reported."""
        return self.results >= MIN_RESULTS and self.q2 >= MIN_Q2

    @property
    def kind(self) -> Kind:
        """The kind of effects that shows the most probable structure best."""
        return next(
            (STRUCTURE_DESCRIPTIONS[name][1] for name in self.structures if name in STRUCTURE_DESCRIPTIONS), "choice"
        )

    def of_kind(self, kind: Kind) -> tuple[Effect, ...]:
        """The effects of one kind, most significant first."""
        return tuple(effect for effect in self.effects if effect.kind == kind)

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """The explanation as a figure, saved if there is a path."""
        from mergebo.plots.explanation import draw

        return draw(self, path)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    @property
    def goal(self) -> str:
        """The direction in words."""
        return "larger is better" if self.direction == "maximize" else "smaller is better"

    def _lines(self) -> Iterator[str]:
        if self.structures:
            yield f"From {self.results} results ({self.goal})\n"
        yield self.summary
        if self.structures:
            yield f"Leave-one-out R²: {percent(self.q2)} of the variance is predicted when each result is left out in turn."
        if not self.is_informative:
            return
        if self.embedding is not None:
            yield "A learned item embedding predicts new results better than models without one; plot() draws it."
        yield ""
        yield "Effects: mean change of the value over random points ± standard deviation"
        kinds = sorted(HEADINGS, key=lambda kind: kind != self.kind)
        found = {kind: significant(self.of_kind(kind))[: 6 if kind == self.kind else 3] for kind in kinds}
        width = max((len(effect.description) for effects in found.values() for effect in effects), default=0)
        for kind, effects in found.items():
            if effects:
                yield f"  {HEADINGS[kind]}"
            for effect in effects:
                description, _, change = str(effect).rpartition(": ")
                yield f"    {description:<{width}}  {change}"
        if not any(found.values()):
            yield "  None is significant yet (at two standard deviations): the structure shows before single effects do."

    @property
    def summary(self) -> str:
        """The structure that the results support, in a sentence."""
        if not self.structures:
            if self.results < 2:
                return f"Results so far: {self.results}. An explanation needs at least two, and some tens to be useful."
            return f"All {self.results} results are equal: there is nothing to explain."
        if not self.is_informative:
            return "The results do not show yet what matters; more of them will help."
        (first, probability), *others = (
            (STRUCTURE_DESCRIPTIONS.get(name, (name,))[0], weight) for name, weight in self.structures.items()
        )
        shown = f"posterior probability {percent(probability)}"
        if probability >= 0.9:
            return f"What matters is {first} ({shown})."
        second, less = others[0]
        how = "most likely" if probability >= 0.6 else "perhaps"
        return f"What matters is {how} {first} ({shown}), or else {second} ({percent(less)})."


def percent(share: float) -> str:
    """A share as a percentage that is never 100%.

    >>> percent(0.999), percent(0.42), percent(-3.0)
    ('over 99%', '42%', '0%')
    """
    return "over 99%" if share >= 0.995 else f"{max(0.0, share):.0%}"


def significant(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """The significant effects; of the thirds of an item's slots or of a quantity's range only the most significant one."""
    seen: dict[tuple[Any, ...], Effect] = {}
    for effect in effects:
        if effect.lower_bound > 0:
            where = effect.where[:-1] if effect.kind in ("position", "quantity") else effect.where
            seen.setdefault((effect.variable, where), effect)
    return tuple(seen.values())


def explain(history: History, direction: str) -> Explanation:
    """The explanation of a history, whichever method made it."""
    space, count = history.space, len(history.values)
    items = {name: item_names(each) for name, each in space.variables.items() if isinstance(each, Permutation)}
    if count < 2 or np.ptp(history.values) == 0:
        return Explanation(count, direction, {}, 0.0, (), None, items)
    dataset = Dataset.of(space, history.rows, history.values, noisy=history.noisy, noise_std=history.noise_std)
    found = weigh_structures(dataset)
    probabilities = {name: weight for name, (_, weight) in sorted(found.items(), key=lambda pair: -pair[1][1])}
    if not items:  # without orders all structures are the same
        numeric = any(isinstance(each, Numeric) for each in space.variables.values())
        probabilities = {"quantities" if numeric else "choices": 1.0}
    considered = [(model, weight) for model, weight in found.values() if weight >= MIN_PROBABILITY]
    sign = -1.0 if direction == "maximize" else 1.0
    effects = [
        replace(effect, estimate=float(history.unscaled(effect.estimate)), std=float(history.unscaled(effect.std)))
        for effect in _effects(space, considered, _groups(space, items, probabilities), sign)
    ]
    return Explanation(
        count,
        direction,
        probabilities,
        _q2(considered),
        tuple(sorted(effects, key=lambda effect: -effect.lower_bound)),
        _embedding(dataset, found),
        items,
    )


def _embedding(dataset: Dataset, found: Mapping[str, tuple[GP, float]]) -> Floats | None:
    """The item embedding, if one is selected; of a directed one the mean of both ends."""
    model = select_embedding(dataset, found)
    return (
        model.mean_function.coordinates.mean(axis=0)
        if model is not None and isinstance(model.mean_function, PathLengthMean)
        else None
    )


def _q2(models: list[tuple[GP, float]]) -> float:
    """Leave-one-out R² of the models' weighted predictions; predicting the mean of the others gives 0."""
    y = models[0][0].y
    total = sum(weight for _, weight in models)
    expected = sum((weight / total * model.leave_one_out_mean() for model, weight in models), np.zeros(len(y)))
    deviations = len(y) / (len(y) - 1) * (y - y.mean())
    total_squares = float((deviations**2).sum())
    return float(1 - ((y - expected) ** 2).sum() / total_squares) if total_squares > 0 else 0.0


# -------------------------------------------------------------------------------------------------------------- effects


@dataclass(frozen=True)
class _EffectGroup:
    """The properties of one kind that a value of a variable may have."""

    kind: Kind
    variable: str
    which: Ints
    """`where` of each property, `(count, ...)`."""
    scores: Callable[[Rows, Ints], Singles]
    """A score of each property and each value (see `_values`): the effect is the mean of score times objective."""
    describe: Callable[[Ints], str]


def _groups(space: SearchSpace, items: Mapping[str, tuple[str, ...]], structures: Mapping[str, float]) -> list[_EffectGroup]:
    """The groups of properties whose effects are estimated."""
    groups: list[_EffectGroup] = []
    for name, variable in space.variables.items():
        prefix = "" if len(space.variables) == 1 else f"{name}: "
        match variable:
            case Permutation():
                groups += _order_groups(variable, name, prefix, items[name], structures)
            case Binary(count):
                groups.append(_choice_group(name, count))
            case Choice(options):
                groups.append(_number_group("choice", name, [f"is {option}" for option in options]))
            case Numeric() as quantity:
                # The bounds may lie between integers.
                low, high = (f"{float(Numeric.from_unit(quantity, np.array(cut))):.3g}" for cut in (1 / 3, 2 / 3))
                groups.append(_number_group("quantity", name, [f"below {low}", f"from {low} to {high}", f"above {high}"]))
    return groups


def _choice_group(variable: str, count: int) -> _EffectGroup:
    every = np.arange(count)[:, None]
    return _EffectGroup("choice", variable, every, lambda x, j: _split(x[j[:, 0]] == 1), lambda j: f"{variable} {j[0]} is 1")


def _number_group(kind: Kind, variable: str, descriptions: list[str]) -> _EffectGroup:
    """Whether a variable has a certain index: that of an option or of a third of the range."""
    every = np.arange(len(descriptions))[:, None]
    return _EffectGroup(kind, variable, every, lambda x, j: _split(x == j), lambda j: f"{variable} {descriptions[j[0]]}")


def _order_groups(
    order: Permutation, variable: str, prefix: str, names: tuple[str, ...], structures: Mapping[str, float]
) -> Iterator[_EffectGroup]:
    n, length = len(names), order.length
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    if "cycle" not in order.symmetry:  # where no slot is the first, none is before another
        yield from _slot_groups(order, variable, prefix, names, pairs)
    # The most probable adjacency structure decides what being neighbours means; without one there are no such effects.
    likely = (name for name, weight in structures.items() if weight >= MIN_PROBABILITY and name in STRUCTURE_DESCRIPTIONS)
    structure = next((name for name in likely if STRUCTURE_DESCRIPTIONS[name][1] == "adjacency"), None)
    if structure is None:
        return
    directed = structure == "directed-adjacency" and "reversal" not in order.symmetry
    cyclic = structure == "adjacency" or "cycle" in order.symmetry

    def adjacent(ranks: Rows, p: Ints) -> Singles:
        first, second = ranks[p[:, 0]], ranks[p[:, 1]]
        step = second - first
        neighbours = step == 1 if directed else np.abs(step) == 1
        if cyclic:
            neighbours |= step == 1 - length if directed else np.abs(step) == length - 1
        return _split(neighbours & (np.maximum(first, second) < length))

    between = "right before" if directed else "next to"
    yield _EffectGroup(
        "adjacency",
        variable,
        np.concatenate([pairs, pairs[:, ::-1]]) if directed else pairs,
        adjacent,
        lambda p: f"{prefix}{names[p[0]]} {between} {names[p[1]]}",
    )


def _slot_groups(
    order: Permutation, variable: str, prefix: str, names: tuple[str, ...], pairs: Ints
) -> Iterator[_EffectGroup]:
    n, length = len(names), order.length
    yield _EffectGroup(
        "precedence",
        variable,
        pairs,
        lambda ranks, p: _split(ranks[p[:, 0]] < ranks[p[:, 1]]),
        lambda p: f"{prefix}{names[p[0]]} before {names[p[1]]}",
    )

    def adjusted(ranks: Rows, p: Ints) -> Singles:
        # The inverse of the covariance of all pairs' orders, in closed form: the least squares fit to random orders.
        difference = (ranks[p[:, 1]] - ranks[p[:, 0]]).astype(np.float32)
        return np.asarray(6 * np.sign(difference) - difference * np.float32(12 / (n + 1)))

    if n > 2 and not order.is_constrained:
        yield _EffectGroup(
            "adjusted",
            variable,
            pairs,
            adjusted,
            lambda p: f"{prefix}{names[p[0]]} before {names[p[1]]}, other pairs held fixed",
        )
    regions = REGIONS[min(3, length)]
    yield _EffectGroup(
        "position",
        variable,
        np.stack(np.divmod(np.arange(n * len(regions)), len(regions)), axis=1),
        lambda ranks, p: _split(ranks[p[:, 0]] * len(regions) // length == p[:, 1:]),
        lambda p: f"{prefix}{names[p[0]]} {regions[p[1]]}",
    )


def _effects(
    space: SearchSpace, models: list[tuple[GP, float]], groups: list[_EffectGroup], sign: float
) -> Iterator[Effect]:
    """Differences of means over random points under the models' posteriors, averaged by the models' weights."""
    exhaustive = space.size <= JOINT_ORDERS
    count = min(SAMPLED_ORDERS, MAX_ENTRIES // space.width)
    rows = enumerate_rows(space) if exhaustive else space.sample_rows(count, seed=np.random.default_rng(0))
    joint = rows if exhaustive else rows[: min(JOINT_ORDERS, MAX_ENTRIES * 2 // 5 // space.width)]
    weights = np.array([weight for _, weight in models])
    weights /= weights.sum()
    predicted = np.stack([model.predict(rows)[0] for model, _ in models], axis=1)
    covariances = [model.y_std**2 * _centred(model.covariance(joint)) for model, _ in models]
    for group in groups:
        if not len(group.which):
            continue  # a single item
        values, joint_values = (_values(space, group.variable, each) for each in (rows, joint))
        parts = np.split(group.which, range(MAX_EFFECTS, len(group.which), MAX_EFFECTS))
        estimated = [_estimates(group.scores(values, part), predicted) for part in parts]
        estimates, noise = (np.concatenate(each) for each in zip(*estimated, strict=True))
        mean, noise = estimates @ weights, (0.0 if exhaustive else 1.0) * noise
        if 4 * (noise @ weights).mean() >= (mean**2).mean():
            continue  # the properties do not matter, or hold too rarely: the estimates are mostly sampling noise
        top = np.argsort(-np.abs(mean), kind="stable")[:MAX_EFFECTS]
        scores = group.scores(joint_values, group.which[top])
        variances = noise[top] + np.stack([_variances(scores, each, exhaustive) for each in covariances], axis=1)
        deviations = np.sqrt((variances + (estimates[top] - mean[top, None]) ** 2) @ weights)
        for k, deviation in zip(top, deviations, strict=True):
            yield _effect(group, group.which[k], float(mean[k]), float(deviation), sign)


def _split(holds: NDArray[np.bool_]) -> Singles:
    """Scores whose effect is the mean where a property holds minus that where it does not; zeros if either is empty."""
    share = np.count_nonzero(holds, axis=1, keepdims=True) / holds.shape[1]
    both = (share > 0) & (share < 1)
    high, low = (np.divide(both, part, where=both, out=np.zeros_like(part)) for part in (share, 1 - share))
    return np.asarray(np.where(holds, high, -low), np.float32)


def _estimates(scores: Singles, predicted: Floats) -> tuple[Floats, Floats]:
    """Effects in what each model predicts, and their variances over samples of points."""
    centred, count = predicted - predicted.mean(axis=0), len(predicted)
    squares = np.einsum("ki,ki->k", scores, scores)[:, None] / count
    return scores @ centred.astype(np.float32) / count, squares * centred.var(axis=0) / count


def _values(space: SearchSpace, variable: str, rows: Rows) -> Rows:
    """The values of a variable in all rows: of an order the rank of each item, of a quantity the third of its range.

    Transposed: a line for each item or binary choice.
    """
    values = space.part(variable, rows)
    match space.variables[variable]:
        case Permutation() as order:
            values = np.minimum(invert(values), order.length)  # items that are not chosen come last
        case Numeric() as quantity:
            values = np.minimum(np.floor(3 * quantity.to_unit(values)), 2)
    return np.ascontiguousarray(values.T.astype(np.int32))


def _centred(covariance: Floats) -> Floats:
    """The covariance of differences from the mean over all points."""
    mean = covariance.mean(axis=0)
    return np.asarray(covariance - mean - mean[:, None] + mean.mean())


def _variances(scores: Singles, covariance: Floats, exhaustive: bool) -> Floats:
    """Variances of effects over all points, estimated from a sample unless it is exhaustive."""
    weights = scores / scores.shape[1]
    found = np.einsum("ki,ki->k", weights, weights @ covariance)
    if exhaustive:
        return np.asarray(np.maximum(found, 0.0))
    # A point's own variance is part of the sample's, but averages out over all points: the difference is the estimate.
    own = weights**2 @ covariance.diagonal()
    return np.asarray(np.maximum(found - own, found / 10))


def _effect(group: _EffectGroup, where: Ints, estimate: float, deviation: float, sign: float) -> Effect:
    """In the user's direction; of two orders of a pair the better one."""
    if group.kind in ("precedence", "adjusted") and estimate > 0:
        where, estimate = where[::-1], -estimate
    at = tuple(where.tolist())
    return Effect(group.kind, group.describe(where), group.variable, at, sign * estimate, deviation, estimate < 0)


def item_names(order: Permutation) -> tuple[str, ...]:
    """Names of the items; copies of one are numbered."""
    items = list(map(str, order.names))
    count = Counter(items)
    return tuple(f"{item} ({items[: k + 1].count(item)})" if count[item] > 1 else item for k, item in enumerate(items))
