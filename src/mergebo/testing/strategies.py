"""Hypothesis strategies for permutations, batches of them, things that look like permutations but are not, and spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from mergebo.permutations import Ints, sample
from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, Space, Variable

__all__ = ["batches", "broken_permutations", "comparators", "permutations", "sizes", "spaces", "variables"]


def sizes(low: int = 1, high: int = 40) -> st.SearchStrategy[int]:
    """Numbers of items, with powers of two and their neighbours among them: that is where sorting algorithms go wrong."""
    powers = [2**k + d for k in range(12) for d in (-1, 0, 1)]
    edges = sorted({p for p in powers if low <= p <= high} | {low, high})
    return st.one_of(st.sampled_from(edges), st.integers(low, high))


@st.composite
def permutations(draw: st.DrawFn, n: int | None = None, low: int = 1, high: int = 40) -> Ints:
    """One permutation of n items, or of any number between low and high; shrinks towards the identity."""
    size = draw(sizes(low, high)) if n is None else n
    return np.array(draw(st.permutations(range(size))), np.int64)


@st.composite
def batches(draw: st.DrawFn, n: int, low: int = 0, high: int = 12) -> Ints:
    """A batch of random permutations of n items, often with repeated rows."""
    orders = sample(n, draw(st.integers(low, high)), seed=draw(st.integers(0, 2**32 - 1)))
    if len(orders) > 1 and draw(st.booleans()):
        orders[-1] = orders[0]
    return orders


@st.composite
def comparators(draw: st.DrawFn, n: int, high: int = 30) -> list[tuple[int, int]]:
    """A list of comparators on n >= 2 wires, in either direction; most of these lists do not sort."""
    wires = st.permutations(range(n)).map(lambda order: (order[0], order[1]))
    return draw(st.lists(wires, max_size=high))


@st.composite
def broken_permutations(draw: st.DrawFn, n: int) -> Any:
    """Something that is not a permutation of n >= 2 items and must be refused."""
    order = draw(st.permutations(range(n)))
    k = draw(st.integers(0, n - 1))
    kind = draw(
        st.sampled_from(
            [
                "twice",
                "negative",
                "too large",
                "fraction",
                "nan",
                "infinite",
                "short",
                "long",
                "text",
                "none",
                "ragged",
                "bool",
            ]
        )
    )
    values: list[Any] = list(order)
    match kind:
        case "twice":
            values[k] = values[k - 1]
        case "negative":
            values[k] = -1
        case "too large":
            values[k] = n
        case "fraction":
            values[k] += 0.5
        case "nan":
            values[k] = float("nan")
        case "infinite":
            values[k] = float("inf")
        case "short":
            values.remove(n - 1)
        case "long":
            values.append(n)
        case "text":
            values[k] = "a"
        case "none":
            values[k] = None
        case "ragged":
            return [values, values[1:]]
        case "bool":
            return [bool(v) for v in values]
    return values


def variables() -> st.SearchStrategy[Variable]:
    """Variables of every kind: short orders, few choices, numbers of all sizes on both scales."""
    scales = st.floats(-6, 6).map(lambda exponent: 10.0**exponent)
    return st.one_of(
        st.integers(1, 6).map(Permutation),
        st.integers(1, 4).map(Binary),
        st.builds(lambda low, more: Integer(low, low + more), st.integers(-1000, 1000), st.integers(1, 10**6)),
        st.builds(lambda low, more: Integer(low, low + more, log=True), st.integers(1, 1000), st.integers(1, 10**6)),
        st.builds(lambda low, more: Real(low, low + more), st.floats(-1e6, 1e6), st.floats(0.1, 1e6)),
        st.builds(lambda low, ratio: Real(low, low * (1 + ratio), log=True), scales, scales),
        st.integers(2, 5).map(lambda count: Choice(["a", None, 7, [1, 2], False][:count])),
    )


def spaces(most: int = 4) -> st.SearchStrategy[Space]:
    """One to `most` variables together."""
    return st.lists(variables(), min_size=1, max_size=most).map(
        lambda each: Space(**{f"v{k}": v for k, v in enumerate(each)})
    )
