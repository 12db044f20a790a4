"""Arrays of permutations: checking, inverting, sampling, Lehmer codes, moves and distances.

An **order** lists the item in each slot (`order[k]` is the item in slot k); its inverse, the **rank**, gives the slot of
each item. Batches are arrays of shape `(..., n)` with int64 values 0..n-1. No function changes its input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo._typing import Ints, Seed
from mergebo.compiled import packed
from mergebo.compiled import permutations as compiled
from mergebo.compiled.comparators import pack_all_pairs
from mergebo.errors import (
    ArgumentTypeError,
    NotAPermutationError,
    ShapeError,
    SlotError,
    unknown_choice,
)

__all__ = [
    "DISTANCES",
    "Distance",
    "Ints",
    "Seed",
    "View",
    "adjacency",
    "as_generator",
    "as_int_array",
    "cayley",
    "check_n",
    "compose",
    "footrule",
    "hamming",
    "in_view",
    "insert",
    "invert",
    "kendall",
    "lehmer_decode",
    "lehmer_encode",
    "reverse",
    "sample",
    "spearman_rho",
    "swap",
    "ulam",
    "validate",
]

View: TypeAlias = Literal["order", "rank"]


# ---------------------------------------------------------------------------------------------------------- checking


def validate(orders: ArrayLike, *, n: int | None = None) -> Ints:
    """Check that every row is a permutation of 0..n-1 and return the rows as int64, shape `(..., n)`.

    The result may share memory with the input; mergebo never writes to it. Floats with integer values are accepted (tensors
    and data frames contain them); anything else raises an error that shows what is wrong.
    """
    array = as_int_array(orders, "a permutation")
    if array.ndim == 0:
        raise ShapeError(f"a permutation is a sequence such as [2, 0, 1], got the single value {array[()]}")
    size = array.shape[-1]
    if size == 0:
        raise ShapeError("a permutation has at least one item, got an empty one")
    if n is not None and size != n:
        raise ShapeError(f"expected permutations of {n} items, got {size} (array of shape {array.shape})")
    flat = np.ascontiguousarray(array.reshape(-1, size))
    bad = compiled.first_invalid(flat)
    if bad >= 0:
        where = "" if array.ndim == 1 else f" in row {tuple(map(int, np.unravel_index(bad, array.shape[:-1])))}"
        raise NotAPermutationError(_explain_invalid(flat[bad]) + where)
    return flat.reshape(array.shape)


def as_int_array(values: ArrayLike, what: str) -> Ints:
    """`values` as an int64 array; raises an error if they are not integers."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:  # NumPy's error for ragged nesting, torch's for a CUDA tensor
        raise ShapeError(f"{what} must be a rectangular array of integers, got {_short(values)}: {error}") from error
    if array.dtype.kind in "iu" or array.size == 0:
        return array.astype(np.int64, copy=False)
    if array.dtype.kind != "f":
        raise ArgumentTypeError(f"{what} must hold integers, got {array.dtype} values: {_short(values)}")
    with np.errstate(invalid="ignore"):  # NaN and infinity are reported below
        integers = array.astype(np.int64)
    fractional = array != integers
    if fractional.any():
        raise NotAPermutationError(f"{what} must hold integers, got {_list(array[fractional])}")
    return integers


def check_n(n: object) -> int:
    """`n` as an int, after checking that it is a valid number of items."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        raise ArgumentTypeError(f"n is a number of items such as 15, got {_short(n)}")
    if n < 1:
        raise ShapeError(f"n must be at least 1, got {n}")
    return int(n)


def _explain_invalid(row: Ints) -> str:
    n = row.size
    inside = row[(row >= 0) & (row < n)]
    counts = np.bincount(inside, minlength=n)
    problems = []
    for label, values in (
        ("missing", np.flatnonzero(counts == 0)),
        ("twice", np.flatnonzero(counts == 2)),
        ("more than twice", np.flatnonzero(counts > 2)),
        ("out of range", np.unique(row[(row < 0) | (row >= n)])),
    ):
        if values.size:
            problems.append(f"{_list(values)} {label}")
    hint = ""
    if np.array_equal(np.sort(row), np.arange(1, n + 1)):
        hint = "; items count from 0 here: subtract 1"
    return f"expected each of 0..{n - 1} once; {', '.join(problems)}{hint}"


def _list(values: Sequence[Any] | NDArray[Any], most: int = 5) -> str:
    shown = ", ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in np.asarray(values)[:most].tolist())
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")


def _short(value: object, most: int = 80) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= most else text[:most] + "..."


def as_generator(seed: Seed) -> np.random.Generator:
    """A generator from a seed; a generator is returned as it is."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)


# --------------------------------------------------------------------------------------------------------- the group


def invert(orders: ArrayLike) -> Ints:
    """The other view: ranks from orders, orders from ranks. `invert(p)[..., p[..., k]] == k`."""
    return _invert(validate(orders))


def _invert(a: Ints) -> Ints:
    return compiled.invert(a.reshape(-1, a.shape[-1])).reshape(a.shape)


def in_view(orders: ArrayLike, view: View, *, n: int | None = None) -> Ints:
    """Validated orders in the view that a distance, map or kernel reads."""
    if view not in get_args(View):
        raise unknown_choice("view", view, get_args(View))
    array = validate(orders, n=n)
    return array if view == "order" else _invert(array)


def compose(outer: ArrayLike, inner: ArrayLike) -> Ints:
    """`compose(a, b)[..., k] = a[..., b[..., k]]`: first b, then a. Batches broadcast."""
    a = validate(outer)
    b = validate(inner, n=a.shape[-1])
    shape = np.broadcast_shapes(a.shape, b.shape)
    return np.take_along_axis(np.broadcast_to(a, shape), np.broadcast_to(b, shape), axis=-1)


def sample(n: int, size: int | tuple[int, ...] = (), *, seed: Seed) -> Ints:
    """Uniform random permutations of shape `(*size, n)`; `seed` is an integer or a generator."""
    n = check_n(n)
    shape = (size,) if isinstance(size, int) else tuple(size)
    orders = np.tile(np.arange(n), (*shape, 1))
    return as_generator(seed).permuted(orders, axis=-1, out=orders)


def lehmer_encode(orders: ArrayLike) -> Ints:
    """Lehmer digits: `digit[k]` = number of entries after slot k that are smaller; between 0 and n-1-k."""
    array = validate(orders)
    return compiled.lehmer_encode(array.reshape(-1, array.shape[-1])).reshape(array.shape)


def lehmer_decode(digits: ArrayLike) -> Ints:
    """The permutation with these Lehmer digits."""
    array = as_int_array(digits, "a Lehmer code")
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ShapeError(f"a Lehmer code has one digit for each item, got {_short(digits)}")
    n = array.shape[-1]
    most = np.arange(n - 1, -1, -1)
    bad = np.argwhere((array < 0) | (array > most))
    if len(bad):
        *_, slot = first = tuple(bad[0])
        raise NotAPermutationError(f"digit {slot} of a Lehmer code of {n} items is 0..{most[slot]}, got {array[first]}")
    flat = np.ascontiguousarray(array.reshape(-1, n))
    return compiled.lehmer_decode(flat).reshape(array.shape)


# ------------------------------------------------------------------------------------------------------------- moves


def swap(orders: ArrayLike, first: int, second: int) -> Ints:
    """Exchange the items in two slots."""
    array = validate(orders).copy()
    _check_slots(array.shape[-1], first, second)
    array[..., [first, second]] = array[..., [second, first]]
    return array


def insert(orders: ArrayLike, source: int, target: int) -> Ints:
    """Take the item out of slot `source` and put it in again so that it ends up in slot `target`."""
    array = validate(orders)
    _check_slots(array.shape[-1], source, target)
    slots = np.delete(np.arange(array.shape[-1]), source)
    return array[..., np.insert(slots, target, source)]


def reverse(orders: ArrayLike, first: int, last: int) -> Ints:
    """Reverse the segment from slot `first` to slot `last`, both included."""
    array = validate(orders).copy()
    _check_slots(array.shape[-1], first, last)
    if first > last:
        raise SlotError(f"a segment runs from its first to its last slot, got first={first} > last={last}")
    array[..., first : last + 1] = array[..., first : last + 1][..., ::-1].copy()
    return array


def _check_slots(n: int, *slots: int) -> None:
    for slot in slots:
        if not 0 <= slot < n:
            raise SlotError(f"slots of {n} items are 0..{n - 1}, got {slot}")


# --------------------------------------------------------------------------------------------------------- distances

Pairwise: TypeAlias = Callable[..., NDArray[Any]]

CHUNK = 1 << 22
"""Numbers that a cross-distance may hold in memory besides its result (32 MiB of int64)."""


@dataclass(frozen=True, repr=False)
class Distance:
    """A distance of permutations: call it on two (batches of) orders, or `cross` two batches.

    It reads the arrays as given (`view="order"`) or their inverses (`view="rank"`). The two views are different models:
    Kendall on ranks counts the *pairs of items* whose precedence differs and is invariant to relabelling the items;
    Kendall on orders counts *pairs of slots* and is invariant to relabelling the slots.
    """

    name: str
    definition: str
    maximum: Callable[..., int]
    """`maximum(n)` is an upper bound of the distance for n items, by which it is normalised."""
    pairwise: Pairwise
    """Distances row by row of two valid arrays of the same shape."""
    crossed: Pairwise | None = None
    """All rows against all rows of two valid 2-d arrays, if there is a faster way than `pairwise` in chunks."""

    def __call__(self, a: ArrayLike, b: ArrayLike, *, view: View = "order", **options: bool) -> NDArray[np.int64]:
        """Distances of a and b, row by row; leading dimensions broadcast. Two single orders give a scalar."""
        x = in_view(a, view)
        y = in_view(b, view, n=x.shape[-1])
        shape = np.broadcast_shapes(x.shape, y.shape)
        return np.asarray(self.pairwise(np.broadcast_to(x, shape), np.broadcast_to(y, shape), **options), np.int64)[()]

    def cross(self, a: ArrayLike, b: ArrayLike, *, view: View = "order", **options: bool) -> NDArray[np.int64]:
        """The matrix of distances between every row of a and every row of b."""
        x = np.atleast_2d(in_view(a, view))
        y = np.atleast_2d(in_view(b, view, n=x.shape[-1]))
        if x.ndim > 2 or y.ndim > 2:
            raise ShapeError(f"cross-distances take batches of shape (count, n), got {x.shape} and {y.shape}")
        if self.crossed is not None:
            return np.asarray(self.crossed(x, y, **options), np.int64)
        out = np.empty((len(x), len(y)), np.int64)
        step = max(1, CHUNK // max(1, y.size))
        for start in range(0, len(x), step):
            block = x[start : start + step, None]
            shape = (len(block), *y.shape)
            out[start : start + step] = self.pairwise(np.broadcast_to(block, shape), np.broadcast_to(y, shape), **options)
        return out

    def __repr__(self) -> str:
        return f"<distance {self.name}: {self.definition}>"


def _of_relative(statistic: Callable[[Ints], Ints], a: Ints, b: Ints) -> Ints:
    """A statistic of the relative permutation, which maps each entry of b to the entry of a in the same slot."""
    relative = np.empty(a.shape, np.int64)
    np.put_along_axis(relative, b, a, axis=-1)
    return statistic(relative.reshape(-1, a.shape[-1])).reshape(a.shape[:-1])


def _kendall_cross(a: Ints, b: Ints) -> Ints:
    distances: Ints = packed.cross_distances(pack_all_pairs, kendall.maximum(a.shape[-1]), a[None], b[None])[0]
    return distances


def _cayley(a: Ints, b: Ints) -> Ints:
    n: int = a.shape[-1]
    return n - _of_relative(compiled.cycles, a, b)


def _ulam(a: Ints, b: Ints) -> Ints:
    # Longest common subsequence: relabel items by their slot in b, then find the longest increasing subsequence of a.
    n: int = a.shape[-1]
    return n - _of_relative(compiled.longest_increasing, _invert(b), _invert(a))


def _matches(a: Ints, b: Ints) -> Ints:
    return np.asarray((a == b).sum(axis=-1))


def _cross(metric: str, a: Ints, b: Ints) -> NDArray[Any]:
    """SciPy's `cdist`, imported late because it is slow to load and often not needed."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(a, b, metric))


def _cross_matches(a: Ints, b: Ints) -> Ints:
    n: int = a.shape[-1]
    matches: Ints = n - np.rint(n * _cross("hamming", a, b)).astype(np.int64)
    return matches


def _hamming(count: Pairwise, a: Ints, b: Ints) -> NDArray[Any]:
    n: int = a.shape[-1]
    return n - count(a, b)


def _edges(n: int, *, directed: bool = False, cyclic: bool = False) -> int:
    if n < 3:  # two items have one edge, or one arc each way
        return 0 if n == 1 else 1 + (directed and cyclic)
    return n if cyclic else n - 1


def _neighbours(a: Ints, step: int, cyclic: bool, end: int) -> Ints:
    """For each item the one `step` slots further on; `end` if there is none."""
    out = np.empty(a.shape, np.int64)
    np.put_along_axis(out, a, np.roll(a, -step, axis=-1), axis=-1)
    if not cyclic:
        last = a[..., -1:] if step > 0 else a[..., :1]
        np.put_along_axis(out, last, end, axis=-1)
    return out


def _adjacency(count: Pairwise, a: Ints, b: Ints, *, directed: bool = False, cyclic: bool = False) -> NDArray[Any]:
    n = a.shape[-1]
    # Open ends are marked differently in a and b, so that they match nothing.
    after = _neighbours(a, 1, cyclic, -1)
    shared = count(after, _neighbours(b, 1, cyclic, -2))
    if not directed:
        shared = shared + count(after, _neighbours(b, -1, cyclic, -2))
    # With fewer than three items "after" and "before" coincide, and a single item is not its own neighbour.
    missing: NDArray[Any] = np.maximum(_edges(n, directed=directed, cyclic=cyclic) - shared, 0)
    return missing


kendall = Distance(
    "kendall",
    "pairs of slots whose two entries are in opposite order",
    lambda n: n * (n - 1) // 2,
    partial(_of_relative, compiled.inversions),
    _kendall_cross,
)
footrule = Distance(
    "footrule",
    "sum over slots of |a - b| (Spearman's footrule)",
    lambda n: n * n // 2,
    lambda a, b: np.abs(a - b).sum(axis=-1),
    lambda a, b: np.rint(_cross("cityblock", a, b)),
)
spearman_rho = Distance(
    "spearman_rho",
    "sum over slots of (a - b)^2 (Spearman's rho)",
    lambda n: n * (n * n - 1) // 3,
    lambda a, b: ((a - b) ** 2).sum(axis=-1),
    lambda a, b: np.rint(_cross("sqeuclidean", a, b)),
)
hamming = Distance(
    "hamming",
    "slots whose entries differ (the same in both views)",
    lambda n: n if n > 1 else 0,
    partial(_hamming, _matches),
    partial(_hamming, _cross_matches),
)
cayley = Distance(
    "cayley",
    "minimum number of swaps that turn a into b (the same in both views)",
    lambda n: n - 1,
    _cayley,
)
ulam = Distance(
    "ulam",
    "minimum number of insertions (move one item elsewhere) that turn a into b",
    lambda n: n - 1,
    _ulam,
)
adjacency = Distance(
    "adjacency",
    "adjacent pairs of a that are not adjacent in b; options directed=False, cyclic=False",
    _edges,
    partial(_adjacency, _matches),
    partial(_adjacency, _cross_matches),
)

DISTANCES = {d.name: d for d in (kendall, footrule, spearman_rho, hamming, cayley, ulam, adjacency)}
"""Every distance by its name."""
