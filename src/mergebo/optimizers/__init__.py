"""Optimisers: `Optimizer` to ask and tell, `minimize` for the whole loop, and the methods behind both."""

from mergebo.optimizers.explanation import Effect, Explanation
from mergebo.optimizers.history import BatchMethod, History, Method
from mergebo.optimizers.loop import Result, minimize
from mergebo.optimizers.methods import METHODS, PROTOCOLS, make_method, protocol, with_kernel
from mergebo.optimizers.optimizer import Optimizer, Recommendation, Trial
from mergebo.optimizers.pareto import ParetoFront

__all__ = [
    "METHODS",
    "PROTOCOLS",
    "BatchMethod",
    "Effect",
    "Explanation",
    "History",
    "Method",
    "Optimizer",
    "ParetoFront",
    "Recommendation",
    "Result",
    "Trial",
    "make_method",
    "minimize",
    "protocol",
    "with_kernel",
]
