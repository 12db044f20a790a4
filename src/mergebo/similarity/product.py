"""Similarities of points: products over structures and variables, and sums of these."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Literal, TypeAlias

import numpy as np

from mergebo._typing import Floats, Rows, Singles
from mergebo.errors import UnsupportedError
from mergebo.similarity.base import Similarity
from mergebo.similarity.scalars import BinarySimilarity, CategoricalSimilarity, NumericSimilarity
from mergebo.spaces import Binary, Choice, Numeric, Permutation, SearchSpace, Variable

__all__ = ["Combination", "Product", "ProductSimilarity", "Sum", "default_similarity"]


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


@singledispatch
def default_similarity(
    variable: Variable, orders: Callable[[int], Similarity], choices: Callable[[int], Similarity]
) -> Similarity:
    """The similarity of values of a variable: `orders(n)` of an order, `choices(count)` of a binary vector.

    Register one for a new kind of variable.
    """
    raise UnsupportedError(f"no similarity of {variable} is known; register one: mergebo.similarity.default_similarity")


@default_similarity.register
def _(variable: Permutation, orders: Callable[[int], Similarity], choices: Callable[[int], Similarity]) -> Similarity:
    return orders(variable.n).for_variable(variable)


@default_similarity.register
def _(variable: Binary, orders: Callable[[int], Similarity], choices: Callable[[int], Similarity]) -> Similarity:
    return choices(variable.count)


@default_similarity.register
def _(variable: Numeric, orders: Callable[[int], Similarity], choices: Callable[[int], Similarity]) -> Similarity:
    return NumericSimilarity(variable)


@default_similarity.register
def _(variable: Choice, orders: Callable[[int], Similarity], choices: Callable[[int], Similarity]) -> Similarity:
    return CategoricalSimilarity()


Combination: TypeAlias = Literal["product", "sum", "both"]
"""How the kernels of several variables are combined; see `Product.combined`."""


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
        """The product of the similarity of each variable: `orders(n)` of an order, `choices(count)` of a binary vector.

        Other variables have those that are registered as `default_similarity`.
        """
        return cls(space, {name: default_similarity(each, orders, choices) for name, each in space.variables.items()})

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
