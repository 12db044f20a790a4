"""Short tours by iterated local search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints
from mergebo.compiled.jit import jit

__all__: list[str] = []


def tour_search(distances: NDArray[np.float64], *, seed: int, kicks: int) -> tuple[float, Ints]:
    """A short tour by iterated local search: 2-opt and Or-opt moves, and kicks that are accepted if not worse."""
    n = len(distances)
    rng = np.random.default_rng(seed)
    near = np.argsort(distances + np.diag(np.full(n, np.inf)), axis=1)[:, : min(n - 1, 10)]  # two cities may coincide
    tour = np.asarray(rng.permutation(n), np.int64)
    draws = rng.integers(0, 2**31, (kicks, 4))
    _kick_and_improve(np.ascontiguousarray(distances), np.ascontiguousarray(near), tour, draws)
    return float(distances[tour, np.roll(tour, -1)].sum()), tour


@jit
def _reverse(tour: Ints, position: Ints, first: int, last: int) -> None:
    """Reverse the path from position `first` to `last`, which may wrap around the end of the array."""
    n = len(tour)
    length = (last - first) % n + 1
    if 2 * length > n:  # reverse the rest instead: the same cyclic tour
        first, last = (last + 1) % n, (first - 1) % n
        length = n - length
    for _ in range(length // 2):
        tour[first], tour[last] = tour[last], tour[first]
        position[tour[first]] = first
        position[tour[last]] = last
        first = first + 1 if first + 1 < n else 0
        last = last - 1 if last > 0 else n - 1


@jit
def _improve_city(distances: NDArray[np.float64], near: Ints, tour: Ints, position: Ints, scratch: Ints, a: int) -> int:
    """Make the first improving 2-opt or Or-opt move that joins `a` to a city nearer than its neighbour; -1 if none."""
    n = len(tour)
    for forward in (1, -1):
        b = tour[(position[a] + forward) % n]
        for c in near[a]:
            gain = distances[a, b] - distances[a, c]
            if gain <= 1e-9:
                break
            e = tour[(position[c] + forward) % n]
            if gain + distances[c, e] - distances[b, e] > 1e-9:
                if forward == 1:
                    _reverse(tour, position, position[b], position[c])
                else:
                    _reverse(tour, position, position[a], position[e])
                return int(b)
            # Or-opt: the segment from a, away from b, of up to three cities, goes next to c, a first.
            for length in range(1, 4):
                z = tour[(position[a] - forward * (length - 1)) % n]
                y = tour[(position[a] - forward * length) % n]
                if (forward * (position[a] - position[c])) % n < length or y == b:
                    break  # c is in the segment
                for side in (1, -1):
                    f = tour[(position[c] + side) % n]
                    if (forward * (position[a] - position[f])) % n < length:
                        continue  # f is in the segment
                    change = gain + distances[z, y] + distances[c, f] - distances[b, y] - distances[z, f]
                    if change > 1e-9:
                        _move_segment(tour, position, scratch, a, forward, length, c, side)
                        return int(b)
    return -1


@jit
def _move_segment(tour: Ints, position: Ints, scratch: Ints, a: int, forward: int, length: int, c: int, side: int) -> None:
    """Move the segment of `length` cities from a, opposite to `forward`, next to c, with a adjacent to c."""
    n = len(tour)
    start = position[a]
    count = 0
    for k in range(n):
        city = tour[k]
        if (forward * (start - k)) % n < length:
            continue
        if city == c and side == -1:
            for m in range(length - 1, -1, -1):
                scratch[count] = tour[(start - forward * m) % n]
                count += 1
        scratch[count] = city
        count += 1
        if city == c and side == 1:
            for m in range(length):
                scratch[count] = tour[(start - forward * m) % n]
                count += 1
    for k in range(n):
        tour[k] = scratch[k]
        position[tour[k]] = k


@jit
def _improve(
    distances: NDArray[np.float64], near: Ints, tour: Ints, position: Ints, scratch: Ints, queue: Ints, count: int
) -> None:
    """Improve until no queued city has an improving move; cities whose neighbours changed are queued again."""
    n = len(tour)
    queued = np.zeros(n, np.bool_)
    for k in range(count):
        queued[queue[k]] = True
    while count > 0:
        count -= 1
        a = queue[count]
        queued[a] = False
        b = _improve_city(distances, near, tour, position, scratch, a)
        if b < 0:
            continue
        for city in (a, b):
            for offset in range(-2, 3):
                other = tour[(position[city] + offset) % n]
                if not queued[other]:
                    queued[other] = True
                    queue[count] = other
                    count += 1


@jit
def _length(distances: NDArray[np.float64], tour: Ints) -> float:
    total = distances[tour[-1], tour[0]]
    for k in range(len(tour) - 1):
        total += distances[tour[k], tour[k + 1]]
    return float(total)


@jit
def _kick_and_improve(distances: NDArray[np.float64], near: Ints, tour: Ints, draws: Ints) -> None:
    n = len(tour)
    position, scratch, incumbent = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    queue = np.empty(n, np.int64)
    for k in range(n):
        position[tour[k]] = k
        queue[k] = tour[k]
    _improve(distances, near, tour, position, scratch, queue, n)
    best = _length(distances, tour)
    if n < 8:
        return
    window = min(50, n)
    for draw in draws:
        incumbent[:] = tour
        # A double bridge within a window: exchange two adjacent segments.
        start = draw[0] % n
        cuts = np.sort(draw[1:4] % (window - 3)) + np.array([1, 2, 3])
        for k in range(window):
            scratch[k] = tour[(start + k) % n]
        first, second = cuts[1] - cuts[0], cuts[2] - cuts[1]
        for k in range(second):
            tour[(start + cuts[0] + k) % n] = scratch[cuts[1] + k]
        for k in range(first):
            tour[(start + cuts[0] + second + k) % n] = scratch[cuts[0] + k]
        for k in range(n):
            position[tour[k]] = k
        count = 0
        for at in (cuts[0] - 1, cuts[0], cuts[0] + second - 1, cuts[0] + second, cuts[2] - 1, cuts[2]):
            city = tour[(start + at) % n]
            seen = False
            for k in range(count):
                seen = seen or queue[k] == city
            if not seen:
                queue[count] = city
                count += 1
        _improve(distances, near, tour, position, scratch, queue, count)
        length = _length(distances, tour)
        if length <= best:
            best = length
        else:
            tour[:] = incumbent
            for k in range(n):
                position[tour[k]] = k
