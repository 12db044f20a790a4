"""Merge-sort codes: encode, decode and nearest code, node by node of the merge tree.

A row of `nodes` is `(low, middle, high, offset, width, side)`: the node sorts slots low..high-1, whose left half ends before
`middle`; its bits are offset..offset+width-1 of the code; `side` is the parity of its depth. Parents come before
their children, so walking forwards splits and walking backwards merges. A node reads one of two buffers and writes the
other; nodes at one depth own disjoint parts of them.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Bits, Ints
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
