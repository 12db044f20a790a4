"""Similarities by the displacement of items."""

from __future__ import annotations

from mergebo.similarity import Footrule, Similarity, SpearmanRho
from similarity_suite import LongSegments, ScanSuite


class TestFootrule(ScanSuite, LongSegments):
    def make(self, n: int) -> Similarity:
        return Footrule(n)


class TestSpearmanRho(ScanSuite, LongSegments):
    def make(self, n: int) -> Similarity:
        return SpearmanRho(n)
