"""Item embeddings: coordinates of items in the plane, learned from the values of orders.

The value of an order is modelled as the length of the path through its items' coordinates plus a Gaussian process on shared
adjacent pairs, which models the residual. Coordinates have a normal prior and are fitted by L-BFGS. The likelihood becomes
multimodal as the residual variance shrinks; with a large one any start leads to about the same embedding. So embeddings are
fitted with decreasing residual variance, each warm-started from the one before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from mergebo._typing import Floats, Rows
from mergebo.compiled.adjacency import edge_gradients, edge_sums
from mergebo.gp import GP
from mergebo.mean import PathLengthMean, SumMean, path_costs
from mergebo.methods.base import History
from mergebo.methods.dataset import Dataset, cached
from mergebo.methods.structures import Structure, StructureModels
from mergebo.similarity import Adjacency

__all__ = ["EmbeddingModels"]

LENGTH_VARIANCE = 4 - np.pi
"""Variance of the distance between two points whose coordinates are standard normal."""
MIN_PROBABILITY = np.exp(-6.0)
"""Posterior probability that a structure needs before an embedding is fitted for it."""
ERROR_WINDOW = 8
"""Number of recent observations over which one-step-ahead errors are averaged."""
MIN_OBSERVATIONS = 26
"""Number of observations below which no embedding is fitted."""
EXPLAINED_SHARES = (0.7, 0.9, 0.98)
"""Candidate shares of the variance explained by path lengths: the more observations, the larger the best one."""
ITERATIONS = 50
"""Iterations of L-BFGS for each of the shares."""
CALIBRATION_BOUNDS = (1.0, 25.0)
"""Bounds of the variance inflation that calibrates a model with an embedding to its recent errors."""


@dataclass(frozen=True)
class EmbeddingModels:
    """Models of several structures and, where adjacency matters, of path lengths in an item embedding.

    The path length becomes the mean function as long as its one-step-ahead error is smaller than that of the models without.
    """

    structures: StructureModels = StructureModels()

    def build(self, history: History, rng: np.random.Generator) -> GP:
        """The model with an embedding, if one is selected, or else that of a sampled structure."""
        dataset = self.structures.dataset(history)
        weighed = self.structures.weigh(dataset)
        model = self.structures.choose(weighed, rng)
        return self.select(dataset, weighed) or model

    def weighed(self, history: History) -> list[tuple[GP, float]]:
        """See `StructureModels.weighed`; there are no embeddings in an average."""
        return self.structures.weighed(history)

    def select(self, dataset: Dataset, weighed: Mapping[str, tuple[GP, float]]) -> GP | None:
        """The model with an embedding whose recent one-step-ahead error is below that of the plain models, if there is one.

        It is not selected by evidence: an embedding always fits the observations that it was fitted to. Its variances are
        inflated to match its recent errors.
        """
        order = dataset.space.single_permutation
        if order is None or order.choose is not None:
            return None
        # In cyclic orders, slot distances imply much of adjacency and may have all of its probability, though an embedding
        # predicts best.
        threshold = 0.0 if "cycle" in order.symmetry else MIN_PROBABILITY
        candidates = [
            each
            for each in self.structures.structures
            if each.embeddable and each.name in weighed and weighed[each.name][1] >= threshold
        ]
        if not candidates or order.n < 4 or len(dataset) < max(MIN_OBSERVATIONS, order.n // 2):
            return None
        plain_structures = tuple(each for each in self.structures.structures if each.name in weighed)
        recent = [dataset.first(k + 1) for k in range(len(dataset) - ERROR_WINDOW, len(dataset))]
        plain = np.mean([self.plain_error(each, plain_structures) for each in recent])
        errors = [
            (*np.mean([self.error(each, structure, share) for each in recent], axis=0), number, share)
            for number, structure in enumerate(candidates)
            for share in EXPLAINED_SHARES
        ]
        error, ratio, number, share = min(errors)
        if error >= plain:
            return None
        return self.model(dataset, candidates[number], share, np.sqrt(np.clip(ratio, *CALIBRATION_BOUNDS)))

    def model(self, dataset: Dataset, structure: Structure, share: float, inflation: float = 1.0) -> GP:
        """The structure's model with path lengths in an item embedding as mean, standard deviations times `inflation`."""
        model, pairs = self.structures.model(dataset, structure), _pairs(dataset, structure)
        coordinates = self.coordinates(dataset, structure)[EXPLAINED_SHARES.index(share)]
        factor = (1 - share) * inflation**2
        plain = model.hyperparameters
        scaled = replace(plain, outputscale=factor * plain.outputscale, noise=factor * plain.noise)
        lengths = PathLengthMean(coordinates, pairs.cyclic)
        mean_function = lengths if model.mean_function is None else SumMean((model.mean_function, lengths))
        return GP(
            model.similarity,
            dataset.rows,
            dataset.targets,
            hyperparameters=scaled,
            mean_function=mean_function,
            noise_std=dataset.target_std,
        )

    @cached(4)
    def coordinates(self, dataset: Dataset, structure: Structure) -> tuple[Floats, ...]:
        """Item coordinates for each of `EXPLAINED_SHARES`: the first from a random start, each other from the one before."""
        model, pairs = self.structures.model(dataset, structure), _pairs(dataset, structure)
        precision = model.chol_inverse.T @ model.chol_inverse
        scale = model.hyperparameters.outputscale * (1 - np.exp(-0.5 / model.hyperparameters.lengthscales[0] ** 2))
        coordinates = np.random.default_rng(len(dataset)).normal(size=(1 + pairs.directed, pairs.n, 2)) / np.sqrt(pairs.n)
        found = []
        for share in EXPLAINED_SHARES:
            coordinates = fit_embedding(
                dataset.rows,
                model.residuals,
                precision / (1 - share),
                coordinates,
                variance=share * scale,
                cyclic=pairs.cyclic,
                steps=ITERATIONS,
            )
            found.append(coordinates)
        return tuple(found)

    @cached(128)
    def error(self, dataset: Dataset, structure: Structure, share: float) -> tuple[float, float]:
        """Squared error of predicting the last observation from those before it; the same over the predicted variance."""
        return _one_step_ahead_error(self.model(dataset.first(len(dataset) - 1), structure, share), dataset)

    @cached(32)
    def plain_error(self, dataset: Dataset, structures: tuple[Structure, ...]) -> float:
        """The same squared error of the model with the smallest BIC, without an embedding."""
        before = dataset.first(len(dataset) - 1)
        models = (self.structures.model(before, each) for each in structures)
        return _one_step_ahead_error(min(models, key=self.structures.criterion), dataset)[0]


def _one_step_ahead_error(model: GP, dataset: Dataset) -> tuple[float, float]:
    mean, deviation = model.predict_standardised(dataset.rows[-1:])
    error = float((dataset.targets[-1] - model.y_mean) / model.y_std - mean[0])
    return (error * model.y_std) ** 2, (error / float(deviation[0])) ** 2


def _pairs(dataset: Dataset, structure: Structure) -> Adjacency:
    """The adjacency similarity of a structure that can have an embedding."""
    order = dataset.space.single_permutation
    assert order is not None
    (found,) = structure.variants(order.n)
    adjacency = found.for_variable(order)
    assert isinstance(adjacency, Adjacency)
    return adjacency


def fit_embedding(
    orders: Rows, y: Floats, precision: Floats, start: Floats, *, variance: float, cyclic: bool, steps: int
) -> Floats:
    """Maximum a posteriori coordinates, by at most `steps` iterations of L-BFGS from `start`.

    `precision` is the inverse covariance of the residual, whose constant mean takes its best value. `variance` is the prior
    variance of the path lengths of random orders, with pairs treated as independent.
    """
    orders = np.ascontiguousarray(orders, np.int64)
    count, n = orders.shape
    prior_std = np.sqrt(variance / (LENGTH_VARIANCE * n))
    by_ones = precision.sum(axis=1)
    lengths, gradient = np.empty(count), np.empty(start.shape)

    def loss(flat: Floats) -> tuple[float, Floats]:
        coordinates = flat.reshape(start.shape)
        edge_sums(orders, path_costs(coordinates), cyclic, lengths)
        residual = y - lengths
        residual = residual - by_ones @ residual / by_ones.sum()
        alpha = precision @ residual
        gradient[:] = 0
        edge_gradients(orders, -alpha, coordinates[0], coordinates[-1], cyclic, gradient)
        value = 0.5 * (residual @ alpha + (flat @ flat) / prior_std**2)
        return float(value), gradient.reshape(-1) + flat / prior_std**2

    found = minimize(loss, start.reshape(-1), jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxfun": 2 * steps})
    return np.asarray(found.x).reshape(start.shape)
