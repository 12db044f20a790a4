"""Merge-sort codes, node by node of the merge tree: encode, decode, nearest code, and changes of their Hamming distances.

A row of `nodes` is `(low, middle, high, offset, width, side)`: the node sorts slots low..high-1, whose left half ends before
`middle`; its bits are offset..offset+width-1 of the code; `side` is the parity of its depth. Parents come before
their children, so walking forwards splits and walking backwards merges. A node reads one of two buffers and writes the
other; nodes at one depth own disjoint parts of them.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Bits, Ints
from mergebo.compiled.exchanges import Steps, flip, write
from mergebo.compiled.jit import U64, jit

Nodes = NDArray[np.uint64]


@jit
def encode(rows: Ints, nodes: Nodes, comparison: bool, out: Bits) -> None:
    """The wavelet tree of the inverse permutation: slots in value order, split stably at each node by their half.

    The source bit of a node's k-th smallest element is whether its slot is in the right half. The comparison code is the
    source code with the final constant run flipped (the redundant comparisons after one half is used up).
    """
    count, n = rows.shape
    one = U64(1)
    buffers = np.empty((2, n), np.uint32)
    for b in range(count):
        for slot in range(n):
            buffers[0, U64(rows[b, slot])] = slot
        code = out[b]
        for m in range(nodes.shape[0]):
            low, middle, high, offset, width, side = nodes[m]
            here, below = buffers[side], buffers[one - side]
            half = np.uint32(middle)
            if high - low == U64(2):
                code[offset] = here[low] >= half
                continue
            left, right = low, middle
            for k in range(low, high):
                slot_k = here[k]
                bit = U64(slot_k >= half)
                below[right if bit else left] = slot_k
                right += bit
                left += one - bit
            shift = offset - low
            for k in range(low, low + width):
                code[shift + k] = here[k] >= half
            if comparison:
                final = here[high - one] >= half
                k = low + width - one
                while (here[k] >= half) == final:
                    code[shift + k] = not final
                    k -= one


@jit
def decode(codes: Bits, nodes: Nodes, comparison: bool, out: Ints) -> tuple[int, int | np.int64]:
    """Merge bottom-up as given by the bits. Returns (row, bit) of the first inconsistent bit, or (-1, -1)."""
    count, n = out.shape
    one = U64(1)
    buffers = np.empty((2, n), np.uint32)
    for b in range(count):
        code = codes[b]
        for slot in range(n):
            buffers[0, slot] = slot
            buffers[1, slot] = slot
        for m in range(nodes.shape[0] - 1, -1, -1):
            low, middle, high, offset, width, side = nodes[m]
            merged, halves = buffers[side], buffers[one - side]
            left, right, k = low, middle, low
            shift = offset - low
            while left < middle and right < high:
                bit = U64(code[shift + k])
                merged[k] = halves[right if bit else left]
                right += bit
                left += one - bit
                k += one
            # One half is used up: the rest of the code is determined.
            expected = U64(left < middle) if comparison else U64(right < high)
            for j in range(k, low + width):
                if U64(code[shift + j]) != expected:
                    return b, np.int64(shift + j)
            while left < middle:
                merged[k] = halves[left]
                left += one
                k += one
            while right < high:
                merged[k] = halves[right]
                right += one
                k += one
        for value in range(n):
            out[b, U64(buffers[0, value])] = value
    return -1, -1


@jit
def _mark_largest(weights: NDArray[np.float64], count: int, bits: Bits) -> None:
    """Set the bits of the `count` largest weights; ties go to the first."""
    by_weight = np.argsort(-weights, kind="mergesort")
    for k in by_weight[:count]:
        bits[k] = 1


@jit
def _nearest_comparison(weights: NDArray[np.float64], lefts: int, rights: int, bits: Bits) -> None:
    """Valid comparison codes end in a run of redundant bits: try every slot at which one half is used up.

    If slot t-1 takes the last left element, the first t-1 slots hold t - lefts ones and the rest is 0: of those slots all
    but the lightest lefts-1 are ones. If it takes the last right element, the first t-1 slots hold rights-1 ones, the
    heaviest, and slot t-1 and all later ones are 1. Two heaps keep the lightest and the heaviest of the growing prefix.
    """
    size = lefts + rights
    lightest = [0.0 for _ in range(0)]  # negated, so that the heaviest is on top
    heaviest = [0.0 for _ in range(0)]
    prefix, light_sum, heavy_sum, rest = 0.0, 0.0, 0.0, weights.sum()
    best, best_slot, best_is_left = -np.inf, -1, False
    for t in range(1, size):
        # `prefix` is the sum of weights[: t - 1] and `rest` that of weights[t - 1 :].
        if t >= lefts and prefix - light_sum > best:
            best, best_slot, best_is_left = prefix - light_sum, t - 1, True
        if t >= rights and heavy_sum + rest > best:
            best, best_slot, best_is_left = heavy_sum + rest, t - 1, False
        weight = weights[t - 1]
        prefix += weight
        rest -= weight
        if lefts > 1:
            light_sum += weight
            heapq.heappush(lightest, -weight)
            if len(lightest) > lefts - 1:
                light_sum += heapq.heappop(lightest)
        if rights > 1:
            heavy_sum += weight
            heapq.heappush(heaviest, weight)
            if len(heaviest) > rights - 1:
                heavy_sum -= heapq.heappop(heaviest)
    if best_is_left:
        _mark_largest(weights[:best_slot], best_slot + 1 - lefts, bits)
    else:
        _mark_largest(weights[:best_slot], rights - 1, bits)
        bits[best_slot:] = 1


@jit
def nearest_codes(features: NDArray[np.float64], nodes: Nodes, comparison: bool, out: Bits) -> None:
    """The valid code nearest to each row of real features: a product over nodes, so each node is independent.

    |v - c|^2 = |v|^2 - 2 sum_k c_k (v_k - 1/2): the nearest code is the heaviest one for the weights v_k - 1/2. The implied
    last slot of a node is not part of the distance and has weight 0.
    """
    for b in range(features.shape[0]):
        for m in range(nodes.shape[0]):
            low, middle, high, offset, width, _ = nodes[m]
            weights = np.zeros(high - low)
            weights[:width] = features[b, offset : offset + width] - 0.5
            bits = np.zeros(high - low, np.uint8)
            if comparison:
                _nearest_comparison(weights, int(middle - low), int(high - middle), bits)
            else:
                _mark_largest(weights, int(high - middle), bits)  # exactly this number of ones, anywhere
            out[b, offset : offset + width] = bits[:width]


@jit
def _last_ranks(rights: NDArray[np.bool_], skipped: int, side: bool) -> int:
    """The last rank on this side, ignoring `skipped`; -1 if there is none."""
    k = len(rights) - 1
    while k >= 0 and (k == skipped or rights[k] != side):
        k -= 1
    return k


@jit
def _shifted(rank: int, source: int, target: int) -> int:
    """The rank of an element after another one has moved from rank `source` to rank `target`."""
    if rank < 0:
        return rank
    moved = rank - 1 if rank > source else rank
    return moved + 1 if moved >= target else moved


@jit
def merge_swaps(
    order: Ints, bits: NDArray[np.uint8], nodes: Nodes, starts: Ints, comparison: bool, out: NDArray[np.int16]
) -> None:
    """Changes of the Hamming distance of merge codes for every swap of two slots; `bits[bit, k]` is the k-th other code.

    A swap of slots i and j exchanges their halves at their lowest common node and, below it, changes the rank of
    each among the elements of its half. Tables of "element moves to rank" for every node, built bottom-up, give each swap
    in a few additions. `starts` is the start of each node's table; a child that is a single slot has none (-1).
    """
    n, others = len(order), bits.shape[1]
    size_of_tables = 0
    for m in range(1, len(nodes)):
        size_of_tables += int(nodes[m, 2] - nodes[m, 0]) ** 2
    tables = np.zeros((size_of_tables, others), np.int16)
    for m in range(len(nodes) - 1, -1, -1):
        low, middle, high = np.int64(nodes[m, 0]), np.int64(nodes[m, 1]), np.int64(nodes[m, 2])
        offset, width = np.int64(nodes[m, 3]), np.int64(nodes[m, 4])
        size = high - low
        by_rank = np.argsort(order[low:high])
        rank = np.empty(size, np.int64)
        rights = by_rank >= middle - low
        ones = np.zeros(size + 1, np.int64)  # ones[k]: right elements among the first k ranks
        for k in range(size):
            rank[by_rank[k]] = k
            ones[k + 1] = ones[k] + rights[k]
        # gain[k]: change of the distance if the bit at rank k flips from 0 to 1; zero if the bit is implied.
        gain = np.zeros((size + 1, others), np.int16)
        for k in range(width):
            for q in range(others):
                gain[k, q] = 1 - 2 * np.int16(bits[offset + k, q])
        forward = np.zeros((size + 1, others), np.int16)  # cumulative change if the ranks q < k move down by one
        backward = np.zeros((size + 1, others), np.int16)  # and if those up to and including k move up by one
        rest = np.zeros((size + 1, others), np.int16)  # sum of gain from k on: a final run
        for k in range(size - 1):
            step = np.int16(rights[k + 1]) - np.int16(rights[k])
            for q in range(others):
                forward[k + 1, q] = forward[k, q] + step * gain[k, q]
                backward[k + 1, q] = backward[k, q] - step * gain[k + 1, q]
        for k in range(size - 1, -1, -1):
            for q in range(others):
                rest[k, q] = rest[k + 1, q] + gain[k, q]
        last_right, last_left = _last_ranks(rights, -1, True), _last_ranks(rights, -1, False)
        run = min(last_right, last_left) + 1
        run_sign = np.int16(1) if last_left > last_right else np.int16(-1)  # a flipped 0 gains, a flipped 1 loses
        left_table, right_table = starts[m, 1], starts[m, 2]
        left_size, right_size = middle - low, high - middle

        zeros = rest[size]  # for missing terms
        old_run = rest[run if comparison else size]

        # Elements that change their rank in this node; impossible at the root (the first node).
        for element in range(size if m else 0):
            a = rank[element]
            side = rights[a]
            other_right = _last_ranks(rights, a, True)
            other_left = _last_ranks(rights, a, False)
            child = right_table if side else left_table
            child_size = right_size if side else left_size
            child_row = element - (middle - low) if side else element
            for b in range(size):
                if b == a:
                    continue
                flip = np.int16(side) - np.int16(rights[b])
                if b > a:
                    same = ones[b + 1] - 1 if side else b - ones[b + 1]
                    into, out_of = forward[b], forward[a]
                else:
                    same = ones[b] if side else b - ones[b]
                    into, out_of = backward[a], backward[b]
                below = tables[child + child_row * child_size + same] if child >= 0 else zeros
                new_run, new_sign = zeros, np.int16(0)
                if comparison:
                    new_right, new_left = _shifted(other_right, a, b), _shifted(other_left, a, b)
                    if side:
                        new_right = max(new_right, b)
                    else:
                        new_left = max(new_left, b)
                    new_run = rest[min(new_right, new_left) + 1]
                    new_sign = np.int16(1) if new_left > new_right else np.int16(-1)
                row, there = tables[starts[m, 0] + element * size + b], gain[b]
                for q in range(others):
                    change = flip * there[q] + into[q] - out_of[q] + below[q]
                    row[q] = change + new_sign * new_run[q] - run_sign * old_run[q]

        # Swaps across this node's halves.
        for i in range(left_size):
            a = rank[i]
            left_without = _last_ranks(rights, a, False)
            for j in range(left_size, size):
                b = rank[j]
                slot_i, slot_j = low + i, low + j
                left_below = right_below = new_run = zeros
                if left_table >= 0:
                    left_below = tables[left_table + i * left_size + b - ones[b] - (1 if a < b else 0)]
                if right_table >= 0:
                    right_below = tables[right_table + (j - left_size) * right_size + ones[a] - (1 if b < a else 0)]
                new_sign = np.int16(0)
                if comparison:
                    new_left = max(left_without, b)
                    new_right = max(_last_ranks(rights, b, True), a)
                    new_run = rest[min(new_right, new_left) + 1]
                    new_sign = np.int16(1) if new_left > new_right else np.int16(-1)
                row = out[slot_i * n - slot_i * (slot_i + 1) // 2 + slot_j - slot_i - 1]
                here, there = gain[a], gain[b]
                for q in range(others):
                    change = here[q] - there[q] + left_below[q] + right_below[q]
                    row[q] = change + new_sign * new_run[q] - run_sign * old_run[q]


def table_starts(nodes: Nodes) -> Ints:
    """For each node the start of its table and of those of its children; -1 for a child that is one slot."""
    offsets, total = {}, 0
    for low, _, high, *_ in nodes.tolist()[1:]:
        offsets[low, high] = total
        total += (high - low) ** 2
    rows = [
        (offsets.get((low, high), -1), offsets.get((low, middle), -1), offsets.get((middle, high), -1))
        for low, middle, high, *_ in nodes.tolist()
    ]
    return np.array(rows, np.int64).reshape(-1, 3)


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
                flip(bit, gains[offset + k], total)


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
        write(total, index, out)


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
