"""Optimization methods: what proposes the next point, given the results so far."""

from mergebo.methods.base import BatchMethod, History, Method
from mergebo.methods.registry import METHODS, PROTOCOLS, make_method, protocol, with_kernel

__all__ = [
    "METHODS",
    "PROTOCOLS",
    "BatchMethod",
    "History",
    "Method",
    "make_method",
    "protocol",
    "with_kernel",
]
