"""Similarities by adjacent items."""

from __future__ import annotations

from mergebo.similarity import Adjacency, Similarity
from similarity_suite import LongSegments, ScanSuite


class TestUndirected(ScanSuite):
    def make(self, n: int) -> Similarity:
        return Adjacency(n)


class TestDirected(ScanSuite, LongSegments):
    def make(self, n: int) -> Similarity:
        return Adjacency(n, directed=True)


class TestCyclic(ScanSuite):
    def make(self, n: int) -> Similarity:
        return Adjacency(n, cyclic=True)


class TestDirectedCyclic(ScanSuite):
    def make(self, n: int) -> Similarity:
        return Adjacency(n, directed=True, cyclic=True)
