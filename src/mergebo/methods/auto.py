"""The default method: infers which structure of the orders the values depend on, and models that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import get_args

import numpy as np

from mergebo._timing import phase
from mergebo._typing import Floats, Rows
from mergebo.acquisition.search import AcquisitionNeighbourhood, local_search
from mergebo.compiled.adjacency import two_opt
from mergebo.errors import unknown_choice
from mergebo.gp import GP, LENGTHSCALE_PRIOR, NOISE_PRIOR, NOISY_PRIOR, SumMean
from mergebo.mean import PriorMean, fit_with_prior_mean
from mergebo.methods.base import History
from mergebo.methods.batch import Batch
from mergebo.methods.bayesian import BayesianMethod, acquisition_function, posterior_means, revalue_incumbent
from mergebo.methods.embedding import PathLengthMean, fit_embedding
from mergebo.neighbours import MOVES
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
from mergebo.spaces import Binary, Permutation, PermutationSpace, SearchSpace

STRUCTURES: dict[str, Callable[[int], Sequence[Similarity]]] = {
    "precedence": lambda n: [_mallows(n), ProductSimilarity((_mallows(n), SpearmanRho(n)))],
    "positions": lambda n: [Positions(n)],
    "adjacency": lambda n: [Adjacency(n, cyclic=True)],
    "directed-adjacency": lambda n: [Adjacency(n, directed=True)],
    "slot-distances": lambda n: [SlotDistances(n, columns) for columns in range(1, max(2, n // 2 + 1))],
}
"""Candidate structures, as similarities of orders of n items. Of several variants the one with the smallest BIC is used."""


def _mallows(n: int) -> Similarity:
    return ComparisonSimilarity(EnumerationMap(n), "rank")


CYCLIC_STRUCTURES = ("adjacency", "directed-adjacency", "slot-distances")
"""Structures that are invariant under rotation; the others compare representatives of cyclic orders."""

EMBEDDABLE = ("adjacency", "directed-adjacency")
"""Structures whose mean function can be the path length in an item embedding."""

MIN_PROBABILITY_FOR_EMBEDDING = np.exp(-6.0)
"""Posterior probability that a structure needs before an embedding is fitted for it."""
ERROR_WINDOW = 8
"""Number of recent observations over which one-step-ahead errors are averaged."""
MIN_OBSERVATIONS_FOR_EMBEDDING = 26
"""Number of observations below which no embedding is fitted."""
EXPLAINED_SHARES = (0.7, 0.9, 0.98)
"""Candidate shares of the variance explained by path lengths: the more observations, the larger the best one."""
EMBEDDING_ITERATIONS = 50
"""Iterations of L-BFGS for each of the shares."""
CALIBRATION_BOUNDS = (1.0, 25.0)
"""Bounds of the variance inflation that calibrates a model with an embedding to its recent errors."""
SMALL_WIDTH = 60
"""Width of a point up to which full scans are not limited and all structures are fast enough."""
SMALL_WIDTH_STRUCTURES = ("slot-distances",)
"""Structures that are too slow for larger points."""
MAX_FULL_SCANS, MAX_SCANNED_ITEMS = 6, 2000
"""Full scans per local search of a large point, and the most items in all of them together.

More scans find higher maxima, but take far longer: a neighbourhood grows with the square of the number of items.
"""
MIXED_PRIOR = (1.0, 1.0)
"""Lengthscale prior where there are binary variables, a few of which may matter as much as all of them together."""
VARIANT_INTERVAL = 8
"""Number of observations between two selections of a structure's variant."""
MAX_FITTED = 200
"""Largest number of observations to which hyperparameters are fitted; the model is conditioned on all of them."""


@dataclass(frozen=True)
class Dataset:
    """The first observations of a run, hashable: the key under which models fitted to them are cached."""

    space: SearchSpace
    row_bytes: bytes
    value_bytes: bytes
    noisy: bool = False
    noise_bytes: bytes = b""
    prior_mean: PriorMean | None = None

    @classmethod
    def of(
        cls,
        space: SearchSpace,
        rows: Rows,
        values: Floats,
        *,
        noisy: bool = False,
        noise_std: Floats | None = None,
        prior_mean: PriorMean | None = None,
    ) -> Dataset:
        """From arrays, with the values' standard deviations and the prior mean, if there are any."""
        return cls(
            space,
            np.ascontiguousarray(rows, space.dtype).tobytes(),
            np.asarray(values, np.float64).tobytes(),
            noisy,
            b"" if noise_std is None else np.asarray(noise_std, np.float64).tobytes(),
            prior_mean,
        )

    @property
    def rows(self) -> Rows:
        """The rows observed."""
        return np.frombuffer(self.row_bytes, self.space.dtype).reshape(-1, self.space.width)

    @property
    def values(self) -> Floats:
        """Their values."""
        return np.frombuffer(self.value_bytes, np.float64)

    @property
    def noise_std(self) -> Floats | None:
        """Their standard deviations, nan where unknown; None if all are."""
        return np.frombuffer(self.noise_bytes, np.float64) if self.noise_bytes else None

    def __len__(self) -> int:
        return len(self.value_bytes) // 8

    def first(self, count: int) -> Dataset:
        """The first `count` observations."""
        noise_std = None if self.noise_std is None else self.noise_std[:count]
        rows, values = self.rows[:count], self.values[:count]
        return self.of(self.space, rows, values, noisy=self.noisy, noise_std=noise_std, prior_mean=self.prior_mean)


@lru_cache(maxsize=3 * len(STRUCTURES))
def structure_model(dataset: Dataset, structure: str) -> GP:
    """The model of one structure. Those of this ask and the two before it are cached, for `one_step_ahead_error`."""
    return _model(dataset, structure, best_variant(dataset.first(len(dataset) - len(dataset) % VARIANT_INTERVAL), structure))


@lru_cache(maxsize=16)
def best_variant(dataset: Dataset, structure: str) -> int:
    """The variant of a structure with the smallest BIC."""
    orders = [variable for variable in dataset.space.variables.values() if isinstance(variable, Permutation)]
    count = max((1 if "cycle" in order.symmetry else len(STRUCTURES[structure](order.n)) for order in orders), default=1)
    if count == 1 or len(dataset) < 2:
        return 0
    return int(np.argmin([bic(_model(dataset, structure, which)) for which in range(count)]))


def _model(dataset: Dataset, structure: str, variant: int) -> GP:
    """The model with one variant of a structure, or with the last variant for orders that have fewer."""
    similarity = Product.of(dataset.space, lambda n: STRUCTURES[structure](n)[: variant + 1][-1], BinaryCountSimilarity)
    prior = MIXED_PRIOR if has_binary(dataset.space) else LENGTHSCALE_PRIOR
    noise_prior = NOISY_PRIOR if dataset.noisy else NOISE_PRIOR
    noise_std, hyperparameters = dataset.noise_std, None
    if len(dataset) > MAX_FITTED:
        subset = np.linspace(0, len(dataset) - 1, MAX_FITTED).astype(np.int64)
        hyperparameters = GP(
            similarity,
            dataset.rows[subset],
            dataset.values[subset],
            prior=prior,
            noise_std=None if noise_std is None else noise_std[subset],
            noise_prior=noise_prior,
        ).hyperparameters
    return fit_with_prior_mean(
        similarity,
        dataset.rows,
        dataset.values,
        dataset.prior_mean,
        hyperparameters=hyperparameters,
        prior=prior,
        noise_std=noise_std,
        noise_prior=noise_prior,
    )


def bic(model: GP) -> float:
    """Half the BIC (Schwarz 1978): the negative log posterior plus `log(observations) / 2` for each lengthscale.

    The posterior is that of the best lengthscales alone, which favours models with many; the penalty compensates.
    """
    return model.neg_log_posterior + 0.5 * float(np.log(len(model.rows))) * len(model.hyperparameters.lengthscales)


def weigh_structures(dataset: Dataset, structures: tuple[str, ...] = tuple(STRUCTURES)) -> dict[str, tuple[GP, float]]:
    """Model and posterior probability of each structure. For large points, slow ones only if there are no others."""
    suitable = [name for name in structures if applies_to(dataset.space, name)] or list(structures)
    fast = [n for n in suitable if dataset.space.width <= SMALL_WIDTH or n not in SMALL_WIDTH_STRUCTURES] or suitable
    if not any(isinstance(variable, Permutation) for variable in dataset.space.variables.values()):
        del fast[1:]  # without orders all structures are the same
    models = {name: structure_model(dataset, name) for name in fast}
    criteria = np.array([bic(model) for model in models.values()])
    weights = np.exp(criteria.min() - criteria)
    weights /= weights.sum()
    return {name: (model, float(weight)) for (name, model), weight in zip(models.items(), weights, strict=True)}


def sample_structure(found: Mapping[str, tuple[GP, float]], rng: np.random.Generator) -> GP:
    """The model of one structure, sampled by posterior probability."""
    models, probabilities = zip(*found.values(), strict=True)
    model: GP = models[rng.choice(len(models), p=probabilities)]
    return model


def applies_to(space: SearchSpace, structure: str) -> bool:
    """Whether a structure can model the space's orders and is not equivalent to another one there."""
    for order in space.variables.values():
        if isinstance(order, Permutation):
            same = len(order.symmetry) == 2 and structure == "directed-adjacency"  # as plain adjacency
            if same or ("cycle" in order.symmetry and structure not in CYCLIC_STRUCTURES):
                return False
            if order.choose is not None and structure == "slot-distances":
                return False
    return True


@lru_cache(maxsize=4)
def fit_embeddings(dataset: Dataset, structure: str) -> tuple[Floats, ...]:
    """Item coordinates for each of `EXPLAINED_SHARES`: the first from a random start, each other from the one before."""
    model, pairs = structure_model(dataset, structure), _pairs(dataset.space, structure)
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
            steps=EMBEDDING_ITERATIONS,
        )
        found.append(coordinates)
    return tuple(found)


def embedding_model(dataset: Dataset, structure: str, share: float, inflation: float = 1.0) -> GP:
    """The structure's model with path lengths in an item embedding as mean, standard deviations times `inflation`."""
    model, pairs = structure_model(dataset, structure), _pairs(dataset.space, structure)
    coordinates = fit_embeddings(dataset, structure)[EXPLAINED_SHARES.index(share)]
    factor = (1 - share) * inflation**2
    plain = model.hyperparameters
    scaled = replace(plain, outputscale=factor * plain.outputscale, noise=factor * plain.noise)
    lengths = PathLengthMean(coordinates, pairs.cyclic)
    mean_function = lengths if model.mean_function is None else SumMean((model.mean_function, lengths))
    return GP(
        model.similarity,
        dataset.rows,
        dataset.values,
        hyperparameters=scaled,
        mean_function=mean_function,
        noise_std=dataset.noise_std,
    )


def _pairs(space: SearchSpace, structure: str) -> Adjacency:
    """The adjacency similarity of a structure that can have an embedding."""
    assert isinstance(space, PermutationSpace)
    (found,) = STRUCTURES[structure](space.width)
    adjacency = found.for_variable(space.order)
    assert isinstance(adjacency, Adjacency)
    return adjacency


@lru_cache(maxsize=128)
def one_step_ahead_error(
    dataset: Dataset, structures: tuple[str, ...], structure: str = "", share: float = 0.0
) -> tuple[float, float]:
    """Squared error of predicting the last observation from those before it, and the same over the predicted variance.

    The prediction is that of a structure with an embedding or, without a name, of the plain model with the smallest BIC.
    """
    before = dataset.first(len(dataset) - 1)
    if structure:
        model = embedding_model(before, structure, share)
    else:
        model = min((structure_model(before, name) for name in structures), key=bic)
    mean, deviation = model.predict_standardised(dataset.rows[-1:])
    error = float((dataset.values[-1] - model.y_mean) / model.y_std - mean[0])
    return (error * model.y_std) ** 2, (error / float(deviation[0])) ** 2


@dataclass(frozen=True)
class Auto(BayesianMethod):
    """The default method: models of several structures, one sampled by its posterior probability at every step.

    Where adjacency matters, the path length in an item embedding becomes the mean function, as long as its one-step-ahead
    error is smaller than that of the plain models. Binary variables are compared by which are 1 and by how many; with them,
    outputs are warped. LogEI is maximised by local search with first improvement, from the best rows and from random ones,
    over all three moves and steps of the other variables, with a continuous step for real ones.
    """

    structures: tuple[str, ...] = tuple(STRUCTURES)
    embedding: bool = True
    incumbents: int = 5
    random_starts: int = 5
    batch: Batch = "fantasies"
    moves: tuple[str, ...] = tuple(MOVES)

    def __post_init__(self) -> None:
        if self.batch not in get_args(Batch):
            raise unknown_choice("batch", self.batch, get_args(Batch))
        for name in self.structures:
            if name not in STRUCTURES:
                raise unknown_choice("structure", name, STRUCTURES)

    def _model(self, history: History, rng: np.random.Generator) -> GP:
        """The model with an embedding, if one is selected, or else that of a sampled structure."""
        dataset = model_dataset(history)
        with phase("fit"):
            found = weigh_structures(dataset, self.structures)
            model = sample_structure(found, rng)
            return (select_embedding(dataset, found) if self.embedding else None) or model

    def _search(self, model: GP, best: float, history: History, rng: np.random.Generator) -> tuple[Rows, Floats]:
        space, small = history.space, history.space.width <= SMALL_WIDTH
        acquisition = AcquisitionNeighbourhood(model, acquisition_function("logei", model, history), best, self.moves)
        good = history.best(self.incumbents, posterior_means(model, history))
        others = improve_tours(model, np.concatenate([good[:1], space.sample_rows(self.random_starts, seed=rng)]))
        found = local_search(
            acquisition,
            np.concatenate([good, others]),
            # Only the most promising searches go on after screening; in large spaces one, as long as it pays.
            screening_steps=8,
            survivors=3 if small else 1,
            min_improvement=0.0 if small else 1e-2,
            max_full_scans=None if small else max_full_scans(space),
            rng=rng,
            exclude=history.is_tried,
        )
        return revalue_incumbent(*found, acquisition.function, model, history)


def model_dataset(history: History) -> Dataset:
    """The observations that models are fitted to: with output warping where there are binary variables."""
    values, noise_std = history.values, history.noise_std
    if has_binary(history.space):
        values, derivative = warp_outputs(values), warp_derivative(values)
        noise_std = None if noise_std is None else noise_std * derivative
    noisy, prior_mean = history.noisy, history.prior_mean
    return Dataset.of(history.space, history.rows, values, noisy=noisy, noise_std=noise_std, prior_mean=prior_mean)


def has_binary(space: SearchSpace) -> bool:
    """Whether there are binary variables: the number of ones then matters so much that other effects hardly show."""
    return any(isinstance(variable, Binary) for variable in space.variables.values())


def max_full_scans(space: SearchSpace) -> int:
    """Number of full scans per local search of a large point."""
    items = max((variable.n for variable in space.variables.values() if isinstance(variable, Permutation)), default=1)
    return max(1, min(MAX_FULL_SCANS, MAX_SCANNED_ITEMS // max(1, items)))


def warp_outputs(values: Floats) -> Floats:
    """Output warping, `log(1 + regret / mean regret)`: otherwise large values hide differences between good ones.

    The regret is that to the best value; where it is small, warping is close to a change of scale.
    """
    regret = values - values.min()
    return np.asarray(np.log1p(regret / max(regret.mean(), 1e-300)))


def warp_derivative(values: Floats) -> Floats:
    """The derivative of `warp_outputs` at each value, for fixed best value and mean regret."""
    regret = values - values.min()
    return np.asarray(1 / (max(regret.mean(), 1e-300) + regret))


def select_embedding(dataset: Dataset, found: Mapping[str, tuple[GP, float]]) -> GP | None:
    """The model with an embedding whose recent one-step-ahead error is below that of the plain models, if there is one.

    It is not selected by evidence: an embedding always fits the observations that it was fitted to. Its variances are
    inflated to match its recent errors.
    """
    space = dataset.space
    if not isinstance(space, PermutationSpace) or space.order.choose is not None:
        return None
    # In cyclic orders, slot distances imply much of adjacency and may have all of its probability, though an embedding
    # predicts best.
    threshold = 0.0 if "cycle" in space.order.symmetry else MIN_PROBABILITY_FOR_EMBEDDING
    candidates = [name for name in EMBEDDABLE if name in found and found[name][1] >= threshold]
    if not candidates or space.n < 4 or len(dataset) < max(MIN_OBSERVATIONS_FOR_EMBEDDING, space.n // 2):
        return None
    recent = [dataset.first(k + 1) for k in range(len(dataset) - ERROR_WINDOW, len(dataset))]
    plain = np.mean([one_step_ahead_error(each, tuple(found))[0] for each in recent])
    errors = [
        (*np.mean([one_step_ahead_error(each, tuple(found), name, share) for each in recent], axis=0), name, share)
        for name in candidates
        for share in EXPLAINED_SHARES
    ]
    error, ratio, name, share = min(errors)
    return embedding_model(dataset, name, share, np.sqrt(np.clip(ratio, *CALIBRATION_BOUNDS))) if error < plain else None


def improve_tours(model: GP, rows: Rows) -> Rows:
    """Rows whose orders are improved by 2-opt on the pairwise costs that the model implies, if it models adjacency.

    Near a row the posterior mean is about a sum over adjacent pairs. Single moves find few of the costly pairs in a long
    order. A row that would become infeasible stays as it was.
    """
    original, rows, first = rows, rows.copy(), 0
    for name, factor in model.similarity.factors.items():
        if isinstance(factor, Adjacency):
            where, known = model.similarity.space.slices[name], model.similarity.space.part(name, model.rows)
            rate = 0.5 / model.hyperparameters.lengthscales[first] ** 2 / factor.n
            for row, weights in zip(rows, rate * model.alpha * model.cross(rows), strict=True):
                costs = _pair_sums(factor, known, weights)
                for part in SumMean.parts_of(model.mean_function):
                    if isinstance(part, PathLengthMean):
                        costs += part.costs
                order = row[where].astype(np.int64)
                two_opt(order, costs, factor.directed, factor.cyclic)
                row[where] = order
        first += factor.num_lengthscales
    space = model.similarity.space
    if space.is_constrained:
        rows = np.concatenate([(*space.feasible_rows(row[None]), old)[:1] for row, old in zip(rows, original, strict=True)])
    return rows


def _pair_sums(pairs: Adjacency, orders: Rows, weights: Floats) -> Floats:
    """For each pair of items the sum of the weights of the orders in which they are adjacent, `(n, n)`."""
    sums = np.zeros((pairs.n, pairs.n))
    steps = pairs.n if pairs.cyclic else pairs.n - 1
    following = np.roll(orders, -1, axis=1)[:, :steps]
    np.add.at(sums, (orders[:, :steps], following), np.repeat(weights[:, None], steps, axis=1))
    return sums if pairs.directed else sums + sums.T
