"""Optimisers: ask and tell, or the whole loop in one call."""

from mergebo.optimizers.history import History, Method
from mergebo.optimizers.methods import METHODS, make_method
from mergebo.optimizers.optimizer import Optimizer, Trial
from mergebo.optimizers.run import Result, minimize

__all__ = ["METHODS", "History", "Method", "Optimizer", "Result", "Trial", "make_method", "minimize"]
