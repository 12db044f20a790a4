"""The attributes that mergebo stores with studies and trials. Studies of earlier versions have them, so the keys stay."""

from __future__ import annotations

__all__ = [
    "CANCELLED",
    "CONFIG",
    "DISCARDED",
    "NOISE",
    "ORDER_DEFINITION",
    "PROPOSED",
    "QUEUED",
    "REASON",
    "RETRY_OF",
    "SOURCE",
    "STOPPED",
    "WORKER",
]

# Of a study

CONFIG = "mergebo"
"""The study attribute that holds its `StudyConfig`."""
ORDER_DEFINITION = "mergebo:"
"""Prefix of the study attribute that holds the items and constraints of an order; its name follows."""

# Of a trial

PROPOSED = "mergebo:claim"
"""The trial attribute (of Optuna's system attributes) that holds the proposed parameters that are not yet suggested."""
QUEUED = "fixed_params"
"""The trial attribute (of Optuna's system attributes) in which Optuna stores the parameters of `enqueue_trial`."""
NOISE = "mergebo:noise"
"""The trial attribute that holds the standard deviation of the value, if known; a list with several objectives."""
REASON = "mergebo:reason"
"""The trial attribute that says why a trial failed. A worker's trial that failed without a reason was interrupted."""
CANCELLED = "mergebo:cancelled"
"""The trial attribute that marks a trial as cancelled: how it ended says nothing about its point."""
SOURCE = "mergebo:from"
"""The trial attribute that names the table from which a result was imported."""
WORKER = "mergebo:worker"
"""The trial attribute that names the worker process that evaluates the trial with a program."""
STOPPED = "mergebo:stopped"
"""The trial attribute that marks a trial as interrupted because its worker was stopped."""
RETRY_OF = "mergebo:again"
"""The trial attribute of a retry of interrupted trials: their numbers, the last one last."""
DISCARDED = "mergebo:surplus"
"""The trial attribute that marks a trial as discarded: another worker was faster with its point, or the budget was spent."""
