"""Explanations in words: which structure the results support, and which effects are significant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from mergebo._typing import Floats
from mergebo.explain.effects import Effect, effects_of, estimate_effects
from mergebo.gp import GP
from mergebo.mean import PathLengthMean, SumMean
from mergebo.methods.base import History
from mergebo.methods.dataset import Dataset
from mergebo.methods.embedding import EmbeddingModels
from mergebo.methods.structures import EffectKind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Explanation", "explain"]

HEADINGS: dict[EffectKind, str] = {
    "precedence": "Precedence",
    "adjusted": "Pairs, all other pairs held fixed",
    "position": "Position",
    "adjacency": "Adjacency",
    "choice": "Choices",
    "quantity": "Quantities",
}
WITHOUT_ORDERS: dict[EffectKind, tuple[str, str]] = {
    "choice": ("choices", "which choices are made"),
    "quantity": ("quantities", "how much of each quantity is taken"),
}
"""What matters in spaces without orders, where all structures are the same: a name and a description."""

MIN_Q2, MIN_RESULTS = 0.35, 10
"""Leave-one-out R² and number of results below which no effects are reported. Of 30 to 40 random values a model, which is
chosen among several, predicts up to a third."""
MIN_PROBABILITY = 0.01
"""Posterior probability below which a structure does not contribute to the effects."""


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
    kind: EffectKind = "choice"
    """The kind of effects that shows the most probable structure best."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """The structures in words."""

    @property
    def is_informative(self) -> bool:
        """Whether the models predict well enough for effects to be reported."""
        return self.results >= MIN_RESULTS and self.q2 >= MIN_Q2

    def of_kind(self, kind: EffectKind) -> tuple[Effect, ...]:
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
            (self.descriptions.get(name, name), weight) for name, weight in self.structures.items()
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


def explain(history: History, direction: str, models: EmbeddingModels = EmbeddingModels()) -> Explanation:
    """The explanation of a history by these models, whichever method made it."""
    space, count = history.space, len(history.values)
    prefixes = {name: "" if len(space.variables) == 1 else f"{name}: " for name in space.variables}
    if count < 2 or np.ptp(history.values) == 0:
        every = {name: effects_of(each, name, prefixes[name], ()) for name, each in space.variables.items()}
        return Explanation(
            count, direction, {}, 0.0, (), None, {name: each.items for name, each in every.items() if each.items}
        )
    dataset = models.structures.dataset(history)
    weighed = models.structures.weigh(dataset)
    known = {each.name: each for each in models.structures.structures}
    probabilities = {name: weight for name, (_, weight) in sorted(weighed.items(), key=lambda pair: -pair[1][1])}
    probable = [known[name] for name, weight in probabilities.items() if weight >= MIN_PROBABILITY]
    variables = {name: effects_of(each, name, prefixes[name], probable) for name, each in space.variables.items()}
    items = {name: each.items for name, each in variables.items() if each.items}
    kind, descriptions = known[next(iter(probabilities))].effect, {name: known[name].description for name in probabilities}
    if not items:
        kinds = {group.kind for each in variables.values() for group in each.groups}
        kind = "quantity" if "quantity" in kinds else "choice"
        what, description = WITHOUT_ORDERS[kind]
        probabilities, descriptions = {what: 1.0}, {what: description}
    considered = [(model, weight) for model, weight in weighed.values() if weight >= MIN_PROBABILITY]
    sign = -1.0 if direction == "maximize" else 1.0
    effects = [
        replace(effect, estimate=float(history.unscaled(effect.estimate)), std=float(history.unscaled(effect.std)))
        for effect in estimate_effects(space, considered, dataset.transform, variables, sign)
    ]
    return Explanation(
        count,
        direction,
        probabilities,
        _q2(considered),
        tuple(sorted(effects, key=lambda effect: -effect.lower_bound)),
        _embedding(models, dataset, weighed),
        items,
        kind,
        descriptions,
    )


def _embedding(models: EmbeddingModels, dataset: Dataset, weighed: Mapping[str, tuple[GP, float]]) -> Floats | None:
    """The item embedding, if one is selected; of a directed one the mean of both ends."""
    model = models.select(dataset, weighed)
    parts = () if model is None else SumMean.parts_of(model.mean_function)
    return next((part.coordinates.mean(axis=0) for part in parts if isinstance(part, PathLengthMean)), None)


def _q2(models: list[tuple[GP, float]]) -> float:
    """Leave-one-out R² of the models' weighted predictions; predicting the mean of the others gives 0."""
    y = models[0][0].y
    total = sum(weight for _, weight in models)
    expected = sum((weight / total * model.leave_one_out_mean() for model, weight in models), np.zeros(len(y)))
    deviations = len(y) / (len(y) - 1) * (y - y.mean())
    total_squares = float((deviations**2).sum())
    return float(1 - ((y - expected) ** 2).sum() / total_squares) if total_squares > 0 else 0.0
