"""Similarities by comparisons of items."""

from __future__ import annotations

from mergebo.similarity import ComparisonSimilarity, Similarity
from mergebo.sorting import EnumerationMap, MergeMap, NetworkMap, RandomComparisons
from similarity_suite import BoundedMemory, LongSegments, ScanSuite


class TestKendall(ScanSuite, LongSegments):
    def make(self, n: int) -> Similarity:
        return ComparisonSimilarity(EnumerationMap(n), "rank")


class TestKendallOrder(ScanSuite, LongSegments):
    def make(self, n: int) -> Similarity:
        return ComparisonSimilarity(EnumerationMap(n))


class TestMerge(ScanSuite, LongSegments, BoundedMemory):
    def make(self, n: int) -> Similarity:
        return ComparisonSimilarity(MergeMap(n))


class TestMergeRank(ScanSuite, LongSegments):
    def make(self, n: int) -> Similarity:
        return ComparisonSimilarity(MergeMap(n), "rank")


class TestMergeSource(ScanSuite):
    def make(self, n: int) -> Similarity:
        return ComparisonSimilarity(MergeMap(n, "source"))


class TestMergePadded(ScanSuite):
    def make(self, n: int) -> Similarity:
        return ComparisonSimilarity(MergeMap(n, padded=True))


class TestMergeSourcePadded(ScanSuite):
    def make(self, n: int) -> Similarity:
        return ComparisonSimilarity(MergeMap(n, "source", padded=True), "rank")


class TestBitonic(ScanSuite):
    def make(self, n: int) -> Similarity:
        return ComparisonSimilarity(NetworkMap(n))


class TestRandomPairs(ScanSuite, BoundedMemory):
    def make(self, n: int) -> Similarity:
        return ComparisonSimilarity(RandomComparisons(n), "rank")


class TestRandomPairsOrder(ScanSuite):
    def make(self, n: int) -> Similarity:
        return ComparisonSimilarity(RandomComparisons(n, seed=1))
