"""Hypothesis strategies for permutations, constraints, spaces, and invalid permutations."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from mergebo._typing import Ints
from mergebo.permutations import sample
from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, Space, Variable

__all__ = [
    "VARIABLES",
    "batches",
    "broken_permutations",
    "comparators",
    "constraint_sets",
    "order_options",
    "permutations",
    "posets",
    "sizes",
    "spaces",
    "variables",
]


def sizes(low: int = 1, high: int = 40) -> st.SearchStrategy[int]:
    """Numbers of items, often powers of two and adjacent numbers, the corner cases of sorting algorithms."""
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
    """Consistent precedence constraints on n items, as pairs (first, second)."""
    order = draw(st.permutations(range(n)))
    slots = st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True).map(sorted)
    return [(order[a], order[b]) for a, b in draw(st.lists(slots, max_size=high if n > 1 else 0))]


@st.composite
def constraint_sets(draw: st.DrawFn, n: int, feasible: bool = True, cyclic: bool = False) -> dict[str, Any]:
    """Constraints on orders of n items, as arguments of `Permutation`; possibly infeasible unless `feasible`.

    With `cyclic` the adjacency constraints are satisfied by a cyclic order.
    """
    order = draw(st.permutations(range(n)))
    constraints: dict[str, Any] = {}
    pair_lists = st.lists(
        st.sampled_from([(a, b) for a in range(n) for b in range(n) if a < b] or [(0, 0)]), max_size=3, unique=True
    )
    if n > 1:
        constraints["before"] = [
            (order[a], order[b]) if feasible or draw(st.booleans()) else (order[b], order[a]) for a, b in draw(pair_lists)
        ]
        pairs = draw(pair_lists)
        constraints["adjacent"] = [(order[b], order[a]) for a, b in pairs if not feasible or b - a == 1]
        constraints["apart"] = [(order[a], order[b]) for a, b in draw(pair_lists) if not feasible or 1 < b - a < n - cyclic]
    windows = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, 2), st.integers(0, 2)), max_size=3))
    windows_of = {order[s]: (max(0, s - left), min(n - 1, s + right)) for s, left, right in windows}
    if not feasible and n > 1:
        windows_of = {item: (max(0, low - 1), max(0, high - 1)) for item, (low, high) in windows_of.items()}
    constraints["fixed"] = {item: low for item, (low, high) in windows_of.items() if low == high}
    constraints["window"] = {item: slots for item, slots in windows_of.items() if slots[0] < slots[1]}
    return {name: value for name, value in constraints.items() if value}


@st.composite
def order_options(draw: st.DrawFn, low: int = 1, high: int = 6) -> dict[str, Any]:
    """Repeated items, subsets and symmetries, as arguments of `Permutation`."""
    n = draw(st.integers(low, high))
    names = draw(st.lists(st.sampled_from("abcdef"[: max(1, n - draw(st.integers(0, 2)))]), min_size=n, max_size=n))
    options: dict[str, Any] = {"items": names if draw(st.booleans()) else list("abcdef"[:n])}
    if draw(st.booleans()):
        options["choose"] = draw(st.integers(1, n))
    return {**options, "symmetry": draw(st.sampled_from([(), "cycle", "reversal", ("cycle", "reversal")]))}


@st.composite
def broken_permutations(draw: st.DrawFn, n: int) -> Any:
    """Something that is not a permutation of n >= 2 items and must be rejected."""
    order = draw(st.permutations(range(n)))
    k = draw(st.integers(0, n - 1))
    values: list[Any] = list(order)
    replaced = {"twice": values[k - 1], "negative": -1, "too large": n, "fraction": values[k] + 0.5}
    replaced |= {"nan": float("nan"), "infinite": float("inf"), "text": "a", "none": None}
    kind = draw(st.sampled_from([*replaced, "short", "long", "ragged", "bool"]))
    match kind:
        case "short":
            values.remove(n - 1)
        case "long":
            values.append(n)
        case "ragged":
            return [values, values[1:]]
        case "bool":
            return [bool(value) for value in values]
        case _:
            values[k] = replaced[kind]
    return values


_SCALES = st.floats(-6, 6).map(lambda exponent: 10.0**exponent)

VARIABLES: dict[type[Variable], st.SearchStrategy[Variable]] = {
    Permutation: st.integers(1, 6).map(Permutation),
    Binary: st.integers(1, 4).map(Binary),
    Integer: st.one_of(
        st.builds(lambda low, more: Integer(low, low + more), st.integers(-1000, 1000), st.integers(1, 10**6)),
        st.builds(lambda low, more: Integer(low, low + more, log=True), st.integers(1, 1000), st.integers(1, 10**6)),
    ),
    Real: st.one_of(
        st.builds(lambda low, more: Real(low, low + more), st.floats(-1e6, 1e6), st.floats(0.1, 1e6)),
        st.builds(lambda low, ratio: Real(low, low * (1 + ratio), log=True), _SCALES, _SCALES),
    ),
    Choice: st.integers(2, 5).map(lambda count: Choice(["a", None, 7, [1, 2], False][:count])),
}
"""A strategy for each kind of variable: short orders and binary vectors, numbers of all magnitudes on both scales."""


def variables() -> st.SearchStrategy[Variable]:
    """Variables of every kind in `VARIABLES`."""
    return st.one_of(*VARIABLES.values())


def spaces(most: int = 4) -> st.SearchStrategy[Space]:
    """Spaces of one to `most` variables."""
    return st.lists(variables(), min_size=1, max_size=most).map(
        lambda each: Space(**{f"v{k}": v for k, v in enumerate(each)})
    )
