"""The default method: infers which structure of the orders the values depend on, and models that."""

from __future__ import annotations

from dataclasses import dataclass

from mergebo.acquisition import AcquisitionFunction, SearchLimits, acquisition_function
from mergebo.methods.base import Method
from mergebo.methods.batch import Batch
from mergebo.methods.bayesian import Bayesian, Preset
from mergebo.methods.embedding import EmbeddingModels
from mergebo.methods.search import NeighbourhoodSearch
from mergebo.methods.structures import SMALL_WIDTH, STRUCTURES, Structure, StructureModels, find_structures
from mergebo.neighbours import MOVES

__all__ = ["Auto"]


@dataclass(frozen=True)
class Auto(Preset):
    """The default method: models of several structures, one sampled by its posterior probability at every step.

    Where adjacency matters, the path length in an item embedding becomes the mean function, as long as its one-step-ahead
    error is smaller than that of the plain models. Binary variables are compared by which are 1 and by how many; with them,
    outputs are warped. LogEI is maximised by local search with first improvement, from the best rows and from random ones,
    over all three moves and steps of the other variables, with a continuous step for real ones.
    """

    structures: tuple[str | Structure, ...] = tuple(STRUCTURES)
    """Structures to consider, by name or as objects."""
    embedding: bool = True
    """Whether item embeddings are considered."""
    incumbents: int = 5
    """Number of best rows from which the search starts."""
    random_starts: int = 5
    """Number of random rows from which the search starts."""
    batch: Batch = "fantasies"
    """How the points of a batch are chosen; see `Bayesian`."""
    moves: tuple[str, ...] = tuple(MOVES)
    """Moves of orders that the search uses."""
    acquisition: str | AcquisitionFunction = "logei"
    """`"logei"`, `"ei"`, `"pi"`, `"ucb"`, or an acquisition function."""
    exploration: float | None = None
    """Factor by which the acquisition function sees standard deviations multiplied; if None, it is derived from the size of
    the space and the model."""

    def bayesian(self) -> Bayesian:
        models = StructureModels(find_structures(self.structures))
        # Only the most promising searches go on after screening; in large spaces one, as long as it pays.
        search = NeighbourhoodSearch(
            self.moves,
            self.incumbents,
            self.random_starts,
            "first",
            SearchLimits(screening_steps=8, survivors=3),
            SearchLimits(screening_steps=8, survivors=1, min_improvement=1e-2, max_full_scans=6),
            large_width=SMALL_WIDTH + 1,
            improve_tours=True,
        )
        return Bayesian(
            EmbeddingModels(models) if self.embedding else models,
            acquisition_function(self.acquisition),
            search,
            self.batch,
            self.exploration,
        )


def models_of(method: Method) -> EmbeddingModels:
    """The models that recommend and explain: those that the method proposes with, if it weighs structures, or `auto`'s."""
    bayesian = method.bayesian() if isinstance(method, Preset) else method
    model = bayesian.model if isinstance(bayesian, Bayesian) else None
    if isinstance(model, StructureModels):
        return EmbeddingModels(model)
    return model if isinstance(model, EmbeddingModels) else EmbeddingModels()
