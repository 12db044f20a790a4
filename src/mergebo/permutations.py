"""Arrays of permutations: checking, inverting, sampling, Lehmer codes and moves; `distances` compares them.

An **order** lists the item in each slot (`order[k]` is the item in slot k); its inverse, the **rank**, gives the slot of
each item. Batches are arrays of shape `(..., n)` with int64 values 0..n-1. No function changes its input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo._typing import Ints, Seed
from mergebo.compiled import permutations as compiled
from mergebo.errors import (
    ArgumentTypeError,
    NotAPermutationError,
    ShapeError,
    SlotError,
    unknown_choice,
)

__all__ = [
    "Ints",
    "Seed",
    "View",
    "as_generator",
    "as_int_array",
    "check_n",
    "compose",
    "in_view",
    "insert",
    "invert",
    "lehmer_decode",
    "lehmer_encode",
    "reverse",
    "sample",
    "swap",
    "validate",
]

View: TypeAlias = Literal["order", "rank"]
"""What a distance or kernel reads: the item in each slot, or the slot of each item."""

MAX_N = 10_000_000
"""The largest number of items: a single order of more would be a mistake, or take gigabytes."""


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
    if n > MAX_N:
        raise ShapeError(f"n must be at most {MAX_N}, got {n if n < 1e20 else 'a number with more than 20 digits'}")
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


def random_seed() -> int:
    """A seed from the system's source of randomness, to be recorded, for `seed=None`."""
    return int(np.random.SeedSequence().generate_state(1)[0])


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
