"""Neighbourhood scans against brute force over all neighbours."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from against_botorch import DEVICES
from mergebo import acquisition
from mergebo.gp import GP
from mergebo.methods import KernelModel, SingleKernel
from mergebo.methods.registry import METHODS
from mergebo.neighbours import MOVES, exchange_sequence, move_slots
from mergebo.similarity import (
    Adjacency,
    ARDPositions,
    BinaryCountSimilarity,
    BinarySimilarity,
    ComparisonSimilarity,
    Footrule,
    Positions,
    ProductSimilarity,
    Similarity,
    SlotDistances,
    SpearmanRho,
)
from mergebo.similarity.base import SCAN_ENTRIES, WALK_ENTRIES
from mergebo.sorting import EnumerationMap, MergeMap, NetworkMap, RandomComparisons
from mergebo.testing import strategies as our

ORDERS = {
    **{name: info.fixed["kernel"] for name, info in METHODS.items() if info.make is SingleKernel},
    "position": Positions,
    "adjacency": Adjacency,
}
"""Similarities of the methods' models, and others."""

SIMILARITIES = {
    "kendall": lambda n: ComparisonSimilarity(EnumerationMap(n), "rank"),
    "kendall order": lambda n: ComparisonSimilarity(EnumerationMap(n)),
    "merge": lambda n: ComparisonSimilarity(MergeMap(n)),
    "merge rank": lambda n: ComparisonSimilarity(MergeMap(n), "rank"),
    "merge source": lambda n: ComparisonSimilarity(MergeMap(n, "source")),
    "merge padded": lambda n: ComparisonSimilarity(MergeMap(n, padded=True)),
    "merge source padded": lambda n: ComparisonSimilarity(MergeMap(n, "source", padded=True), "rank"),
    "bitonic": lambda n: ComparisonSimilarity(NetworkMap(n)),
    "random pairs": lambda n: ComparisonSimilarity(RandomComparisons(n), "rank"),
    "random pairs order": lambda n: ComparisonSimilarity(RandomComparisons(n, seed=1)),
    "positions": Positions,
    "slot distances": SlotDistances,
    "slot distances on a grid": lambda n: SlotDistances(n, 3),
    "adjacency": Adjacency,
    "adjacency directed": lambda n: Adjacency(n, directed=True),
    "adjacency cyclic": lambda n: Adjacency(n, cyclic=True),
    "adjacency directed cyclic": lambda n: Adjacency(n, directed=True, cyclic=True),
    "footrule": Footrule,
    "ranks": SpearmanRho,
    "kendall and ranks": lambda n: ProductSimilarity((ComparisonSimilarity(EnumerationMap(n), "rank"), SpearmanRho(n))),
    "slots": ARDPositions,
}


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


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.parametrize("move", MOVES)
@given(data=st.data())
def test_scan_is_brute_force(name: str, move: str, data: st.DataObject) -> None:
    n = data.draw(our.sizes(1, 24))
    similarity: Similarity = SIMILARITIES[name](n)
    centre = data.draw(our.permutations(n))
    rows = data.draw(our.batches(n, low=1, high=9))
    weights = np.random.default_rng(n).uniform(0.5, 1, similarity.num_lengthscales)
    np.testing.assert_allclose(
        scan(similarity, centre, rows, move, weights), brute_force(similarity, centre, rows, move, weights), atol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.parametrize("move", MOVES)
def test_more_rows_than_are_scanned_at_once_in_several_blocks(name: str, move: str) -> None:
    n = 30
    similarity = SIMILARITIES[name](n)
    centre = mb.permutations.sample(n, seed=0)
    rows = np.concatenate([mb.permutations.sample(n, 659, seed=1), centre[None], centre[None, ::-1]])
    weights = np.linspace(0.1, 1, similarity.num_lengthscales)
    assert len(rows) > 2 * WALK_ENTRIES > 2 * SCAN_ENTRIES
    assert len(list(similarity.scan(centre, rows, move, weights))) > 1
    scanned, expected = scan(similarity, centre, rows, move, weights), brute_force(similarity, centre, rows, move, weights)
    np.testing.assert_allclose(scanned, expected, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["kendall", "kendall order", "merge", "merge rank", "footrule", "ranks", "adjacency directed"]
)
@pytest.mark.parametrize("move", MOVES)
def test_long_segments(name: str, move: str) -> None:
    """Also if the change of a distance does not fit 16 bits."""
    n = 300
    similarity = SIMILARITIES[name](n)
    centre = np.arange(n)
    rows = np.stack([mb.permutations.sample(n, seed=1), centre, centre[::-1]])
    scanned = scan(similarity, centre, rows, move, np.ones(1))
    assert scanned.min() >= -1e-5
    assert scanned.max() <= 1 + 1e-5
    sampled = np.random.default_rng(0).choice(len(scanned), 50)
    around = np.array([MOVES[move](centre, a, b) for a, b in move_slots(n, move)[sampled].tolist()])
    np.testing.assert_allclose(scanned[sampled], similarity.distance(around, rows), atol=1e-5)


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


@pytest.mark.parametrize("move", MOVES)
@given(data=st.data())
def test_exchange_sequences_visit_all_moves(move: str, data: st.DataObject) -> None:
    n = data.draw(our.sizes(1, 12))
    centre = data.draw(our.permutations(n))
    slots, visited = move_slots(n, move), set()
    current = centre.copy()
    for (i, j, index, restart), items in zip(*exchange_sequence(n, move), strict=True):
        if restart:
            current = centre.copy()
        assert {current[i], current[j]} == set(centre[items])
        current[[i, j]] = current[[j, i]]
        if index >= 0:
            visited.add(int(index))
            np.testing.assert_array_equal(current, MOVES[move](centre, *slots[index].tolist()))
    assert visited == set(range(len(slots)))


@pytest.mark.parametrize("name", ["random pairs", "merge", "slots"])
def test_memory_is_bounded(name: str) -> None:
    """Neighbours are not all in memory at once: 39 402 insertions of 200 items are 60 MiB, distances per slot 1 GiB."""
    n = 200
    similarity, rows = SIMILARITIES[name](n), mb.permutations.sample(n, 20, seed=0)
    exchange_sequence(n, "insertion")  # cached, and compiled
    list(similarity.scan(rows[0], rows[:2], "insertion", np.ones(similarity.num_lengthscales)))
    tracemalloc.start()
    for _ in similarity.scan(rows[0], rows, "insertion", np.ones(similarity.num_lengthscales)):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


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


@pytest.mark.parametrize("method", ORDERS)
@pytest.mark.parametrize(
    "space", [mb.PermutationSpace(9), mb.Space(a=mb.Permutation(6), b=mb.Binary(4), c=mb.Permutation(5))]
)
def test_scanned_values_agree_with_evaluation(method: str, space) -> None:
    """Acquisition values of a scan, and its best neighbour, agree with evaluating all neighbours."""
    rows = space.sample_rows(25, seed=0)
    values = np.random.default_rng(0).normal(size=25) + rows[:, 0]
    model = GP(KernelModel(ORDERS[method]).similarity(space), rows, values)
    best = float(model.y.min())
    moves = tuple(MOVES)
    scanned = acquisition.AcquisitionNeighbourhood(model, acquisition.LogExpectedImprovement(), best, moves)
    enumerated = acquisition.ExhaustiveNeighbourhood(scanned.value, space, moves)
    for centre in space.sample_rows(4, seed=5):
        scans = [
            scanned.scan(centre, name, move)
            for name, variable in space.variables.items()
            for move in (moves if isinstance(variable, mb.Permutation) else ("flip",))
        ]
        around = acquisition.neighbours(centre, space, moves)
        expected = scanned.value(around)
        negligible = expected < -40  # next to tried points, where single precision is not sufficient
        np.testing.assert_allclose(np.concatenate(scans)[~negligible], expected[~negligible], rtol=2e-3, atol=2e-3)
        assert (np.concatenate(scans)[negligible] < -30).all()
        fast, slow = scanned.best_neighbours(centre, 5), enumerated.best_neighbours(centre, 5)
        assert scanned.value(fast).max() == pytest.approx(scanned.value(slow).max(), rel=1e-9)


@pytest.mark.needs_torch
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("method", ORDERS)
def test_device_scan_is_the_scan(method: str, device: str) -> None:
    """Means and deviations computed by torch, on every available device and in several chunks, agree with prediction."""
    space = mb.Space(a=mb.Permutation(6), b=mb.Binary(4), c=mb.Permutation(5))
    rows = space.sample_rows(25, seed=0)
    model = GP(KernelModel(ORDERS[method]).similarity(space), rows, np.random.default_rng(0).normal(size=25) + rows[:, 0])
    scan = mb.kernels.DeviceScan(model, device, max_entries=3000)
    centre = space.sample_rows(seed=5)
    moves = tuple(MOVES)
    found = [
        scan.scan(centre, name, move)
        for name, variable in space.variables.items()
        for move in (moves if isinstance(variable, mb.Permutation) else ("flip",))
    ]
    mean, deviation = model.predict_standardised(acquisition.neighbours(centre, space, moves))
    np.testing.assert_allclose(np.concatenate([m for m, _ in found]), mean, atol=2e-3)
    np.testing.assert_allclose(np.concatenate([d for _, d in found]), deviation, atol=2e-3)
    scanned = acquisition.AcquisitionNeighbourhood(model, acquisition.LogExpectedImprovement(), float(model.y.min()), moves)
    on_device = acquisition.AcquisitionNeighbourhood(scanned.model, scanned.function, scanned.best, moves, scan)
    best, expected = (scanned.value(each.best_neighbours(centre, 5)).max() for each in (on_device, scanned))
    assert best == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
@pytest.mark.needs_torch
@pytest.mark.parametrize("device", DEVICES)
def test_optimising_with_a_device(device: str) -> None:
    problem = mb.problems.get("lop:planted(n=7)")
    result = mb.minimize(problem.evaluate, problem.space, budget=14, initial=8, method="mergebo", device=device)
    assert len(result.trials) == 14
