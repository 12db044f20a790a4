"""Gaussian processes over orders and mixed points, with similarities of orders as kernels."""

from mergebo.surrogate.gp import GP, Hyperparameters, check_noise, fit
from mergebo.surrogate.similarity import (
    Adjacency,
    ARDPositions,
    BinaryCountSimilarity,
    BinarySimilarity,
    CategoricalSimilarity,
    ComparisonSimilarity,
    Footrule,
    KernelSimilarity,
    NumericSimilarity,
    Positions,
    Product,
    ProductSimilarity,
    Similarity,
    SlotDistances,
    SpearmanRho,
    Sum,
)

__all__ = [
    "GP",
    "ARDPositions",
    "Adjacency",
    "BinaryCountSimilarity",
    "BinarySimilarity",
    "CategoricalSimilarity",
    "ComparisonSimilarity",
    "Footrule",
    "Hyperparameters",
    "KernelSimilarity",
    "NumericSimilarity",
    "Positions",
    "Product",
    "ProductSimilarity",
    "Similarity",
    "SlotDistances",
    "SpearmanRho",
    "Sum",
    "check_noise",
    "fit",
]
