"""Acquisition functions and their maximisation."""

from mergebo.acquisition.device import DeviceScan
from mergebo.acquisition.functions import (
    ACQUISITIONS,
    expected_improvement,
    log_expected_improvement,
    log_probability_of_improvement,
    lower_confidence_bound,
)
from mergebo.acquisition.relaxation import Relaxation
from mergebo.acquisition.search import AcquisitionNeighbourhood, ExhaustiveNeighbourhood, Landscape, local_search, neighbours

__all__ = [
    "ACQUISITIONS",
    "AcquisitionNeighbourhood",
    "DeviceScan",
    "ExhaustiveNeighbourhood",
    "Landscape",
    "Relaxation",
    "expected_improvement",
    "local_search",
    "log_expected_improvement",
    "log_probability_of_improvement",
    "lower_confidence_bound",
    "neighbours",
]
