"""What can be varied: permutations, binary choices, numbers and options, alone or together.

A **point** is what a user sees: an order for a `PermutationSpace`, a dictionary of variables for a `Space`. A **row** is the
same as one flat array, which is what problems evaluate and models read. `encode` turns points into rows and checks them,
`decode` turns rows into points; both take one or many.
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
from mergebo.compiled import rules as compiled
from mergebo.errors import (
    ArgumentError,
    ExhaustedError,
    NotAPermutationError,
    NotNumbersError,
    RuleError,
    ShapeError,
    SlotError,
    UnsupportedError,
    unknown_choice,
)
from mergebo.permutations import generator, invert, item_count, sample, validate, whole_numbers
from mergebo.rules import Rule, Rules

__all__ = [
    "AnySpace",
    "Binary",
    "Choice",
    "Integer",
    "Permutation",
    "PermutationSpace",
    "Quantity",
    "Real",
    "Space",
    "Variable",
]


PLAIN = frozenset({str, np.str_, int, float, bool, type(None)})
"""Types whose equal values have equal hashes, also across these types: a dictionary lookup finds what `==` finds."""
EXACT = 1 << 53
"""Whole numbers up to this are exact as floats, too, as rows with a real variable hold them."""


class Variable(ABC):
    """One part of a point: `width` numbers of a row."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers of a row it takes."""

    @property
    @abstractmethod
    def size(self) -> float:
        """How many values there are; infinite for a real variable."""

    @abstractmethod
    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        """Uniform random values, `(*shape, width)`."""

    def spread(self, places: Ints, rng: np.random.Generator) -> Rows:
        """Values for these places of an initial design, `(*places.shape, width)`; uniform random ones by default."""
        return self.sample(places.shape, rng)

    @abstractmethod
    def validate(self, values: ArrayLike) -> Rows:
        """Values of shape `(..., width)` as an array, or an error that shows what is wrong."""

    def decode(self, values: Rows) -> Any:
        """Values of shape `(..., width)` as a user writes them."""
        return values.astype(np.int64)  # rows with a real variable are floats throughout

    # Some variables have rules, and forms in which values that mean the same are one.

    @property
    def ruled(self) -> bool:
        """Whether there are values of the right kind that are not its own."""
        return False

    def canonical(self, values: Rows) -> Rows:
        """Of all values that mean the same the one that stands for them, `(count, width)`."""
        return values

    def feasible(self, values: Rows, *, asked: bool = True) -> NDArray[np.bool_]:
        """Which values in canonical form keep the rules; a predicate is not asked unless it is to be."""
        return np.ones(len(values), bool)

    def closest(self, values: Rows) -> Rows:
        """Values, in canonical form, that keep the rules and are close to these; the same where none is found."""
        return values

    # A renaming says what is called what without changing what there is; see `Problem.relabelled`.

    def renaming(self, rng: np.random.Generator) -> Ints:
        """A random renaming, as a permutation of the names; nothing by default."""
        return np.empty(0, np.int64)

    def rename(self, values: Rows, names: Ints) -> Rows:
        """Values under their new names, said in the old ones."""
        return values

    def restore(self, values: Rows, names: Ints) -> Rows:
        """The inverse of `rename`."""
        return values


Symmetry: TypeAlias = Literal["cycle", "reversal"]
PairKind: TypeAlias = Literal["before", "adjacent", "apart"]
Pairs: TypeAlias = Iterable[Sequence[Any]]

LISTED = 50_000
"""Orders with rules are counted up to so many; of more there are taken to be infinitely many."""
NUMBERS = 10_000_000
"""In all of these together."""
TRIED = 2_000
"""Random orders among which one must satisfy a predicate."""
STRIDES = 50
"""Of a random walk among orders that satisfy a predicate, where few random ones do."""


@dataclass(frozen=True, init=False, repr=False)
class Permutation(Variable):
    """An order of n items, `Permutation(15)` or `Permutation(items=["base", "acid", "salt"])`: which is in each slot.

    Rules say which orders there are. `before=[("a", "b")]`: a comes before b. `fixed={"c": 0}`: c is in slot 0.
    `window={"d": (2, 5)}`: d is in one of the slots 2 to 5. `adjacent=[("e", "f")]`: they are neighbours, either way round;
    `apart=[("g", "h")]`: they are not. `where` is a function of a point that says whether it is one.

    Items may repeat; a rule about one that does holds for every copy. With `choose=k` an order has k of the items: "before"
    and "apart" speak of items that are both chosen, the other rules choose theirs. `symmetry` says which orders are the
    same: those that are read from another slot on and round (`"cycle"`), those that are read backwards (`"reversal"`), or
    both. Of orders that are the same there is only one: the first in the alphabet.
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
                raise NotNumbersError(f"items is a list of names such as ['base', 'acid'], got {items!r}")
            if n is not None and n != len(items):
                raise ShapeError(f"n={n} does not fit {len(items)} items; give one of the two")
            n = len(items)
        if n is None:
            raise ArgumentError("say how many items, such as 15, or which, items=[...]")
        n = item_count(n)
        if choose is not None and item_count(choose) > n:
            raise ShapeError(f"choose={choose} of {n} items cannot be")
        if where is not None and not callable(where):
            raise NotNumbersError(f"where is a function that says whether a point is one, got {where!r}")
        sides = (symmetry,) if isinstance(symmetry, str) else tuple(symmetry)
        for side in sides:
            if side not in get_args(Symmetry):
                raise unknown_choice("symmetry", side, get_args(Symmetry))
        given = {
            "n": n,
            "items": None if items is None else tuple(items),
            "before": _pairs("before", before),
            "fixed": tuple(_named("fixed", fixed, "{'a': 0}")),
            "window": tuple((item, _window(item, slots)) for item, slots in _named("window", window, "{'a': (2, 5)}")),
            "adjacent": _pairs("adjacent", adjacent),
            "apart": _pairs("apart", apart),
            "where": where,
            "choose": None if choose is None or choose == n else int(choose),
            "symmetry": tuple(side for side in get_args(Symmetry) if side in sides),
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        if sides and (self.before or self.fixed or self.window):
            raise ArgumentError(
                f"with symmetry={symmetry!r} an order is the same from another slot on or backwards: before, fixed and "
                "window mean nothing there; adjacent, apart and where do"
            )
        if self.rules is not None:
            self.rules.known  # noqa: B018 (an error if there is none)
        if self.where is not None:
            self._some  # noqa: B018

    def __repr__(self) -> str:
        shown = {"n": self.n} if self.items is None else {"items": list(self.items)}
        return f"Permutation({', '.join(f'{name}={value!r}' for name, value in {**shown, **self.options}.items())})"

    @property
    def options(self) -> dict[str, Any]:
        """What was said besides the number and the names of items, as it would be said again."""
        said = {name: getattr(self, name) for name in ("before", "fixed", "window", "adjacent", "apart")}
        said |= {name: dict(said[name]) for name in ("fixed", "window")}
        rest = {"where": self.where, "choose": self.choose, "symmetry": self.symmetry}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in {**said, **rest}.items() if v}

    @property
    def width(self) -> int:
        return self.n

    @property
    def length(self) -> int:
        """How many items an order has: all of them, or those that are chosen."""
        return self.choose or self.n

    @property
    def ruled(self) -> bool:
        return self.rules is not None

    @cached_property
    def rules(self) -> Rules | None:
        """The rules by item numbers; None for plain orders, of which there are all."""
        names = list(map(str, self.names))
        repeated = len(set(self._kinds[0].tolist())) < self.n
        if not (self.options or repeated):
            return None
        made: list[Rule] = []
        for kind in get_args(PairKind):
            for pair in getattr(self, kind):
                one, other = (self._copies(kind, item) for item in pair)
                if one == other and (kind != "apart" or len(one) == 1):
                    raise ArgumentError(f"{kind}={pair!r} has one item only; a rule of this kind is about two")
                if kind == "adjacent" and len(one) + len(other) > 2:
                    raise ArgumentError(f"adjacent={pair!r}: which of several copies is meant is not clear")
                pairs = tuple((a, b) for a in one for b in other if a != b)
                made.append(Rule(kind, tuple(names[each[0]] for each in (one, other)), pairs))
        for item, slot in self.fixed:
            if len(self._copies("fixed", item)) > 1:
                raise ArgumentError(f"fixed={{{item!r}: {slot!r}}}: not all copies can be in one slot; use window")
        for item, slots in (*((item, (slot, slot)) for item, slot in self.fixed), *self.window):
            copies = self._copies("fixed or window", item)
            for slot in slots:
                if isinstance(slot, bool) or not isinstance(slot, int | np.integer) or not 0 <= slot < self.length:
                    raise SlotError(f"slots of {self.length} items are 0..{self.length - 1}, got {slot!r} for {item!r}")
            made.append(Rule("slots", (names[copies[0]],), items=copies, slots=(int(slots[0]), int(slots[1]))))
        return Rules(self.n, self.length, tuple(made), "cycle" in self.symmetry)

    @property
    def names(self) -> Sequence[Any]:
        """What items are called: their numbers, if they have no names."""
        return range(self.n) if self.items is None else self.items

    def number(self, item: Any, what: str = "an item") -> int:
        """The number of an item; of several equal ones the first."""
        if type(item) in PLAIN and item in self._first:
            return self._first[item]
        try:
            return self.names.index(item)
        except ValueError:
            raise unknown_choice(what, item, map(str, self.names)) from None

    @cached_property
    def _first(self) -> dict[Any, int]:
        """The number of each name, of equal ones the first; empty if some are not `PLAIN`, which only `==` can find."""
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
        """For each item the first one that is the same, and for each of these all that are, then -1."""
        kind = np.arange(self.n) if self.items is None else np.array([self.number(name) for name in self.items])
        copies = np.full((self.n, np.bincount(kind).max()), -1)
        for first in np.unique(kind):
            same = np.flatnonzero(kind == first)
            copies[first, : len(same)] = same
        return kind, copies

    @property
    def _sides(self) -> tuple[bool, bool]:
        """Whether orders are the same from another slot on, and backwards."""
        return "cycle" in self.symmetry, "reversal" in self.symmetry

    @property
    def size(self) -> float:
        if self.rules is None:
            return math.factorial(self.n) if self.n < 150 else math.inf
        return math.inf if self._listed is None else len(self._listed)

    def every_row(self) -> Ints:
        """All orders, of which there must not be too many."""
        if self.rules is None:
            return np.array(list(itertools.permutations(range(self.n))), np.int64)
        if self._listed is None:
            raise ExhaustedError(f"there are too many orders to list: {self}")
        return self._listed

    @cached_property
    def _listed(self) -> Ints | None:
        assert self.rules is not None
        most = min(LISTED, NUMBERS // self.n)
        out = np.empty((most, self.n), np.int64)
        count = compiled.every_order(self.rules.tables, *self._kinds, *self._sides, most, 200 * most, out)
        return None if count < 0 else out[:count][self._satisfying(out[:count])].copy()

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        if self.rules is None:
            return sample(self.n, shape, seed=rng)
        return self._sample(math.prod(shape), rng).reshape(*shape, self.n)

    def _sample(self, count: int, rng: np.random.Generator) -> Ints:
        """Random orders; where few satisfy the predicate, ends of random walks among those that do."""
        assert self.rules is not None
        if self.where is None:
            return self.canonical(self.rules.sample(count, rng))
        found = self._some[:0]
        for _ in range(10):
            if len(found) < count:
                drawn = self.canonical(self.rules.sample(count, rng))
                found = np.concatenate([found, drawn[self._satisfying(drawn)]])
        while len(found) < count:
            here = self._some[rng.integers(len(self._some))]
            for steps in rng.integers(1, 4 * self.n + 1, STRIDES):
                there = self.canonical(self.rules.wander(here, int(steps), rng)[None])
                if self._satisfying(there)[0]:
                    here = there[0]
            found = np.concatenate([found, here[None]])
        return found[:count]

    @cached_property
    def _some(self) -> Ints:
        """Orders that keep the rules and satisfy the predicate."""
        assert self.rules is not None
        rng = np.random.default_rng(0)
        for _ in range(TRIED // 50):
            drawn = self.canonical(self.rules.sample(50, rng))
            found = drawn[self._satisfying(drawn)]
            if len(found):
                return found
        raise RuleError(
            f"none of {TRIED} random orders satisfies `where`; say what can be said of it with before, fixed, window, "
            "adjacent and apart, which need no luck, or let it be less strict and give bad orders a bad value"
        )

    def _satisfying(self, rows: Rows) -> NDArray[np.bool_]:
        """Which orders satisfy the predicate."""
        if self.where is None:
            return np.ones(len(rows), bool)
        return np.array([bool(self.where(self.decode(row))) for row in rows], bool)

    def canonical(self, values: Rows) -> Rows:
        if self.rules is None:
            return values
        orders = np.ascontiguousarray(values, np.int64)
        out = np.empty((len(orders), self.n), np.int64)
        compiled.canonical(orders, self.length, *self._kinds, *self._sides, out)
        return out.astype(values.dtype, copy=False)

    def feasible(self, values: Rows, *, asked: bool = True) -> NDArray[np.bool_]:
        if self.rules is None:
            return np.ones(len(values), bool)
        out = self.rules.holds(values)
        if asked:
            out[out] = self._satisfying(values[out])
        return out

    def closest(self, values: Rows) -> Rows:
        if self.rules is None:
            return values
        out = values.copy()
        for k in np.flatnonzero(~self.rules.holds(values)):
            found = self.rules.follow(values[k])
            out[k] = values[k] if found is None else found
        return self.canonical(out)

    def validate(self, values: ArrayLike) -> Rows:
        numbers = values if self.items is None else self._numbers(values)
        if self.rules is None:
            return validate(numbers, n=self.n)
        array = whole_numbers(numbers, "an order")
        if array.ndim == 0 or array.shape[-1] != self.length:
            raise ShapeError(f"expected orders of {self.length} items, got an array of shape {array.shape}")
        flat = array.reshape(-1, self.length)
        for row in flat:
            self._check_items(row)
        rows = self.canonical(flat)
        for row in rows[~self.rules.holds(rows)][:1]:
            raise RuleError(f"{self.decode(row)} breaks these rules: {'; '.join(map(str, self.rules.broken(row)))}")
        for row in rows[~self._satisfying(rows)][:1]:
            raise RuleError(f"{self.decode(row)} does not satisfy `where`")
        return rows.reshape(*array.shape[:-1], self.n)

    def _check_items(self, row: Ints) -> None:
        """Each item at most as often as there is."""
        kind, copies = self._kinds
        if row.min() < 0 or row.max() >= self.n:
            raise NotAPermutationError(f"items are 0..{self.n - 1}, got {row[(row < 0) | (row >= self.n)][0]}")
        counts, most = np.bincount(kind[row], minlength=self.n), (copies >= 0).sum(axis=1)
        for item in np.flatnonzero(counts > most).tolist():
            missing = [str(self.names[k]) for k in np.flatnonzero(counts < most).tolist()]
            lack = f"; missing: {', '.join(missing)}" if self.choose is None else ""
            name = self.names[item]
            raise NotAPermutationError(f"{name!r} is there {counts[item]} times, at most {most[item]} can be{lack}")

    def _numbers(self, points: Any) -> Any:
        """Names as item numbers, however deep they are nested."""
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

    def renaming(self, rng: np.random.Generator) -> Ints:
        if self.rules is not None:
            raise UnsupportedError(f"items cannot be renamed at random where rules tell them apart: {self}")
        return sample(self.n, seed=rng)

    def rename(self, values: Rows, names: Ints) -> Rows:
        return names[values.astype(np.int64)]

    def restore(self, values: Rows, names: Ints) -> Rows:
        return self.rename(values, invert(names))


def _pairs(what: str, given: Any) -> tuple[tuple[Any, Any], ...]:
    example = f"{what} is a list of pairs of items such as [('a', 'b')], got {given!r}"
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise ArgumentError(example)
    pairs = list(given)
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise ArgumentError(example)
    return tuple((_plain(a), _plain(b)) for a, b in pairs)


def _named(what: str, given: Any, example: str) -> Iterable[tuple[Any, Any]]:
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{what} is a dictionary such as {example}, got {given!r}")
    return ((_plain(item), _plain(value)) for item, value in given.items())


def _window(item: Any, slots: Any) -> tuple[int, int]:
    if isinstance(slots, str) or not isinstance(slots, Sequence | np.ndarray) or len(slots) != 2:
        raise ArgumentError(f"a window is a first and a last slot such as (2, 5), got {slots!r} for {item!r}")
    first, last = (_plain(slot) for slot in slots)
    if first > last:
        raise ArgumentError(f"a window runs from its first to its last slot, got {(first, last)} for {item!r}")
    return first, last


@dataclass(frozen=True)
class Binary(Variable):
    """`count` choices of 0 or 1."""

    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", item_count(self.count))

    @property
    def width(self) -> int:
        return self.count

    @property
    def size(self) -> float:
        return 2.0**self.count if self.count < 1000 else math.inf

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        return rng.integers(0, 2, (*shape, self.count))

    def spread(self, places: Ints, rng: np.random.Generator) -> Rows:
        """All zeros first, then all ones, then every share of ones alike: uniform values are about half ones throughout."""
        share = np.where(places < 2, places, rng.random(places.shape))
        return (rng.random((*places.shape, self.count)) < share[..., None]).astype(np.int64)

    def validate(self, values: ArrayLike) -> Rows:
        array = np.asarray(values)
        if array.dtype.kind != "b":
            array = whole_numbers(values, "a binary vector")
        if array.ndim == 0 or array.shape[-1] != self.count:
            raise ShapeError(f"expected {self.count} choices of 0 or 1, got an array of shape {array.shape}")
        if array.size and (array.min() < 0 or array.max() > 1):
            raise ArgumentError(f"choices are 0 or 1, got {array[(array != 0) & (array != 1)][0]}")
        return array.astype(np.int64)

    def renaming(self, rng: np.random.Generator) -> Ints:
        return sample(self.count, seed=rng)

    def rename(self, values: Rows, names: Ints) -> Rows:
        return values[..., names]

    def restore(self, values: Rows, names: Ints) -> Rows:
        return values[..., invert(names)]


@dataclass(frozen=True)
class Quantity(Variable):
    """A number between `low` and `high`, both included; with `log` ratios count instead of differences."""

    low: float
    high: float
    log: bool = False

    called: ClassVar[str]
    value: ClassVar[str]

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            given = getattr(self, name)
            if isinstance(given, bool | np.bool_) or not isinstance(given, int | float | np.integer | np.floating):
                raise NotNumbersError(f"{name} of {self.called} is a number, got {given!r}")
            object.__setattr__(self, name, _plain(given))
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise ArgumentError(
                f"{self.called} runs from a finite low to a larger finite high, got {self.low} to {self.high}"
            )
        if not isinstance(self.log, bool):
            raise ArgumentError(f"log is True or False, got {self.log!r}")
        if self.log and not self.low > 0:
            raise ArgumentError(
                f"with log=True {self.called} runs from a positive low, got low={self.low}; or leave log out"
            )

    @property
    def width(self) -> int:
        return 1

    def to_unit(self, values: ArrayLike) -> Floats:
        """How far values are on the way from low to high, 0 to 1; on that of their logarithms with `log`."""
        low, high = self.ends
        array = np.asarray(values, np.float64)
        return np.asarray(((np.log(array) if self.log else array) - low) / (high - low))

    def from_unit(self, shares: Floats) -> Rows:
        """The value that is so far on the way; beyond the ends, the end."""
        low, high = self.ends
        array = low + np.clip(shares, 0, 1) * (high - low)
        inside = np.clip(np.exp(array) if self.log else array, self.low, self.high)
        return np.where(shares <= 0, self.low, np.where(shares >= 1, self.high, inside))  # the ends exactly

    @property
    def ends(self) -> tuple[float, float]:
        """Where 0 and 1 of the unit scale are: low and high, or their logarithms."""
        return (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)

    def decode(self, values: Rows) -> Any:
        return values[..., 0] if values.ndim > 1 else values[..., 0].item()

    def _inside(self, array: Rows) -> Rows:
        """The same values, each as a vector of one, or an error that shows one that is out of bounds."""
        outside = ~((array >= self.low) & (array <= self.high))
        if outside.any():
            raise ArgumentError(f"expected {self._between}, got {array[outside][0]}")
        return array[..., None]

    @property
    def _between(self) -> str:
        return f"{self.value} between {self.low} and {self.high}"


@dataclass(frozen=True)
class Real(Quantity):
    """A number between `low` and `high`: `Real(20, 80)`; `Real(0.001, 10, log=True)` if ratios count, not differences."""

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
            raise NotNumbersError(f"expected {self._between}: {error}") from error
        return self._inside(array)


@dataclass(frozen=True)
class Integer(Quantity):
    """A whole number between `low` and `high`, both included: `Integer(1, 12)`; with `log` ratios count."""

    called = "an integer variable"
    value = "a whole number"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            given = getattr(self, name)
            if not isinstance(given, int) or abs(given) > EXACT:
                raise NotNumbersError(f"{name} of {self.called} is a whole number within ±2^53, got {given!r}; or take Real")

    @property
    def size(self) -> float:
        return self.high - self.low + 1

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        """Uniform; with `log` each number is as likely as real ones between it and the next."""
        if not self.log:
            return rng.integers(int(self.low), int(self.high) + 1, (*shape, 1))
        real = np.exp(rng.uniform(math.log(self.low), math.log(self.high + 1), (*shape, 1)))
        return np.clip(np.floor(real), self.low, self.high).astype(np.int64)

    def from_unit(self, shares: Floats) -> Rows:
        return np.rint(super().from_unit(shares)).astype(np.int64)

    def validate(self, values: ArrayLike) -> Rows:
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise NotNumbersError(f"expected {self._between}: {error}") from error
        if array.dtype.kind not in "iuf" or not np.all(array == np.rint(array)):
            raise NotNumbersError(f"expected {self._between}, got {values!r}")
        return self._inside(array).astype(np.int64)

    def decode(self, values: Rows) -> Any:
        return super().decode(values.astype(np.int64))


@dataclass(frozen=True, init=False)
class Choice(Variable):
    """One of several options: `Choice(["K", "Na", "Li"])`. Options may be anything that can be compared, and must differ.

    A row holds the number of the option. No option is nearer to one than to another; for what has an order take `Integer`.
    """

    options: tuple[Any, ...]

    def __init__(self, options: Sequence[Any]) -> None:
        if isinstance(options, str) or not isinstance(options, Sequence):
            raise NotNumbersError(f"options are a list such as ['K', 'Na'], got {options!r}")
        object.__setattr__(self, "options", tuple(map(_plain, options)))
        if len(self.options) < 2:
            raise ArgumentError(f"a choice has two options or more, got {list(options)!r}")
        for each in self.options:
            if isinstance(each, np.ndarray) or self._find(each) is None:
                raise ArgumentError(f"an option is known by ==, which does not work for {each!r}")
        twice = [each for k, each in enumerate(self.options) if self._find(each) != k]
        if twice:
            raise ArgumentError(f"options must differ; more than once: {', '.join(map(repr, twice))}")

    def __hash__(self) -> int:
        return hash(("Choice", len(self.options)))  # an option need not have one

    @property
    def width(self) -> int:
        return 1

    @property
    def size(self) -> float:
        return len(self.options)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
        return rng.integers(0, len(self.options), (*shape, 1))

    def _find(self, value: Any) -> int | None:
        """The number of an option."""
        return next((k for k, each in enumerate(self.options) if (each == value) is True), None)

    def validate(self, values: Any) -> Rows:
        """Options, nested in lists or arrays if there are many, as their numbers."""
        return self._numbers(values)[..., None]

    def _numbers(self, values: Any) -> Ints:
        number = None if isinstance(values, np.ndarray) else self._find(_plain(values))
        if number is not None:
            return np.array(number)
        if not isinstance(values, list | tuple | np.ndarray):
            raise unknown_choice("an option", values, map(str, self.options))
        parts = [self._numbers(each) for each in values]
        if len({part.shape for part in parts}) > 1:
            raise ShapeError(f"options of many points come in a rectangular array, got {values!r}")
        return np.stack(parts) if parts else np.empty(0, np.int64)

    def decode(self, values: Rows) -> Any:
        numbers = values[..., 0].astype(np.int64)
        if not numbers.ndim:
            return self.options[int(numbers)]
        found = np.empty(numbers.shape, object)
        for index, number in np.ndenumerate(numbers):
            found[index] = self.options[number]
        return found

    def renaming(self, rng: np.random.Generator) -> Ints:
        return sample(len(self.options), seed=rng)

    def rename(self, values: Rows, names: Ints) -> Rows:
        return names[values.astype(np.int64)]

    def restore(self, values: Rows, names: Ints) -> Rows:
        return self.rename(values, invert(names))


def _plain(value: Any) -> Any:
    """A number or text of numpy's as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


class AnySpace(ABC):
    """What all spaces share: a row is the variables' values, one variable after the other."""

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
        """How many points there are."""
        return math.prod(variable.size for variable in self.variables.values())

    @property
    def dtype(self) -> type[np.int64] | type[np.float64]:
        """Of rows: floats throughout if there is a real variable, whole numbers if there is none."""
        return np.float64 if self.reals else np.int64

    @cached_property
    def reals(self) -> dict[str, Real]:
        """The real variables by name."""
        return {name: each for name, each in self.variables.items() if isinstance(each, Real)}

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where in a row each variable is."""
        out, start = {}, 0
        for name, variable in self.variables.items():
            out[name] = slice(start, start + variable.width)
            start += variable.width
        return out

    def part(self, name: str, rows: Rows) -> Rows:
        """What a variable is in rows: whole numbers, as compiled code reads them, unless it is real."""
        values = rows[..., self.slices[name]]
        return values if name in self.reals else values.astype(np.int64, copy=False)

    def sample_rows(self, size: int | tuple[int, ...] = (), *, seed: Seed) -> Rows:
        """Uniform random rows, `(*size, width)`."""
        rng = generator(seed)
        shape = (size,) if isinstance(size, int) else tuple(size)
        return np.concatenate([variable.sample(shape, rng) for variable in self.variables.values()], axis=-1)

    def spread_rows(self, places: ArrayLike, *, seed: Seed) -> Rows:
        """Random rows for these places of an initial design: uniform, but for binary choices; see `Binary.spread`."""
        rng = generator(seed)
        return np.concatenate([variable.spread(np.asarray(places), rng) for variable in self.variables.values()], axis=-1)

    @cached_property
    def ruled(self) -> bool:
        """Whether any variable has rules; see `kept`."""
        return any(variable.ruled for variable in self.variables.values())

    def kept(self, rows: Rows, *, closest: bool = False, asked: bool = True) -> Rows:
        """Rows in canonical form, without those that break a rule; with `closest` these are mended where possible.

        Predicates count, unless `asked` is false.
        """
        if not self.ruled:
            return rows
        rows = rows.copy()
        fine = np.ones(len(rows), bool)
        for name, where in self.slices.items():
            variable = self.variables[name]
            if variable.ruled:
                values = variable.canonical(rows[:, where])
                rows[:, where] = variable.closest(values) if closest else values
                fine[fine] = variable.feasible(rows[fine][:, where], asked=asked)
        return rows[fine]

    def sample(self, size: int | tuple[int, ...] = (), *, seed: Seed) -> Any:
        """Uniform random points; `seed` is a number or the caller's own generator."""
        return self.decode(self.sample_rows(size, seed=seed))

    @abstractmethod
    def encode(self, points: Any) -> Rows:
        """Points, one or many, as checked rows."""

    @abstractmethod
    def decode(self, rows: Rows) -> Any:
        """Rows as points."""


@dataclass(frozen=True, init=False, repr=False)
class PermutationSpace(AnySpace):
    """All orders of n items: `PermutationSpace(15)` or `PermutationSpace(items=["base", "acid", "salt"])`.

    A point is an order; many points are an array `(..., n)`. With named items a point is a list of names in order, and
    orders of item numbers are understood too. Rules and other shapes of order are those of `Permutation`.
    """

    order: Permutation

    def __init__(self, n: int | None = None, **options: Any) -> None:
        object.__setattr__(self, "order", Permutation(n, **options))

    def __repr__(self) -> str:
        return repr(self.order).replace("Permutation", "PermutationSpace", 1)

    @property
    def n(self) -> int:
        """How many items there are."""
        return self.order.n

    @property
    def items(self) -> tuple[Any, ...] | None:
        """Their names, if they have any."""
        return self.order.items

    @property
    def variables(self) -> Mapping[str, Variable]:
        return {"order": self.order}

    def encode(self, points: Any) -> Rows:
        return self.order.validate(points)

    def decode(self, rows: Rows) -> Any:
        return self.order.decode(rows)


class Space(AnySpace):
    """Several variables together: `Space(route=Permutation(280), picks=Binary(837))`.

    A point is a dictionary of values by name. Many points are a list of such dictionaries, or one dictionary of arrays.
    """

    def __init__(self, /, **variables: Variable) -> None:
        if not variables:
            raise ArgumentError("a space has at least one variable: Space(route=Permutation(5))")
        for name, variable in variables.items():
            if not isinstance(variable, Variable):
                raise NotNumbersError(f"{name} must be a variable such as Permutation(5) or Binary(3), got {variable!r}")
        self._variables = MappingProxyType(variables)

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._variables

    def encode(self, points: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Rows:
        if not isinstance(points, Mapping):
            if isinstance(points, str) or not isinstance(points, Sequence):
                example = dict.fromkeys(self.variables, "...")
                raise NotNumbersError(f"a point is a dictionary such as {example}, many are a list of them; got {points!r}")
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
                raise ShapeError(f"all variables must come in equal numbers: {name} has {part.shape[:-1]}, others {shape}")
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
