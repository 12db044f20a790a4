"""Optimisers: ask and tell, or the whole loop in one call."""

from mergebo.optimizers.explanation import Effect, Explanation
from mergebo.optimizers.history import BatchMethod, History, Method
from mergebo.optimizers.methods import METHODS, PROTOCOLS, make_method, protocol, with_kernel
from mergebo.optimizers.optimizer import Optimizer, Recommendation, Trial
from mergebo.optimizers.pareto import Front
from mergebo.optimizers.run import Result, minimize

__all__ = [
    "METHODS",
    "PROTOCOLS",
    "BatchMethod",
    "Effect",
    "Explanation",
    "Front",
    "History",
    "Method",
    "Optimizer",
    "Recommendation",
    "Result",
    "Trial",
    "make_method",
    "minimize",
    "protocol",
    "with_kernel",
]
