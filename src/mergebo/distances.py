"""Distances of permutations by name. The similarities and kernels of orders are made of the same functions.

Functions whose names start with `cross` compare all rows of two batches, and take NumPy arrays or torch tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo._arrays import namespace, put, to_double
from mergebo._typing import Ints
from mergebo.compiled import packed
from mergebo.compiled import permutations as compiled
from mergebo.compiled.comparators import pack_all_pairs
from mergebo.compiled.displacement import displacements
from mergebo.errors import ShapeError
from mergebo.permutations import View, in_view, invert

__all__ = [
    "DISTANCES",
    "Distance",
    "adjacency",
    "cayley",
    "footrule",
    "hamming",
    "kendall",
    "spearman_rho",
    "ulam",
]

Pairwise: TypeAlias = Callable[..., Any]

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
    """All rows against all rows of two valid 2-d arrays, if there is a faster way than `pairwise` in chunks.

    Those of footrule, rho, hamming and adjacency also take torch tensors, with any leading dimensions.
    """

    def __call__(self, a: ArrayLike, b: ArrayLike, *, view: View = "order", **options: Any) -> NDArray[np.int64]:
        """Distances of a and b, row by row; leading dimensions broadcast. Two single orders give a scalar."""
        x = in_view(a, view)
        y = in_view(b, view, n=x.shape[-1])
        shape = np.broadcast_shapes(x.shape, y.shape)
        return np.asarray(self.pairwise(np.broadcast_to(x, shape), np.broadcast_to(y, shape), **options), np.int64)[()]

    def cross(self, a: ArrayLike, b: ArrayLike, *, view: View = "order", **options: Any) -> NDArray[np.int64]:
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
    relative = put(np.empty(a.shape, np.int64), b, a)
    return statistic(relative.reshape(-1, a.shape[-1])).reshape(a.shape[:-1])


def _cross_kendall(a: Ints, b: Ints) -> Ints:
    distances: Ints = packed.cross_distances(pack_all_pairs, kendall.maximum(a.shape[-1]), a[None], b[None])[0]
    return distances


def _cayley(a: Ints, b: Ints) -> Ints:
    n: int = a.shape[-1]
    return n - _of_relative(compiled.cycles, a, b)


def _ulam(a: Ints, b: Ints) -> Ints:
    # Longest common subsequence: relabel items by their slot in b, then find the longest increasing subsequence of a.
    n: int = a.shape[-1]
    return n - _of_relative(compiled.longest_increasing, invert(b), invert(a))


def mismatches(a: Ints, b: Ints) -> Ints:
    """The number of columns in which two rows differ, row by row."""
    return np.asarray((a != b).sum(axis=-1))


def cross_mismatches(a: Any, b: Any) -> Any:
    """The number of columns in which two rows differ."""
    return _cross_truncated(a, b, 1) if isinstance(a, np.ndarray) else _torch_cross(a, b, p=0)


def cross_displacements(a: Any, b: Any) -> Any:
    """The sum over columns of |a - b|."""
    return _cross_truncated(a, b, a.shape[-1]) if isinstance(a, np.ndarray) else _torch_cross(a, b, p=1)


def cross_squares(a: Any, b: Any) -> Any:
    """The sum over columns of (a - b)^2, as floats, of rows with the same entries in different orders."""
    x, y = to_double(a), to_double(b)
    return 2 * ((x[..., :1, :] ** 2).sum(-1)[..., None] - x @ y.swapaxes(-1, -2))


def _cross_truncated(a: Ints, b: Ints, reach: int) -> Ints:
    out = np.empty((len(a), len(b)), np.int64)
    displacements(a, b, reach, out)
    return out


def _torch_cross(a: Any, b: Any, p: int) -> Any:
    return namespace(a).cdist(to_double(a), to_double(b), p=p)


def next_items(orders: Any, step: int, *, cyclic: bool, choose: int | None = None, end: int = -1) -> Any:
    """For each item the one `step` slots later, `end` where there is none, of NumPy arrays or torch tensors.

    Items after the first `choose` are not part of the order: they have no neighbours.
    """
    chosen = orders if choose is None else orders[..., :choose]
    following = namespace(orders).roll(chosen, -step, -1)
    if not cyclic or chosen.shape[-1] == 1:
        following[..., -1 if step > 0 else 0] = end
    return put(namespace(orders).full_like(orders, end), chosen, following)


def unshared_pairs(
    differing: Pairwise, a: Any, b: Any, *, directed: bool = False, cyclic: bool = False, choose: int | None = None
) -> Any:
    """The number of adjacent pairs of a that are not adjacent in b; `differing` is `mismatches` or `cross_mismatches`."""
    n = a.shape[-1]
    # Open ends are marked differently in a and b, so that they match nothing.
    after = next_items(a, 1, cyclic=cyclic, choose=choose)
    shared = n - differing(after, next_items(b, 1, cyclic=cyclic, choose=choose, end=-2))
    if not directed:
        shared = shared + n - differing(after, next_items(b, -1, cyclic=cyclic, choose=choose, end=-2))
    # With fewer than three items "after" and "before" coincide.
    return (_pairs(n, directed=directed, cyclic=cyclic, choose=choose) - shared).clip(0)


def _pairs(n: int, *, directed: bool = False, cyclic: bool = False, choose: int | None = None) -> int:
    n = n if choose is None else choose
    if n < 3:  # two items have one edge, or one arc each way
        return 0 if n == 1 else 1 + (directed and cyclic)
    return n if cyclic else n - 1


kendall = Distance(
    "kendall",
    "pairs of slots whose two entries are in opposite order",
    lambda n: n * (n - 1) // 2,
    partial(_of_relative, compiled.inversions),
    _cross_kendall,
)
"""Kendall's tau distance: the number of discordant pairs."""
footrule = Distance(
    "footrule",
    "sum over slots of |a - b| (Spearman's footrule)",
    lambda n: n * n // 2,
    lambda a, b: np.abs(a - b).sum(axis=-1),
    cross_displacements,
)
"""Spearman's footrule: the sum of displacements."""
spearman_rho = Distance(
    "spearman_rho",
    "sum over slots of (a - b)^2 (Spearman's rho)",
    lambda n: n * (n * n - 1) // 3,
    lambda a, b: ((a - b) ** 2).sum(axis=-1),
    cross_squares,
)
"""Spearman's rho distance: the sum of squared displacements."""
hamming = Distance(
    "hamming",
    "slots whose entries differ (the same in both views)",
    lambda n: n if n > 1 else 0,
    mismatches,
    cross_mismatches,
)
"""The Hamming distance: the number of slots that differ."""
cayley = Distance(
    "cayley",
    "minimum number of swaps that turn a into b (the same in both views)",
    lambda n: n - 1,
    _cayley,
)
"""The Cayley distance: the minimum number of swaps."""
ulam = Distance(
    "ulam",
    "minimum number of insertions (move one item elsewhere) that turn a into b",
    lambda n: n - 1,
    _ulam,
)
"""The Ulam distance: the minimum number of insertions."""
adjacency = Distance(
    "adjacency",
    "adjacent pairs of a that are not adjacent in b; options directed=False, cyclic=False, choose=None",
    _pairs,
    partial(unshared_pairs, mismatches),
    partial(unshared_pairs, cross_mismatches),
)
"""The adjacency distance: the number of neighbouring pairs that are lost."""

DISTANCES = {d.name: d for d in (kendall, footrule, spearman_rho, hamming, cayley, ulam, adjacency)}
"""Every distance by its name."""
