"""Similarities of orders and of other variables: the factors of a kernel."""

from mergebo.similarity.base import (
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
    "ARDPositions",
    "Adjacency",
    "BinaryCountSimilarity",
    "BinarySimilarity",
    "CategoricalSimilarity",
    "ComparisonSimilarity",
    "Footrule",
    "KernelSimilarity",
    "NumericSimilarity",
    "Positions",
    "Product",
    "ProductSimilarity",
    "Similarity",
    "SlotDistances",
    "SpearmanRho",
    "Sum",
]
