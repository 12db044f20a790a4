"""What the results say: which structure they support, and which orders, places and neighbours move the value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Ints, Rows, Singles
from mergebo.optimizers.auto import Past, best_map, structures
from mergebo.optimizers.history import History, every_row
from mergebo.permutations import invert
from mergebo.spaces import AnySpace, Binary, Choice, Permutation, Quantity
from mergebo.surrogate import GP
from mergebo.surrogate.places import PathCosts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["precedence", "exchange", "position", "adjacency", "choice", "quantity"]

STRUCTURES: dict[str, tuple[str, Kind]] = {
    "precedence": ("which item comes before which", "precedence"),
    "positions": ("which item is in which slot", "position"),
    "neighbours": ("which items are next to each other, the last and the first included", "adjacency"),
    "succession": ("which item comes right after which", "adjacency"),
    "spacings": ("how far apart items are", "adjacency"),
    "choices": ("which choices are made", "choice"),
    "quantities": ("how much of each quantity is taken", "quantity"),
}
"""What each family of models looks at, in words, and the kind of effects that shows it best."""

HEADINGS: dict[Kind, str] = {
    "precedence": "Pairs in order",
    "exchange": "Pairs by themselves",
    "position": "Places",
    "adjacency": "Neighbours",
    "choice": "Choices",
    "quantity": "Quantities",
}
REGIONS = {1: ("anywhere",), 2: ("first", "last"), 3: ("early", "in the middle", "late")}

LEARNED, ENOUGH = 0.2, 10
"""Share of the variance that a model must explain of results left out, and results needed, before words are made of it."""
CERTAIN = 2.0
"""Standard deviations from zero at which an effect counts as certain."""
NEGLIGIBLE = 0.01
"""Share of the evidence below which a family has no say in the effects."""
ORDERS, JOINT = 20_000, 2_000
"""Random orders over which effects are averaged, and those of them whose joint uncertainty is looked at."""
NUMBERS = 1_000_000
"""In all orders together; large ones are fewer."""
LISTED = 500
"""Effects of each kind, the largest ones, of which the uncertainty is looked at."""


@dataclass(frozen=True)
class Effect:
    """By how much something moves the value: the mean over random points where it holds, less that where it does not.

    An item that is good early is good before every other in that sense. What is left of a pair when that is taken off is an
    effect of the kind "exchange": what its order changes, on average, while all other pairs stay as they are.
    """

    kind: Kind
    what: str
    """Such as "acid before base"."""
    variable: str
    where: tuple[int, ...]
    """The two items, the item and the third of the slots, the choice or option, or the third of the range."""
    estimate: float
    deviation: float
    """Standard deviation of the estimate, as the models see it."""
    better: bool
    """Whether it moves the value in the wanted direction."""

    @property
    def surely(self) -> float:
        """How large it is at least, as good as certainly; not positive if that it exists is not certain."""
        return abs(self.estimate) - CERTAIN * self.deviation

    def __str__(self) -> str:
        moves = "raises" if self.estimate > 0 else "lowers"
        return f"{self.what}: {moves} the value by {self.size} ({'better' if self.better else 'worse'})"

    @property
    def size(self) -> str:
        """Its size and standard deviation, with the digits that mean something."""
        places = int(np.clip(1 - np.floor(np.log10(1.05 * max(self.deviation, 1e-3 * abs(self.estimate), 1e-300))), -15, 15))
        shown = (round(each, places) for each in (abs(self.estimate), self.deviation))
        return " ± ".join(f"{each:.{max(0, places)}f}" for each in shown)


@dataclass(frozen=True, eq=False)
class Explanation:
    """What the results of a run say. `print` it, or `plot` it."""

    results: int
    direction: str
    structures: Mapping[str, float]
    """Share of the evidence of each structure, the likeliest first; empty if there is nothing to tell them by."""
    explained: float
    """Share of the values' variance that is predicted when each result is left out in turn; at most 1, at worst negative."""
    effects: tuple[Effect, ...]
    """The surest first."""
    places: Floats | None
    """The map of the items, `(n, 2)`, if neighbours matter and it predicts better than models without."""
    items: Mapping[str, tuple[str, ...]]
    """What the items of each order are called."""

    @property
    def learned(self) -> bool:
        """Whether the models predict well enough to be believed."""
        return self.results >= ENOUGH and self.explained >= LEARNED

    @property
    def kind(self) -> Kind:
        """The kind of effects that shows the likeliest structure best."""
        return next((STRUCTURES[name][1] for name in self.structures if name in STRUCTURES), "choice")

    def of_kind(self, kind: Kind) -> tuple[Effect, ...]:
        """The effects of one kind, the surest first."""
        return tuple(effect for effect in self.effects if effect.kind == kind)

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """The same as a picture, saved if there is a path."""
        from mergebo.optimizers.explanation_plot import draw

        return draw(self, path)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    @property
    def wish(self) -> str:
        """Which values are the good ones, in words."""
        return "larger is better" if self.direction == "maximize" else "smaller is better"

    def _lines(self) -> Iterator[str]:
        if self.structures:
            yield f"From {self.results} results ({self.wish})\n"
        yield self.verdict
        if self.structures:
            yield f"Of the variance of results that are left out, {percent(self.explained)} is predicted from the others."
        if not self.learned:
            return
        if self.places is not None:
            yield "Items have places on a map that predicts new results better than models without; plot() draws it."
        yield ""
        yield "Effects: mean change of the value over random points ± standard deviation"
        kinds = sorted(HEADINGS, key=lambda kind: kind != self.kind)
        found = {kind: certain(self.of_kind(kind))[: 6 if kind == self.kind else 3] for kind in kinds}
        width = max((len(effect.what) for effects in found.values() for effect in effects), default=0)
        for kind, effects in found.items():
            if effects:
                yield f"  {HEADINGS[kind]}"
            for effect in effects:
                what, _, does = str(effect).rpartition(": ")
                yield f"    {what:<{width}}  {does}"
        if not any(found.values()):
            yield "  None is certain yet: the structure shows before single effects do."

    @property
    def verdict(self) -> str:
        """Which structure the results support, in a sentence."""
        if not self.structures:
            if self.results < 2:
                return f"Results so far: {self.results}. Explaining takes two at least, and some tens to say much."
            return f"All {self.results} results are equal: there is nothing to explain."
        if not self.learned:
            return "The results do not say yet what matters; more of them will help."
        (first, share), *others = ((STRUCTURES.get(name, (name,))[0], share) for name, share in self.structures.items())
        if share >= 0.9:
            return f"What matters is {first} ({percent(share)} of the evidence)."
        second, less = others[0]
        how = "most likely" if share >= 0.6 else "perhaps"
        return f"What matters is {how} {first} ({percent(share)} of the evidence), or else {second} ({percent(less)})."


def percent(share: float) -> str:
    """A share in words that do not claim too much.

    >>> percent(0.999), percent(0.42), percent(-3.0)
    ('over 99%', '42%', '0%')
    """
    return "over 99%" if share >= 0.995 else f"{max(0.0, share):.0%}"


def certain(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """The certain ones; of the thirds in which an item or a quantity can be only the surest."""
    seen: dict[tuple[Any, ...], Effect] = {}
    for effect in effects:
        if effect.surely > 0:
            where = effect.where[:-1] if effect.kind in ("position", "quantity") else effect.where
            seen.setdefault((effect.variable, where), effect)
    return tuple(seen.values())


def explain(history: History, direction: str) -> Explanation:
    """What a history says, whichever method made it."""
    space, count = history.space, len(history.values)
    items = {name: item_names(each) for name, each in space.variables.items() if isinstance(each, Permutation)}
    if count < 2 or np.ptp(history.values) == 0:
        return Explanation(count, direction, {}, 0.0, (), None, items)
    past = Past.of(space, history.rows, history.values, noisy=history.noisy, errors=history.errors)
    found = structures(past)
    shares = {name: share for name, (_, share) in sorted(found.items(), key=lambda pair: -pair[1][1])}
    if not items:  # without orders all families are the same
        measured = any(isinstance(each, Quantity) for each in space.variables.values())
        shares = {"quantities" if measured else "choices": 1.0}
    considered = [(model, share) for model, share in found.values() if share >= NEGLIGIBLE]
    effects = [
        replace(
            effect, estimate=float(history.unscaled(effect.estimate)), deviation=float(history.unscaled(effect.deviation))
        )
        for effect in _effects(space, considered, _groups(space, items, shares), -1.0 if direction == "maximize" else 1.0)
    ]
    return Explanation(
        count,
        direction,
        shares,
        _explained(considered),
        tuple(sorted(effects, key=lambda effect: -effect.surely)),
        _places(past, found),
        items,
    )


def _places(past: Past, found: Mapping[str, tuple[GP, float]]) -> Floats | None:
    """The map of the items, if one is in use; where leaving and arriving are apart, what is between the two."""
    mapped = best_map(past, found)
    return mapped.trend.places.mean(axis=0) if mapped is not None and isinstance(mapped.trend, PathCosts) else None


def _explained(models: list[tuple[GP, float]]) -> float:
    """Share of the variance that the models, by their weights, predict of values left out; the mean of the others gets 0."""
    y = models[0][0].y
    total = sum(weight for _, weight in models)
    expected = sum((weight / total * model.left_out() for model, weight in models), np.zeros(len(y)))
    others = len(y) / (len(y) - 1) * (y - y.mean())
    whole = float((others**2).sum())
    return float(1 - ((y - expected) ** 2).sum() / whole) if whole > 0 else 0.0


# -------------------------------------------------------------------------------------------------------------- effects


@dataclass(frozen=True)
class _Group:
    """Properties of one kind that a value of a variable has or has not."""

    kind: Kind
    variable: str
    which: Ints
    """`where` of each property, `(count, ...)`."""
    scores: Callable[[Rows, Ints], Singles]
    """For each property a number for each value: the effect is the mean of score times objective; see `_values`."""
    words: Callable[[Ints], str]


def _groups(space: AnySpace, items: Mapping[str, tuple[str, ...]], structures: Mapping[str, float]) -> list[_Group]:
    """All properties whose effects are estimated."""
    groups: list[_Group] = []
    for name, variable in space.variables.items():
        said = "" if len(space.variables) == 1 else f"{name}: "
        match variable:
            case Permutation():
                groups += _order_groups(variable, name, said, items[name], structures)
            case Binary(count):
                groups.append(_choice_group(name, count))
            case Choice(options):
                groups.append(_number_group("choice", name, [f"is {option}" for option in options]))
            case Quantity() as quantity:
                # Between whole numbers, if need be.
                low, high = (f"{float(Quantity.from_unit(quantity, np.array(cut))):.3g}" for cut in (1 / 3, 2 / 3))
                groups.append(_number_group("quantity", name, [f"below {low}", f"from {low} to {high}", f"above {high}"]))
    return groups


def _choice_group(variable: str, count: int) -> _Group:
    every = np.arange(count)[:, None]
    return _Group("choice", variable, every, lambda x, j: _split(x[j[:, 0]] == 1), lambda j: f"{variable} {j[0]} is 1")


def _number_group(kind: Kind, variable: str, words: list[str]) -> _Group:
    """Which of several a variable is, by number."""
    every = np.arange(len(words))[:, None]
    return _Group(kind, variable, every, lambda x, j: _split(x == j), lambda j: f"{variable} {words[j[0]]}")


def _order_groups(
    order: Permutation, variable: str, said: str, names: tuple[str, ...], structures: Mapping[str, float]
) -> Iterator[_Group]:
    n, length = len(names), order.length
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    if "cycle" not in order.symmetry:  # where no slot is the first, none is before another
        yield from _slot_groups(order, variable, said, names, pairs)
    # Being neighbours means what it means to the likeliest family that looks at neighbours; to others it is no cause.
    likely = (name for name, share in structures.items() if share >= NEGLIGIBLE and name in STRUCTURES)
    family = next((name for name in likely if STRUCTURES[name][1] == "adjacency"), None)
    if family is None:
        return
    directed = family == "succession" and "reversal" not in order.symmetry
    closed = family == "neighbours" or "cycle" in order.symmetry

    def adjacent(ranks: Rows, p: Ints) -> Singles:
        first, second = ranks[p[:, 0]], ranks[p[:, 1]]
        gap = second - first
        beside = gap == 1 if directed else np.abs(gap) == 1
        if closed:
            beside |= gap == 1 - length if directed else np.abs(gap) == length - 1
        return _split(beside & (np.maximum(first, second) < length))

    between = "right before" if directed else "next to"
    yield _Group(
        "adjacency",
        variable,
        np.concatenate([pairs, pairs[:, ::-1]]) if directed else pairs,
        adjacent,
        lambda p: f"{said}{names[p[0]]} {between} {names[p[1]]}",
    )


def _slot_groups(order: Permutation, variable: str, said: str, names: tuple[str, ...], pairs: Ints) -> Iterator[_Group]:
    n, length = len(names), order.length
    yield _Group(
        "precedence",
        variable,
        pairs,
        lambda ranks, p: _split(ranks[p[:, 0]] < ranks[p[:, 1]]),
        lambda p: f"{said}{names[p[0]]} before {names[p[1]]}",
    )

    def alone(ranks: Rows, p: Ints) -> Singles:
        # The inverse of the covariance of all pairs' orders, in closed form: the least squares fit to random orders.
        gap = (ranks[p[:, 1]] - ranks[p[:, 0]]).astype(np.float32)
        return np.asarray(6 * np.sign(gap) - gap * np.float32(12 / (n + 1)))

    if n > 2 and not order.ruled:
        yield _Group(
            "exchange", variable, pairs, alone, lambda p: f"{said}{names[p[0]]} before {names[p[1]]}, all else equal"
        )
    regions = REGIONS[min(3, length)]
    yield _Group(
        "position",
        variable,
        np.stack(np.divmod(np.arange(n * len(regions)), len(regions)), axis=1),
        lambda ranks, p: _split(ranks[p[:, 0]] * len(regions) // length == p[:, 1:]),
        lambda p: f"{said}{names[p[0]]} {regions[p[1]]}",
    )


def _effects(space: AnySpace, models: list[tuple[GP, float]], groups: list[_Group], sign: float) -> Iterator[Effect]:
    """Differences of means over random points, by the models' posteriors, mixed by their weights."""
    listed = space.size <= JOINT
    count = min(ORDERS, NUMBERS // space.width)
    rows = every_row(space) if listed else space.sample_rows(count, seed=np.random.default_rng(0))
    joint = rows if listed else rows[: min(JOINT, NUMBERS * 2 // 5 // space.width)]
    weights = np.array([weight for _, weight in models])
    weights /= weights.sum()
    predicted = np.stack([model.predict(rows)[0] for model, _ in models], axis=1)
    covariances = [model.spread**2 * _centred(model.covariance(joint)) for model, _ in models]
    for group in groups:
        if not len(group.which):
            continue  # a single item
        values, some = (_values(space, group.variable, each) for each in (rows, joint))
        parts = np.split(group.which, range(LISTED, len(group.which), LISTED))
        every = [_estimates(group.scores(values, part), predicted) for part in parts]
        estimates, noise = (np.concatenate(each) for each in zip(*every, strict=True))
        mean, noise = estimates @ weights, (0.0 if listed else 1.0) * noise
        if 4 * (noise @ weights).mean() >= (mean**2).mean():
            continue  # the properties do not matter, or hold too rarely: what is seen is mostly the sample
        top = np.argsort(-np.abs(mean), kind="stable")[:LISTED]
        scores = group.scores(some, group.which[top])
        variances = noise[top] + np.stack([_variances(scores, each, listed) for each in covariances], axis=1)
        deviations = np.sqrt((variances + (estimates[top] - mean[top, None]) ** 2) @ weights)
        for k, deviation in zip(top, deviations, strict=True):
            yield _effect(group, group.which[k], float(mean[k]), float(deviation), sign)


def _split(holds: NDArray[np.bool_]) -> Singles:
    """Scores whose effect is the mean where a property holds less the mean where it does not; zeros if one is empty."""
    share = np.count_nonzero(holds, axis=1, keepdims=True) / holds.shape[1]
    both = (share > 0) & (share < 1)
    high, low = (np.divide(both, part, where=both, out=np.zeros_like(part)) for part in (share, 1 - share))
    return np.asarray(np.where(holds, high, -low), np.float32)


def _estimates(scores: Singles, predicted: Floats) -> tuple[Floats, Floats]:
    """Effects in what each model predicts, and their variances over samples of points."""
    centred, count = predicted - predicted.mean(axis=0), len(predicted)
    squares = np.einsum("ki,ki->k", scores, scores)[:, None] / count
    return scores @ centred.astype(np.float32) / count, squares * centred.var(axis=0) / count


def _values(space: AnySpace, variable: str, rows: Rows) -> Rows:
    """What a variable is in all rows, a line for each choice.

    For an order the ranks, a line for each item; for a quantity the third of its range.
    """
    values = space.part(variable, rows)
    match space.variables[variable]:
        case Permutation() as order:
            values = np.minimum(invert(values), order.length)  # what is not chosen is behind it all
        case Quantity() as quantity:
            values = np.minimum(np.floor(3 * quantity.to_unit(values)), 2)
    return np.ascontiguousarray(values.T.astype(np.int32))


def _centred(covariance: Floats) -> Floats:
    """The covariance of differences from the mean of all points."""
    mean = covariance.mean(axis=0)
    return np.asarray(covariance - mean - mean[:, None] + mean.mean())


def _variances(scores: Singles, covariance: Floats, listed: bool) -> Floats:
    """Variances of effects over all points, from those of a sample unless all are listed."""
    weights = scores / scores.shape[1]
    found = np.einsum("ki,ki->k", weights, weights @ covariance)
    if listed:
        return np.asarray(np.maximum(found, 0.0))
    # A point's own variance is part of the sample's, but averages out over all points; what is left is an estimate.
    own = weights**2 @ covariance.diagonal()
    return np.asarray(np.maximum(found - own, found / 10))


def _effect(group: _Group, where: Ints, estimate: float, deviation: float, sign: float) -> Effect:
    """In the user's direction; of two orders of a pair the better one."""
    if group.kind in ("precedence", "exchange") and estimate > 0:
        where, estimate = where[::-1], -estimate
    at = tuple(where.tolist())
    return Effect(group.kind, group.words(where), group.variable, at, sign * estimate, deviation, estimate < 0)


def item_names(order: Permutation) -> tuple[str, ...]:
    """What items are called; copies of one are numbered."""
    items = list(map(str, order.names))
    count = Counter(items)
    return tuple(f"{item} ({items[: k + 1].count(item)})" if count[item] > 1 else item for k, item in enumerate(items))
