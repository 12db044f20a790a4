"""Structures that values of orders may depend on, and their probabilities given the observations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from mergebo._typing import Floats
from mergebo.errors import ArgumentTypeError, unknown_choice
from mergebo.gp import GP
from mergebo.hyperparameters import Priors, VariancePriors
from mergebo.methods.base import History
from mergebo.methods.dataset import Dataset, cached
from mergebo.methods.models import fit_with_prior_mean
from mergebo.similarity import (
    Adjacency,
    BinaryCountSimilarity,
    ComparisonSimilarity,
    Positions,
    Product,
    ProductSimilarity,
    Similarity,
    SlotDistances,
    SpearmanRho,
)
from mergebo.sorting import EnumerationMap
from mergebo.spaces import Permutation, SearchSpace
from mergebo.transforms import Identity, LogRegret, OutputTransform

__all__ = ["STRUCTURES", "Structure", "StructureModels"]

EffectKind: TypeAlias = Literal["precedence", "adjusted", "position", "adjacency", "choice", "quantity"]
"""Kinds of effects in an explanation."""

SMALL_WIDTH = 60
"""Width of a point up to which all structures are fast enough."""
VARIANT_INTERVAL = 8
"""Number of observations between two selections of a structure's variant."""
MIN_WEIGHT = 0.05
"""Probability from which on a structure counts in an average; others would cost time and change little."""
MAX_FITTED = 200
"""Largest number of observations to which hyperparameters are fitted; the model is conditioned on all of them."""


@dataclass(frozen=True, repr=False)
class Structure:
    """A structure of orders, and what `auto` and explanations need to know of it."""

    name: str
    variants: Callable[[int], Sequence[Similarity]]
    """Similarities of orders of n items that express it; the one with the smallest BIC is used."""
    description: str
    """Completes the sentence "What matters is ..."."""
    effect: EffectKind
    """The kind of effects that shows it best."""
    cyclic: bool = False
    """Whether it is invariant under rotation, so that it applies to cyclic orders."""
    directed: bool = False
    """Whether it differs between an order and its reverse, but has the same variants otherwise as another structure."""
    partial: bool = True
    """Whether it applies to orders of some of the items."""
    closed: bool = False
    """Whether the last item of an order is next to the first."""
    embeddable: bool = False
    """Whether its mean function can be the path length in an item embedding."""
    max_width: float = np.inf
    """Width of a point from which on it is too slow, if there are other structures."""

    def applies_to(self, space: SearchSpace) -> bool:
        """Whether it can model the space's orders and is not equivalent to another structure there."""
        return all(self._applies_to(order) for order in space.permutations.values())

    def _applies_to(self, order: Permutation) -> bool:
        if "cycle" in order.symmetry and (not self.cyclic or (self.directed and "reversal" in order.symmetry)):
            return False
        return self.partial or order.choose is None

    def __repr__(self) -> str:
        return f"Structure({self.name!r})"


def _precedence(n: int) -> Sequence[Similarity]:
    mallows = ComparisonSimilarity(EnumerationMap(n), "rank")
    return [mallows, ProductSimilarity((mallows, SpearmanRho(n)))]


def _positions(n: int) -> Sequence[Similarity]:
    return [Positions(n)]


def _adjacency(n: int) -> Sequence[Similarity]:
    return [Adjacency(n, cyclic=True)]


def _directed_adjacency(n: int) -> Sequence[Similarity]:
    return [Adjacency(n, directed=True)]


def _slot_distances(n: int) -> Sequence[Similarity]:
    return [SlotDistances(n, columns) for columns in range(1, max(2, n // 2 + 1))]


STRUCTURES = {
    each.name: each
    for each in (
        Structure("precedence", _precedence, "which item comes before which", "precedence"),
        Structure("positions", _positions, "which item is in which slot", "position"),
        Structure(
            "adjacency",
            _adjacency,
            "which items are next to each other, the last and the first included",
            "adjacency",
            cyclic=True,
            closed=True,
            embeddable=True,
        ),
        Structure(
            "directed-adjacency",
            _directed_adjacency,
            "which item comes right after which",
            "adjacency",
            cyclic=True,
            directed=True,
            embeddable=True,
        ),
        Structure(
            "slot-distances",
            _slot_distances,
            "how far apart items are",
            "adjacency",
            cyclic=True,
            partial=False,
            max_width=SMALL_WIDTH,
        ),
    )
}
"""The structures of `auto`, by name."""


def find_structures(given: Sequence[str | Structure]) -> tuple[Structure, ...]:
    """The structures with these names; others may be given as objects."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ArgumentTypeError(f"structures are a list such as ['precedence', 'adjacency'], got {given!r}")
    for each in given:
        if not isinstance(each, Structure) and each not in STRUCTURES:
            raise unknown_choice("structure", each, STRUCTURES)
    return tuple(each if isinstance(each, Structure) else STRUCTURES[each] for each in given)


@dataclass(frozen=True)
class StructureModels:
    """Models of several structures, of which one is sampled by its posterior probability.

    Binary variables are compared by which are 1 and by how many. With them, outputs are warped: the number of ones matters
    so much that other effects would hardly show.
    """

    structures: tuple[Structure, ...] = tuple(STRUCTURES.values())
    sampled: bool = True
    """Whether a structure is sampled; otherwise the most probable one is used."""
    penalty: bool = True
    """Whether structures are compared by their BIC; otherwise by the posterior of their best lengthscales alone."""
    binary: Callable[[int], Similarity] = BinaryCountSimilarity
    """Makes the similarity of binary vectors."""
    priors: Priors = VariancePriors()
    """Priors of the hyperparameters."""
    binary_priors: Priors = Priors(lengthscale=(1.0, 1.0))
    """The same where there are binary variables, a few of which may matter as much as all of them together."""
    warped: bool = True
    """Whether outputs are warped where there are binary variables."""

    def build(self, history: History, rng: np.random.Generator) -> GP:
        """The model of a structure sampled by its posterior probability."""
        return self.choose(self.weigh(self.dataset(history)), rng)

    def weighed(self, history: History) -> list[tuple[GP, float]]:
        """The models of all structures that are not improbable, with their probabilities."""
        found = [each for each in self.weigh(history.dataset()).values() if each[1] >= MIN_WEIGHT]
        total = sum(weight for _, weight in found)
        return [(model, weight / total) for model, weight in found]

    def choose(self, weighed: Mapping[str, tuple[GP, float]], rng: np.random.Generator) -> GP:
        """One of several models, by their probabilities."""
        models, probabilities = zip(*weighed.values(), strict=True)
        which = rng.choice(len(models), p=probabilities) if self.sampled else int(np.argmax(probabilities))
        model: GP = models[which]
        return model

    def dataset(self, history: History) -> Dataset:
        """The observations of a history, with the transform of values that models of structures are fitted to."""
        warped = self.warped and history.space.binaries and len(history.values)
        transform: OutputTransform = LogRegret.of(history.values) if warped else Identity()
        return history.dataset(transform)

    def weigh(self, dataset: Dataset) -> dict[str, tuple[GP, float]]:
        """Model and posterior probability of each structure. For large points, slow ones only if there are no others."""
        space = dataset.space
        suitable = [each for each in self.structures if each.applies_to(space)] or list(self.structures)
        fast = [each for each in suitable if space.width <= each.max_width] or suitable
        if not space.permutations:
            del fast[1:]  # without orders all structures are the same
        models = {each.name: self.model(dataset, each) for each in fast}
        criteria = np.array([self.criterion(model) for model in models.values()])
        weights = np.exp(criteria.min() - criteria)
        weights /= weights.sum()
        return {name: (model, float(weight)) for (name, model), weight in zip(models.items(), weights, strict=True)}

    def posterior(self, history: History) -> tuple[Floats, Floats]:
        """Mean and standard deviation of noise-free values at observed rows, by Bayesian model averaging over structures."""
        count = len(history.values)
        if count < 2 or np.ptp(history.values) == 0:
            unknown = np.full(count, np.nan) if history.noise_std is None else history.noise_std
            return history.values.copy(), unknown
        dataset = self.dataset(history)
        models, weights = zip(*self.weigh(dataset).values(), strict=True)
        predicted = (model.predict(history.rows) for model in models)
        means, deviations = (np.array(each) for each in zip(*predicted, strict=True))
        mean = weights @ means
        deviation = np.sqrt(weights @ (deviations**2 + (means - mean) ** 2))
        return dataset.transform.inverse(mean), dataset.transform.inverse_std(mean, deviation)

    def criterion(self, model: GP) -> float:
        """What models are compared by; smaller is better."""
        return bic(model) if self.penalty else model.neg_log_posterior

    @cached(3 * len(STRUCTURES))  # of this ask and the two before it, for one-step-ahead errors
    def model(self, dataset: Dataset, structure: Structure) -> GP:
        """The model of one structure."""
        earlier = dataset.first(len(dataset) - len(dataset) % VARIANT_INTERVAL)
        return self._fit(dataset, structure, self.variant(earlier, structure))

    @cached(16)
    def variant(self, dataset: Dataset, structure: Structure) -> int:
        """The variant of a structure with the smallest BIC."""
        orders = dataset.space.permutations.values()
        count = max((1 if "cycle" in order.symmetry else len(structure.variants(order.n)) for order in orders), default=1)
        if count == 1 or len(dataset) < 2:
            return 0
        return int(np.argmin([self.criterion(self._fit(dataset, structure, which)) for which in range(count)]))

    def _fit(self, dataset: Dataset, structure: Structure, variant: int) -> GP:
        """The model with one variant of a structure, or with the last variant for orders that have fewer."""
        similarity = Product.of(dataset.space, lambda n: structure.variants(n)[: variant + 1][-1], self.binary)
        priors = self.binary_priors if dataset.space.binaries else self.priors
        if dataset.noisy:
            priors = replace(priors, noise=priors.noisy)
        noise_std, hyperparameters = dataset.target_std, None
        if len(dataset) > MAX_FITTED:
            subset = np.linspace(0, len(dataset) - 1, MAX_FITTED).astype(np.int64)
            hyperparameters = GP(
                similarity,
                dataset.rows[subset],
                dataset.targets[subset],
                priors=priors,
                noise_std=None if noise_std is None else noise_std[subset],
            ).hyperparameters
        return fit_with_prior_mean(
            similarity,
            dataset.rows,
            dataset.targets,
            dataset.prior_mean,
            hyperparameters=hyperparameters,
            priors=priors,
            noise_std=noise_std,
        )


def bic(model: GP) -> float:
    """Half the BIC (Schwarz 1978): the negative log posterior plus `log(observations) / 2` for each lengthscale.

    The posterior is that of the best lengthscales alone, which favours models with many; the penalty compensates.
    """
    return model.neg_log_posterior + 0.5 * float(np.log(len(model.rows))) * len(model.hyperparameters.lengthscales)
