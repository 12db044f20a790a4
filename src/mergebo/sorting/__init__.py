"""Comparison maps: every sorting algorithm with a fixed list of comparisons turns a permutation into bits."""

from mergebo.sorting.base import ComparisonMap
from mergebo.sorting.combine import Concatenation, Relabelled
from mergebo.sorting.merge import MergeMap
from mergebo.sorting.networks import NETWORKS, NetworkMap
from mergebo.sorting.pairs import EnumerationMap, RandomComparisons

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
