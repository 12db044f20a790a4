"""Experiments: suites of jobs, durable records, statistics and reports. See `mergebo bench --help`."""

from mergebo.experiments.jobs import Job, Record
from mergebo.experiments.runner import Outcome, run_jobs
from mergebo.experiments.store import Store
from mergebo.experiments.suites import SUITES, Case, Suite, get_suite

__all__ = ["SUITES", "Case", "Job", "Outcome", "Record", "Store", "Suite", "get_suite", "run_jobs"]
