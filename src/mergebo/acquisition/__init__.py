"""Acquisition values, and searches over them."""

from mergebo.acquisition.search import MOVES, ascend, move_table, neighbours
from mergebo.acquisition.values import (
    ACQUISITIONS,
    confidence_bound,
    expected_improvement,
    log_expected_improvement,
    probability_of_improvement,
)

__all__ = [
    "ACQUISITIONS",
    "MOVES",
    "ascend",
    "confidence_bound",
    "expected_improvement",
    "log_expected_improvement",
    "move_table",
    "neighbours",
    "probability_of_improvement",
]
