"""Acquisition functions and their maximisation."""

from mergebo.acquisition.feasibility import Feasibility
from mergebo.acquisition.functions import (
    ACQUISITIONS,
    AcquisitionFunction,
    AfterMeasurement,
    ExpectedImprovement,
    Exploring,
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
    LowerConfidenceBound,
    acquisition_function,
)
from mergebo.acquisition.local_search import Landscape, SearchLimits, local_search
from mergebo.acquisition.neighbourhood import AcquisitionNeighbourhood, ExhaustiveNeighbourhood, Scanner, neighbours
from mergebo.acquisition.relaxation import Relaxation

__all__ = [
    "ACQUISITIONS",
    "AcquisitionFunction",
    "AcquisitionNeighbourhood",
    "AfterMeasurement",
    "ExhaustiveNeighbourhood",
    "ExpectedImprovement",
    "Exploring",
    "Feasibility",
    "Landscape",
    "LogExpectedImprovement",
    "LogProbabilityOfImprovement",
    "LowerConfidenceBound",
    "Relaxation",
    "Scanner",
    "SearchLimits",
    "acquisition_function",
    "local_search",
    "neighbours",
]
