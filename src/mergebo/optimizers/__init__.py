"""Optimisers: ask and tell, or the whole loop in one call."""

from mergebo.optimizers.explanation import Effect, Explanation
from mergebo.optimizers.history import History, Method
from mergebo.optimizers.methods import METHODS, PROTOCOLS, make_method, protocol
from mergebo.optimizers.optimizer import Optimizer, Trial
from mergebo.optimizers.run import Result, minimize

__all__ = [
    "METHODS",
    "PROTOCOLS",
    "Effect",
    "Explanation",
    "History",
    "Method",
    "Optimizer",
    "Result",
    "Trial",
    "make_method",
    "minimize",
    "protocol",
]
