"""Similarities by the distances between the slots of items."""

from __future__ import annotations

from mergebo.similarity import Similarity, SlotDistances
from similarity_suite import ScanSuite


class TestLine(ScanSuite):
    def make(self, n: int) -> Similarity:
        return SlotDistances(n)


class TestGrid(ScanSuite):
    def make(self, n: int) -> Similarity:
        return SlotDistances(n, 3)
