"""Search spaces: permutations, binary vectors, numbers and categories, alone or combined.

A **point** is what users see: an order for a `PermutationSpace`, a dictionary of variables for a `Space`. A **row** is the
same point as one flat array, which problems evaluate and models read. `encode` validates points and turns them into rows,
`decode` turns rows into points; both accept one or many.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo._typing import Floats, Ints, Rows, Seed
from mergebo.compiled.symmetry import canonical, every_order
from mergebo.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConstraintError,
    ExhaustedError,
    NotAPermutationError,
    ShapeError,
    SlotError,
    UnsupportedError,
    unknown_choice,
)
from mergebo.permutations import as_generator, as_int_array, check_n, invert, sample, validate
from mergebo.spaces.constraints import Constraint, ConstraintSet

__all__ = [
    "Binary",
    "Choice",
    "Integer",
    "Numeric",
    "Permutation",
    "PermutationSpace",
    "Real",
    "SearchSpace",
    "Space",
    "Variable",
]


PLAIN = frozenset({str, np.str_, int, float, bool, type(None)})
"""Types whose equal values have equal hashes, also across these types, so that a dictionary lookup agrees with `==`."""
MAX_EXACT_INTEGER = 1 << 53
"""The largest integer up to which floats are exact: rows with a real variable are floats throughout."""


class Variable(ABC):
    """One part of a point: `width` numbers of a row."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of entries in a row."""

    @property
    @abstractmethod
    def size(self) -> float:
        """Number of values; infinite for a real variable."""

    @abstractmethod
    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        """Uniform random values, `(*shape, width)`."""

    def stratified(self, index: Ints, rng: np.random.Generator) -> Rows:
        """Values of the points `index` of a stratified design, `(*index.shape, width)`; uniform by default."""
        return self.sample(index.shape, rng)

    @abstractmethod
    def validate(self, values: ArrayLike) -> Rows:
        """Values of shape `(..., width)` as an array; raises an error that shows what is wrong."""

    def decode(self, values: Rows) -> Any:
        """Values of shape `(..., width)` as a user writes them."""
        return values.astype(np.int64)  # rows with a real variable are floats throughout

    # Some variables have constraints, and a canonical form for equivalent values.

    @property
    def is_constrained(self) -> bool:
        """Whether some values of the right type are infeasible, or equivalent to others."""
        return False

    def canonical(self, values: Rows) -> Rows:
        """The representatives of the equivalence classes of these values, `(count, width)`."""
        return values

    def is_feasible(self, values: Rows, *, check_predicate: bool = True) -> NDArray[np.bool_]:
        """Which values in canonical form are feasible; the predicate is evaluated only if `check_predicate`."""
        return np.ones(len(values), bool)

    def repair(self, values: Rows) -> Rows:
        """Feasible values near these, in canonical form; unchanged if none is found."""
        return values

    # A relabelling permutes the labels and leaves the objective the same; see `Problem.relabelled`.

    def sample_labels(self, rng: np.random.Generator) -> Ints:
        """A random relabelling, as a permutation of the labels; empty by default."""
        return np.empty(0, np.int64)

    def relabel(self, values: Rows, labels: Ints) -> Rows:
        """Values of the relabelled variable in the original labels."""
        return values

    def undo_relabel(self, values: Rows, labels: Ints) -> Rows:
        """The inverse of `relabel`."""
        return values


Symmetry: TypeAlias = Literal["cycle", "reversal"]
PairKind: TypeAlias = Literal["before", "adjacent", "apart"]
Pairs: TypeAlias = Iterable[Sequence[Any]]

MAX_ENUMERATED = 50_000
"""Constrained orders are enumerated up to this number; more of them count as infinitely many."""
MAX_ENUMERATED_ENTRIES = 10_000_000
"""Limit on the entries of all enumerated orders together."""
MAX_REJECTIONS = 2_000
"""Number of random orders of which at least one must satisfy the predicate."""
WALK_STEPS = 50
"""Length of a random walk over orders that satisfy the predicate, used if few random ones do."""


@dataclass(frozen=True, init=False, repr=False)
class Permutation(Variable):
    """An order of n items: `Permutation(15)`, or `Permutation(items=["base", "acid", "salt"])` with names.

    Constraints restrict the feasible orders. `before=[("a", "b")]`: a comes before b. `fixed={"c": 0}`: c is in slot 0.
    `window={"d": (2, 5)}`: d is in one of the slots 2 to 5. `adjacent=[("e", "f")]`: e and f are next to each other, in
    either order; `apart=[("g", "h")]`: they are not. `where`: a predicate, which takes a point and returns whether it is
    feasible.

    Items may repeat; a constraint on a repeated item applies to every copy. With `choose=k` an order contains k of the
    items: "before" and "apart" apply if both items are chosen, the other constraints imply that theirs are. `symmetry`
    defines which orders are equivalent: rotations (`"cycle"`), reversals (`"reversal"`), or both. Each equivalence class is
    represented by its lexicographically smallest member.
    """

    n: int
    items: tuple[Any, ...] | None
    before: tuple[tuple[Any, Any], ...]
    fixed: tuple[tuple[Any, int], ...]
    window: tuple[tuple[Any, tuple[int, int]], ...]
    adjacent: tuple[tuple[Any, Any], ...]
    apart: tuple[tuple[Any, Any], ...]
    where: Callable[[Any], object] | None
    choose: int | None
    symmetry: tuple[Symmetry, ...]

    def __init__(
        self,
        n: int | None = None,
        *,
        items: Sequence[Any] | None = None,
        before: Pairs = (),
        fixed: Mapping[Any, int] = MappingProxyType({}),
        window: Mapping[Any, Sequence[int]] = MappingProxyType({}),
        adjacent: Pairs = (),
        apart: Pairs = (),
        where: Callable[[Any], object] | None = None,
        choose: int | None = None,
        symmetry: Symmetry | Sequence[Symmetry] = (),
    ) -> None:
        if items is not None:
            if isinstance(items, str) or not isinstance(items, Sequence):
                raise ArgumentTypeError(f"items is a list of names such as ['base', 'acid'], got {items!r}")
            if n is not None and n != len(items):
                raise ShapeError(f"n={n} does not fit {len(items)} items; give one of the two")
            n = len(items)
        if n is None:
            raise ArgumentError("give the number of items, such as 15, or their names, items=[...]")
        n = check_n(n)
        if choose is not None and check_n(choose) > n:
            raise ShapeError(f"choose={choose} of {n} items is not possible")
        if where is not None and not callable(where):
            raise ArgumentTypeError(f"where is a function that returns whether a point is feasible, got {where!r}")
        symmetries = (symmetry,) if isinstance(symmetry, str) else tuple(symmetry)
        for each in symmetries:
            if each not in get_args(Symmetry):
                raise unknown_choice("symmetry", each, get_args(Symmetry))
        attributes = {
            "n": n,
            "items": None if items is None else tuple(items),
            "before": _pairs("before", before),
            "fixed": tuple(_named("fixed", fixed, "{'a': 0}")),
            "window": tuple((item, _window(item, slots)) for item, slots in _named("window", window, "{'a': (2, 5)}")),
            "adjacent": _pairs("adjacent", adjacent),
            "apart": _pairs("apart", apart),
            "where": where,
            "choose": None if choose is None or choose == n else int(choose),
            "symmetry": tuple(each for each in get_args(Symmetry) if each in symmetries),
        }
        for name, value in attributes.items():
            object.__setattr__(self, name, value)
        if symmetries and (self.before or self.fixed or self.window):
            raise ArgumentError(
                f"with symmetry={symmetry!r} rotated or reversed orders are equivalent: before, fixed and window are "
                "undefined there; use adjacent, apart or where"
            )
        if self.constraints is not None:
            self.constraints.example  # noqa: B018 (raises an error if there is none)
        if self.where is not None:
            self._feasible_examples  # noqa: B018

    def __repr__(self) -> str:
        shown = {"n": self.n} if self.items is None else {"items": list(self.items)}
        return f"Permutation({', '.join(f'{name}={value!r}' for name, value in {**shown, **self.options}.items())})"

    @property
    def options(self) -> dict[str, Any]:
        """The arguments besides `n` and `items` that are not at their defaults."""
        given = {name: getattr(self, name) for name in ("before", "fixed", "window", "adjacent", "apart")}
        given |= {name: dict(given[name]) for name in ("fixed", "window")}
        rest = {"where": self.where, "choose": self.choose, "symmetry": self.symmetry}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in {**given, **rest}.items() if v}

    @property
    def width(self) -> int:
        return self.n

    @property
    def length(self) -> int:
        """Number of items in an order: all of them, or those that are chosen."""
        return self.choose or self.n

    @property
    def is_constrained(self) -> bool:
        return self.constraints is not None

    @cached_property
    def constraints(self) -> ConstraintSet | None:
        """The constraints in terms of item numbers; None for plain permutations."""
        names = list(map(str, self.names))
        repeated = len(set(self._kinds[0].tolist())) < self.n
        if not (self.options or repeated):
            return None
        constraints: list[Constraint] = []
        for kind in get_args(PairKind):
            for pair in getattr(self, kind):
                one, other = (self._copies(kind, item) for item in pair)
                if one == other and (kind != "apart" or len(one) == 1):
                    raise ArgumentError(f"{kind}={pair!r} has only one item; this constraint needs two different ones")
                if kind == "adjacent" and len(one) + len(other) > 2:
                    raise ArgumentError(f"adjacent={pair!r} is ambiguous for an item with several copies")
                pairs = tuple((a, b) for a in one for b in other if a != b)
                constraints.append(Constraint(kind, tuple(names[each[0]] for each in (one, other)), pairs))
        for item, slot in self.fixed:
            if len(self._copies("fixed", item)) > 1:
                raise ArgumentError(f"fixed={{{item!r}: {slot!r}}}: not all copies can be in one slot; use window")
        for item, slots in (*((item, (slot, slot)) for item, slot in self.fixed), *self.window):
            copies = self._copies("fixed or window", item)
            for slot in slots:
                if isinstance(slot, bool) or not isinstance(slot, int | np.integer) or not 0 <= slot < self.length:
                    raise SlotError(f"slots of {self.length} items are 0..{self.length - 1}, got {slot!r} for {item!r}")
            constraints.append(Constraint("slots", (names[copies[0]],), items=copies, slots=(int(slots[0]), int(slots[1]))))
        return ConstraintSet(self.n, self.length, tuple(constraints), "cycle" in self.symmetry)

    @property
    def names(self) -> Sequence[Any]:
        """The names of the items; their numbers if they have none."""
        return range(self.n) if self.items is None else self.items

    def number(self, item: Any, what: str = "an item") -> int:
        """The number of an item; the first of several equal ones."""
        if type(item) in PLAIN and item in self._first:
            return self._first[item]
        try:
            return self.names.index(item)
        except (ValueError, TypeError):  # Decimal refuses to be compared with integers of NumPy
            raise unknown_choice(what, item, map(str, self.names)) from None

    @cached_property
    def _first(self) -> dict[Any, int]:
        """The number of each name, the first of equal ones; empty if some are not `PLAIN`, so that `==` must be used."""
        names = self.items or ()
        return {name: k for k, name in reversed([*enumerate(names)])} if PLAIN.issuperset(map(type, names)) else {}

    def _copies(self, what: str, item: Any) -> tuple[int, ...]:
        """The numbers of an item, several if it repeats."""
        found = tuple(k for k, name in enumerate(self.names) if name == item)
        if not found or isinstance(item, bool):
            raise unknown_choice(f"an item of {what}", item, map(str, self.names))
        return found

    @cached_property
    def _kinds(self) -> tuple[Ints, Ints]:
        """The first copy of each item, `(n,)`, and all copies of each first one, padded with -1."""
        kind = np.arange(self.n) if self.items is None else np.array([self.number(name) for name in self.items])
        copies = np.full((self.n, np.bincount(kind).max()), -1)
        for first in np.unique(kind):
            same = np.flatnonzero(kind == first)
            copies[first, : len(same)] = same
        return kind, copies

    @property
    def _symmetries(self) -> tuple[bool, bool]:
        """Whether rotated, and whether reversed, orders are equivalent."""
        return "cycle" in self.symmetry, "reversal" in self.symmetry

    @property
    def size(self) -> float:
        if self.constraints is None:
            return math.factorial(self.n) if self.n < 150 else math.inf
        return math.inf if self._all_rows is None else len(self._all_rows)

    def enumerate_rows(self) -> Ints:
        """All feasible orders; an error if there are too many."""
        if self.constraints is None:
            return np.array(list(itertools.permutations(range(self.n))), np.int64)
        if self._all_rows is None:
            raise ExhaustedError(f"there are too many orders to enumerate: {self}")
        return self._all_rows

    @cached_property
    def _all_rows(self) -> Ints | None:
        assert self.constraints is not None
        limit = min(MAX_ENUMERATED, MAX_ENUMERATED_ENTRIES // self.n)
        out = np.empty((limit, self.n), np.int64)
        count = every_order(self.constraints.tables, *self._kinds, *self._symmetries, limit, 200 * limit, out)
        return None if count < 0 else out[:count][self._satisfying(out[:count])].copy()

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        if self.constraints is None:
            return sample(self.n, shape, seed=rng)
        return self._sample(math.prod(shape), rng).reshape(*shape, self.n)

    def _sample(self, count: int, rng: np.random.Generator) -> Ints:
        """Random orders; if few satisfy the predicate, the ends of random walks over those that do."""
        assert self.constraints is not None
        if self.where is None:
            return self.canonical(self.constraints.sample(count, rng))
        found = self._feasible_examples[:0]
        for _ in range(10):
            if len(found) < count:
                drawn = self.canonical(self.constraints.sample(count, rng))
                found = np.concatenate([found, drawn[self._satisfying(drawn)]])
        while len(found) < count:
            current = self._feasible_examples[rng.integers(len(self._feasible_examples))]
            for steps in rng.integers(1, 4 * self.n + 1, WALK_STEPS):
                proposal = self.canonical(self.constraints.random_walk(current, int(steps), rng)[None])
                if self._satisfying(proposal)[0]:
                    current = proposal[0]
            found = np.concatenate([found, current[None]])
        return found[:count]

    @cached_property
    def _feasible_examples(self) -> Ints:
        """Some orders that satisfy the constraints and the predicate."""
        assert self.constraints is not None
        rng = np.random.default_rng(0)
        for _ in range(MAX_REJECTIONS // 50):
            drawn = self.canonical(self.constraints.sample(50, rng))
            found = drawn[self._satisfying(drawn)]
            if len(found):
                return found
        raise ConstraintError(
            f"none of {MAX_REJECTIONS} random orders satisfies `where`; express what you can by before, fixed, window, "
            "adjacent and apart, which are searched exactly, or relax it and give bad orders a bad value"
        )

    def _satisfying(self, rows: Rows) -> NDArray[np.bool_]:
        """Which orders satisfy the predicate."""
        if self.where is None:
            return np.ones(len(rows), bool)
        return np.array([bool(self.where(self.decode(row))) for row in rows], bool)

    def canonical(self, values: Rows) -> Rows:
        if self.constraints is None:
            return values
        orders = np.ascontiguousarray(values, np.int64)
        out = np.empty((len(orders), self.n), np.int64)
        canonical(orders, self.length, *self._kinds, *self._symmetries, out)
        return out.astype(values.dtype, copy=False)

    def is_feasible(self, values: Rows, *, check_predicate: bool = True) -> NDArray[np.bool_]:
        if self.constraints is None:
            return np.ones(len(values), bool)
        out = self.constraints.satisfied(values)
        if check_predicate:
            out[out] = self._satisfying(values[out])
        return out

    def repair(self, values: Rows) -> Rows:
        if self.constraints is None:
            return values
        out = values.copy()
        for k in np.flatnonzero(~self.constraints.satisfied(values)):
            found = self.constraints.repair(values[k])
            out[k] = values[k] if found is None else found
        return self.canonical(out)

    def validate(self, values: ArrayLike) -> Rows:
        numbers = values if self.items is None else self._numbers(values)
        if self.constraints is None:
            return validate(numbers, n=self.n)
        array = as_int_array(numbers, "an order")
        if array.ndim == 0 or array.shape[-1] != self.length:
            raise ShapeError(f"expected orders of {self.length} items, got an array of shape {array.shape}")
        flat = array.reshape(-1, self.length)
        for row in flat:
            self._check_items(row)
        rows = self.canonical(flat)
        for row in rows[~self.constraints.satisfied(rows)][:1]:
            raise ConstraintError(
                f"{self.decode(row)} violates these constraints: {'; '.join(map(str, self.constraints.violated(row)))}"
            )
        for row in rows[~self._satisfying(rows)][:1]:
            raise ConstraintError(f"{self.decode(row)} does not satisfy `where`")
        return rows.reshape(*array.shape[:-1], self.n)

    def _check_items(self, row: Ints) -> None:
        """Check that no item is used more often than it has copies."""
        kind, copies = self._kinds
        if row.min() < 0 or row.max() >= self.n:
            raise NotAPermutationError(f"items are 0..{self.n - 1}, got {row[(row < 0) | (row >= self.n)][0]}")
        counts, most = np.bincount(kind[row], minlength=self.n), (copies >= 0).sum(axis=1)
        for item in np.flatnonzero(counts > most).tolist():
            missing = [str(self.names[k]) for k in np.flatnonzero(counts < most).tolist()]
            hint = f"; missing: {', '.join(missing)}" if self.choose is None else ""
            name = self.names[item]
            raise NotAPermutationError(f"{name!r} occurs {counts[item]} times, at most {most[item]} allowed{hint}")

    def _numbers(self, points: Any) -> Any:
        """Item numbers of names in arbitrarily nested lists."""
        assert self.items is not None
        if isinstance(points, np.ndarray) and points.dtype.kind in "iuf":
            return points
        if not isinstance(points, list | tuple | np.ndarray):
            return self.number(points)
        if PLAIN.issuperset(map(type, points)):
            found = [*map(self._first.get, points)]
            if None not in found:
                return found
        return [self._numbers(point) for point in points]

    def decode(self, values: Rows) -> Any:
        if self.items is None:
            return values[..., : self.length].astype(np.int64)
        if values.ndim > 1:
            return [self.decode(row) for row in values]
        return [self.items[int(item)] for item in values[: self.length]]

    def sample_labels(self, rng: np.random.Generator) -> Ints:
        if self.constraints is not None:
            raise UnsupportedError(f"items under constraints cannot be relabelled at random: {self}")
        return sample(self.n, seed=rng)

    def relabel(self, values: Rows, labels: Ints) -> Rows:
        return labels[values.astype(np.int64)]

    def undo_relabel(self, values: Rows, labels: Ints) -> Rows:
        return self.relabel(values, invert(labels))


def _pairs(what: str, given: Any) -> tuple[tuple[Any, Any], ...]:
    message = f"{what} is a list of pairs of items such as [('a', 'b')], got {given!r}"
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise ArgumentError(message)
    pairs = list(given)
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise ArgumentError(message)
    return tuple((_plain(a), _plain(b)) for a, b in pairs)


def _named(what: str, given: Any, example: str) -> Iterable[tuple[Any, Any]]:
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{what} is a dictionary such as {example}, got {given!r}")
    return ((_plain(item), _plain(value)) for item, value in given.items())


def _window(item: Any, slots: Any) -> tuple[int, int]:
    if isinstance(slots, str) or not isinstance(slots, Sequence | np.ndarray) or len(slots) != 2:
        raise ArgumentError(f"a window is a pair of slots, first and last, such as (2, 5), got {slots!r} for {item!r}")
    first, last = (_plain(slot) for slot in slots)
    if first > last:
        raise ArgumentError(f"a window runs from its first to its last slot, got {(first, last)} for {item!r}")
    return first, last


@dataclass(frozen=True)
class Binary(Variable):
    """A vector of `count` binary variables: `Binary(837)`."""

    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", check_n(self.count))

    @property
    def width(self) -> int:
        return self.count

    @property
    def size(self) -> float:
        return 2.0**self.count if self.count < 1000 else math.inf

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        return rng.integers(0, 2, (*shape, self.count))

    def stratified(self, index: Ints, rng: np.random.Generator) -> Rows:
        """All zeros first, then all ones, then a uniform fraction of ones; in uniform values about half are ones."""
        fraction = np.where(index < 2, index, rng.random(index.shape))
        return (rng.random((*index.shape, self.count)) < fraction[..., None]).astype(np.int64)

    def validate(self, values: ArrayLike) -> Rows:
        array = np.asarray(values)
        if array.dtype.kind != "b":
            array = as_int_array(values, "a binary vector")
        if array.ndim == 0 or array.shape[-1] != self.count:
            raise ShapeError(f"expected {self.count} values of 0 or 1, got an array of shape {array.shape}")
        if array.size and (array.min() < 0 or array.max() > 1):
            raise ArgumentError(f"binary values are 0 or 1, got {array[(array != 0) & (array != 1)][0]}")
        return array.astype(np.int64)

    def sample_labels(self, rng: np.random.Generator) -> Ints:
        return sample(self.count, seed=rng)

    def relabel(self, values: Rows, labels: Ints) -> Rows:
        return values[..., labels]

    def undo_relabel(self, values: Rows, labels: Ints) -> Rows:
        return values[..., invert(labels)]


@dataclass(frozen=True)
class Numeric(Variable):
    """A number between `low` and `high`, both included; with `log=True` on a logarithmic scale."""

    low: float
    high: float
    log: bool = False

    called: ClassVar[str]
    value: ClassVar[str]

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            given = getattr(self, name)
            if isinstance(given, bool | np.bool_) or not isinstance(given, int | float | np.integer | np.floating):
                raise ArgumentTypeError(f"{name} of {self.called} is a number, got {given!r}")
            object.__setattr__(self, name, _plain(given))
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise ArgumentError(f"{self.called} needs a finite low and a larger finite high, got {self.low} and {self.high}")
        if not isinstance(self.log, bool):
            raise ArgumentError(f"log is True or False, got {self.log!r}")
        if self.log and not self.low > 0:
            raise ArgumentError(f"with log=True {self.called} needs a positive low, got low={self.low}")

    @property
    def width(self) -> int:
        return 1

    def to_unit(self, values: ArrayLike) -> Floats:
        """Values scaled to 0 (low) to 1 (high), by their logarithms with `log`."""
        low, high = self.ends
        array = np.asarray(values, np.float64)
        return np.asarray(((np.log(array) if self.log else array) - low) / (high - low))

    def from_unit(self, fractions: Floats) -> Rows:
        """The inverse of `to_unit`; fractions outside 0 to 1 are clipped."""
        low, high = self.ends
        array = low + np.clip(fractions, 0, 1) * (high - low)
        inside = np.clip(np.exp(array) if self.log else array, self.low, self.high)
        return np.where(fractions <= 0, self.low, np.where(fractions >= 1, self.high, inside))  # exact at the ends

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds that 0 and 1 of the unit scale stand for: low and high, or their logarithms."""
        return (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)

    def decode(self, values: Rows) -> Any:
        return values[..., 0] if values.ndim > 1 else values[..., 0].item()

    def _inside(self, array: Rows) -> Rows:
        """The values with a last axis of length 1; raises an error that shows one that is out of bounds."""
        outside = ~((array >= self.low) & (array <= self.high))
        if outside.any():
            raise ArgumentError(f"expected {self._between}, got {array[outside][0]}")
        return array[..., None]

    @property
    def _between(self) -> str:
        return f"{self.value} between {self.low} and {self.high}"


@dataclass(frozen=True)
class Real(Numeric):
    """A number between `low` and `high`: `Real(20, 80)`; `Real(0.001, 10, log=True)` on a logarithmic scale."""

    called = "a real variable"
    value = "a number"

    @property
    def size(self) -> float:
        return math.inf

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        if self.log:
            return self.from_unit(rng.random((*shape, 1)))
        return rng.uniform(self.low, self.high, (*shape, 1))

    def validate(self, values: ArrayLike) -> Rows:
        try:
            array = np.asarray(values, np.float64)
        except (ValueError, TypeError) as error:
            raise ArgumentTypeError(f"expected {self._between}: {error}") from error
        return self._inside(array)


@dataclass(frozen=True)
class Integer(Numeric):
    """An integer between `low` and `high`, both included: `Integer(1, 12)`; with `log=True` on a logarithmic scale."""

    called = "an integer variable"
    value = "an integer"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            given = getattr(self, name)
            if not isinstance(given, int) or abs(given) > MAX_EXACT_INTEGER:
                raise ArgumentTypeError(
                    f"{name} of {self.called} is an integer within ±2^53, got {given!r}; otherwise use Real"
                )

    @property
    def size(self) -> float:
        return self.high - self.low + 1

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        """Uniform; with `log` each integer has the probability of the real numbers from it to the next."""
        if not self.log:
            return rng.integers(int(self.low), int(self.high) + 1, (*shape, 1))
        real = np.exp(rng.uniform(math.log(self.low), math.log(self.high + 1), (*shape, 1)))
        return np.clip(np.floor(real), self.low, self.high).astype(np.int64)

    def from_unit(self, fractions: Floats) -> Rows:
        return np.rint(super().from_unit(fractions)).astype(np.int64)

    def validate(self, values: ArrayLike) -> Rows:
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise ArgumentTypeError(f"expected {self._between}: {error}") from error
        if array.dtype.kind not in "iuf" or not np.all(array == np.rint(array)):
            raise ArgumentTypeError(f"expected {self._between}, got {values!r}")
        return self._inside(array).astype(np.int64)

    def decode(self, values: Rows) -> Any:
        return super().decode(values.astype(np.int64))


@dataclass(frozen=True, init=False)
class Choice(Variable):
    """One of several options: `Choice(["K", "Na", "Li"])`. Options may be any objects that compare with `==`, all different.

    A row holds the index of the option. Options have no order: all are equally far apart. For an ordered one use `Integer`.
    """

    options: tuple[Any, ...]

    def __init__(self, options: Sequence[Any]) -> None:
        if isinstance(options, str) or not isinstance(options, Sequence):
            raise ArgumentTypeError(f"options are a list such as ['K', 'Na'], got {options!r}")
        object.__setattr__(self, "options", tuple(map(_plain, options)))
        if len(self.options) < 2:
            raise ArgumentError(f"a choice needs at least two options, got {list(options)!r}")
        for each in self.options:
            if isinstance(each, np.ndarray) or self._find(each) is None:
                raise ArgumentError(f"options are compared with ==, which does not work for {each!r}")
        twice = [each for k, each in enumerate(self.options) if self._find(each) != k]
        if twice:
            raise ArgumentError(f"options must differ; repeated: {', '.join(map(repr, twice))}")

    def __hash__(self) -> int:
        return hash(("Choice", len(self.options)))  # options need not be hashable

    @property
    def width(self) -> int:
        return 1

    @property
    def size(self) -> float:
        return len(self.options)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        return rng.integers(0, len(self.options), (*shape, 1))

    def _find(self, value: Any) -> int | None:
        """The index of an option."""
        return next((k for k, each in enumerate(self.options) if (each == value) is True), None)

    def validate(self, values: Any) -> Rows:
        """The indices of options, which may be nested in lists or arrays."""
        return self._numbers(values)[..., None]

    def _numbers(self, values: Any) -> Ints:
        number = None if isinstance(values, np.ndarray) else self._find(_plain(values))
        if number is not None:
            return np.array(number)
        if not isinstance(values, list | tuple | np.ndarray):
            raise unknown_choice("an option", values, map(str, self.options))
        parts = [self._numbers(each) for each in values]
        if len({part.shape for part in parts}) > 1:
            raise ShapeError(f"options of many points must form a rectangular array, got {values!r}")
        return np.stack(parts) if parts else np.empty(0, np.int64)

    def decode(self, values: Rows) -> Any:
        numbers = values[..., 0].astype(np.int64)
        if not numbers.ndim:
            return self.options[int(numbers)]
        found = np.empty(numbers.shape, object)
        for index, number in np.ndenumerate(numbers):
            found[index] = self.options[number]
        return found

    def sample_labels(self, rng: np.random.Generator) -> Ints:
        return sample(len(self.options), seed=rng)

    def relabel(self, values: Rows, labels: Ints) -> Rows:
        return labels[values.astype(np.int64)]

    def undo_relabel(self, values: Rows, labels: Ints) -> Rows:
        return self.relabel(values, invert(labels))


def _plain(value: Any) -> Any:
    """A NumPy scalar as the builtin type."""
    return value.item() if isinstance(value, np.generic) else value


class SearchSpace(ABC):
    """Base class of spaces: a row concatenates the values of all variables."""

    @property
    @abstractmethod
    def variables(self) -> Mapping[str, Variable]:
        """The variables by name, in the order in which a row holds them."""

    @property
    def width(self) -> int:
        """Length of a row."""
        return sum(variable.width for variable in self.variables.values())

    @property
    def size(self) -> float:
        """Number of points."""
        return math.prod(variable.size for variable in self.variables.values())

    @property
    def dtype(self) -> type[np.int64] | type[np.float64]:
        """The type of rows: float64 if there is a real variable, otherwise int64."""
        return np.float64 if self.reals else np.int64

    @cached_property
    def reals(self) -> dict[str, Real]:
        """The real variables by name."""
        return {name: each for name, each in self.variables.items() if isinstance(each, Real)}

    @cached_property
    def slices(self) -> dict[str, slice]:
        """The slice of a row that holds each variable."""
        out, start = {}, 0
        for name, variable in self.variables.items():
            out[name] = slice(start, start + variable.width)
            start += variable.width
        return out

    def part(self, name: str, rows: Rows) -> Rows:
        """The values of a variable in rows: int64, which compiled code expects, unless it is real."""
        values = rows[..., self.slices[name]]
        return values if name in self.reals else values.astype(np.int64, copy=False)

    def sample_rows(self, size: int | tuple[int, ...] = (), *, seed: Seed) -> Rows:
        """Uniform random rows, `(*size, width)`."""
        rng = as_generator(seed)
        shape = (size,) if isinstance(size, int) else tuple(size)
        return np.concatenate([variable.sample(shape, rng) for variable in self.variables.values()], axis=-1)

    def design_rows(self, index: ArrayLike, *, seed: Seed) -> Rows:
        """The rows `index` of a random initial design: uniform except for binary variables, see `Binary.stratified`."""
        rng = as_generator(seed)
        return np.concatenate([variable.stratified(np.asarray(index), rng) for variable in self.variables.values()], axis=-1)

    @cached_property
    def is_constrained(self) -> bool:
        """Whether any variable is constrained; see `feasible_rows`."""
        return any(variable.is_constrained for variable in self.variables.values())

    def feasible_rows(self, rows: Rows, *, repair: bool = False, check_predicate: bool = True) -> Rows:
        """The feasible rows in canonical form; with `repair` the others are repaired if possible.

        Predicates are evaluated unless `check_predicate` is false.
        """
        if not self.is_constrained:
            return rows
        rows = rows.copy()
        feasible = np.ones(len(rows), bool)
        for name, where in self.slices.items():
            variable = self.variables[name]
            if variable.is_constrained:
                values = variable.canonical(rows[:, where])
                rows[:, where] = variable.repair(values) if repair else values
                checked = rows[feasible][:, where]
                feasible[feasible] = variable.is_feasible(checked, check_predicate=check_predicate)
        return rows[feasible]

    def sample(self, size: int | tuple[int, ...] = (), *, seed: Seed) -> Any:
        """Uniform random points; `seed` is an integer or a generator."""
        return self.decode(self.sample_rows(size, seed=seed))

    @abstractmethod
    def encode(self, points: Any) -> Rows:
        """Points, one or many, as validated rows."""

    @abstractmethod
    def decode(self, rows: Rows) -> Any:
        """Rows as points."""


@dataclass(frozen=True, init=False, repr=False)
class PermutationSpace(SearchSpace):
    """All orders of n items: `PermutationSpace(15)` or `PermutationSpace(items=["base", "acid", "salt"])`.

    A point is an order; many points are an array `(..., n)`. With named items a point is a list of names in order, and
    orders of item numbers are accepted too. Constraints and other options are those of `Permutation`.
    """

    order: Permutation

    def __init__(self, n: int | None = None, **options: Any) -> None:
        object.__setattr__(self, "order", Permutation(n, **options))

    def __repr__(self) -> str:
        return repr(self.order).replace("Permutation", "PermutationSpace", 1)

    @property
    def n(self) -> int:
        """Number of items."""
        return self.order.n

    @property
    def items(self) -> tuple[Any, ...] | None:
        """Names of the items, if they have any."""
        return self.order.items

    @property
    def variables(self) -> Mapping[str, Variable]:
        return {"order": self.order}

    def encode(self, points: Any) -> Rows:
        return self.order.validate(points)

    def decode(self, rows: Rows) -> Any:
        return self.order.decode(rows)


class Space(SearchSpace):
    """Several variables together: `Space(route=Permutation(280), picks=Binary(837))`.

    A point is a dictionary of values by name. Many points are a list of such dictionaries, or one dictionary of arrays.
    """

    def __init__(self, /, **variables: Variable) -> None:
        if not variables:
            raise ArgumentError("a space has at least one variable: Space(route=Permutation(5))")
        for name, variable in variables.items():
            if not isinstance(variable, Variable):
                raise ArgumentTypeError(f"{name} must be a variable such as Permutation(5) or Binary(3), got {variable!r}")
        self._variables = MappingProxyType(variables)

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._variables

    def encode(self, points: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Rows:
        if not isinstance(points, Mapping):
            if isinstance(points, str) or not isinstance(points, Sequence):
                example = dict.fromkeys(self.variables, "...")
                raise ArgumentTypeError(
                    f"a point is a dictionary such as {example}, many are a list of them; got {points!r}"
                )
            return np.stack([self.encode(point) for point in points]) if len(points) else np.empty((0, self.width))
        for name in points:
            if name not in self.variables:
                raise unknown_choice("a variable of the point", name, self.variables)
        missing = [name for name in self.variables if name not in points]
        if missing:
            raise ArgumentError(f"the point has no value for {', '.join(missing)}")
        parts = [variable.validate(points[name]) for name, variable in self.variables.items()]
        shape = parts[0].shape[:-1]
        for name, part in zip(self.variables, parts, strict=True):
            if part.shape[:-1] != shape:
                raise ShapeError(f"all variables need the same batch shape: {name} has {part.shape[:-1]}, others {shape}")
        return np.concatenate(parts, axis=-1)

    def decode(self, rows: Rows) -> dict[str, Any]:
        return {name: self.variables[name].decode(rows[..., where]) for name, where in self.slices.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and list(self.variables.items()) == list(other.variables.items())

    def __hash__(self) -> int:
        return hash(tuple(self.variables.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _space, (dict(self.variables),)

    def __repr__(self) -> str:
        return f"Space({', '.join(f'{name}={variable}' for name, variable in self.variables.items())})"


def _space(variables: dict[str, Variable]) -> Space:
    return Space(**variables)
