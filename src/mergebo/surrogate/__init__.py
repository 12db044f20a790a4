"""Building, fitting and reading a Gaussian process over orders and mixed points."""

from mergebo.surrogate.gp import GP, Hyperparameters, check_noise, fit
from mergebo.surrogate.similarity import (
    Adjacency,
    ByMap,
    Footrule,
    Joint,
    Positions,
    Product,
    Ranks,
    SameChoices,
    SameShare,
    SameSlots,
    Similarity,
    Spacings,
)

__all__ = [
    "GP",
    "Adjacency",
    "ByMap",
    "Footrule",
    "Hyperparameters",
    "Joint",
    "Positions",
    "Product",
    "Ranks",
    "SameChoices",
    "SameShare",
    "SameSlots",
    "Similarity",
    "Spacings",
    "check_noise",
    "fit",
]
