"""How alike two points are: normalised distances on rows, and the GPyTorch kernels that they stand for."""

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
from mergebo.errors import UnsupportedError, extra
from mergebo.moves import move_slots, move_table, walk
from mergebo.permutations import View, adjacency, footrule, hamming, invert
from mergebo.sorting import ComparisonMap, EnumerationMap, MergeMap, RandomComparisons
from mergebo.spaces import AnySpace, Binary, Choice, Permutation, Quantity

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from mergebo.kernels import PermutationKernel


class Similarity(ABC):
    """A factor `exp(-d / (2 l^2))` of a kernel, with its own lengthscale l; d is between 0 and 1.

    A similarity with several lengthscales has as many distances, in front: `(count, A, B)` instead of `(A, B)`.
    """

    @property
    def lengthscales(self) -> int:
        """How many there are."""
        return 1

    @abstractmethod
    def distance(self, a: Rows, b: Rows) -> Floats:
        """Normalised distances between all rows of a and all rows of b, of one variable."""

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        """Distances of all neighbours of `centre` by one kind of move to all rows, times the lengthscales' weights.

        In single precision and blocks of consecutive moves, `(moves, rows)`: what is held at once stays small. Here every
        neighbour is written out, which is right for any similarity; where distances can be had from those of another
        neighbour, override this.
        """
        n = len(centre)
        for part in _parts(len(move_slots(n, move)), max(n, self.lengthscales * len(rows))):
            distances = self.distance(centre[move_table(n, move, part)], rows)
            yield np.tensordot(weights, distances.reshape(len(weights), -1, len(rows)), axes=1).astype(np.float32)

    def shaped(self, variable: Permutation) -> Similarity:
        """The same idea for a variable's shape of order, which is plain more often than not.

        Of orders that are the same by symmetry it reads the one that stands for them, unless it can do better.
        """
        if variable.choose is not None:
            raise UnsupportedError(
                f"{self} compares whole orders, not {variable.choose} of {variable.n} items; "
                "auto, bops-h, spearman, turbo and methods without a model take these"
            )
        return self

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        """The same factor as a GPyTorch kernel that reads these columns of a point."""
        from mergebo.kernels.base import DistanceKernel

        return DistanceKernel(self.distance, active_dims=columns)


@dataclass(frozen=True)
class ByMap(Similarity):
    """Orders are alike if a sorting algorithm compares them alike.

    A neighbour costs a scan, for each row: O(1) for swaps, and for all moves with all pairs on ranks; about log n for
    Merge's insertions and for random pairs; some n, of fast additions, for Merge's reversals and for insertions and
    reversals with all pairs on orders. With other maps neighbours are written out and encoded.
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
        """How Hamming distances of codes change."""
        if isinstance(self.map, EnumerationMap) and self.view == "rank":
            return _kendall_scan(centre, rows, move)
        (here,), others = self._read(centre[None], rows)
        if move == "swap":
            if isinstance(self.map, EnumerationMap):
                return _kendall_scan(invert(here), invert(others), move)[_in_other_view(here)]
            if isinstance(self.map, MergeMap):
                changes = _merge_swaps(self.map, here, others)
                return changes if self.view == "order" else changes[_in_other_view(centre)]
        steps, items = walk(len(centre), move)
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

        return _scanned(others, moves, kind, WALKED, scan)

    def shaped(self, variable: Permutation) -> Similarity:
        if variable.choose is not None and isinstance(self.map, EnumerationMap) and self.view == "rank":
            return ChosenPairs(variable.n, variable.choose)
        return super().shaped(variable)

    def _read(self, *rows: Rows) -> tuple[Rows, ...]:
        return tuple(each if self.view == "order" else invert(each) for each in rows)

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import ComparisonKernel

        return ComparisonKernel(self.map, view=self.view, active_dims=columns)


@dataclass(frozen=True)
class ByKernel(Similarity):
    """Orders are as alike as a GPyTorch kernel of permutations says. Neighbours are written out: any kernel will do."""

    of: PermutationKernel

    def distance(self, a: Rows, b: Rows) -> Floats:
        import torch

        with torch.no_grad():
            distances: Floats = self.of.distance(*(torch.from_numpy(each.astype(np.float64)) for each in (a, b))).numpy()
        return distances


class Displacement(Similarity):
    """Orders are alike if items are displaced little; displacements by more than `reach` slots count as `reach`."""

    n: int

    @property
    @abstractmethod
    def reach(self) -> int:
        """The largest displacement that is told from longer ones."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """What sums of displacements are divided by."""

    def shaped(self, variable: Permutation) -> Similarity:
        chosen = variable.choose
        return self if chosen is None else ChosenDisplacement(variable.n, chosen, type(self)(chosen).reach)  # type: ignore[call-arg]

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        change = _displacements(centre, rows, move, np.ones(self.n), self.reach)
        return _blocks(change, weights[0] / self.largest, weights[0] * self.distance(centre[None], rows))


@dataclass(frozen=True)
class Footrule(Displacement):
    """Spearman's footrule on ranks: all displacements count as they are."""

    n: int

    @property
    def reach(self) -> int:
        return self.n

    @property
    def largest(self) -> float:
        return max(1, footrule.maximum(self.n))

    def distance(self, a: Rows, b: Rows) -> Floats:
        return footrule.cross(a, b, view="rank") / self.largest

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import SpearmanKernel

        return SpearmanKernel(self.n, view="rank", active_dims=columns)


@dataclass(frozen=True)
class Ranks(Similarity):
    """Orders are alike if their ranks correlate: squared displacements, as in Spearman's rho.

    With a long lengthscale that is a linear kernel: each item has its own gain from every slot further on.
    """

    n: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        x, y = (invert(each).astype(np.float64) for each in (a, b))
        squares = float((np.arange(self.n) ** 2).sum())
        return np.asarray(2 * (squares - x @ y.T) / self._largest)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        steps, _ = walk(self.n, move)

        def scan(part: Rows, out: NDArray[Any]) -> None:
            walks.square_steps(_columns(invert(part))[centre], steps, out)

        change = _scanned(rows, len(move_slots(self.n, move)), np.int64, WALKED, scan)
        return _blocks(change, weights[0] / self._largest, weights[0] * self.distance(centre[None], rows))

    def shaped(self, variable: Permutation) -> Similarity:
        return self if variable.choose is None else ChosenRanks(variable.n, variable.choose)

    @property
    def _largest(self) -> float:
        return max(1.0, self.n * (self.n**2 - 1) / 3)  # between an order and its reverse


@dataclass(frozen=True)
class Positions(Displacement):
    """Orders are alike if most slots hold the same item: all displacements count the same."""

    n: int

    @property
    def reach(self) -> int:
        return 1

    @property
    def largest(self) -> float:
        return max(1, hamming.maximum(self.n))

    def distance(self, a: Rows, b: Rows) -> Floats:
        return hamming.cross(a, b) / self.largest

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import PositionKernel

        return PositionKernel(self.n, active_dims=columns)


@dataclass(frozen=True)
class Joint(Similarity):
    """Orders are alike if they are so in several ways, each with its own lengthscale: a product of kernels."""

    parts: tuple[Similarity, ...]

    @property
    def lengthscales(self) -> int:
        return sum(part.lengthscales for part in self.parts)

    def distance(self, a: Rows, b: Rows) -> Floats:
        return _stacked(part.distance(a, b) for part in self.parts)

    def shaped(self, variable: Permutation) -> Similarity:
        return Joint(tuple(part.shaped(variable) for part in self.parts))

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        owns = split(weights, (part.lengthscales for part in self.parts))
        scans = [part.scan(centre, rows, move, own) for part, own in zip(self.parts, owns, strict=True)]
        for blocks in zip(*scans, strict=True):
            yield sum(blocks[1:], start=blocks[0])

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        with extra("torch"):
            from gpytorch.kernels import ProductKernel

        return ProductKernel(*(part.kernel(columns) for part in self.parts))


@dataclass(frozen=True)
class Spacings(Similarity):
    """Orders are alike if pairs of items are as far apart: `sum over pairs of (gap - other gap)^2`, gaps in slots.

    With several `columns` slots lie on a grid, row by row, and a gap is that of the rows and that of the columns together.
    With `cyclic` they lie on a circle, and a gap is the shorter way round.
    """

    n: int
    columns: int = 1
    cyclic: bool = False

    def shaped(self, variable: Permutation) -> Similarity:
        return Spacings(self.n, cyclic=True) if "cycle" in variable.symmetry else super().shaped(variable)

    def distance(self, a: Rows, b: Rows) -> Floats:
        _, spread = _gaps(self.n, self.columns, self.cyclic)
        x, y = (_gaps_of_pairs(self, each.astype(np.int16).tobytes()) for each in (a, b))
        return np.asarray((spread - x @ y.T) / max(1e-9, spread), np.float64)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        steps, _ = walk(self.n, move)
        gaps, spread = _gaps(self.n, self.columns, self.cyclic)

        def scan(part: Rows, out: NDArray[Any]) -> None:
            walks.gap_steps(centre, gaps, _gaps_of_items(self, part.astype(np.int16).tobytes()), steps, out)

        change = _scanned(rows, len(move_slots(self.n, move)), np.float32, WALKED, scan)
        return _blocks(change, -weights[0] / max(1e-9, spread), weights[0] * self.distance(centre[None], rows))


@lru_cache(maxsize=64)
def _gaps(n: int, columns: int, cyclic: bool) -> tuple[Singles, float]:
    """Gaps between slots less their mean, and the sum of their squares, which all orders have in common."""
    place = np.stack(np.divmod(np.arange(n), columns), axis=1)
    gaps = np.abs(place[:, None] - place[None]).sum(axis=-1).astype(np.float32)
    if cyclic:
        gaps = np.minimum(gaps, n - gaps)
    above = np.triu_indices(n, 1)
    gaps -= gaps[above].mean() if n > 1 else 0
    gaps.setflags(write=False)
    return gaps, float((gaps[above] ** 2).sum())


@lru_cache(maxsize=2)
def _gaps_of_pairs(alike: Spacings, orders: bytes) -> Singles:
    """The gap of every pair of items in every order, `(orders, pairs)`.

    Remembered, as the next one: a climb compares row after row with the same known ones.
    """
    i, j = np.triu_indices(alike.n, 1)
    gaps, _ = _gaps(alike.n, alike.columns, alike.cyclic)
    ranks = invert(np.frombuffer(orders, np.int16).reshape(-1, alike.n))
    return np.asarray(gaps[ranks[:, i], ranks[:, j]])


@lru_cache(maxsize=1)
def _gaps_of_items(alike: Spacings, orders: bytes) -> Singles:
    """The same from item to item, `(n, n, orders)`."""
    gaps, _ = _gaps(alike.n, alike.columns, alike.cyclic)
    ranks = invert(np.frombuffer(orders, np.int16).reshape(-1, alike.n)).T
    return np.ascontiguousarray(gaps[ranks[:, None], ranks[None]])


@dataclass(frozen=True)
class SameSlots(Similarity):
    """As `Positions`, with a lengthscale for each slot.

    That is the diffusion kernel of COMBO (Oh et al. 2019) on one complete graph a slot: with n items it is 1 where two
    orders agree and `(1 - exp(-n beta)) / (1 + (n - 1) exp(-n beta))` where they do not, a number that stands for beta
    as well as beta does.
    """

    n: int

    @property
    def lengthscales(self) -> int:
        return self.n

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray((a.T[:, :, None] != b.T[:, None, :]) / self.n)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        change = _displacements(centre, rows, move, weights / self.n, 1)
        return _blocks(change, 1.0, ((centre != rows) @ (weights / self.n))[None])

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import SlotsKernel

        return SlotsKernel(self.n, active_dims=columns)


@dataclass(frozen=True)
class Adjacency(Similarity):
    """Orders are alike if most neighbouring pairs are the same.

    `directed` tells (a, b) from (b, a); `cyclic` makes the last item a neighbour of the first, as in a round tour.
    """

    n: int
    directed: bool = False
    cyclic: bool = False

    def shaped(self, variable: Permutation) -> Similarity:
        cyclic, directed = self.cyclic, self.directed
        if "cycle" in variable.symmetry:
            cyclic = True
        if "reversal" in variable.symmetry:
            directed = False
        if variable.choose is not None:
            return ChosenNeighbours(variable.n, variable.choose, directed, cyclic)
        return Adjacency(self.n, directed, cyclic)

    def distance(self, a: Rows, b: Rows) -> Floats:
        return adjacency.cross(a, b, directed=self.directed, cyclic=self.cyclic) / self._largest

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        steps, _ = walk(self.n, move)

        def scan(part: Rows, out: NDArray[Any]) -> None:
            after, before = (_columns(self._neighbours(part, step)) for step in (1, -1))
            walks.edge_steps(centre, after, after if self.directed else before, self.cyclic, steps, out)

        change = _scanned(rows, len(move_slots(self.n, move)), np.int16, WALKED, scan)
        return _blocks(change, weights[0] / self._largest, weights[0] * self.distance(centre[None], rows))

    def _neighbours(self, orders: Rows, step: int) -> Rows:
        """For each item the one `step` slots further on, -1 where there is none."""
        following = np.roll(orders, -step, axis=1)
        if not self.cyclic:
            following[:, -1 if step > 0 else 0] = -1
        return np.take_along_axis(following, invert(orders), axis=1)

    @property
    def _largest(self) -> int:
        return max(1, adjacency.maximum(self.n, directed=self.directed, cyclic=self.cyclic))

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels import AdjacencyKernel

        return AdjacencyKernel(self.n, directed=self.directed, cyclic=self.cyclic, active_dims=columns)


class Chosen(Similarity):
    """Orders of `chosen` of n items are alike if what is chosen is; what is not is behind it all, in no order."""

    n: int
    chosen: int

    def ranks(self, orders: Rows) -> Ints:
        """The slot of each item, `chosen` if it has none."""
        return np.minimum(invert(orders), self.chosen)


@dataclass(frozen=True)
class ChosenPairs(Chosen):
    """If most pairs stand the same way round: Kendall's distance, a pair of which neither is chosen is a tie."""

    n: int
    chosen: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        i, j = np.triu_indices(self.n, 1)
        x, y = (np.sign(ranks[:, i] - ranks[:, j]).astype(np.float32) for ranks in (self.ranks(a), self.ranks(b)))
        pairs = self.chosen * (self.chosen - 1) / 2 + self.chosen * (self.n - self.chosen)
        return np.asarray((pairs - x @ y.T) / (2 * max(1.0, pairs)), np.float64)


@dataclass(frozen=True)
class ChosenRanks(Chosen):
    """If slots correlate: squared displacements."""

    n: int
    chosen: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        k = self.chosen
        squares = cdist(self.ranks(a), self.ranks(b), "sqeuclidean")
        return np.asarray(squares / (k * (k + 1) * (2 * k + 1) / 3))


@dataclass(frozen=True)
class ChosenDisplacement(Chosen):
    """If items are displaced little; displacements by more than `reach` slots count as `reach`."""

    n: int
    chosen: int
    reach: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        out = np.empty((len(a), len(b)))
        scans.displacements(self.ranks(a), self.ranks(b), self.reach, out)
        return out / float(2 * np.minimum(np.arange(1, self.chosen + 1), self.reach).sum())


@dataclass(frozen=True)
class ChosenNeighbours(Chosen):
    """If most neighbouring pairs are the same; see `Adjacency`."""

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
        """For each item the one `step` slots further on, `end` where there is none."""
        kept = orders[:, : self.chosen].astype(np.int64)
        following = np.roll(kept, -step, axis=1)
        if not self.cyclic or self.chosen == 1:
            following[:, -1 if step > 0 else 0] = end
        out = np.full(orders.shape, end)
        np.put_along_axis(out, kept, following, axis=1)
        return out


def _differing(a: Ints, b: Ints) -> Floats:
    """In how many columns each row of a differs from each of b."""
    return np.asarray(np.rint(a.shape[1] * cdist(a, b, "hamming")))


@dataclass(frozen=True)
class SameChoices(Similarity):
    """Binary vectors are alike if most choices are the same: an RBF on the bits."""

    choices: int

    def distance(self, a: Rows, b: Rows) -> Floats:
        x, y = a.astype(np.float64), b.astype(np.float64)
        return np.asarray((x.sum(axis=1)[:, None] + y.sum(axis=1)[None] - 2 * (x @ y.T)) / self.choices)

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        change = np.where((rows != centre).T, -1, 1)  # a flip makes a choice like the rows that differ there
        return _blocks(change, weights[0] / self.choices, weights[0] * self.distance(centre[None], rows))

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels.base import BitsKernel

        return BitsKernel(self.choices, active_dims=columns)


@dataclass(frozen=True)
class SameShare(Similarity):
    """As `SameChoices`, times an RBF on the share of ones: how many are chosen may matter more than which."""

    choices: int

    @property
    def lengthscales(self) -> int:
        return 2

    def distance(self, a: Rows, b: Rows) -> Floats:
        more = a.mean(axis=1)[:, None] - b.mean(axis=1)[None]
        return np.stack([SameChoices(self.choices).distance(a, b), more**2])

    def scan(self, centre: Rows, rows: Rows, move: str, weights: Floats) -> Iterator[Singles]:
        by_choice, by_share = weights / (self.choices, self.choices**2)
        step = 1 - 2 * centre[:, None]  # of the number of ones
        more = centre.sum() - rows.sum(axis=1)
        change = by_choice * np.where((rows != centre).T, -1, 1) + by_share * (2 * step * more + 1)
        base = np.tensordot(weights, self.distance(centre[None], rows), axes=1)
        return _blocks(change, 1.0, base)

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels.base import BitsKernel

        return BitsKernel(self.choices, ones=True, active_dims=columns)


@dataclass(frozen=True)
class Near(Similarity):
    """Numbers are alike if they are near: an RBF on their difference, in parts of the range; of logarithms with `log`."""

    quantity: Quantity

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray((self.quantity.to_unit(a) - self.quantity.to_unit(b).T) ** 2)

    def kernel(self, columns: tuple[int, ...]) -> Kernel:
        from mergebo.kernels.base import NearKernel

        return NearKernel(self.quantity, active_dims=columns)


@dataclass(frozen=True)
class SameOption(Similarity):
    """Options are alike if they are the same; all others differ alike."""

    def distance(self, a: Rows, b: Rows) -> Floats:
        return np.asarray(a != b.T, np.float64)


Combination: TypeAlias = Literal["product", "sum", "both"]


@dataclass(frozen=True)
class Product:
    """A similarity for each variable of a space, or for some of them; the kernel is their product."""

    space: AnySpace
    factors: Mapping[str, Similarity]

    @property
    def terms(self) -> tuple[Product, ...]:
        """Products that are added up: this one; see `Sum`."""
        return (self,)

    @classmethod
    def of(
        cls, space: AnySpace, orders: Callable[[int], Similarity], choices: Callable[[int], Similarity] = SameChoices
    ) -> Product:
        """A similarity of orders of n items for every order, and an RBF for binary choices unless another one is named.

        Numbers and options have theirs: `Near` and `SameOption`.
        """
        factors: dict[str, Similarity] = {}
        for name, variable in space.variables.items():
            match variable:
                case Permutation(n):
                    factors[name] = orders(n).shaped(variable)
                case Binary(count):
                    factors[name] = choices(count)
                case Quantity():
                    factors[name] = Near(variable)
                case Choice():
                    factors[name] = SameOption()
                case _:
                    raise UnsupportedError(f"there is no kernel for {name}={variable}")
        return cls(space, factors)

    def combined(self, how: Combination) -> Product | Sum:
        """The variables' kernels multiplied, or added up, or both added up.

        In a product everything interacts: what was learned at other values of one variable says little about this one. In a
        sum nothing does.
        """
        if how == "product" or len(self.factors) == 1:
            return self
        single = tuple(Product(self.space, {name: factor}) for name, factor in self.factors.items())
        return Sum((self, *single) if how == "both" else single)

    @property
    def lengthscales(self) -> int:
        """How many there are."""
        return sum(factor.lengthscales for factor in self.factors.values())

    def distances(self, a: Rows, b: Rows) -> Floats:
        """The factors' distances, `(count, A, B)`."""
        return _stacked(
            factor.distance(self.space.part(name, a), self.space.part(name, b)) for name, factor in self.factors.items()
        )

    def scan(self, row: Rows, rows: Rows, variable: str, move: str, weights: Floats) -> Iterator[Singles]:
        """Sums of weighted distances of all neighbours by one kind of move of one variable, in blocks `(moves, rows)`.

        Without end the same block `(1, rows)` if the variable has no factor.
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
        """Weighted distances to rows without those of real variables, and the weights of these, zero if it has no factor."""
        fixed, own = self._fixed(row, rows, weights, self.space.reals)
        return fixed, np.array([float(own[name][0]) if name in own else 0.0 for name in self.space.reals])

    def _fixed(self, row: Rows, rows: Rows, weights: Floats, free: Collection[str]) -> tuple[Floats, dict[str, Floats]]:
        """Weighted distances to rows by all variables but the free ones, and the weights of these, if they have factors."""
        fixed, own_weights = np.zeros(len(rows)), dict[str, Floats]()
        owns = split(weights, (factor.lengthscales for factor in self.factors.values()))
        for (name, factor), own in zip(self.factors.items(), owns, strict=True):
            if name in free:
                own_weights[name] = own
            else:
                distance = factor.distance(self.space.part(name, row[None]), self.space.part(name, rows))
                fixed += np.tensordot(own, distance.reshape(len(own), -1), axes=1)
        return fixed, own_weights

    def kernel(self) -> Any:
        """The product as a GPyTorch kernel on whole rows."""
        with extra("torch"):
            from gpytorch.kernels import ProductKernel

        columns = [tuple(range(self.space.width))[self.space.slices[name]] for name in self.factors]
        made = [factor.kernel(where) for factor, where in zip(self.factors.values(), columns, strict=True)]
        kernels = [part for kernel in made for part in getattr(kernel, "kernels", [kernel])]  # a `Joint` is a product, too
        return kernels[0] if len(kernels) == 1 else ProductKernel(*kernels)


@dataclass(frozen=True)
class Sum:
    """Products that are added up, each with a variance and lengthscales of its own."""

    terms: tuple[Product, ...]

    @property
    def space(self) -> AnySpace:
        """Where the rows are."""
        return self.terms[0].space

    @property
    def factors(self) -> Mapping[str, Similarity]:
        """The variables' similarities."""
        return {name: factor for term in self.terms for name, factor in term.factors.items()}

    def distances(self, a: Rows, b: Rows) -> Floats:
        """Those of all terms, one after the other, `(count, A, B)`."""
        return _stacked(term.distances(a, b) for term in self.terms)


def _stacked(distances: Iterable[Floats]) -> Floats:
    """Distances of several similarities, with one lengthscale each or more, one after the other."""
    return np.concatenate([each.reshape(-1, *each.shape[-2:]) for each in distances])


def split(array: Floats, counts: Iterable[int]) -> Iterator[Floats]:
    """What belongs to each part of a kernel, of something for every lengthscale; `counts` says how many each has."""
    start = 0
    for count in counts:
        yield array[start : start + count]
        start += count


SCANNED = 64
"""Rows that are scanned at once with tables: few enough for these to stay near the processor."""

WALKED = 256
"""Rows that are scanned at once along walks: many, for what is the same for all rows to be done once."""

BLOCK = 1 << 18
"""Numbers in a block of a scan: they stay in the processor's cache while the model reads them."""


def _parts(count: int, width: int) -> Iterator[slice]:
    """Slices of 0..count-1, for blocks of `width` numbers each."""
    step = max(1, BLOCK // max(1, width))
    return (slice(start, start + step) for start in range(0, count, step))


def _blocks(change: NDArray[Any], unit: float, base: Floats) -> Iterator[Singles]:
    """`base + unit * change`, in blocks."""
    start = base.astype(np.float32)
    for part in _parts(*change.shape):
        block: Singles = np.multiply(change[part], np.float32(unit), dtype=np.float32)
        block += start
        yield block


def _scanned(rows: Rows, moves: int, kind: Any, most: int, scan: Callable[[Rows, NDArray[Any]], None]) -> NDArray[Any]:
    """What a compiled scan writes for all moves and rows, at most so many rows at a time."""
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
    """Rows as columns: what inner loops over the rows read contiguously."""
    return np.ascontiguousarray(rows.T.astype(np.int32))


def _displacements(centre: Rows, rows: Rows, move: str, weights: Floats, reach: int) -> Singles:
    """Changes of the sum over items of `weights[slot] * min(displacement, reach)`."""
    steps, _ = walk(len(centre), move)

    def scan(part: Rows, out: Singles) -> None:
        walks.slot_steps(_columns(invert(part))[centre], weights, reach, steps, out)

    return _scanned(rows, len(move_slots(len(centre), move)), np.float32, WALKED, scan)


def _triangle(n: int, a: Ints, b: Ints) -> Ints:
    """Where the pair a < b stands among all pairs of n."""
    return np.asarray(a * n - a * (a + 1) // 2 + b - a - 1)


def _in_other_view(order: Rows) -> Ints:
    """Where a swap stands among those of the inverse: exchanging the items of two slots exchanges two items' slots."""
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
    return _scanned(rows, len(slots), kind, SCANNED, swaps if move == "swap" else shifts)


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

    return _scanned(rows, map.n * (map.n - 1) // 2, np.int16, SCANNED, scan)
