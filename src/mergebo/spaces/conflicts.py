"""Whether any order satisfies some constraints, and if none does, which of them are in conflict."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mergebo._typing import Ints
from mergebo.errors import SearchLimitError

if TYPE_CHECKING:
    from mergebo.spaces.constraints import ConstraintSet

__all__: list[str] = []

MAX_ATTEMPTS = 200
"""Number of random constructions before an exact search decides whether the constraints are feasible."""
SEARCH_SECONDS = 20.0
"""Time limit of an exact search."""


def feasible_order(constraints: ConstraintSet, seconds: float = SEARCH_SECONDS) -> Ints | None:
    """A feasible order, or None if there is none; raises an error if the search was not conclusive."""
    if not constraints.constraints:
        return np.arange(constraints.n)
    if find_cycle(constraints.pairs("before").tolist()):
        return None
    exact = constraints.length == constraints.n and not constraints.tables.has_adjacency
    rng = np.random.default_rng(0)
    for _ in range(1 if exact else MAX_ATTEMPTS):
        found = constraints.repair(rng.permutation(constraints.n))
        if found is not None:
            return found
    return None if exact else _search(constraints, seconds)


def describe_conflict(constraints: ConstraintSet) -> str:
    """A message with a conflicting subset of the constraints, as small as possible."""
    n, length = constraints.n, constraints.length
    what = f"{n} items" if length == n else f"{length} of {n} items"
    cycle = find_cycle(constraints.pairs("before").tolist())
    if cycle:
        names = {pair: each.names for each in constraints.constraints if each.kind == "before" for pair in each.pairs}
        shown = [names[cycle[k], cycle[k + 1]][0] for k in range(len(cycle) - 1)]
        return f"no order satisfies these constraints, which form a cycle: {' before '.join([*shown, shown[0]])}"
    deadline = time.monotonic() + SEARCH_SECONDS
    conflict = [each for each in constraints.constraints if each.kind in ("before", "slots")]
    if not _infeasible(replace(constraints, constraints=tuple(conflict))):
        conflict = list(constraints.constraints)
    for constraint in list(conflict):
        rest = [each for each in conflict if each is not constraint]
        if time.monotonic() < deadline and _infeasible(replace(constraints, constraints=tuple(rest))):
            conflict = rest
    return f"no order of {what} satisfies all of these constraints: {'; '.join(map(str, conflict))}"


def _infeasible(constraints: ConstraintSet) -> bool:
    """Whether the constraints are proved to be infeasible within a second."""
    try:
        return feasible_order(constraints, 1.0) is None
    except SearchLimitError:
        return False


def find_cycle(pairs: Iterable[Sequence[int]]) -> list[int]:
    """A cycle in a directed graph given by its edges, with the first item repeated at the end; empty if there is none."""
    successors: dict[int, list[int]] = {}
    for a, b in pairs:
        successors.setdefault(a, []).append(b)
    done: set[int] = set()
    for start in successors:
        path: list[int] = []
        pending: list[Iterator[int]] = []
        if start not in done:
            path, pending = [start], [iter(successors[start])]
        while path:
            step = next(pending[-1], None)
            if step is None:
                done.add(path.pop())
                pending.pop()
            elif step in path:
                return [*path[path.index(step) :], step]
            elif step not in done:
                path.append(step)
                pending.append(iter(successors.get(step, ())))
    return []


def _search(constraints: ConstraintSet, seconds: float) -> Ints | None:
    """A feasible order, or None if there is none, by integer programming (HiGHS)."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    n, length, t = constraints.n, constraints.length, constraints.tables
    entries: list[tuple[int, int, float]] = []  # of the constraint matrix
    lower: list[float] = []
    upper: list[float] = []

    def constrain(terms: Iterable[tuple[int, int, float]], low: float, high: float) -> None:
        """Add `low <= sum of factor * (item is in slot) <= high`; terms are (item, slot, factor)."""
        entries.extend((len(lower), item * length + slot, factor) for item, slot, factor in terms)
        lower.append(low)
        upper.append(high)

    slots = range(length)
    required = (t.high < length) | t.must_adjacent.any(axis=0)
    for slot in slots:
        constrain(((item, slot, 1.0) for item in range(n)), 1, 1)
    for item in range(n):
        constrain(((item, slot, 1.0) for slot in slots), float(length == n or required[item]), 1)
    for a, b in t.precedence_pairs.tolist():
        if length == n:
            constrain([(b, s, float(s)) for s in slots] + [(a, s, -float(s)) for s in slots], 1, np.inf)
        else:
            for slot in slots:
                constrain([(b, slot, 1.0), *((a, s, 1.0) for s in range(slot + 1, length))], -np.inf, 1)

    def adjacent_slots(slot: int) -> set[int]:
        around = {slot - 1, slot + 1} if not constraints.cyclic else {(slot - 1) % length, (slot + 1) % length}
        return {each for each in around if 0 <= each < length and each != slot}

    for a, b in t.must_adjacent_pairs.tolist():
        for slot in slots:
            constrain([(a, slot, -1.0), *((b, s, 1.0) for s in adjacent_slots(slot))], 0, np.inf)
    for a, b in np.argwhere(np.triu(t.not_adjacent)).tolist():
        for slot in slots:
            constrain([(a, slot, 1.0), *((b, s, 1.0) for s in adjacent_slots(slot))], -np.inf, 1)
    allowed = (np.arange(length) >= t.low[:, None]) & (np.arange(length) <= t.high[:, None])
    row, column, factor = zip(*entries, strict=True)
    matrix = csr_array((factor, (row, column)), shape=(len(lower), n * length))
    found: Any = milp(
        np.zeros(n * length),
        integrality=np.ones(n * length),
        bounds=Bounds(0, allowed.reshape(-1).astype(float)),
        constraints=LinearConstraint(matrix, lower, upper),
        options={"time_limit": seconds},
    )
    if found.x is not None:
        chosen = np.rint(found.x).reshape(n, length).argmax(axis=0)
        return np.concatenate([chosen, np.setdiff1d(np.arange(n), chosen)])
    if found.status == 2:
        return None
    raise SearchLimitError(
        f"could not decide in {seconds:g} s whether the {len(constraints.constraints)} constraints are feasible; remove "
        "some, or restrict the slots of items with fixed or window"
    )
