"""Several objectives: Pareto fronts, hypervolume, scalarisation.

All values here are minimised, unless directions are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mergebo._typing import Floats
from mergebo.errors import ShapeError, UnsupportedError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mergebo.trials import Trial

__all__ = ["ParetoFront", "chebyshev_scalarise", "hypervolume", "non_dominated", "reference_point"]

AUGMENTATION = 0.05
"""Weight of the sum of all objectives, which decides between points that are equal in their worst objective."""


def non_dominated(values: Floats) -> NDArray[np.bool_]:
    """Which rows `(count, objectives)` are non-dominated: no other is as good in all objectives and better in one."""
    as_good = (values[:, None] <= values[None]).all(axis=-1)
    better = (values[:, None] < values[None]).any(axis=-1)
    return np.asarray(~(as_good & better).any(axis=0))


def chebyshev_scalarise(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The augmented Chebyshev scalarisation of ParEGO (Knowles 2006) of each row, and its gradient by the objectives.

    Objectives are scaled to the range observed. The gradient propagates the noise of each objective.
    """
    low, high = values.min(axis=0), values.max(axis=0)
    scale = np.where(high > low, high - low, 1.0)
    weighted = weights * (values - low) / scale
    worst = weighted.argmax(axis=1)
    gradient = np.tile(AUGMENTATION * weights / scale, (len(values), 1))
    gradient[np.arange(len(values)), worst] += (weights / scale)[worst]
    return weighted.max(axis=1) + AUGMENTATION * weighted.sum(axis=1), gradient


def reference_point(front: Floats) -> Floats:
    """A reference point for a front: its nadir plus a tenth of its range (Ishibuchi et al. 2011).

    The range of a single point is its distance from 0. The same as BoTorch's `infer_reference_point`.
    """
    nadir = front.max(axis=0)
    extent = np.abs(nadir) if len(front) == 1 else nadir - front.min(axis=0)
    return np.asarray(nadir + 0.1 * np.maximum(extent, 1e-7))


def hypervolume(values: Floats, reference: Floats) -> float:
    """The volume dominated by rows `(count, objectives)` up to a reference point; rows beyond it do not count."""
    return _volume(values[(values <= reference).all(axis=1)], reference)


def _volume(values: Floats, reference: Floats) -> float:
    """The hypervolume of rows that are within the reference point, slice by slice along the last objective."""
    values = values[np.argsort(values[:, -1])]
    heights = np.diff(values[:, -1], append=reference[-1])
    if len(reference) == 1:
        return float(heights.sum())
    if len(reference) == 2:
        return float((reference[0] - np.minimum.accumulate(values[:, 0])) @ heights)
    slices = ((values[: k + 1, :-1], height) for k, height in enumerate(heights) if height > 0)
    return float(sum(height * _volume(area, reference[:-1]) for area, height in slices))


@dataclass(frozen=True, eq=False)
class ParetoFront(Sequence["Trial"]):
    """The non-dominated trials, sorted by their first value; iterate over them with `for trial in front`."""

    trials: tuple[Trial, ...]
    values: Floats
    """Observed values of all finished trials, `(count, objectives)`."""
    signs: Floats
    """1 for an objective that is minimised, -1 for one that is maximised."""

    def __getitem__(self, which: Any) -> Any:
        return self.trials[which]

    def __len__(self) -> int:
        return len(self.trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    @property
    def points(self) -> Floats:
        """The values of the front's trials, `(count, objectives)`."""
        return np.array([trial.value for trial in self.trials], np.float64).reshape(-1, len(self.signs))

    def reference(self) -> Floats:
        """The inferred reference point, slightly worse than the front in every objective; the same as BoTorch's."""
        if not len(self):
            raise UnsupportedError("the front is empty until a trial is finished; give a reference point, or tell a result")
        return np.asarray(self.signs * reference_point(self.signs * self.points))

    def hypervolume(self, reference: ArrayLike | None = None) -> float:
        """The hypervolume of the front up to a reference point.

        The reference point is a barely acceptable one, in the units and directions of the objectives. Inferred reference
        points differ between fronts: give one to compare fronts.
        """
        at = self.reference() if reference is None else np.asarray(reference, np.float64)
        if at.shape != self.signs.shape or not np.isfinite(at).all():
            raise ShapeError(f"a reference point must have {len(self.signs)} finite numbers, got {reference!r}")
        return hypervolume(self.signs * self.points, self.signs * at)

    def plot(self, path: str | PathLike[str] | None = None, *, names: Sequence[str] | None = None) -> Figure:
        """A figure of the front of two objectives, saved if there is a path."""
        if len(self.signs) != 2:
            raise UnsupportedError(f"a figure shows two objectives, not {len(self.signs)}")
        from mergebo.plots.pareto import draw

        return draw(self, path, names)
