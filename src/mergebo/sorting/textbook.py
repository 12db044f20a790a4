"""The textbook sorting algorithms as coroutines: slow and simple, they define every map.

An algorithm yields the two input slots whose entries it compares and is sent the answer, `True` if the entry in the first
slot is larger. The sequence of answers is the code. The algorithm sees only the answers, so the same coroutine encodes
(answers from a permutation), decodes (answers from a code) and searches for the nearest code (both answers tried); see
`base.py` and `projection.py`. The fast maps are tested to be equal to these.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import TypeAlias

__all__: list[str] = []

Algorithm: TypeAlias = Generator[tuple[int, int], bool, None]
"""Yields pairs of slots to compare; is sent whether the first entry is larger."""


def compare_pairs(pairs: Iterable[tuple[int, int]]) -> Algorithm:
    """Compare the given pairs of slots, without moving entries. All pairs give enumeration sort, O(n^2)."""
    for pair in pairs:  # noqa: UP028 -- answers are sent here; `yield from` would send them on to `pairs`
        yield pair


def comparator_network(n: int, comparators: Iterable[tuple[int, int]]) -> Algorithm:
    """Each comparator (i, j) compares the entries on wires i and j and puts the smaller one on wire i."""
    wires = list(range(n))
    for i, j in comparators:
        if (yield wires[i], wires[j]):
            wires[i], wires[j] = wires[j], wires[i]


def merge_sort(n: int, *, source: bool = False, padded: bool = False) -> Algorithm:
    """Top-down merge sort with a fixed number of comparisons (section 3.2 of the paper).

    Once one half is used up, each leftover element is compared with the last element of that half, with a known answer (a
    redundant comparison). With `source` the redundant comparisons are reversed, so that every bit tells which half the next
    element comes from. The last slot of a node is implied; with `padded` it is compared as well in nodes of more than two
    elements, as in the paper's worked example.
    """

    def sort(slots: Sequence[int]) -> Generator[tuple[int, int], bool, list[int]]:
        if len(slots) == 1:
            return list(slots)
        middle = len(slots) // 2
        left = yield from sort(slots[:middle])
        right = yield from sort(slots[middle:])
        merged: list[int] = []
        taken_left = taken_right = 0
        for k in range(len(slots)):
            implied = k == len(slots) - 1 and not (padded and len(slots) > 2)
            if taken_left < len(left) and taken_right < len(right):
                take_right = yield left[taken_left], right[taken_right]
            else:
                take_right = taken_left == len(left)
                pair = (left[-1], right[taken_right]) if take_right else (left[taken_left], right[-1])
                if not implied:
                    yield pair[::-1] if source else pair
            merged.append(right[taken_right] if take_right else left[taken_left])
            taken_right += take_right
            taken_left += not take_right
        return merged

    yield from sort(range(n))


def answers(algorithm: Algorithm, order: Sequence[int]) -> list[int]:
    """The code of a permutation: the answers that the algorithm receives when sorting it."""
    code: list[int] = []
    try:
        i, j = next(algorithm)
        while True:
            larger = order[i] > order[j]
            code.append(int(larger))
            i, j = algorithm.send(larger)
    except StopIteration:
        return code
