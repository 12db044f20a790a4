"""Distances along sequences of exchanges of two entries, updated incrementally.

An insertion is a sequence of exchanges of adjacent slots and a reversal one of exchanges around its centre, so a few
sequences visit a whole neighbourhood. `steps` is a table of `(i, j, index, restart)`: exchange the entries i and j, after
going back to the initial order if `restart`, and write the change of distance into row `index` of `out` unless that is
negative. Inner loops run over the other orders, contiguously, as in `scans`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints, Singles
from mergebo.compiled.jit import jit
from mergebo.compiled.merge import Nodes

Steps = NDArray[np.int32]


@jit
def _write(total: NDArray[Any], index: np.int32, out: NDArray[Any]) -> None:
    """Write the changes after a step to row `index` of `out`, unless that is negative."""
    if index >= 0:
        row = out[index]
        for k in range(len(total)):  # faster than assigning an array
            row[k] = total[k]


@jit
def slot_steps(targets: NDArray[np.int32], weights: NDArray[np.float64], reach: int, steps: Steps, out: Singles) -> None:
    """Changes of the weighted, truncated displacement: an item costs `weights[slot] * min(|slot - target|, reach)`.

    `targets[slot, k]` is the slot in the k-th other order of the item that is initially in `slot`. A reach of 1 counts items
    in another slot, a reach of n or more is the footrule.
    """
    n, others = targets.shape
    here = np.arange(n)
    total = np.zeros(others)  # in double precision, since sequences may be long
    for step in range(len(steps)):
        i, j, index, restart = steps[step]
        if restart:
            here[:] = np.arange(n)
            total[:] = 0
        of_i, of_j, at_i, at_j = targets[here[i]], targets[here[j]], weights[i], weights[j]
        for k in range(others):
            total[k] += at_i * (min(abs(i - of_j[k]), reach) - min(abs(i - of_i[k]), reach))
            total[k] += at_j * (min(abs(j - of_i[k]), reach) - min(abs(j - of_j[k]), reach))
        here[i], here[j] = here[j], here[i]
        if index >= 0:  # `_write` would make this loop 5 % slower
            row = out[index]
            for k in range(others):
                row[k] = total[k]


@jit
def square_steps(targets: NDArray[np.int32], steps: Steps, out: NDArray[Any]) -> None:
    """Changes of the sum over items of the squared displacement, with `targets` as above.

    The sum of the squared slots is constant, so only their products with the targets change.
    """
    n, others = targets.shape
    here = np.arange(n)
    total = np.zeros(others, np.int64)
    for step in range(len(steps)):
        i, j, index, restart = steps[step]
        if restart:
            here[:] = np.arange(n)
            total[:] = 0
        of_i, of_j, twice = targets[here[i]], targets[here[j]], 2 * (j - i)
        for k in range(others):
            total[k] += twice * (of_j[k] - of_i[k])
        here[i], here[j] = here[j], here[i]
        _write(total, index, out)


@jit
def slot_distance_steps(order: Ints, distances: Singles, others: Singles, steps: Steps, out: Singles) -> None:
    """Changes of the sum over pairs of items of their slot distance times their slot distance in another order.

    `distances[slot, slot]` are distances between slots, `others[item, item, k]` those between items in the k-th other order.
    """
    n = len(order)
    here, slot = order.copy(), np.empty(n, np.int64)
    total = np.zeros(others.shape[2], np.float64)  # in double precision, since sequences may be long
    for step in range(len(steps)):
        i, j, index, restart = steps[step]
        if restart:
            here[:] = order
            total[:] = 0
            for k in range(n):
                slot[order[k]] = k
        a, b = here[i], here[j]
        for item in range(n):
            if item != a and item != b:
                change = distances[i, slot[item]] - distances[j, slot[item]]
                of_a, of_b = others[a, item], others[b, item]
                for k in range(len(total)):
                    total[k] += change * (of_b[k] - of_a[k])
        here[i], here[j], slot[a], slot[b] = b, a, j, i
        _write(total, index, out)


@jit
def _changed_pairs(n: int, i: np.int64, j: np.int64, cyclic: bool) -> Any:
    """The left slots of the pairs (left, left + 1) that an exchange of slots i < j changes, each once.

    -1 for a pair that does not exist or equals another one.
    """
    before_i = i - 1 if i > 0 else (n - 1 if cyclic and j < n - 1 else -1)
    after_j = j if j < n - 1 or cyclic else -1
    return before_i, i, j - 1 if j > i + 1 else -1, after_j


@jit
def cost_steps(order: Ints, costs: NDArray[np.float64], cyclic: bool, steps: Steps, out: NDArray[np.float64]) -> None:
    """Changes of the sum of `costs[a, b]` over pairs of an item a and its successor b."""
    n = len(order)
    here = order.copy()
    total = 0.0
    for step in range(len(steps)):
        i, j, index = np.int64(min(steps[step, :2])), np.int64(max(steps[step, :2])), steps[step, 2]
        if steps[step, 3]:
            here[:] = order
            total = 0.0
        for sign in (-1, 1):
            for left in _changed_pairs(n, i, j, cyclic):
                if left >= 0:
                    total += sign * costs[here[left], here[left + 1 if left < n - 1 else 0]]
            if sign == -1:
                here[i], here[j] = here[j], here[i]
        if index >= 0:
            out[index] = total


@jit
def edge_steps(
    order: Ints, after: NDArray[np.int32], before: NDArray[np.int32], cyclic: bool, steps: Steps, out: NDArray[Any]
) -> None:
    """Changes of the number of adjacent pairs that are not shared.

    `after[item, k]` and `before[item, k]` are the neighbours of an item in the k-th other order, -1 at an open end; if
    direction matters, `before` is equal to `after`.
    """
    n, others = after.shape
    here = order.copy()
    total = np.zeros(others, out.dtype)
    for step in range(len(steps)):
        i, j, index = np.int64(min(steps[step, :2])), np.int64(max(steps[step, :2])), steps[step, 2]
        if steps[step, 3]:
            here[:] = order
            total[:] = 0
        for sign in (1, -1):  # subtract the old shared pairs, then add the new ones
            for left in _changed_pairs(n, i, j, cyclic):
                if left < 0:
                    continue
                item, successor = here[left], here[left + 1 if left < n - 1 else 0]
                next_to, last_to = after[item], before[item]
                for k in range(others):
                    total[k] += sign * ((next_to[k] == successor) | (last_to[k] == successor))
            if sign == 1:
                here[i], here[j] = here[j], here[i]
        _write(total, index, out)


@jit
def pair_steps(row: Ints, rows: NDArray[np.int32], steps: Steps, out: NDArray[Any]) -> None:
    """Changes of the number of pairs of entries in opposite order; `rows[entry, k]` is the k-th other row.

    An exchange of the values p < q inverts the pairs of the two with each entry of a value in between, one addition each.
    """
    n, others = rows.shape
    here, holder = row.copy(), np.empty(n, np.int64)  # holder[value]: the entry that has it
    total = np.zeros(others, out.dtype)
    for step in range(len(steps)):
        i, j, index, restart = steps[step]
        if restart:
            here[:] = row
            total[:] = 0
            for k in range(n):
                holder[row[k]] = k
        low, high = (i, j) if here[i] < here[j] else (j, i)
        at_low, at_high = rows[low], rows[high]
        for k in range(others):
            total[k] += 1 if at_low[k] < at_high[k] else -1
        for value in range(here[low] + 1, here[high]):
            between = rows[holder[value]]
            for k in range(others):
                # 1 for each of the two pairs that agreed, -1 for each that did not
                total[k] += 2 * (np.int32(at_low[k] < between[k]) + np.int32(between[k] < at_high[k])) - 2
        here[i], here[j] = here[j], here[i]
        holder[here[i]], holder[here[j]] = i, j
        _write(total, index, out)


@jit
def _flip(bit: bool, gain: NDArray[Any], total: NDArray[Any]) -> None:
    """Update the distances for a bit that has flipped; `gain` is their change if it flips to 1."""
    if bit:
        for k in range(len(total)):
            total[k] += gain[k]
    else:
        for k in range(len(total)):
            total[k] -= gain[k]


@jit
def listed_steps(
    row: Ints, gains: NDArray[Any], pairs: Ints, starts: Ints, incident: Ints, steps: Steps, out: NDArray[Any]
) -> None:
    """`pair_steps` for a subset of pairs, `pairs[p]`; `gains[p, k]` is the change of distance k if that bit flips to 1.

    `incident[starts[i] : starts[i + 1]]` are the pairs with entry i, the only ones that an exchange of it can flip.
    """
    here, code = row.copy(), np.zeros(len(pairs), np.bool_)
    total = np.zeros(gains.shape[1], out.dtype)
    first = np.array([row[i] > row[j] for i, j in pairs])
    for step in range(len(steps)):
        a, b, index, restart = steps[step]
        if restart:
            here[:] = row
            code[:] = first
            total[:] = 0
        here[a], here[b] = here[b], here[a]
        for entry in (a, b):
            for p in incident[starts[entry] : starts[entry + 1]]:
                bit = here[pairs[p, 0]] > here[pairs[p, 1]]
                if bit != code[p]:
                    code[p] = bit
                    _flip(bit, gains[p], total)
        _write(total, index, out)


@jit
def _final_run(by_rank: Ints, middle: np.int64, comparison: bool) -> int:
    """Start of the final run of ranks in one half, whose bits are inverted (comparison padding); otherwise the end."""
    if not comparison:
        return len(by_rank)
    start = len(by_rank) - 1
    while (by_rank[start - 1] >= middle) == (by_rank[-1] >= middle):
        start -= 1
    return start


@jit
def _update(
    m: np.int64,
    first: int,
    last: int,
    nodes: Nodes,
    by_rank: Ints,
    comparison: bool,
    runs: Ints,
    code: NDArray[np.uint8],
    gains: NDArray[Any],
    total: NDArray[Any],
) -> None:
    """Update the code of a node and the distances after the slots of its ranks first..last have changed."""
    middle, offset, width = np.int64(nodes[m, 1]), np.int64(nodes[m, 3]), np.int64(nodes[m, 4])
    old = run = runs[m]
    if last >= old - 1:
        run = runs[m] = _final_run(by_rank, middle, comparison)
    for begin, end in ((first, last + 1), (min(run, old), max(run, old))):
        for k in range(begin, min(end, width)):
            bit = (by_rank[k] >= middle) != (k >= run)
            if bit != code[offset + k]:
                code[offset + k] = bit
                _flip(bit, gains[offset + k], total)


@jit
def merge_steps(
    row: Ints, gains: NDArray[Any], nodes: Nodes, links: Ints, comparison: bool, steps: Steps, out: NDArray[Any]
) -> None:
    """Changes of the Hamming distance of merge codes; `links` is from `tree_links`.

    `gains[bit, k]` is the change if a bit flips from 0 to 1: 1 if it is 0 in the k-th other code, -1 if it is 1.

    Each node stores its slots sorted by value. An exchange of slots i and j exchanges their ranks in the nodes that contain
    both, flips two bits of the lowest of these, and below it moves each of the two to another rank among the slots of its
    half. The two slots of an insertion's step are adjacent, and their lowest common node is small: about log n bits change.
    A reversal's step changes up to a quarter of n.
    """
    others = gains.shape[1]
    size = links[-1, 0] + np.int64(nodes[-1, 2] - nodes[-1, 0])
    first_by_rank, first_rank = np.empty(size, np.int64), np.empty(size, np.int64)
    first_code, first_runs = np.zeros(len(gains), np.uint8), np.empty(len(nodes), np.int64)
    for m in range(len(nodes)):
        low, middle, high = np.int64(nodes[m, 0]), np.int64(nodes[m, 1]), np.int64(nodes[m, 2])
        begin, offset, width = links[m, 0], np.int64(nodes[m, 3]), np.int64(nodes[m, 4])
        by_value = low + np.argsort(row[low:high])
        for k in range(high - low):
            first_by_rank[begin + k] = by_value[k]
            first_rank[begin + by_value[k] - low] = k
        first_runs[m] = _final_run(by_value, middle, comparison)
        for k in range(width):
            first_code[offset + k] = (by_value[k] >= middle) != (k >= first_runs[m])
    by_rank, rank, code, runs = first_by_rank.copy(), first_rank.copy(), first_code.copy(), first_runs.copy()
    total = np.zeros(others, out.dtype)
    for step in range(len(steps)):
        i, j, index = np.int64(min(steps[step, :2])), np.int64(max(steps[step, :2])), steps[step, 2]
        if steps[step, 3]:
            by_rank[:], rank[:], code[:], runs[:] = first_by_rank, first_rank, first_code, first_runs
            total[:] = 0
        common = np.int64(0)  # the lowest node that contains both
        while True:
            low, middle, high = np.int64(nodes[common, 0]), np.int64(nodes[common, 1]), np.int64(nodes[common, 2])
            here = by_rank[links[common, 0] : links[common, 0] + high - low]
            ranks = rank[links[common, 0] : links[common, 0] + high - low]
            a, b = ranks[i - low], ranks[j - low]
            ranks[i - low], ranks[j - low] = b, a
            here[a], here[b] = j, i
            if i < middle <= j:
                break
            common = links[common, 1] if j < middle else links[common, 2]
        for k in (a, b):
            _update(common, k, k, nodes, here, comparison, runs, code, gains, total)
        for slot in (i, j):
            # In its half, and recursively below, the slot passes those between its old and its new rank.
            node, around, middle_here = common, here, middle
            lower, upper, upwards = min(a, b), max(a, b), (a < b) == (slot == i)
            while True:
                right = slot >= middle_here
                rights = np.int64(0)
                for k in range(lower, upper + 1):
                    rights += around[k] >= middle_here
                passed = (rights if right else upper + 1 - lower - rights) - 1  # without itself
                node = links[node, 2] if right else links[node, 1]
                if passed == 0 or node < 0:
                    break
                low, middle_here, high = np.int64(nodes[node, 0]), np.int64(nodes[node, 1]), np.int64(nodes[node, 2])
                around = by_rank[links[node, 0] : links[node, 0] + high - low]
                ranks = rank[links[node, 0] : links[node, 0] + high - low]
                source = ranks[slot - low]
                direction = 1 if upwards else -1
                target = source + direction * passed
                for k in range(source, target, direction):
                    moved = around[k + direction]
                    around[k] = moved
                    ranks[moved - low] = k
                around[target] = slot
                ranks[slot - low] = target
                lower, upper = min(source, target), max(source, target)
                _update(node, lower, upper, nodes, around, comparison, runs, code, gains, total)
        _write(total, index, out)


def tree_links(nodes: Nodes) -> Ints:
    """For each node the offset of its slots, and its left and right child; -1 for a child that is a single slot."""
    spans = [(low, middle, high) for low, middle, high, *_ in nodes.tolist()]
    node_of = {(low, high): m for m, (low, _, high) in enumerate(spans)}
    offsets = np.cumsum([0, *(high - low for low, _, high in spans)])
    rows = [
        (offsets[m], node_of.get((low, middle), -1), node_of.get((middle, high), -1))
        for m, (low, middle, high) in enumerate(spans)
    ]
    return np.array(rows, np.int64).reshape(-1, 3)
