"""Distances of permutations against definitions, SciPy and brute force."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from mergebo import distances, errors
from mergebo import permutations as pm
from mergebo.compiled.packed import BLOCK_BYTES
from mergebo.testing import strategies as our


def all_orders(n: int) -> np.ndarray:
    return np.array(list(itertools.permutations(range(n))))


def steps_between(a: tuple[int, ...], neighbours) -> dict[tuple[int, ...], int]:
    """Minimum number of moves from a to all permutations by breadth-first search, which defines Cayley, Ulam and Kendall."""
    steps = {a: 0}
    queue = deque([a])
    while queue:
        current = queue.popleft()
        for neighbour in map(tuple, neighbours(np.array(current))):
            if neighbour not in steps:
                steps[neighbour] = steps[current] + 1
                queue.append(neighbour)
    return steps


def edge_set(order: np.ndarray, directed: bool, cyclic: bool) -> set[object]:
    items = order.tolist()
    pairs = list(itertools.pairwise(items + (items[:1] if cyclic else [])))
    return {p if directed else frozenset(p) for p in pairs if p[0] != p[1]}


class TestDistances:
    @pytest.mark.slow
    @given(st.data())
    def test_kendall_and_spearman_agree_with_scipy(self, data: st.DataObject) -> None:
        n = data.draw(our.sizes(2, 60))
        a, b = data.draw(our.permutations(n)), data.draw(our.permutations(n))
        for view, x, y in (("order", a, b), ("rank", np.argsort(a), np.argsort(b))):
            tau = kendalltau(x, y).statistic
            assert distances.kendall(a, b, view=view) == round((1 - tau) * n * (n - 1) / 4)
            rho = spearmanr(x, y).statistic if n > 2 else float(np.sign(x[0] - x[1]) * np.sign(y[0] - y[1]))
            assert distances.spearman_rho(a, b, view=view) == round((1 - rho) * n * (n * n - 1) / 6)

    @pytest.mark.parametrize(
        ("distance", "view", "moves"),
        [
            (distances.cayley, "order", lambda p: [pm.swap(p, i, j) for i, j in itertools.combinations(range(len(p)), 2)]),
            (distances.ulam, "order", lambda p: [pm.insert(p, i, j) for i, j in itertools.permutations(range(len(p)), 2)]),
            (distances.kendall, "rank", lambda p: [pm.swap(p, i, i + 1) for i in range(len(p) - 1)]),
        ],
    )
    def test_minimum_number_of_moves(self, distance: distances.Distance, view: pm.View, moves) -> None:
        start = (2, 0, 3, 1, 4)
        for order, steps in steps_between(start, moves).items():
            assert distance(start, order, view=view) == steps

    @given(st.data())
    def test_definitions(self, data: st.DataObject) -> None:
        n = data.draw(our.sizes(1, 20))
        a, b = data.draw(our.permutations(n)), data.draw(our.permutations(n))
        assert distances.footrule(a, b) == sum(abs(int(x) - int(y)) for x, y in zip(a, b, strict=True))
        assert distances.hamming(a, b) == sum(x != y for x, y in zip(a, b, strict=True))
        for directed, cyclic in itertools.product([False, True], repeat=2):
            missing = edge_set(a, directed, cyclic) - edge_set(b, directed, cyclic)
            assert distances.adjacency(a, b, directed=directed, cyclic=cyclic) == len(missing)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", distances.DISTANCES)
    @given(st.data())
    def test_metric_and_batches(self, name: str, data: st.DataObject) -> None:
        """Zero at itself, symmetric, bounded; broadcasting and `cross` equal a loop; inverting swaps the views."""
        distance = distances.DISTANCES[name]
        n = data.draw(our.sizes(1, 20))
        a, b = data.draw(our.batches(n)), data.draw(our.batches(n))
        view = data.draw(st.sampled_from(["order", "rank"]))
        matrix = distance.cross(a, b, view=view)
        assert matrix.dtype == np.int64
        assert matrix.shape == (len(a), len(b))
        np.testing.assert_array_equal(matrix, distance(a[:, None], b[None], view=view))
        np.testing.assert_array_equal(matrix, distance.cross(b, a, view=view).T)
        assert (matrix <= distance.maximum(n)).all()
        assert (distance(a, a, view=view) == 0).all()
        for i, j in np.ndindex(matrix.shape):
            assert matrix[i, j] == distance(a[i], b[j], view=view)
        if n > 1 and len(a):
            other = "rank" if view == "order" else "order"
            np.testing.assert_array_equal(
                distance(pm.invert(a), pm.invert(a[:1]), view=other), distance(a, a[:1], view=view)
            )

    @pytest.mark.parametrize("name", distances.DISTANCES)
    @pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
    def test_maximum_bounds_all_pairs(self, name: str, n: int) -> None:
        """The bound is tight, except for adjacency of few items, where any two orders share an edge."""
        distance = distances.DISTANCES[name]
        largest = distance.cross([range(n)], all_orders(n)).max()
        if name == "adjacency":
            assert largest <= distance.maximum(n)
            assert n < 5 or largest == distance.maximum(n)
        else:
            assert largest == distance.maximum(n)

    @pytest.mark.slow
    def test_cross_in_chunks(self) -> None:
        """Two chunks of rows and an incomplete one."""
        a, b = pm.sample(200, 5, seed=0), pm.sample(200, 7000, seed=1)
        assert distances.cayley.crossed is None
        assert 2 < len(a) / (distances.CHUNK // b.size) < 3
        np.testing.assert_array_equal(distances.cayley.cross(a, b), distances.cayley(a[:, None], b[None]))

    def test_kendall_cross_in_blocks(self) -> None:
        """Several blocks of either batch, the last ones incomplete."""
        a, b = pm.sample(400, 120, seed=0), pm.sample(400, 60, seed=1)
        block = BLOCK_BYTES // (400 * 399 // 2)
        assert 2 * block < len(a) < 3 * block
        assert block < len(b) < 2 * block
        np.testing.assert_array_equal(distances.kendall.cross(a, b), distances.kendall(a[:, None], b[None]))

    def test_more_words_than_a_block(self) -> None:
        """Rows with more words than are compared at once."""
        a, b = pm.sample(420, 6, seed=0), pm.sample(420, 5, seed=1)
        np.testing.assert_array_equal(distances.kendall.cross(a, b), distances.kendall(a[:, None], b[None]))

    def test_bad_calls(self) -> None:
        with pytest.raises(errors.ShapeError, match="expected permutations of 3 items, got 2"):
            distances.kendall([0, 1, 2], [0, 1])
        with pytest.raises(errors.ShapeError, match="batches of shape"):
            distances.kendall.cross(np.zeros((1, 1, 1)), [[0]])
        with pytest.raises(errors.ArgumentError, match="view must be one of"):
            distances.hamming([0], [0], view="slot")  # type: ignore[arg-type]
        assert "adjacency" in repr(distances.adjacency)
