"""Tests of the similarities of orders: a scan of a neighbourhood equals brute force over all neighbours."""

from __future__ import annotations

import tracemalloc
from abc import ABC, abstractmethod

import numpy as np
import pytest
from hypothesis import strategies as st

from mergebo.neighbours import MOVES, exchange_sequence, move_slots
from mergebo.permutations import sample
from mergebo.similarity import Similarity
from mergebo.similarity.base import SCAN_ENTRIES, WALK_ENTRIES
from mergebo.testing import strategies as our
from mergebo.testing.properties import property_test


def scan(similarity: Similarity, centre: np.ndarray, rows: np.ndarray, move: str, weights: np.ndarray) -> np.ndarray:
    blocks = list(similarity.scan(centre, rows, move, weights))
    assert all(block.dtype == np.float32 for block in blocks)
    return np.concatenate([np.empty((0, len(rows))), *blocks])


def brute_force(similarity: Similarity, centre: np.ndarray, rows: np.ndarray, move: str, weights: np.ndarray) -> np.ndarray:
    """Distances of all neighbours, one after the other."""
    around = [MOVES[move](centre, a, b) for a, b in move_slots(len(centre), move).tolist()]
    if not around:
        return np.empty((0, len(rows)))
    distances = similarity.distance(np.array(around), rows).reshape(len(weights), len(around), len(rows))
    return np.tensordot(weights, distances, axes=1)


class Suite(ABC):
    @abstractmethod
    def make(self, n: int) -> Similarity:
        """The similarity to test, of orders of n items."""


class ScanSuite(Suite):
    """Inherit from this class and implement `make`."""

    @pytest.mark.slow
    @pytest.mark.parametrize("move", MOVES)
    @property_test
    def test_scan_is_brute_force(self, move: str, data: st.DataObject) -> None:
        n = data.draw(our.sizes(1, 24))
        similarity = self.make(n)
        centre = data.draw(our.permutations(n))
        rows = data.draw(our.batches(n, low=1, high=9))
        weights = np.random.default_rng(n).uniform(0.5, 1, similarity.num_lengthscales)
        np.testing.assert_allclose(
            scan(similarity, centre, rows, move, weights), brute_force(similarity, centre, rows, move, weights), atol=1e-5
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("move", MOVES)
    def test_more_rows_than_are_scanned_at_once_in_several_blocks(self, move: str) -> None:
        n = 30
        similarity = self.make(n)
        centre = sample(n, seed=0)
        rows = np.concatenate([sample(n, 659, seed=1), centre[None], centre[None, ::-1]])
        weights = np.linspace(0.1, 1, similarity.num_lengthscales)
        assert len(rows) > 2 * WALK_ENTRIES > 2 * SCAN_ENTRIES
        assert len(list(similarity.scan(centre, rows, move, weights))) > 1
        scanned, expected = (
            scan(similarity, centre, rows, move, weights),
            brute_force(similarity, centre, rows, move, weights),
        )
        np.testing.assert_allclose(scanned, expected, atol=1e-5)


class LongSegments(Suite):
    """For similarities whose scan counts in small integers."""

    @pytest.mark.parametrize("move", MOVES)
    def test_long_segments(self, move: str) -> None:
        """Also if the change of a distance does not fit 16 bits."""
        n = 300
        similarity = self.make(n)
        centre = np.arange(n)
        rows = np.stack([sample(n, seed=1), centre, centre[::-1]])
        scanned = scan(similarity, centre, rows, move, np.ones(1))
        assert scanned.min() >= -1e-5
        assert scanned.max() <= 1 + 1e-5
        sampled = np.random.default_rng(0).choice(len(scanned), 50)
        around = np.array([MOVES[move](centre, a, b) for a, b in move_slots(n, move)[sampled].tolist()])
        np.testing.assert_allclose(scanned[sampled], similarity.distance(around, rows), atol=1e-5)


class BoundedMemory(Suite):
    """For similarities whose scan makes neighbours, or has large tables."""

    def test_memory_is_bounded(self) -> None:
        """Neighbours are not all in memory at once: 39 402 insertions of 200 items are 60 MiB, distances per slot 1 GiB."""
        n = 200
        similarity, rows = self.make(n), sample(n, 20, seed=0)
        exchange_sequence(n, "insertion")  # cached, and compiled
        list(similarity.scan(rows[0], rows[:2], "insertion", np.ones(similarity.num_lengthscales)))
        tracemalloc.start()
        for _ in similarity.scan(rows[0], rows, "insertion", np.ones(similarity.num_lengthscales)):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**24
