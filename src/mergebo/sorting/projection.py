"""Running an algorithm without its input: what answers imply, which codes are possible, and which code is nearest."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mergebo.errors import InvalidCodeError, SearchLimitError
from mergebo.sorting.reference import Algorithm


class Knowledge:
    """What a list of answers implies about the order of n entries: a partial order, closed under transitivity."""

    def __init__(self, n: int) -> None:
        self.below = [0] * n  # below[i]: the slots known to hold less than slot i, as a bit set
        self.above = [0] * n

    def is_larger(self, i: int, j: int) -> bool | None:
        """Whether slot i holds more than slot j, or None while that is open."""
        if self.below[i] >> j & 1:
            return True
        if self.above[i] >> j & 1:
            return False
        return None

    def learn(self, i: int, j: int, larger: bool) -> None:
        """Take the answer in, with all that follows from it."""
        low, high = (j, i) if larger else (i, j)
        lows = self.below[low] | 1 << low
        highs = self.above[high] | 1 << high
        for k in range(len(self.below)):
            if highs >> k & 1:
                self.below[k] |= lows
            if lows >> k & 1:
                self.above[k] |= highs

    def ranks(self) -> list[int]:
        """The permutation that the answers leave, or the first of them in slot order if they leave several."""
        smaller = [b.bit_count() for b in self.below]
        ranks = [0] * len(smaller)
        for rank, slot in enumerate(sorted(range(len(smaller)), key=smaller.__getitem__)):
            ranks[slot] = rank
        return ranks


def follow(algorithm: Algorithm, n: int, answers: Sequence[int]) -> list[int]:
    """The permutation to which the algorithm would hear these answers."""
    known = Knowledge(n)
    heard = iter(answers)
    position = 0
    try:
        i, j = next(algorithm)
        while True:
            answer = bool(next(heard))
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

    A coroutine cannot be rewound, so an open branch is kept as its prefix of answers and replayed. The bound of a branch is
    what its answers cost plus the cheaper answer for every bit to come. The cheapest branch is dived into first.
    """
    costs = np.stack([features**2, (1 - features) ** 2])  # of answering 0 and 1
    to_come = np.concatenate([np.cumsum(costs.min(axis=0)[::-1])[::-1], [0.0]])
    best = np.inf
    ranks = list(range(n))
    open_branches: list[tuple[float, int, list[bool]]] = [(float(to_come[0]), 0, [])]
    for dives in range(limit):
        bound, _, prefix = heapq.heappop(open_branches) if open_branches else (np.inf, 0, [])
        if bound >= best:
            return ranks
        known = Knowledge(n)
        algorithm = start()
        answers: list[bool] = []
        cost = 0.0
        try:
            i, j = next(algorithm)
            while cost + to_come[len(answers)] < best:
                position = len(answers)
                answer = known.is_larger(i, j)
                if answer is None:
                    if position < len(prefix):
                        answer = prefix[position]
                    else:
                        answer = bool(costs[1, position] < costs[0, position])
                        other = cost + costs[int(not answer), position] + to_come[position + 1]
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
        f"the nearest permutation of {n} items was not proved within {limit} dives: the features are far from every code. "
        "Raise `limit`, or use MergeMap, whose projection is exact at any n in O(n log^2 n)"
    )
