"""Problem-specific solvers, used only to compute the optima and best-known values of the benchmark problems."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints, Rows, Seed
from mergebo.compiled.jit import jit
from mergebo.neighbours import MOVES, neighbourhoods
from mergebo.permutations import as_generator
from mergebo.problems.base import Problem
from mergebo.spaces import Binary, Choice, Numeric, Permutation


def brute_force(problem: Problem) -> tuple[float, Ints]:
    """The optimum of a problem over orders, by enumeration; for up to about 9 items."""
    orders = np.array(list(itertools.permutations(range(problem.space.width))))
    values = problem.evaluate_rows(orders)
    return float(values.min()), orders[values.argmin()]


def held_karp(distances: NDArray[np.float64]) -> tuple[float, Ints]:
    """The shortest tour by dynamic programming over subsets (Held and Karp 1962): O(2^n n^2), for n up to 16."""
    n = len(distances) - 1  # city n is the start and end
    if n < 1:
        return float(distances.sum()), np.zeros(1, np.int64)
    step = distances[:n, :n]
    # cost[set, j]: the shortest path from city n through all cities of the set to its member j.
    cost = np.full((1 << n, n), np.inf)
    came_from = np.zeros((1 << n, n), np.int64)
    cost[1 << np.arange(n), np.arange(n)] = distances[n, :n]
    for members in range(1, 1 << n):
        last = np.flatnonzero(members >> np.arange(n) & 1)
        if len(last) < 2:
            continue
        through = cost[members ^ (1 << last)] + step[:, last].T
        came_from[members, last] = through.argmin(axis=1)
        cost[members, last] = through.min(axis=1)
    members = (1 << n) - 1
    closing = cost[members] + distances[:n, n]
    tour, city = [n], int(closing.argmin())
    while members:
        tour.append(city)
        members, city = members ^ (1 << city), int(came_from[members, city])
    return float(closing.min()), np.array(tour[:1] + tour[:0:-1])


def random_neighbours(rows: Rows, problem: Problem, rng: np.random.Generator) -> Rows:
    """A random neighbour of each row: a move of an order, one flipped bit, another option, or a step of a number."""
    out = rows.copy()
    variables = problem.space.variables
    name = rng.choice(list(variables))
    block = out[:, problem.space.slices[name]]
    count, width = block.shape
    match variables[name]:
        case Permutation():
            i, j = np.sort(rng.integers(0, width, (2, count)), axis=0)[:, :, None]
            slot = np.arange(width)
            inside = (slot >= i) & (slot <= j)
            kind = rng.integers(0, 4, (count, 1))
            source = np.where(kind == 0, np.where(slot == i, j, np.where(slot == j, i, slot)), slot)  # swap
            source = np.where((kind == 1) & inside, i + j - slot, source)  # reversal
            source = np.where((kind == 2) & inside, np.where(slot == j, i, slot + 1), source)  # insertion to the right
            source = np.where((kind == 3) & inside, np.where(slot == i, j, slot - 1), source)  # insertion to the left
            block[:] = np.take_along_axis(block, source, axis=1)
        case Binary():
            flipped = np.arange(count), rng.integers(0, width, count)
            block[flipped] = 1 - block[flipped]
        case Choice(options):
            block[:] = (block + rng.integers(1, len(options), (count, 1))) % len(options)
        case Numeric() as quantity:
            block[:] = quantity.from_unit(quantity.to_unit(block) + 0.5 ** rng.uniform(1, 10) * rng.normal(size=(count, 1)))
        case _:
            raise NotImplementedError(f"neighbours are not defined for {variables[name]}")
    return out


def anneal(
    problem: Problem,
    *,
    seed: Seed,
    chains: int = 32,
    steps: int = 20_000,
    start: Rows | None = None,
    initial_temperature: float = 0.3,
) -> tuple[float, Rows]:
    """The best row found by parallel chains of simulated annealing.

    `initial_temperature` is relative to the standard deviation of random values.
    """
    rng = as_generator(seed)
    rows = problem.space.sample_rows(chains, seed=rng)
    values = problem.evaluate_rows(rows)
    scale = max(float(values.std()), 1e-9)
    if start is not None:
        rows = np.tile(start, (chains, 1))
        values = problem.evaluate_rows(rows)
    best, best_row = float(values.min()), rows[values.argmin()].copy()
    for temperature in scale * initial_temperature * np.geomspace(1, 1e-3, steps):
        moved = random_neighbours(rows, problem, rng)
        moved_values = problem.evaluate_rows(moved)
        accepted = rng.random(chains) < np.exp(np.minimum(0, (values - moved_values) / temperature))
        rows[accepted], values[accepted] = moved[accepted], moved_values[accepted]
        if values.min() < best:
            best, best_row = float(values.min()), rows[values.argmin()].copy()
    return best, best_row


def steepest_descent(problem: Problem, row: Rows) -> tuple[float, Rows]:
    """Steepest descent over all swaps, insertions, reversals and flips to a local optimum."""
    value = float(problem.evaluate_rows(row))
    while True:
        best, best_value = row, value
        for around in neighbourhoods(row, problem.space, MOVES):
            values = problem.evaluate_rows(around)
            if len(values) and values.min() < best_value:
                best, best_value = around[values.argmin()], float(values.min())
        if not best_value < value:
            return value, row
        row, value = best, best_value


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


def order_search(gains: NDArray[np.float64], *, seed: int, kicks: int) -> tuple[float, Ints]:
    """A good linear order by iterated local search: best insertions, and kicks that are accepted if not worse."""
    n = len(gains)
    net = gains - gains.T
    order = np.argsort(-net.sum(axis=1), kind="stable")
    _kick_and_insert(net, order, np.random.default_rng(seed).integers(0, n, (kicks, 3, 2)))
    return -float(gains[order[:, None], order][np.triu_indices(n, 1)].sum()), order


@jit
def _insert(order: Ints, start: int, end: int) -> None:
    """Move the item at position `start` to position `end`."""
    item = order[start]
    step = 1 if end > start else -1
    for k in range(start, end, step):
        order[k] = order[k + step]
    order[end] = item


@jit
def _improve_order(net: NDArray[np.float64], order: Ints) -> float:
    """Best insertions until none gains; returns the total gain. `net[a, b]`: gain of a before b minus b before a."""
    gained, before = 0.0, -1.0
    while gained > before:
        before = gained
        for start in range(len(order)):
            row, best, end = net[order[start]], 1e-9, start
            gain = 0.0
            for k in range(start + 1, len(order)):
                gain -= row[order[k]]
                if gain > best:
                    best, end = gain, k
            gain = 0.0
            for k in range(start - 1, -1, -1):
                gain += row[order[k]]
                if gain > best:
                    best, end = gain, k
            if end != start:
                _insert(order, start, end)
                gained += best
    return gained


@jit
def _kick_and_insert(net: NDArray[np.float64], order: Ints, draws: Ints) -> None:
    _improve_order(net, order)
    for draw in draws:
        incumbent = order.copy()
        change = 0.0
        for start, end in draw:
            row = net[order[start]]
            for k in range(start + 1, end + 1):
                change -= row[order[k]]
            for k in range(end, start):
                change += row[order[k]]
            _insert(order, start, end)
        if change + _improve_order(net, order) < 0:
            order[:] = incumbent
