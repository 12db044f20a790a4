"""Decoding and projection by running a sorting algorithm on given answers instead of an input."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mergebo.errors import InvalidCodeError, SearchLimitError
from mergebo.sorting.textbook import Algorithm

__all__: list[str] = []


class PartialOrder:
    """The partial order of n entries implied by a list of answers, closed under transitivity."""

    def __init__(self, n: int) -> None:
        self.below = [0] * n  # below[i]: bit set of the slots with entries known to be smaller than that of slot i
        self.above = [0] * n

    def is_larger(self, i: int, j: int) -> bool | None:
        """Whether slot i holds a larger entry than slot j; None if undetermined."""
        if self.below[i] >> j & 1:
            return True
        if self.above[i] >> j & 1:
            return False
        return None

    def learn(self, i: int, j: int, larger: bool) -> None:
        """Add an answer and all that it implies."""
        low, high = (j, i) if larger else (i, j)
        lows = self.below[low] | 1 << low
        highs = self.above[high] | 1 << high
        for k in range(len(self.below)):
            if highs >> k & 1:
                self.below[k] |= lows
            if lows >> k & 1:
                self.above[k] |= highs

    def ranks(self) -> list[int]:
        """A permutation consistent with the answers; ties are broken by slot."""
        smaller = [b.bit_count() for b in self.below]
        ranks = [0] * len(smaller)
        for rank, slot in enumerate(sorted(range(len(smaller)), key=smaller.__getitem__)):
            ranks[slot] = rank
        return ranks


def replay(algorithm: Algorithm, n: int, answers: Sequence[int]) -> list[int]:
    """The permutation for which the algorithm receives these answers."""
    known = PartialOrder(n)
    remaining = iter(answers)
    position = 0
    try:
        i, j = next(algorithm)
        while True:
            answer = bool(next(remaining))
            implied = known.is_larger(i, j)
            if implied is None:
                known.learn(i, j, answer)
            elif implied != answer:
                raise InvalidCodeError(
                    f"no permutation has this code: bit {position} is {int(answer)}, the bits before it imply {int(implied)}"
                )
            position += 1
            i, j = algorithm.send(answer)
    except StopIteration:
        return known.ranks()


def nearest(start: Callable[[], Algorithm], n: int, features: NDArray[np.float64], limit: int) -> list[int]:
    """The permutation whose code is nearest to `features`, by branch and bound over the answers.

    A coroutine cannot be rewound, so an open branch is stored as its prefix of answers and replayed. The lower bound of a
    branch is the cost of its answers plus that of the cheaper answer for every remaining bit. Best-first search.
    """
    costs = np.stack([features**2, (1 - features) ** 2])  # of answering 0 and 1
    remaining_cost = np.concatenate([np.cumsum(costs.min(axis=0)[::-1])[::-1], [0.0]])
    best = np.inf
    ranks = list(range(n))
    open_branches: list[tuple[float, int, list[bool]]] = [(float(remaining_cost[0]), 0, [])]
    for dives in range(limit):
        bound, _, prefix = heapq.heappop(open_branches) if open_branches else (np.inf, 0, [])
        if bound >= best:
            return ranks
        known = PartialOrder(n)
        algorithm = start()
        answers: list[bool] = []
        cost = 0.0
        try:
            i, j = next(algorithm)
            while cost + remaining_cost[len(answers)] < best:
                position = len(answers)
                answer = known.is_larger(i, j)
                if answer is None:
                    if position < len(prefix):
                        answer = prefix[position]
                    else:
                        answer = bool(costs[1, position] < costs[0, position])
                        other = cost + costs[int(not answer), position] + remaining_cost[position + 1]
                        heapq.heappush(
                            open_branches, (float(other), dives * len(features) + position, [*answers, not answer])
                        )
                    known.learn(i, j, answer)
                answers.append(answer)
                cost += float(costs[int(answer), position])
                i, j = algorithm.send(answer)
        except StopIteration:
            if cost < best:
                best, ranks = cost, known.ranks()
    raise SearchLimitError(
        f"could not prove the nearest permutation of {n} items within {limit} dives: the features are far from every code. "
        "Raise `limit`, or use MergeMap, whose projection is exact at any n in O(n log^2 n)"
    )
