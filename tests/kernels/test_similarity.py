"""Kernels of similarities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo.similarity import Adjacency, Positions
from mergebo.testing import strategies as our

SIMILARITIES = {
    "positions": Positions,
    "adjacency": Adjacency,
    "adjacency directed": lambda n: Adjacency(n, directed=True),
    "adjacency cyclic": lambda n: Adjacency(n, cyclic=True),
    "adjacency directed cyclic": lambda n: Adjacency(n, directed=True, cyclic=True),
}


KERNELS = {
    "positions": lambda n: mb.kernels.PositionKernel(n),
    "adjacency": lambda n: mb.kernels.AdjacencyKernel(n),
    "adjacency directed": lambda n: mb.kernels.AdjacencyKernel(n, directed=True),
    "adjacency cyclic": lambda n: mb.kernels.AdjacencyKernel(n, cyclic=True),
    "adjacency directed cyclic": lambda n: mb.kernels.AdjacencyKernel(n, directed=True, cyclic=True),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", KERNELS)
@given(data=st.data())
def test_similarities_agree_with_kernels(name: str, data: st.DataObject) -> None:
    import torch

    n = data.draw(our.sizes(1, 12))
    similarity = SIMILARITIES[name](n)
    rows = data.draw(our.batches(n, low=1, high=9))
    tensor = torch.from_numpy(rows).double()
    distances = KERNELS[name](n).distance(tensor, tensor).numpy()
    np.testing.assert_allclose(similarity.distance(rows, rows), distances)
    kernel = mb.kernels.kernel_of(similarity, tuple(range(n))).double()
    kernel.lengthscale = 0.7
    with torch.no_grad():
        np.testing.assert_allclose(kernel(tensor).to_dense().numpy(), np.exp(-distances / (2 * 0.7**2)), rtol=1e-6)
