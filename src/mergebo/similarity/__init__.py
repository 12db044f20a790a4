"""Similarities of orders and of other variables: the factors of a kernel. Each structure of orders is one module."""

from mergebo.similarity.adjacency import Adjacency
from mergebo.similarity.base import Similarity
from mergebo.similarity.displacement import Footrule, SpearmanRho
from mergebo.similarity.positions import ARDPositions, Positions
from mergebo.similarity.precedence import ComparisonSimilarity
from mergebo.similarity.product import Combination, Product, ProductSimilarity, Sum, default_similarity
from mergebo.similarity.scalars import BinaryCountSimilarity, BinarySimilarity, CategoricalSimilarity, NumericSimilarity
from mergebo.similarity.slot_distances import SlotDistances

__all__ = [
    "ARDPositions",
    "Adjacency",
    "BinaryCountSimilarity",
    "BinarySimilarity",
    "CategoricalSimilarity",
    "Combination",
    "ComparisonSimilarity",
    "Footrule",
    "NumericSimilarity",
    "Positions",
    "Product",
    "ProductSimilarity",
    "Similarity",
    "SlotDistances",
    "SpearmanRho",
    "Sum",
    "default_similarity",
]
