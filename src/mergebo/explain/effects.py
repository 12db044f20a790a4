"""Effects of properties of points, such as an item being early, on the value: what they are, and their estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Floats, Ints, Rows, Singles
from mergebo.gp import GP
from mergebo.methods.structures import EffectKind, Structure
from mergebo.permutations import invert
from mergebo.spaces import Binary, Choice, Numeric, Permutation, SearchSpace, Variable
from mergebo.transforms import OutputTransform

__all__ = ["Effect", "EffectGroup", "VariableEffects", "effects_of"]

REGIONS = {1: ("anywhere",), 2: ("first", "last"), 3: ("early", "in the middle", "late")}
"""The parts of an order, for orders of that many slots or more."""
SIGNIFICANT_STDS = 2.0
"""Standard deviations from zero beyond which an effect counts as significant."""
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

    kind: EffectKind
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


@dataclass(frozen=True)
class EffectGroup:
    """The properties of one kind that a value of a variable may have."""

    kind: EffectKind
    which: Ints
    """`where` of each property, `(count, ...)`."""
    scores: Callable[[Rows, Ints], Singles]
    """A score of each property and each value, as `VariableEffects.read` gives it: the effect is the mean of score times
    objective."""
    describe: Callable[[Ints], str]


@dataclass(frozen=True)
class VariableEffects:
    """The properties of one variable whose effects are estimated."""

    groups: Sequence[EffectGroup]
    read: Callable[[Rows], Rows]
    """What the scores are computed from, given the variable's part of rows."""
    items: tuple[str, ...] = ()
    """Names of the items of an order."""


@singledispatch
def effects_of(variable: Variable, name: str, prefix: str, structures: Sequence[Structure]) -> VariableEffects:
    """The properties of a variable with this name whose effects are estimated; none unless its kind registers some.

    `prefix` tells descriptions of several variables apart; `structures` are the probable ones, most probable first.
    """
    return VariableEffects((), lambda values: values)


@effects_of.register
def _(variable: Binary, name: str, prefix: str, structures: Sequence[Structure]) -> VariableEffects:
    every = np.arange(variable.count)[:, None]
    group = EffectGroup("choice", every, lambda x, j: _split(x[j[:, 0]] == 1), lambda j: f"{name} {j[0]} is 1")
    return VariableEffects([group], lambda values: values)


@effects_of.register
def _(variable: Choice, name: str, prefix: str, structures: Sequence[Structure]) -> VariableEffects:
    return VariableEffects(
        [_index_group("choice", name, [f"is {option}" for option in variable.options])], lambda values: values
    )


@effects_of.register
def _(variable: Numeric, name: str, prefix: str, structures: Sequence[Structure]) -> VariableEffects:
    # The bounds may lie between integers.
    low, high = (f"{float(Numeric.from_unit(variable, np.array(cut))):.3g}" for cut in (1 / 3, 2 / 3))
    group = _index_group("quantity", name, [f"below {low}", f"from {low} to {high}", f"above {high}"])
    return VariableEffects([group], lambda values: np.minimum(np.floor(3 * variable.to_unit(values)), 2))


@effects_of.register
def _(variable: Permutation, name: str, prefix: str, structures: Sequence[Structure]) -> VariableEffects:
    names = item_names(variable)
    pairs = np.stack(np.triu_indices(len(names), 1), axis=1)
    groups: list[EffectGroup] = []
    if "cycle" not in variable.symmetry:  # where no slot is the first, none is before another
        groups += _slot_groups(variable, prefix, names, pairs)
    # The most probable adjacency structure decides what being neighbours means; without one there are no such effects.
    structure = next((each for each in structures if each.effect == "adjacency"), None)
    if structure is not None:
        groups.append(_adjacency_group(variable, prefix, names, pairs, structure))
    # The rank of each item; items that are not chosen come last.
    return VariableEffects(groups, lambda values: np.minimum(invert(values), variable.length), names)


def _index_group(kind: EffectKind, name: str, descriptions: list[str]) -> EffectGroup:
    """Whether a variable has a certain index: that of an option or of a third of the range."""
    every = np.arange(len(descriptions))[:, None]
    return EffectGroup(kind, every, lambda x, j: _split(x == j), lambda j: f"{name} {descriptions[j[0]]}")


def _adjacency_group(
    order: Permutation, prefix: str, names: tuple[str, ...], pairs: Ints, structure: Structure
) -> EffectGroup:
    length = order.length
    directed = structure.directed and "reversal" not in order.symmetry
    closed = structure.closed or "cycle" in order.symmetry

    def adjacent(ranks: Rows, p: Ints) -> Singles:
        first, second = ranks[p[:, 0]], ranks[p[:, 1]]
        step = second - first
        neighbours = step == 1 if directed else np.abs(step) == 1
        if closed:
            neighbours |= step == 1 - length if directed else np.abs(step) == length - 1
        return _split(neighbours & (np.maximum(first, second) < length))

    between = "right before" if directed else "next to"
    return EffectGroup(
        "adjacency",
        np.concatenate([pairs, pairs[:, ::-1]]) if directed else pairs,
        adjacent,
        lambda p: f"{prefix}{names[p[0]]} {between} {names[p[1]]}",
    )


def _slot_groups(order: Permutation, prefix: str, names: tuple[str, ...], pairs: Ints) -> Iterator[EffectGroup]:
    n, length = len(names), order.length
    yield EffectGroup(
        "precedence",
        pairs,
        lambda ranks, p: _split(ranks[p[:, 0]] < ranks[p[:, 1]]),
        lambda p: f"{prefix}{names[p[0]]} before {names[p[1]]}",
    )

    def adjusted(ranks: Rows, p: Ints) -> Singles:
        # The inverse of the covariance of all pairs' orders, in closed form: the least squares fit to random orders.
        difference = (ranks[p[:, 1]] - ranks[p[:, 0]]).astype(np.float32)
        return np.asarray(6 * np.sign(difference) - difference * np.float32(12 / (n + 1)))

    if n > 2 and not order.is_constrained:
        yield EffectGroup(
            "adjusted",
            pairs,
            adjusted,
            lambda p: f"{prefix}{names[p[0]]} before {names[p[1]]}, other pairs held fixed",
        )
    regions = REGIONS[min(3, length)]
    yield EffectGroup(
        "position",
        np.stack(np.divmod(np.arange(n * len(regions)), len(regions)), axis=1),
        lambda ranks, p: _split(ranks[p[:, 0]] * len(regions) // length == p[:, 1:]),
        lambda p: f"{prefix}{names[p[0]]} {regions[p[1]]}",
    )


def item_names(order: Permutation) -> tuple[str, ...]:
    """Names of the items; copies of one are numbered."""
    items = list(map(str, order.names))
    count = Counter(items)
    return tuple(f"{item} ({items[: k + 1].count(item)})" if count[item] > 1 else item for k, item in enumerate(items))


def estimate_effects(
    space: SearchSpace,
    models: Sequence[tuple[GP, float]],
    transform: OutputTransform,
    variables: Mapping[str, VariableEffects],
    sign: float,
) -> Iterator[Effect]:
    """Differences of means over random points under the models' posteriors, averaged by the models' weights.

    Models predict transformed values. Effects are those on the values; their standard deviations are to first order.
    """
    exhaustive = space.size <= JOINT_ORDERS
    count = min(SAMPLED_ORDERS, MAX_ENTRIES // space.width)
    rows = space.enumerate_rows() if exhaustive else space.sample_rows(count, seed=np.random.default_rng(0))
    joint = rows if exhaustive else rows[: min(JOINT_ORDERS, MAX_ENTRIES * 2 // 5 // space.width)]
    weights = np.array([weight for _, weight in models])
    weights /= weights.sum()
    means = [model.predict(rows)[0] for model, _ in models]
    predicted = np.stack([transform.inverse(mean) for mean in means], axis=1)
    covariances = []
    for (model, _), mean in zip(models, means, strict=True):
        derivatives = transform.inverse_std(mean[: len(joint)], np.ones(len(joint)))
        covariances.append(model.y_std**2 * _centred(derivatives[:, None] * model.covariance(joint) * derivatives))
    for name, variable in variables.items():
        values, joint_values = (_lines(variable.read(space.part(name, each))) for each in (rows, joint))
        for group in variable.groups:
            if not len(group.which):
                continue  # a single item
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
                yield _effect(group, name, group.which[k], float(mean[k]), float(deviation), sign)


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


def _lines(values: Rows) -> Rows:
    """Transposed, a line for each item or binary choice."""
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


def _effect(group: EffectGroup, variable: str, where: Ints, estimate: float, deviation: float, sign: float) -> Effect:
    """In the user's direction; of two orders of a pair the better one."""
    if group.kind in ("precedence", "adjusted") and estimate > 0:
        where, estimate = where[::-1], -estimate
    at = tuple(where.tolist())
    return Effect(group.kind, group.describe(where), variable, at, sign * estimate, deviation, estimate < 0)
