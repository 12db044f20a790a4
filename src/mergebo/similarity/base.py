"""Similarities of points: normalised distances on rows, and the GPyTorch kernels that they define."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from mergebo._typing import Floats, Ints, Rows, Singles
from mergebo.compiled import scans, walks
from mergebo.distances import adjacency, footrule, hamming
from mergebo.errors import UnsupportedError, extra
from mergebo.neighbours import exchange_sequence, move_slots, move_table
from mergebo.permutations import View, invert
from mergebo.sorting import ComparisonMap, EnumerationMap, MergeMap, RandomComparisons
from mergebo.spaces import Binary, Choice, Numeric, Permutation, SearchSpace

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from mergebo.kernels import PermutationKernel


class Similarity(ABC):
    """A factor `exp(-d / (2 l^2))` of a kernel, with its own lengthscale l; d is between 0 and 1.

    A similarity with several lengthscales has as many distances, in front: `(count, A, B)` instead of `(A, B)`.
    """

    @property
    def num_lengthscales(self) -> int:
        """Number of lengthscales."""
        return 1

    @abstractmethod
    def distance(self, a: Rows, b: Rows) -> Floats:
        """Normalised distances between all rows of a and all rows of b, for one variable."""

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        """Weighted distances of all neighbours of `centre`, by one kind of move, to all rows.

        In single precision and in blocks of consecutive moves, `(moves, rows)`, to save memory. This default computes each
        neighbour explicitly, which is correct for any similarity. Override it where distances can be updated incrementally.
        """
        n = len(centre)
        for part in _parts(len(move_slots(n, move)), max(n, self.num_lengthscales * len(rows))):
            distances = self.distance(centre[move_table(n, move, part)], rows)
            yield np.tensordot(weights, distances.reshape(len(weights), -1, len(rows)), axes=1).astype(np.float32)

    def for_variable(self, variable: Permutation) -> Similarity:
        """The corresponding similarity for a variable with repeated items, subsets or symmetries.

        Of symmetric orders the canonical representatives are compared, unless a subclass can do better.
        """
        if variable.choose is not None:
            raise UnsupportedError(
                f"{self} compares complete orders, not {variable.choose} of {variable.n} items; "
                "auto, bops-h, spearman, turbo and methods without a model support these"
            )
        return self

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        """The same factor as a GPyTorch kernel on these columns of a point."""
        from mergebo.kernels.base import DistanceKernel

        return DistanceKernel(self.distance, active_dims=columns)


@dataclass(frozen=True)
class ComparisonSimilarity(Similarity):
    """Orders are similar if a sorting algorithm makes similar comparisons: the Hamming distance of their codes.

    Cost of a scan per neighbour and row: O(1) for swaps, and for all moves with all pairs on ranks; about log n for Merge's
    insertions and for random pairs; O(n) fast additions for Merge's reversals, and for insertions and reversals with all
    pairs on orders. With other maps each neighbour is encoded explicitly.
    """

    map: ComparisonMap
    view: View = "order"

    def distance(self, a: Rows, b: Rows) -> Floats:
        x, y = self._read(a, b)
        return np.asarray(self.map._distance(x[None], y[None])[0] / max(1, self.map.length))

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        if not isinstance(self.map, EnumerationMap | MergeMap | RandomComparisons):
            return super().scan(centre, rows, move, weights)
        change = self._changes(centre, rows, move)
        return _blocks(change, weights[0] / max(1, self.map.length), weights[0] * self.distance(centre[None], rows))

    def _changes(self, centre: Rows, rows: Rows, move: str) -> NDArray[Any]:
        """Changes of the Hamming distances of codes."""
        if isinstance(self.map, EnumerationMap) and self.view == "rank":
            return _kendall_scan(centre, rows, move)
        (here,), others = self._read(centre[None], rows)
        if move == "swap":
            if isinstance(self.map, EnumerationMap):
                return _kendall_scan(invert(here), invert(others), move)[_in_other_view(here)]
            if isinstance(self.map, MergeMap):
                changes = _merge_swaps(self.map, here, others)
                return changes if self.view == "order" else changes[_in_other_view(centre)]
        steps, items = exchange_sequence(len(centre), move)
        if self.view == "rank":  # see _in_other_view
            steps = np.concatenate([centre[items].astype(np.int32), steps[:, 2:]], axis=1)
        kind = np.int16 if self.map.length < 1 << 15 else np.int32
        moves = len(move_slots(len(centre), move))
        if isinstance(self.map, MergeMap):
            merge = self.map

            def scan(part: Rows, out: NDArray[Any]) -> None:
                gains = np.ascontiguousarray(1 - 2 * merge._encode(part).T.astype(kind))
                walks.merge_steps(here, gains, merge.nodes, _tree_links(merge), merge.padding == "comparison", steps, out)

        elif isinstance(self.map, RandomComparisons):
            chosen = self.map

            def scan(part: Rows, out: NDArray[Any]) -> None:
                gains = np.ascontiguousarray(1 - 2 * chosen._encode(part).T.astype(kind))
                walks.listed_steps(here, gains, *_incidence(chosen), steps, out)

        else:

            def scan(part: Rows, out: NDArray[Any]) -> None:
                walks.pair_steps(here, _columns(part), steps, out)

        return _scanned(others, moves, kind, WALK_ENTRIES, scan)

    def for_variable(self, variable: Permutation) -> Similarity:
        if variable.choose is not None and isinstance(self.map, EnumerationMap) and self.view == "rank":
            return SubsetPrecedence(variable.n, variable.choose)
        return super().for_variable(variable)

    def _read(self, *rows: Rows) -> tuple[Rows, ...]:
        return tuple(each if self.view == "order" else invert(each) for each in rows)

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import ComparisonKernel

        return ComparisonKernel(self.map, view=self.view, active_dims=columns)


@dataclass(frozen=True)
class KernelSimilarity(Similarity):
    """The similarity of any GPyTorch kernel of permutations. Scans compute each neighbour explicitly."""

    of: PermutationKernel

    def distance(self, a: Rows, b: Rows) -> Floats:
        import torch

        with torch.no_grad():
            distances: Floats = self.of.distance(*(torch.from_numpy(each.astype(np.float64)) for each in (a, b))).numpy()
        return distances


class TruncatedDisplacement(Similarity):
    """Orders are similar if items are displaced little; displacements by more than `reach` slots count as `reach`."""

    n: int

    @property
    @abstractmethod
    def reach(self) -> int:
        """The displacement at which distances are truncated."""

    @property
    @abstractmethod
    def max_distance(self) -> float:
        """The largest sum of displacements, for normalisation."""

    def for_variable(self, variable: Permutation) -> Similarity:
        chosen = variable.choose
        return self if chosen is None else SubsetDisplacement(variable.n, chosen, type(self)(chosen).reach)  # type: ignore[call-arg]

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        change = _displacements(centre, rows, move, np.ones(self.n), self.reach)
        return _blocks(change, weights[0] / self.max_distance, weights[0] * self.distance(centre[None], rows))


@dataclass(frozen=True)
class Footrule(TruncatedDisplacement):
    """Spearman's footrule on ranks: displacements are not truncated."""

    n: int

    @property
    def reach(self) -> int:
        return self.n

    @property
    def max_distance(self) -> float:
        return max(1, footrule.maximum(self.n))

    def distance(self, a: Rows, b: Rows) -> Floats:
        return footrule.cross(a, b, view="rank") / self.max_distance

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import FootruleKernel

        return FootruleKernel(self.n, view="rank", active_dims=columns)


@dataclass(frozen=True)
class SpearmanRho(Similarity):
    """Orders are similar if their ranks correlate: squared displacements, as in Spearman's rho.

    With a long lengthscale this becomes a linear kernel, in which each item has its own effect per slot.
    """

    n: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        x, y = (invert(each).astype(np.float64) for each in (a, b))
        squares = float((np.arange(self.n) ** 2).sum())
        return np.asarray(2 * (squares - x @ y.T) / self._max_distance)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        steps, _ = exchange_sequence(self.n, move)

        def scan(part: Rows, out: NDArray[Any]) -> None:
            walks.square_steps(_columns(invert(part))[centre], steps, out)

        change = _scanned(rows, len(move_slots(self.n, move)), np.int64, WALK_ENTRIES, scan)
        return _blocks(change, weights[0] / self._max_distance, weights[0] * self.distance(centre[None], rows))

    def for_variable(self, variable: Permutation) -> Similarity:
        return self if variable.choose is None else SubsetSpearmanRho(variable.n, variable.choose)

    @property
    def _max_distance(self) -> float:
        return max(1.0, self.n * (self.n**2 - 1) / 3)  # between an order and its reverse


@dataclass(frozen=True)
class Positions(TruncatedDisplacement):
    """Orders are similar if most slots hold the same item: all displacements count the same."""

    n: int

    @property
    def reach(self) -> int:
        return 1

    @property
    def max_distance(self) -> float:
        return max(1, hamming.maximum(self.n))

    def distance(self, a: Rows, b: Rows) -> Floats:
        return hamming.cross(a, b) / self.max_distance

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import PositionKernel

        return PositionKernel(self.n, active_dims=columns)


@dataclass(frozen=True)
class ProductSimilarity(Similarity):
    """A product of several similarities of the same variable, each with its own lengthscale."""

    parts: tuple[Similarity, ...]

    @property
    def num_lengthscales(self) -> int:
        return sum(part.num_lengthscales for part in self.parts)

    def distance(self, a: Rows, b: Rows) -> Floats:
        return _stacked(part.distance(a, b) for part in self.parts)

    def for_variable(self, variable: Permutation) -> Similarity:
        return ProductSimilarity(tuple(part.for_variable(variable) for part in self.parts))

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        owns = split(weights, (part.num_lengthscales for part in self.parts))
        scans = [part.scan(centre, rows, move, own) for part, own in zip(self.parts, owns, strict=True)]
        for blocks in zip(*scans, strict=True):
            yield sum(blocks[1:], start=blocks[0])

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        with extra("torch"):
            from gpytorch.kernels import ProductKernel

        return ProductKernel(*(part.kernel(columns) for part in self.parts))


@dataclass(frozen=True)
class SlotDistances(Similarity):
    """Orders are similar if pairs of items are equally far apart: the sum of squared differences of their slot distances.

    With several `columns`, slots lie on a grid, row by row, with Manhattan distance. With `cyclic` they lie on a circle, and
    the distance is that of the shorter way round.
    """

    n: int
    columns: int = 1
    cyclic: bool = False

    def for_variable(self, variable: Permutation) -> Similarity:
        return SlotDistances(self.n, cyclic=True) if "cycle" in variable.symmetry else super().for_variable(variable)

    def distance(self, a: Rows, b: Rows) -> Floats:
        _, total = _slot_distances(self.n, self.columns, self.cyclic)
        x, y = (_pair_distances(self, each.astype(np.int16).tobytes()) for each in (a, b))
        return np.asarray((total - x @ y.T) / max(1e-9, total), np.float64)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        steps, _ = exchange_sequence(self.n, move)
        slot_distances, total = _slot_distances(self.n, self.columns, self.cyclic)

        def scan(part: Rows, out: NDArray[Any]) -> None:
            item_distances = _item_distances(self, part.astype(np.int16).tobytes())
            walks.slot_distance_steps(centre, slot_distances, item_distances, steps, out)

        change = _scanned(rows, len(move_slots(self.n, move)), np.float32, WALK_ENTRIES, scan)
        return _blocks(change, -weights[0] / max(1e-9, total), weights[0] * self.distance(centre[None], rows))


@lru_cache(maxsize=64)
def _slot_distances(n: int, columns: int, cyclic: bool) -> tuple[Singles, float]:
    """Distances between slots minus their mean, and the sum of their squares, which is the same for all orders."""
    position = np.stack(np.divmod(np.arange(n), columns), axis=1)
    distances = np.abs(position[:, None] - position[None]).sum(axis=-1).astype(np.float32)
    if cyclic:
        distances = np.minimum(distances, n - distances)
    above = np.triu_indices(n, 1)
    distances -= distances[above].mean() if n > 1 else 0
    distances.setflags(write=False)
    return distances, float((distances[above] ** 2).sum())


@lru_cache(maxsize=2)
def _pair_distances(similarity: SlotDistances, orders: bytes) -> Singles:
    """The centred distance of every pair of items in every order, `(orders, pairs)`.

    Cached, like `_item_distances`: a local search compares many rows with the same observed ones.
    """
    i, j = np.triu_indices(similarity.n, 1)
    distances, _ = _slot_distances(similarity.n, similarity.columns, similarity.cyclic)
    ranks = invert(np.frombuffer(orders, np.int16).reshape(-1, similarity.n))
    return np.asarray(distances[ranks[:, i], ranks[:, j]])


@lru_cache(maxsize=1)
def _item_distances(similarity: SlotDistances, orders: bytes) -> Singles:
    """The same as a matrix for each order, `(n, n, orders)`."""
    distances, _ = _slot_distances(similarity.n, similarity.columns, similarity.cyclic)
    ranks = invert(np.frombuffer(orders, np.int16).reshape(-1, similarity.n)).T
    return np.ascontiguousarray(distances[ranks[:, None], ranks[None]])


@dataclass(frozen=True)
class ARDPositions(Similarity):
    """`Positions` with a lengthscale for each slot (automatic relevance determination).

    This is the diffusion kernel of COMBO (Oh et al. 2019) on one complete graph per slot. With n items its factor is 1 where
    two orders agree and `(1 - exp(-n beta)) / (1 + (n - 1) exp(-n beta))` where they do not; the lengthscale is a
    reparametrisation of beta.
    """

    n: int

    @property
    def num_lengthscales(self) -> int:
        return self.n

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray((a.T[:, :, None] != b.T[:, None, :]) / self.n)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        change = _displacements(centre, rows, move, weights / self.n, 1)
        return _blocks(change, 1.0, ((centre != rows) @ (weights / self.n))[None])

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import ARDPositionKernel

        return ARDPositionKernel(self.n, active_dims=columns)


@dataclass(frozen=True)
class Adjacency(Similarity):
    """Orders are similar if most adjacent pairs are the same.

    `directed` distinguishes (a, b) from (b, a); `cyclic` makes the last item adjacent to the first, as in a round trip.
    """

    n: int
    directed: bool = False
    cyclic: bool = False

    def for_variable(self, variable: Permutation) -> Similarity:
        cyclic, directed = self.cyclic, self.directed
        if "cycle" in variable.symmetry:
            cyclic = True
        if "reversal" in variable.symmetry:
            directed = False
        if variable.choose is not None:
            return SubsetAdjacency(variable.n, variable.choose, directed, cyclic)
        return Adjacency(self.n, directed, cyclic)

    def distance(self, a: Rows, b: Rows) -> Floats:
        return adjacency.cross(a, b, directed=self.directed, cyclic=self.cyclic) / self._max_distance

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        steps, _ = exchange_sequence(self.n, move)

        def scan(part: Rows, out: NDArray[Any]) -> None:
            after, before = (_columns(self._neighbours(part, step)) for step in (1, -1))
            walks.edge_steps(centre, after, after if self.directed else before, self.cyclic, steps, out)

        change = _scanned(rows, len(move_slots(self.n, move)), np.int16, WALK_ENTRIES, scan)
        return _blocks(change, weights[0] / self._max_distance, weights[0] * self.distance(centre[None], rows))

    def _neighbours(self, orders: Rows, step: int) -> Rows:
        """For each item the one `step` slots later, -1 where there is none."""
        following = np.roll(orders, -step, axis=1)
        if not self.cyclic:
            following[:, -1 if step > 0 else 0] = -1
        return np.take_along_axis(following, invert(orders), axis=1)

    @property
    def _max_distance(self) -> int:
        return max(1, adjacency.maximum(self.n, directed=self.directed, cyclic=self.cyclic))

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import AdjacencyKernel

        return AdjacencyKernel(self.n, directed=self.directed, cyclic=self.cyclic, active_dims=columns)


class SubsetSimilarity(Similarity):
    """A similarity of orders of `chosen` of n items. Items that are not chosen come last, tied."""

    n: int
    chosen: int

    def ranks(self, orders: Rows) -> Ints:
        """The slot of each item; `chosen` for items that are not chosen."""
        return np.minimum(invert(orders), self.chosen)


@dataclass(frozen=True)
class SubsetPrecedence(SubsetSimilarity):
    """Kendall's distance, in which two items that are not chosen are tied."""

    n: int
    chosen: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        i, j = np.triu_indices(self.n, 1)
        x, y = (np.sign(ranks[:, i] - ranks[:, j]).astype(np.float32) for ranks in (self.ranks(a), self.ranks(b)))
        pairs = self.chosen * (self.chosen - 1) / 2 + self.chosen * (self.n - self.chosen)
        return np.asarray((pairs - x @ y.T) / (2 * max(1.0, pairs)), np.float64)


@dataclass(frozen=True)
class SubsetSpearmanRho(SubsetSimilarity):
    """Spearman's rho of the slots: squared displacements."""

    n: int
    chosen: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        k = self.chosen
        squares = cdist(self.ranks(a), self.ranks(b), "sqeuclidean")
        return np.asarray(squares / (k * (k + 1) * (2 * k + 1) / 3))


@dataclass(frozen=True)
class SubsetDisplacement(SubsetSimilarity):
    """Truncated displacements: those by more than `reach` slots count as `reach`."""

    n: int
    chosen: int
    reach: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        out = np.empty((len(a), len(b)))
        scans.displacements(self.ranks(a), self.ranks(b), self.reach, out)
        return out / float(2 * np.minimum(np.arange(1, self.chosen + 1), self.reach).sum())


@dataclass(frozen=True)
class SubsetAdjacency(SubsetSimilarity):
    """Shared adjacent pairs; see `Adjacency`."""

    n: int
    chosen: int
    directed: bool
    cyclic: bool

    def distance(self, a: Rows, b: Rows) -> Floats:
        after = self._neighbours(a, 1, -1)
        shared = (self.n - _differing(after, self._neighbours(b, 1, -2))).astype(np.float64)
        if not self.directed:
            shared += self.n - _differing(after, self._neighbours(b, -1, -2))
        most = max(1, adjacency.maximum(self.chosen, directed=self.directed, cyclic=self.cyclic))
        return np.maximum(most - shared, 0.0) / most

    def _neighbours(self, orders: Rows, step: int, end: int) -> Ints:
        """For each item the one `step` slots later, `end` where there is none."""
        selected = orders[:, : self.chosen].astype(np.int64)
        following = np.roll(selected, -step, axis=1)
        if not self.cyclic or self.chosen == 1:
            following[:, -1 if step > 0 else 0] = end
        out = np.full(orders.shape, end)
        np.put_along_axis(out, selected, following, axis=1)
        return out


def _differing(a: Ints, b: Ints) -> Floats:
    """Number of columns in which each row of a differs from each row of b."""
    return np.asarray(np.rint(a.shape[1] * cdist(a, b, "hamming")))


@dataclass(frozen=True)
class BinarySimilarity(Similarity):
    """An RBF on binary vectors: similar if most bits are equal."""

    choices: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        x, y = a.astype(np.float64), b.astype(np.float64)
        return np.asarray((x.sum(axis=1)[:, None] + y.sum(axis=1)[None] - 2 * (x @ y.T)) / self.choices)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        change = np.where((rows != centre).T, -1, 1)  # a flip approaches the rows that differ there
        return _blocks(change, weights[0] / self.choices, weights[0] * self.distance(centre[None], rows))

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels.base import BinaryKernel

        return BinaryKernel(self.choices, active_dims=columns)


@dataclass(frozen=True)
class BinaryCountSimilarity(Similarity):
    """`BinarySimilarity` times an RBF on the share of ones: how many bits are 1 may matter more than which."""

    choices: int

    @property
    def num_lengthscales(self) -> int:
        return 2

    def distance(self, a: Rows, b: Rows) -> Floats:
        more = a.mean(axis=1)[:, None] - b.mean(axis=1)[None]
        return np.stack([BinarySimilarity(self.choices).distance(a, b), more**2])

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        by_choice, by_share = weights / (self.choices, self.choices**2)
        step = 1 - 2 * centre[:, None]  # of the number of ones
        more = centre.sum() - rows.sum(axis=1)
        change = by_choice * np.where((rows != centre).T, -1, 1) + by_share * (2 * step * more + 1)
        base = np.tensordot(weights, self.distance(centre[None], rows), axes=1)
        return _blocks(change, 1.0, base)

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels.base import BinaryKernel

        return BinaryKernel(self.choices, ones=True, active_dims=columns)


@dataclass(frozen=True)
class NumericSimilarity(Similarity):
    """An RBF on numbers scaled to the unit interval, on the log scale if the variable has one."""

    quantity: Numeric

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray((self.quantity.to_unit(a) - self.quantity.to_unit(b).T) ** 2)

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels.base import NumericKernel

        return NumericKernel(self.quantity, active_dims=columns)


@dataclass(frozen=True)
class CategoricalSimilarity(Similarity):
    """Options are equal or not: all different options are equally dissimilar."""

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray(a != b.T, np.float64)


Combination: TypeAlias = Literal["product", "sum", "both"]


@dataclass(frozen=True)
class Product:
    """A similarity for each variable of a space, or for some of them; the kernel is their product."""

    space: SearchSpace
    factors: Mapping[str, Similarity]

    @property
    def terms(self) -> tuple[Product, ...]:
        """The terms of the sum: this product; see `Sum`."""
        return (self,)

    @classmethod
    def of(
        cls, space: SearchSpace, orders: Callable[[int], Similarity], choices: Callable[[int], Similarity] = BinarySimilarity
    ) -> Product:
        """`orders(n)` for each order of n items, and `choices(count)`, an RBF by default, for binary vectors.

        Numeric variables have `NumericSimilarity`, categorical ones `CategoricalSimilarity`.
        """
        factors: dict[str, Similarity] = {}
        for name, variable in space.variables.items():
            match variable:
                case Permutation(n):
                    factors[name] = orders(n).for_variable(variable)
                case Binary(count):
                    factors[name] = choices(count)
                case Numeric():
                    factors[name] = NumericSimilarity(variable)
                case Choice():
                    factors[name] = CategoricalSimilarity()
                case _:
                    raise UnsupportedError(f"no kernel supports {name}={variable}")
        return cls(space, factors)

    def combined(self, how: Combination) -> Product | Sum:
        """The product of the variables' kernels, their sum, or the sum of both.

        In a product, all variables interact: observations at other values of one variable carry little information. In a
        sum, no variables interact.
        """
        if how == "product" or len(self.factors) == 1:
            return self
        single = tuple(Product(self.space, {name: factor}) for name, factor in self.factors.items())
        return Sum((self, *single) if how == "both" else single)

    @property
    def lengthscales(self) -> int:
        """Number of lengthscales."""
        return sum(factor.num_lengthscales for factor in self.factors.values())

    def distances(self, a: Rows, b: Rows) -> Floats:
        """The factors' distances, `(count, A, B)`."""
        return _stacked(
            factor.distance(self.space.part(name, a), self.space.part(name, b)) for name, factor in self.factors.items()
        )

    def scan(self, row: Rows, rows: Rows, variable: str, move: str, weights: Floats) -> Iterator[Singles]:
        """Sums of weighted distances of all neighbours by one kind of move of one variable, in blocks `(moves, rows)`.

        If the variable has no factor, the same block `(1, rows)` is repeated forever.
        """
        fixed, own = self._fixed(row, rows, weights, (variable,))
        blocks: Iterator[Singles] = (np.zeros((1, len(rows)), np.float32) for _ in itertools.count())
        if variable in own:
            here, known = self.space.part(variable, row), self.space.part(variable, rows)
            blocks = self.factors[variable].scan(here, known, move, own[variable])
        for block in blocks:
            if len(self.factors) > len(own):
                block += fixed.astype(np.float32)
            yield block

    def reals(self, row: Rows, rows: Rows, weights: Floats) -> tuple[Floats, Floats]:
        """Weighted distances to rows by all but the real variables, and the weights of these, zero without a factor."""
        fixed, own = self._fixed(row, rows, weights, self.space.reals)
        return fixed, np.array([float(own[name][0]) if name in own else 0.0 for name in self.space.reals])

    def _fixed(self, row: Rows, rows: Rows, weights: Floats, free: Collection[str]) -> tuple[Floats, dict[str, Floats]]:
        """Weighted distances to rows by all but the free variables, and the weights of these, if they have factors."""
        fixed, own_weights = np.zeros(len(rows)), dict[str, Floats]()
        owns = split(weights, (factor.num_lengthscales for factor in self.factors.values()))
        for (name, factor), own in zip(self.factors.items(), owns, strict=True):
            if name in free:
                own_weights[name] = own
            else:
                distance = factor.distance(self.space.part(name, row[None]), self.space.part(name, rows))
                fixed += np.tensordot(own, distance.reshape(len(own), -1), axes=1)
        return fixed, own_weights

    def kernel(self) -> Any:
        """The product as a GPyTorch kernel on rows."""
        with extra("torch"):
            from gpytorch.kernels import ProductKernel

        columns = [tuple(range(self.space.width))[self.space.slices[name]] for name in self.factors]
        made = [factor.kernel(where) for factor, where in zip(self.factors.values(), columns, strict=True)]
        kernels = [part for kernel in made for part in getattr(kernel, "kernels", [kernel])]  # products are flattened
        return kernels[0] if len(kernels) == 1 else ProductKernel(*kernels)


@dataclass(frozen=True)
class Sum:
    """A sum of products, each with its own variance and lengthscales."""

    terms: tuple[Product, ...]

    @property
    def space(self) -> SearchSpace:
        """The space of the rows."""
        return self.terms[0].space

    @property
    def factors(self) -> Mapping[str, Similarity]:
        """The variables' similarities."""
        return {name: factor for term in self.terms for name, factor in term.factors.items()}

    def distances(self, a: Rows, b: Rows) -> Floats:
        """Distances of all terms, one after the other, `(count, A, B)`."""
        return _stacked(term.distances(a, b) for term in self.terms)


def _stacked(distances: Iterable[Floats]) -> Floats:
    """Distances of several similarities, stacked along the axis of lengthscales."""
    return np.concatenate([each.reshape(-1, *each.shape[-2:]) for each in distances])


def split(array: Floats, counts: Iterable[int]) -> Iterator[Floats]:
    """An array over all lengthscales, split into the parts of a kernel with `counts` lengthscales each."""
    start = 0
    for count in counts:
        yield array[start : start + count]
        start += count


SCAN_ENTRIES = 64
"""Rows per call of scans with tables: few enough for the tables to fit in the cache."""

WALK_ENTRIES = 256
"""Rows per call of scans along exchange sequences: many, to share the work that is the same for all rows."""

BLOCK_ENTRIES = 1 << 18
"""Numbers in a block of a scan: few enough to stay in the cache while the model reads them."""


def _parts(count: int, width: int) -> Iterator[slice]:
    """Slices of 0..count-1, for blocks of `width` numbers each."""
    step = max(1, BLOCK_ENTRIES // max(1, width))
    return (slice(start, start + step) for start in range(0, count, step))


def _blocks(change: NDArray[Any], unit: float, base: Floats) -> Iterator[Singles]:
    """`base + unit * change`, in blocks."""
    start = base.astype(np.float32)
    for part in _parts(*change.shape):
        block: Singles = np.multiply(change[part], np.float32(unit), dtype=np.float32)
        block += start
        yield block


def _scanned(rows: Rows, moves: int, kind: Any, most: int, scan: Callable[[Rows, NDArray[Any]], None]) -> NDArray[Any]:
    """The output of a compiled scan for all moves and rows, called for at most `most` rows at a time."""
    parts = []
    for start in range(0, len(rows) if moves else 0, most):
        piece = rows[start : start + most]
        out = np.empty((moves, len(piece)), kind)
        scan(piece, out)
        parts.append(out)
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts, axis=1) if parts else np.empty((moves, len(rows)), kind)


def _columns(rows: Rows) -> NDArray[np.int32]:
    """The transposed rows, contiguous for inner loops over rows."""
    return np.ascontiguousarray(rows.T.astype(np.int32))


def _displacements(centre: Rows, rows: Rows, move: str, weights: Floats, reach: int) -> Singles:
    """Changes of the sum over items of `weights[slot] * min(displacement, reach)`."""
    steps, _ = exchange_sequence(len(centre), move)

    def scan(part: Rows, out: Singles) -> None:
        walks.slot_steps(_columns(invert(part))[centre], weights, reach, steps, out)

    return _scanned(rows, len(move_slots(len(centre), move)), np.float32, WALK_ENTRIES, scan)


def _triangle(n: int, a: Ints, b: Ints) -> Ints:
    """Index of the pair a < b among all pairs of n."""
    return np.asarray(a * n - a * (a + 1) // 2 + b - a - 1)


def _in_other_view(order: Rows) -> Ints:
    """Index of each swap among those of the inverse: swapping the items of two slots swaps the slots of two items."""
    return _triangle(len(order), *np.sort(order[move_slots(len(order), "swap")], axis=1).T)


def _kendall_scan(centre: Rows, rows: Rows, move: str) -> NDArray[Any]:
    """Changes of the Kendall distance on ranks, for all moves of one kind."""
    n, slots = len(centre), move_slots(len(centre), move)
    pairs = n * (n - 1) // 2

    def swaps(part: Rows, out: NDArray[Any]) -> None:
        scans.kendall_swaps(centre, _columns(invert(part)), out)

    def shifts(part: Rows, out: NDArray[Any]) -> None:
        insertions = np.empty((n, n, len(part)), np.int16)
        reversals = np.empty((pairs, len(part)), np.int32)  # of long segments: more than 16 bits hold
        scans.kendall_shifts(centre, _columns(invert(part)), insertions, reversals)
        a, b = slots.T
        out[:] = insertions[a, b] if move == "insertion" else reversals[_triangle(n, a, b)]

    kind = np.int32 if move == "reversal" else np.int16
    return _scanned(rows, len(slots), kind, SCAN_ENTRIES, swaps if move == "swap" else shifts)


@lru_cache(maxsize=64)
def _table_starts(map: MergeMap) -> Ints:
    return scans.table_starts(map.nodes)


@lru_cache(maxsize=64)
def _incidence(map: RandomComparisons) -> tuple[Ints, Ints, Ints]:
    """The pairs, and for each entry the pairs that it is in, with where they start."""
    pairs = map.pairs.astype(np.int64)
    entry = pairs.T.reshape(-1)
    order = np.argsort(entry, kind="stable")
    return pairs, np.searchsorted(entry[order], np.arange(map.n + 1)), order % max(1, len(pairs))


@lru_cache(maxsize=64)
def _tree_links(map: MergeMap) -> Ints:
    return walks.tree_links(map.nodes)


def _merge_swaps(map: MergeMap, centre: Rows, rows: Rows) -> NDArray[Any]:
    """Changes of the Hamming distance of merge codes, for all exchanges of two entries."""

    def scan(part: Rows, out: NDArray[Any]) -> None:
        bits = np.ascontiguousarray(map._encode(part).T)
        scans.merge_swaps(centre, bits, map.nodes, _table_starts(map), map.padding == "comparison", out)

    return _scanned(rows, map.n * (map.n - 1) // 2, np.int16, SCAN_ENTRIES, scan)
