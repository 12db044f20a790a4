"""Similarities of partial orders, of every structure."""

from __future__ import annotations

import numpy as np
import pytest

import mergebo as mb
from mergebo.methods import STRUCTURES
from mergebo.similarity import Adjacency, ComparisonSimilarity
from mergebo.sorting import EnumerationMap


class TestChosenItems:
    """Models of k chosen items ignore the others."""

    @pytest.mark.parametrize("structure", ["precedence", "positions", "adjacency", "directed-adjacency"])
    @pytest.mark.parametrize("which", [0, -1])
    def test_distances(self, structure: str, which: int) -> None:

        order = mb.Permutation(7, choose=3)
        similarity = STRUCTURES[structure].variants(7)[which].for_variable(order)
        rng = np.random.default_rng(0)
        a, b = order.sample((30,), rng), order.sample((20,), rng)
        distances = similarity.distance(a, b).reshape(similarity.num_lengthscales, 30, 20)
        assert distances.min() >= 0
        assert distances.max() <= 1
        shuffled = np.concatenate([a[:, :3], rng.permuted(a[:, 3:], axis=1)], axis=1)
        np.testing.assert_allclose(similarity.distance(shuffled, b).reshape(distances.shape), distances, atol=1e-6)
        same = similarity.distance(a, a).reshape(similarity.num_lengthscales, 30, 30)
        np.testing.assert_allclose(same.diagonal(axis1=1, axis2=2), 0, atol=1e-6)
        assert np.linalg.eigvalsh(np.exp(-2 * same.sum(axis=0))).min() > -1e-6

    def test_pairs_by_hand(self) -> None:
        """2 of 4 items: of the 5 pairs with a chosen item, each counts 1 if inverted and 1/4 if tied in one order."""

        a, b = np.array([[0, 1, 2, 3]]), np.array([[1, 0, 2, 3], [0, 2, 1, 3], [2, 3, 0, 1]])
        inverted = [1 / 5, (1 + 0.25 + 0.25) / 5, (4 + 0.25 + 0.25) / 5]
        np.testing.assert_allclose(
            ComparisonSimilarity(EnumerationMap(4), "rank", choose=2).distance(a, b), [inverted], atol=1e-6
        )
        np.testing.assert_allclose(Adjacency(4, choose=2).distance(a, b), [[0, 1, 1]])
        np.testing.assert_allclose(Adjacency(4, directed=True, choose=2).distance(a, b), [[1, 1, 1]])
