"""Neighbourhood scans against brute force: every neighbour written out and measured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo import acquisition
from mergebo.moves import MOVES
from mergebo.optimizers.methods import METHODS
from mergebo.sorting import EnumerationMap, MergeMap, NetworkMap
from mergebo.surrogate import GP, ByMap, Footrule, SameChoices, SameSlots, Similarity
from mergebo.testing import strategies as our
from mergebo.testing.kernels import DEVICES

SIMILARITIES = {
    "kendall": lambda n: ByMap(EnumerationMap(n), "rank"),
    "kendall order": lambda n: ByMap(EnumerationMap(n)),
    "merge": lambda n: ByMap(MergeMap(n)),
    "merge rank": lambda n: ByMap(MergeMap(n), "rank"),
    "merge source": lambda n: ByMap(MergeMap(n, "source")),
    "merge padded": lambda n: ByMap(MergeMap(n, padded=True)),
    "merge source padded": lambda n: ByMap(MergeMap(n, "source", padded=True), "rank"),
    "bitonic": lambda n: ByMap(NetworkMap(n)),
    "footrule": Footrule,
    "slots": SameSlots,
}


@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.parametrize("move", MOVES)
@given(data=st.data())
def test_scan_is_brute_force(name: str, move: str, data: st.DataObject) -> None:
    n = data.draw(our.sizes(1, 24))
    similarity: Similarity = SIMILARITIES[name](n)
    centre = data.draw(our.permutations(n))
    rows = data.draw(our.batches(n, low=1, high=9))
    scanned = similarity.scan(centre, rows, move)
    np.testing.assert_allclose(scanned, Similarity.scan(similarity, centre, rows, move), atol=1e-6)


@pytest.mark.parametrize("name", ["kendall", "merge", "merge rank"])
@pytest.mark.parametrize("move", MOVES)
def test_more_rows_than_are_scanned_at_once_and_long_segments(name: str, move: str) -> None:
    """Also where the change of a reversal does not fit 16 bits."""
    n = 300 if name == "kendall" and move == "reversal" else 40
    similarity = SIMILARITIES[name](n)
    centre = np.arange(n)
    rows = np.concatenate([mb.permutations.sample(n, 129 if n == 40 else 5, seed=1), centre[None], centre[None, ::-1]])
    scanned = similarity.scan(centre, rows, move)
    if n == 40:
        np.testing.assert_allclose(scanned, Similarity.scan(similarity, centre, rows, move), atol=1e-6)
    else:
        assert scanned.min() >= -1e-6
        assert scanned.max() <= 1 + 1e-6
        assert scanned[:, -1].min() == pytest.approx(0, abs=1e-6)  # reversing all of it gives the last row


@given(data=st.data())
def test_flips(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    centre, rows = rng.integers(0, 2, count), rng.integers(0, 2, (5, count))
    similarity = SameChoices(count)
    flipped = centre ^ np.eye(count, dtype=int)
    np.testing.assert_allclose(similarity.scan(centre, rows, "flip"), similarity.distance(flipped, rows), atol=1e-6)


@pytest.mark.parametrize("method", ["mergebo", "bops-h", "bops-random", "spearman", "combo"])
@pytest.mark.parametrize(
    "space", [mb.PermutationSpace(9), mb.Space(a=mb.Permutation(6), b=mb.Binary(4), c=mb.Permutation(5))]
)
def test_scanned_values_are_the_values(method: str, space) -> None:
    """Acquisition values of a scan are those of the written-out neighbours, and so is the best neighbour."""
    rows = space.sample_rows(25, seed=0)
    values = np.random.default_rng(0).normal(size=25) + rows[:, 0]
    make, settings = METHODS[method]
    model = GP(make(**settings).similarity(space), rows, values)
    best = float(model.y.min())
    moves = tuple(MOVES)
    ours = acquisition.Acquisition(model, acquisition.log_expected_improvement, best, moves)
    listed = acquisition.Listed(ours.value, space, moves)
    for centre in space.sample_rows(4, seed=5):
        scans = [
            ours.scan(centre, name, move)
            for name, variable in space.variables.items()
            for move in (moves if isinstance(variable, mb.Permutation) else ("flip",))
        ]
        around = acquisition.neighbours(centre, space, moves)
        expected = ours.value(around)
        far = expected < -40  # next to tried points nothing is expected, and single precision does not tell how little
        np.testing.assert_allclose(np.concatenate(scans)[~far], expected[~far], rtol=2e-3, atol=2e-3)
        assert (np.concatenate(scans)[far] < -30).all()
        fast, slow = ours.best_neighbours(centre, 5), listed.best_neighbours(centre, 5)
        assert ours.value(fast).max() == pytest.approx(ours.value(slow).max(), rel=1e-9)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("method", ["mergebo", "bops-h", "bops-random", "spearman", "combo"])
def test_device_scan_is_the_scan(method: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through torch, on every device at hand, in several pieces: the means and deviations of the written-out neighbours."""
    monkeypatch.setattr("mergebo.acquisition.device.NUMBERS", 3000)
    space = mb.Space(a=mb.Permutation(6), b=mb.Binary(4), c=mb.Permutation(5))
    rows = space.sample_rows(25, seed=0)
    make, settings = METHODS[method]
    model = GP(make(**settings).similarity(space), rows, np.random.default_rng(0).normal(size=25) + rows[:, 0])
    scan = acquisition.DeviceScan(model, device)
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
    ours = acquisition.Acquisition(model, acquisition.log_expected_improvement, float(model.y.min()), moves)
    there = acquisition.Acquisition(ours.model, ours.score, ours.best, moves, scan)
    best, expected = (ours.value(each.best_neighbours(centre, 5)).max() for each in (there, ours))
    assert best == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("device", DEVICES)
def test_optimising_with_a_device(device: str) -> None:
    problem = mb.problems.get("lop:planted(n=7)")
    result = mb.minimize(problem.evaluate, problem.space, budget=14, initial=8, method="mergebo", device=device)
    assert len(result.trials) == 14
