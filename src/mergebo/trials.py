"""Trials: points with their state and value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["Recommendation", "State", "Trial"]

State: TypeAlias = Literal["pending", "done", "failed"]


@dataclass(frozen=True)
class Trial:
    """One point with its state and value."""

    id: int
    point: Any
    state: State = "pending"
    value: Any = None
    """A number; with several objectives, one for each."""
    noise_std: Any = None
    """Standard deviation of the value, or of each, if it was given."""


@dataclass(frozen=True)
class Recommendation(Trial):
    """The point with the best posterior mean, for noisy values. `value` is that mean, not a measurement.

    `id` is that of the point's first trial, which has the measurement.
    """

    std: Any = None
    """Posterior standard deviation; nan while unknown."""
    measurements: int = 1
    """How often the point was measured."""
