"""`Permutation`: an order of items, of some or all of them, under constraints and up to symmetries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo._typing import Floats, Ints, Rows
from mergebo.compiled.symmetry import canonical, every_order
from mergebo.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConstraintError,
    ShapeError,
    SlotError,
    UnsupportedError,
    unknown_choice,
)
from mergebo.neighbours import move_slots, move_table
from mergebo.permutations import as_int_array, check_n, invert, sample, validate
from mergebo.spaces.constraints import Constraint, ConstraintSet
from mergebo.spaces.items import Items, as_item, to_lists, to_tuples
from mergebo.spaces.variable import MAX_ENUMERATED, Predicate, Variable, as_builtin, check_enumerable

__all__ = ["Permutation"]

Symmetry: TypeAlias = Literal["cycle", "reversal"]
PairKind: TypeAlias = Literal["before", "adjacent", "apart"]
Pairs: TypeAlias = Iterable[Sequence[Any]]

MAX_ENUMERATED_ENTRIES = 10_000_000
"""Limit on the entries of all enumerated orders together."""
MAX_REJECTIONS = 2_000
"""Number of random orders of which at least one must satisfy the predicate."""
WALK_STEPS = 50
"""Length of a random walk over orders that satisfy the predicate, used if few random ones do."""


@dataclass(frozen=True, init=False, repr=False)
class Permutation(Variable):
    """An order of n items: `Permutation(15)`, or `Permutation(["base", "acid", "salt"])` with names.

    Names are texts, numbers, or tuples of them; they may also be given as `items=`.

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
    where: Predicate | None
    choose: int | None
    symmetry: tuple[Symmetry, ...]

    def __init__(
        self,
        n: int | Sequence[Any] | None = None,
        *,
        items: Sequence[Any] | None = None,
        before: Pairs = (),
        fixed: Mapping[Any, int] = MappingProxyType({}),
        window: Mapping[Any, Sequence[int]] = MappingProxyType({}),
        adjacent: Pairs = (),
        apart: Pairs = (),
        where: Predicate | None = None,
        choose: int | None = None,
        symmetry: Symmetry | Sequence[Symmetry] = (),
    ) -> None:
        if items is None and isinstance(n, Sequence | np.ndarray):
            n, items = None, n
        if items is not None:
            is_list = isinstance(items, Sequence) and not isinstance(items, str | bytes)
            if not (is_list or (isinstance(items, np.ndarray) and items.ndim)):
                raise ArgumentTypeError(f"items is a list of names such as ['base', 'acid'], got {items!r}")
            if n is not None and not (isinstance(n, int | np.integer) and n == len(items)):
                raise ShapeError(f"n={n} does not fit {len(items)} items; give one of the two")
            n = len(items)
        if n is None:
            raise ArgumentError("give the number of items, such as 15, or their names, items=[...]")
        n = check_n(n)
        if choose is not None and check_n(choose) > n:
            raise ShapeError(f"choose={choose} of {n} items is not possible")
        if where is not None and not callable(where):
            raise ArgumentTypeError(f"where is a function that returns whether a point is feasible, got {where!r}")
        if not isinstance(symmetry, str | Sequence):
            raise unknown_choice("symmetry", symmetry, get_args(Symmetry))
        symmetries = (symmetry,) if isinstance(symmetry, str) else tuple(symmetry)
        for each in symmetries:
            if each not in get_args(Symmetry):
                raise unknown_choice("symmetry", each, get_args(Symmetry))
        attributes = {
            "n": n,
            "items": None if items is None else tuple(map(as_item, items)),
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
        if not (self.options or self._items.repeat):
            return None
        constraints: list[Constraint] = []
        for kind in get_args(PairKind):
            for pair in getattr(self, kind):
                one, other = (self._items.copies_of(item, kind) for item in pair)
                if one == other and (kind != "apart" or len(one) == 1):
                    raise ArgumentError(f"{kind}={pair!r} has only one item; this constraint needs two different ones")
                if kind == "adjacent" and len(one) + len(other) > 2:
                    raise ArgumentError(f"adjacent={pair!r} is ambiguous for an item with several copies")
                pairs = tuple((a, b) for a in one for b in other if a != b)
                constraints.append(Constraint(kind, tuple(names[each[0]] for each in (one, other)), pairs))
        for item, slot in self.fixed:
            if len(self._items.copies_of(item, "fixed")) > 1:
                raise ArgumentError(f"fixed={{{item!r}: {slot!r}}}: not all copies can be in one slot; use window")
        for item, slots in (*((item, (slot, slot)) for item, slot in self.fixed), *self.window):
            copies = self._items.copies_of(item, "fixed or window")
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
        """The number of an item; the first of several equal ones. `what` is what an error calls it."""
        return self._items.number(item, what)

    @cached_property
    def _items(self) -> Items:
        return Items(self.names)

    @property
    def _symmetries(self) -> tuple[bool, bool]:
        """Whether rotated, and whether reversed, orders are equivalent."""
        return "cycle" in self.symmetry, "reversal" in self.symmetry

    @property
    def size(self) -> float:
        if self.constraints is None:
            return math.factorial(self.n) if self.n < 150 else math.inf
        return math.inf if self._all_rows is None else len(self._all_rows)

    @cached_property
    def log_size(self) -> float:
        few = math.isfinite(self.size)
        return math.log(self.size) if few else max(self._estimated_log_size, math.log(MAX_ENUMERATED))

    @property
    def _estimated_log_size(self) -> float:
        """The logarithm of the number of feasible orders if constraints were independent."""
        found = math.lgamma(self.n + 1) - math.lgamma(self.n - self.length + 1)
        found -= sum(math.lgamma(count + 1) for count in np.bincount(self._items.copies[0]).tolist())
        found -= math.log(self.length) * ("cycle" in self.symmetry) + math.log(2) * ("reversal" in self.symmetry)
        if self.constraints is not None:
            for each in self.constraints.constraints:
                match each.kind:
                    case "before":
                        found -= math.log(2) * len(each.pairs)
                    case "adjacent":
                        found -= math.log(self.length / 2) * len(each.pairs)
                    case "slots":
                        found -= math.log(self.length / (each.slots[1] - each.slots[0] + 1)) * len(each.items)
        return found

    def enumerate(self) -> Ints:
        """All feasible orders. If there are more than `MAX_ENUMERATED` constrained ones, their number counts as infinite."""
        check_enumerable(self, self.size)
        if self.constraints is None:
            return np.array(list(itertools.permutations(range(self.n))), np.int64)
        assert self._all_rows is not None
        return self._all_rows

    @cached_property
    def _all_rows(self) -> Ints | None:
        assert self.constraints is not None
        limit = min(MAX_ENUMERATED, MAX_ENUMERATED_ENTRIES // self.n)
        out = np.empty((limit, self.n), np.int64)
        count = every_order(self.constraints.tables, *self._items.copies, *self._symmetries, limit, 200 * limit, out)
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
        canonical(orders, self.length, *self._items.copies, *self._symmetries, out)
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
        numbers = values if self.items is None else self._items.numbers(values)
        if self.constraints is None:
            return validate(numbers, n=self.n)
        array = as_int_array(numbers, "an order")
        if array.ndim == 0 or array.shape[-1] != self.length:
            raise ShapeError(f"expected orders of {self.length} items, got an array of shape {array.shape}")
        flat = array.reshape(-1, self.length)
        for row in flat:
            self._items.check_counts(row, hint_missing=self.choose is None)
        rows = self.canonical(flat)
        for row in rows[~self.constraints.satisfied(rows)][:1]:
            raise ConstraintError(
                f"{self.decode(row)} violates these constraints: {'; '.join(map(str, self.constraints.violated(row)))}"
            )
        for row in rows[~self._satisfying(rows)][:1]:
            raise ConstraintError(f"{self.decode(row)} does not satisfy `where`")
        return rows.reshape(*array.shape[:-1], self.n)

    def decode(self, values: Rows) -> Any:
        if self.items is None:
            return values[..., : self.length].astype(np.int64)
        if values.ndim > 1:
            return [self.decode(row) for row in values]
        return [self.items[int(item)] for item in values[: self.length]]

    def columns(self, name: str) -> list[str]:
        return [f"{name} {slot + 1}" for slot in range(self.length)]

    def to_cells(self, value: Any) -> list[Any]:
        return list(value)

    def from_cells(self, name: str, cells: Sequence[str]) -> list[Any]:
        by_text = {str(item): item for item in self.names}
        for cell in cells:
            if cell not in by_text:
                raise unknown_choice(f"an item of {name}", cell, by_text)
        return [by_text[cell] for cell in cells]

    def to_data(self, name: str) -> list[Any]:
        return [self.arguments_to_data() if self.items is not None or self.options else self.n]

    def arguments_to_data(self) -> dict[str, Any]:
        """The arguments by name. Dictionaries become lists of pairs, as keys of JSON are texts; a predicate becomes True."""

        def plain(value: Any) -> Any:
            return to_lists([*value.items()] if isinstance(value, dict) else value)

        options = {name: True if name == "where" else plain(value) for name, value in self.options.items()}
        return {"n": self.n, "items": to_lists(self.items), **options}

    @classmethod
    def from_data(cls, name: str, arguments: Sequence[Any], where: Predicate | None) -> Permutation:
        (data,) = arguments
        return cls(**cls.arguments_from_data(name, data, where)) if isinstance(data, Mapping) else cls(data)

    @staticmethod
    def arguments_from_data(name: str, data: Mapping[str, Any], where: Predicate | None) -> dict[str, Any]:
        """What `arguments_to_data` wrote as arguments; the predicate, which is not stored, is `where`."""
        if data.get("where"):
            if where is None:
                raise ArgumentError(f"{name} had a predicate, which a state does not contain: use from_state(..., where=f)")
            data = {**data, "where": where}
        data = {name: value if name == "where" else to_tuples(value) for name, value in data.items()}
        return {**data, **{each: dict(data[each]) for each in ("fixed", "window") if each in data}}

    def move_kinds(self, moves: Iterable[str]) -> tuple[str, ...]:
        return tuple(moves)

    def neighbours(self, value: Rows, move: str = "swap") -> Rows:
        return np.asarray(value[move_table(self.n, move)])

    def feasible_moves(self, order: Rows, move: str) -> NDArray[np.bool_]:
        """Which moves of a feasible order, as in `move_slots`, are feasible and change it; predicates are not evaluated."""
        slots = move_slots(self.n, move)
        if self.constraints is None:
            return np.ones(len(slots), bool)
        return np.asarray(self.constraints.feasible_moves(order, move, slots) & (slots.min(axis=1) < self.length))

    def random_neighbours(self, value: Rows, move: str, count: int, rng: np.random.Generator) -> Rows:
        """The results of random feasible moves."""
        if not self.is_constrained:
            total = len(move_slots(self.n, move))
            which = rng.choice(total, min(total, count), replace=False) if total else np.empty(0, np.int64)
        else:
            feasible = np.flatnonzero(self.feasible_moves(value.astype(np.int64), move))
            which = rng.choice(feasible, min(len(feasible), count), replace=False) if len(feasible) else feasible
        return np.asarray(value[move_table(self.n, move, which)])

    def crossover(self, a: Rows, b: Rows, rng: np.random.Generator) -> Rows:
        """Order crossover (Davis 1985): a segment of `a`, and the other items around it in the order of `b`."""
        first, last = np.sort(rng.integers(0, self.n + 1, 2))
        segment = a[first:last]
        rest = b[~np.isin(b, segment)]
        return np.concatenate([rest[:first], segment, rest[first:]])

    def to_unit(self, values: Rows) -> Floats:
        """The slot of each item, scaled; items that are not chosen share a coordinate."""
        slots = (invert(values.astype(np.int64, copy=False)) + 0.5) / self.n
        if self.choose is None:
            return slots
        return np.where(slots < self.choose / self.n, slots, (1 + self.choose / self.n) / 2)

    def from_unit(self, points: Floats) -> Rows:
        """The items sorted by their coordinates (random keys)."""
        return np.argsort(points, axis=-1, kind="stable")

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
    return tuple((as_builtin(a), as_builtin(b)) for a, b in pairs)


def _named(what: str, given: Any, example: str) -> Iterable[tuple[Any, Any]]:
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{what} is a dictionary such as {example}, got {given!r}")
    return ((as_builtin(item), as_builtin(value)) for item, value in given.items())


def _window(item: Any, slots: Any) -> tuple[int, int]:
    if isinstance(slots, str) or not isinstance(slots, Sequence | np.ndarray) or len(slots) != 2:
        raise ArgumentError(f"a window is a pair of slots, first and last, such as (2, 5), got {slots!r} for {item!r}")
    first, last = (as_builtin(slot) for slot in slots)
    if first > last:
        raise ArgumentError(f"a window runs from its first to its last slot, got {(first, last)} for {item!r}")
    return first, last
