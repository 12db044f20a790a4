"""The observations that models are fitted to, and what was computed from them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from mergebo._typing import Floats, Rows
from mergebo.mean import PriorMean
from mergebo.spaces import SearchSpace
from mergebo.transforms import Identity, OutputTransform

__all__ = ["Dataset"]

T = TypeVar("T")
P = ParamSpec("P")
S = TypeVar("S", bound=Hashable)


class Cache:
    """The latest results of functions of datasets. Each optimizer has its own, which is freed with it."""

    def __init__(self) -> None:
        self._results: dict[str, OrderedDict[Hashable, Any]] = {}

    @cached_property
    def of_labels(self) -> Cache:
        """A cache for the models of where evaluations fail, so that they do not displace those of the values."""
        return Cache()

    def get(self, function: str, size: int, key: Hashable, compute: Callable[[], T]) -> T:
        """The result with this key, computed unless it is one of the `size` results of the function used last."""
        results = self._results.setdefault(function, OrderedDict())
        if key in results:
            results.move_to_end(key)
        else:
            results[key] = compute()
            while len(results) > size:
                results.popitem(last=False)
        found: T = results[key]
        return found


def cached(
    size: int,
) -> Callable[[Callable[Concatenate[S, Dataset, P], T]], Callable[Concatenate[S, Dataset, P], T]]:
    """Cache a method whose first argument is a dataset, in that dataset's cache. All arguments must be hashable."""

    def decorate(method: Callable[Concatenate[S, Dataset, P], T]) -> Callable[Concatenate[S, Dataset, P], T]:
        @wraps(method)
        def call(self: S, dataset: Dataset, /, *args: P.args, **kwargs: P.kwargs) -> T:
            key = (self, dataset.key, args, tuple(kwargs.items()))
            return dataset.cache.get(method.__qualname__, size, key, lambda: method(self, dataset, *args, **kwargs))

        return call

    return decorate


@dataclass(frozen=True, eq=False)
class Dataset:
    """The first observations of a run, in the order of observation, with the transform of their values."""

    space: SearchSpace
    rows: Rows
    values: Floats
    noise_std: Floats | None = None
    """Standard deviations of the values, nan where unknown; None if all are."""
    noisy: bool = False
    prior_mean: PriorMean | None = None
    transform: OutputTransform = field(default_factory=Identity)
    cache: Cache = field(default_factory=Cache, repr=False)

    @cached_property
    def targets(self) -> Floats:
        """The transformed values, which models are fitted to."""
        return self.transform.forward(self.values)

    @cached_property
    def target_std(self) -> Floats | None:
        """Standard deviations of the transformed values."""
        return None if self.noise_std is None else self.transform.forward_std(self.values, self.noise_std)

    @cached_property
    def key(self) -> Hashable:
        """Equal for equal datasets, so that results can be cached."""
        noise = b"" if self.noise_std is None else self.noise_std.tobytes()
        rows = np.ascontiguousarray(self.rows).tobytes()
        return self.space, rows, self.values.tobytes(), noise, self.noisy, self.prior_mean, self.transform

    def __len__(self) -> int:
        return len(self.values)

    def first(self, count: int) -> Dataset:
        """The first `count` observations, with the same transform."""
        noise_std = None if self.noise_std is None else self.noise_std[:count]
        return replace(self, rows=self.rows[:count], values=self.values[:count], noise_std=noise_std)
