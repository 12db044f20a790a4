"""Building, fitting and reading a Gaussian process over orders and mixed points."""

from mergebo.surrogate.gp import GP, Hyperparameters, check_noise, fit
from mergebo.surrogate.similarity import (
    Adjacency,
    ByMap,
    Footrule,
    Positions,
    Product,
    SameChoices,
    SameSlots,
    Similarity,
)

__all__ = [
    "GP",
    "Adjacency",
    "ByMap",
    "Footrule",
    "Hyperparameters",
    "Positions",
    "Product",
    "SameChoices",
    "SameSlots",
    "Similarity",
    "check_noise",
    "fit",
]
