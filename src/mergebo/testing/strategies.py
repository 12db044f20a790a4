"""Hypothesis strategies for permutations, rules of orders, spaces, and things that look like permutations but are not."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from mergebo._typing import Ints
from mergebo.permutations import sample
from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, Space, Variable

__all__ = [
    "batches",
    "broken_permutations",
    "comparators",
    "permutations",
    "posets",
    "rule_sets",
    "shapes",
    "sizes",
    "spaces",
    "variables",
]


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
def posets(draw: st.DrawFn, n: int, high: int = 12) -> list[tuple[int, int]]:
    """Pairs of n items, the first before the second, that do not contradict each other."""
    order = draw(st.permutations(range(n)))
    slots = st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True).map(sorted)
    return [(order[a], order[b]) for a, b in draw(st.lists(slots, max_size=high if n > 1 else 0))]


@st.composite
def rule_sets(draw: st.DrawFn, n: int, kept: bool = True, cyclic: bool = False) -> dict[str, Any]:
    """Rules of orders of n items, as `Permutation` takes them: kept by some order, or as likely as not by none.

    With `cyclic` rules about neighbours are kept by some round.
    """
    order = draw(st.permutations(range(n)))
    rules: dict[str, Any] = {}
    some = st.lists(
        st.sampled_from([(a, b) for a in range(n) for b in range(n) if a < b] or [(0, 0)]), max_size=3, unique=True
    )
    if n > 1:
        rules["before"] = [
            (order[a], order[b]) if kept or draw(st.booleans()) else (order[b], order[a]) for a, b in draw(some)
        ]
        pairs = draw(some)
        rules["adjacent"] = [(order[b], order[a]) for a, b in pairs if not kept or b - a == 1]
        rules["apart"] = [(order[a], order[b]) for a, b in draw(some) if not kept or 1 < b - a < n - cyclic]
    windows = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, 2), st.integers(0, 2)), max_size=3))
    around = {order[s]: (max(0, s - left), min(n - 1, s + right)) for s, left, right in windows}
    if not kept and n > 1:
        around = {item: (max(0, low - 1), max(0, high - 1)) for item, (low, high) in around.items()}
    rules["fixed"] = {item: low for item, (low, high) in around.items() if low == high}
    rules["window"] = {item: slots for item, slots in around.items() if slots[0] < slots[1]}
    return {name: rule for name, rule in rules.items() if rule}


@st.composite
def shapes(draw: st.DrawFn, low: int = 1, high: int = 6) -> dict[str, Any]:
    """Shapes of order, as `Permutation` takes them: repeated items, some of the items, symmetries."""
    n = draw(st.integers(low, high))
    names = draw(st.lists(st.sampled_from("abcdef"[: max(1, n - draw(st.integers(0, 2)))]), min_size=n, max_size=n))
    shape: dict[str, Any] = {"items": names if draw(st.booleans()) else list("abcdef"[:n])}
    if draw(st.booleans()):
        shape["choose"] = draw(st.integers(1, n))
    return {**shape, "symmetry": draw(st.sampled_from([(), "cycle", "reversal", ("cycle", "reversal")]))}


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
