"""Similarities by the item in each slot."""

from __future__ import annotations

from mergebo.similarity import ARDPositions, Positions, Similarity
from similarity_suite import BoundedMemory, ScanSuite


class TestPositions(ScanSuite):
    def make(self, n: int) -> Similarity:
        return Positions(n)


class TestSlots(ScanSuite, BoundedMemory):
    def make(self, n: int) -> Similarity:
        return ARDPositions(n)
