"""Several objectives: which trials no other beats, how much of the space of values they dominate, and one number of many.

All values here are to be minimised, unless directions are said.
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

    from mergebo.optimizers.optimizer import Trial

SLOPE = 0.05
"""Of the augmentation: of points whose worst objective is the same, those are better whose others are."""


def non_dominated(values: Floats) -> NDArray[np.bool_]:
    """Which rows `(count, objectives)` are beaten by no other: none is as good everywhere and better somewhere."""
    as_good = (values[:, None] <= values[None]).all(axis=-1)
    better = (values[:, None] < values[None]).any(axis=-1)
    return np.asarray(~(as_good & better).any(axis=0))


def scalarised(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """One number for each row, by the augmented Chebyshev function of ParEGO (Knowles 2006), and its slopes.

    Objectives are scaled to what was seen of them. The slopes say how a small error of each objective moves the number.
    """
    low, high = values.min(axis=0), values.max(axis=0)
    scale = np.where(high > low, high - low, 1.0)
    weighted = weights * (values - low) / scale
    worst = weighted.argmax(axis=1)
    slopes = np.tile(SLOPE * weights / scale, (len(values), 1))
    slopes[np.arange(len(values)), worst] += (weights / scale)[worst]
    return weighted.max(axis=1) + SLOPE * weighted.sum(axis=1), slopes


def reference_point(front: Floats) -> Floats:
    """A point a little worse than a front in every objective: its nadir and a tenth of its range (Ishibuchi et al. 2011).

    Of a single point the range is its distance from 0. As BoTorch's `infer_reference_point`.
    """
    nadir = front.max(axis=0)
    extent = np.abs(nadir) if len(front) == 1 else nadir - front.min(axis=0)
    return np.asarray(nadir + 0.1 * np.maximum(extent, 1e-7))


def hypervolume(values: Floats, reference: Floats) -> float:
    """The volume of what rows `(count, objectives)` dominate, up to a reference point; rows beyond it do not count."""
    return _volume(values[(values <= reference).all(axis=1)], reference)


def _volume(values: Floats, reference: Floats) -> float:
    """The same for rows that are nowhere beyond the reference point, slice by slice along the last objective."""
    values = values[np.argsort(values[:, -1])]
    heights = np.diff(values[:, -1], append=reference[-1])
    if len(reference) == 1:
        return float(heights.sum())
    if len(reference) == 2:
        return float((reference[0] - np.minimum.accumulate(values[:, 0])) @ heights)
    slices = ((values[: k + 1, :-1], height) for k, height in enumerate(heights) if height > 0)
    return float(sum(height * _volume(area, reference[:-1]) for area, height in slices))


@dataclass(frozen=True, eq=False)
class Front(Sequence["Trial"]):
    """The trials that no other beats in all objectives at once, by their first value; `for trial in front`."""

    trials: tuple[Trial, ...]
    values: Floats
    """Of all finished trials, as they were told: `(count, objectives)`."""
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
        """A point a little worse than the front in every objective, as BoTorch infers it."""
        if not len(self):
            raise UnsupportedError("there is no front before a trial is finished; give a reference point, or tell a result")
        return np.asarray(self.signs * reference_point(self.signs * self.points))

    def hypervolume(self, reference: ArrayLike | None = None) -> float:
        """How much the front dominates of what is better than the reference point.

        The reference point is one that is barely acceptable, in the units and directions of the objectives. Inferred ones
        differ from front to front: give one to compare fronts.
        """
        at = self.reference() if reference is None else np.asarray(reference, np.float64)
        if at.shape != self.signs.shape or not np.isfinite(at).all():
            raise ShapeError(f"a reference point has {len(self.signs)} finite numbers, got {reference!r}")
        return hypervolume(self.signs * self.points, self.signs * at)

    def plot(self, path: str | PathLike[str] | None = None, *, names: Sequence[str] | None = None) -> Figure:
        """Two objectives as a picture, saved if there is a path."""
        if len(self.signs) != 2:
            raise UnsupportedError(f"a picture shows two objectives, not {len(self.signs)}")
        from mergebo.optimizers.pareto_plot import draw

        return draw(self, path, names)
