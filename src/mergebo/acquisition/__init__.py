"""Acquisition values, and searches over them."""

from mergebo.acquisition.device import DeviceScan
from mergebo.acquisition.relaxation import Relaxation
from mergebo.acquisition.search import Acquisition, Landscape, Listed, ascend, neighbours
from mergebo.acquisition.values import (
    ACQUISITIONS,
    confidence_bound,
    expected_improvement,
    log_expected_improvement,
    probability_of_improvement,
)

__all__ = [
    "ACQUISITIONS",
    "Acquisition",
    "DeviceScan",
    "Landscape",
    "Listed",
    "Relaxation",
    "ascend",
    "confidence_bound",
    "expected_improvement",
    "log_expected_improvement",
    "neighbours",
    "probability_of_improvement",
]
