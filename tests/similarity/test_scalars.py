"""Similarities of binary, categorical and numeric variables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo.similarity import BinaryCountSimilarity, BinarySimilarity, CategoricalSimilarity, NumericSimilarity
from similarity_suite import scan


def binary_rows(data: st.DataObject) -> tuple[np.ndarray, np.ndarray]:
    """A random binary vector, and rows of others."""
    count = data.draw(st.integers(1, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    return rng.integers(0, 2, count), rng.integers(0, 2, (5, count))


@pytest.mark.parametrize("kind", [BinarySimilarity, BinaryCountSimilarity])
@given(data=st.data())
def test_flips(kind: type[BinarySimilarity] | type[BinaryCountSimilarity], data: st.DataObject) -> None:
    centre, rows = binary_rows(data)
    similarity = kind(len(centre))
    flipped = centre ^ np.eye(len(centre), dtype=int)
    weights = np.array([0.7, 1.3])[: similarity.num_lengthscales]
    distances = similarity.distance(flipped, rows).reshape(len(weights), len(centre), len(rows))
    scanned = scan(similarity, centre, rows, "flip", weights)
    np.testing.assert_allclose(scanned, np.tensordot(weights, distances, axes=1), atol=1e-6)


@pytest.mark.needs_torch
@pytest.mark.parametrize("kind", [BinarySimilarity, BinaryCountSimilarity])
@given(data=st.data())
def test_binary_similarities_by_hamming_distance_and_number_of_ones(
    kind: type[BinarySimilarity] | type[BinaryCountSimilarity], data: st.DataObject
) -> None:
    import torch

    _, rows = binary_rows(data)
    count = rows.shape[1]
    similarity = kind(count)
    distances = np.array(
        [
            [[np.sum(a != b) / count for b in rows] for a in rows],
            [[(sum(a.tolist()) - sum(b.tolist())) ** 2 / count**2 for b in rows] for a in rows],
        ]
    )[: similarity.num_lengthscales]
    np.testing.assert_allclose(similarity.distance(rows, rows).reshape(distances.shape), distances, atol=1e-12)
    lengthscales = np.array([0.7, 0.4])[: similarity.num_lengthscales]
    kernel = mb.kernels.kernel_of(similarity, tuple(range(count))).double()
    kernel.lengthscale = torch.from_numpy(lengthscales)
    expected = np.exp(-np.tensordot(1 / (2 * lengthscales**2), distances, axes=1))
    tensor = torch.from_numpy(rows).double()
    with torch.no_grad():
        np.testing.assert_allclose(kernel(tensor).to_dense().numpy(), expected, rtol=1e-6)
        np.testing.assert_allclose(kernel(tensor, tensor.flip(0), diag=True).numpy(), np.diag(expected[:, ::-1]), rtol=1e-6)


@given(seed=st.integers(0, 99), log=st.booleans())
def test_distances_of_numbers_and_options(seed: int, log: bool) -> None:
    real = mb.Real(2.0, 50.0, log=log)
    a, b = (real.sample((4,), np.random.default_rng(seed + k)) for k in range(2))
    scale = np.log if log else (lambda each: each)
    expected = [[((scale(x) - scale(y)) / (scale(50) - scale(2))) ** 2 for y in b.ravel()] for x in a.ravel()]
    np.testing.assert_allclose(NumericSimilarity(real).distance(a, b), expected, atol=1e-12)
    c, d = np.array([[0], [1], [2]]), np.array([[1], [1]])
    assert CategoricalSimilarity().distance(c, d).tolist() == [[1, 1], [0, 0], [1, 1]]
