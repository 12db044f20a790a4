"""Model builders: what makes a Gaussian process from the results so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.errors import ArgumentTypeError, unknown_choice
from mergebo.gp import GP
from mergebo.hyperparameters import NOISY_PRIOR, Priors, check_noise
from mergebo.mean import PriorMean
from mergebo.methods.base import History
from mergebo.similarity import Product, Similarity, Sum
from mergebo.similarity.product import Combination
from mergebo.spaces import SearchSpace

if TYPE_CHECKING:
    from mergebo.kernels import PermutationKernel

    OrderKernel: TypeAlias = Callable[[int], Similarity | PermutationKernel]

__all__ = ["KernelModel", "ModelBuilder"]

BENEFIT = 1.0
"""Loss of log posterior up to which the prior mean is kept: with few observations such differences mean little."""


class ModelBuilder(Protocol):
    """What makes a model: a kernel, or a choice among several."""

    def build(self, history: History, rng: np.random.Generator) -> GP:
        """A model of the observations; the generator is for builders that sample."""
        ...


@runtime_checkable
class AveragedBuilder(ModelBuilder, Protocol):
    """A builder that weighs several models."""

    def weighed(self, history: History) -> Sequence[tuple[GP, float]]:
        """Models of the observations that matter, with their probabilities."""
        ...


@dataclass(frozen=True)
class KernelModel:
    """A Gaussian process with one kernel for orders, and RBF kernels for the other variables.

    `kernel` makes the similarity of orders of n items, or their GPyTorch kernel; its lengthscale is fitted, not read.
    """

    kernel: OrderKernel
    combine: Combination = "product"
    """Whether the kernels of several variables are multiplied (`"product"`), added (`"sum"`), or `"both"`."""
    noise: float | None = None
    """Noise variance of the standardised values; learned if None."""

    def __post_init__(self) -> None:
        if self.combine not in get_args(Combination):
            raise unknown_choice("combine", self.combine, get_args(Combination))
        check_noise(self.noise)
        if not callable(self.kernel):
            raise ArgumentTypeError(
                f"a kernel is a function of the number of items, such as mergebo.methods.merge_kernel, got {self.kernel!r}"
            )
        self._orders(3)  # reject a wrong kernel now rather than after the initial design

    def similarity(self, space: SearchSpace) -> Product | Sum:
        """The factors of the kernel: this one for orders, RBF for binary and numeric variables."""
        return Product.of(space, self._orders).combined(self.combine)

    def _orders(self, n: int) -> Similarity:
        made = self.kernel(n)
        if isinstance(made, Similarity):
            return made
        from mergebo.kernels import similarity_of

        return similarity_of(made, n)

    def build(self, history: History, rng: np.random.Generator) -> GP:
        return fit_with_prior_mean(
            self.similarity(history.space),
            history.rows,
            history.values,
            history.prior_mean,
            noise=self.noise,
            noise_std=history.noise_std,
            priors=Priors(noise=NOISY_PRIOR) if history.noisy else Priors(),
        )


def fit_with_prior_mean(
    similarity: Product | Sum, rows: Rows, values: Floats, prior_mean: PriorMean | None, **settings: Any
) -> GP:
    """A model with the prior mean as its mean function, unless the observations make the plain model more probable."""
    plain = GP(similarity, rows, values, **settings)
    if prior_mean is None:
        return plain
    informed = GP(similarity, rows, values, mean_function=prior_mean.mean_function(rows, values), **settings)
    return informed if informed.neg_log_posterior <= plain.neg_log_posterior + BENEFIT else plain
