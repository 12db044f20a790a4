"""Building, fitting and reading a Gaussian process over orders and mixed points."""

from mergebo.surrogate.gp import GP, Hyperparameters, check_noise, fit
from mergebo.surrogate.similarity import (
    Adjacency,
    ByKernel,
    ByMap,
    Footrule,
    Joint,
    Near,
    Positions,
    Product,
    Ranks,
    SameChoices,
    SameOption,
    SameShare,
    SameSlots,
    Similarity,
    Spacings,
    Sum,
)

__all__ = [
    "GP",
    "Adjacency",
    "ByKernel",
    "ByMap",
    "Footrule",
    "Hyperparameters",
    "Joint",
    "Near",
    "Positions",
    "Product",
    "Ranks",
    "SameChoices",
    "SameOption",
    "SameShare",
    "SameSlots",
    "Similarity",
    "Spacings",
    "Sum",
    "check_noise",
    "fit",
]
