"""Comparison maps: sorting algorithms with a fixed list of comparisons as encodings of permutations in bits."""

from mergebo.sorting.base import ComparisonMap
from mergebo.sorting.combine import Concatenation, Relabelled
from mergebo.sorting.enumeration import EnumerationMap, RandomComparisons
from mergebo.sorting.merge import MergeMap
from mergebo.sorting.networks import NETWORKS, NetworkMap

__all__ = [
    "NETWORKS",
    "ComparisonMap",
    "Concatenation",
    "EnumerationMap",
    "MergeMap",
    "NetworkMap",
    "RandomComparisons",
    "Relabelled",
]
