"""Run jobs in parallel, on this machine or on a cluster, and store each record as soon as its job ends."""

from __future__ import annotations

import logging
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from mergebo._progress import progress_bar
from mergebo.errors import ArgumentError, extra
from mergebo.experiments.jobs import Job, Record, run_job
from mergebo.experiments.store import Store

__all__ = ["Outcome", "run_jobs"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """How many of the jobs were run, and which were not or failed."""

    done: int
    """Jobs that were run now."""
    already_done: int
    """Jobs that had a record before."""
    claimed_elsewhere: tuple[Job, ...]
    """Jobs that another runner is running."""
    failed: tuple[Record, ...]


def run_jobs(
    jobs: Sequence[Job],
    folder: str | Path,
    *,
    workers: int = 1,
    cluster: str | None = None,
    load: str | Path | None = None,
    progress: bool = False,
) -> Outcome:
    """Run the jobs that have no record in the folder yet.

    Jobs that fail are recorded with their traceback, and retried by the next run. `workers` are processes on this
    machine; `cluster` is the address of a Dask scheduler, whose workers are used instead. `load` is a Python file that
    every worker runs first, to register custom methods.
    """
    if load is not None:
        load = Path(load).resolve()  # workers of a cluster may have another working directory
    store = Store(folder)
    open_jobs = [job for job in jobs if not store.is_done(job)]
    ended: dict[Job, Record] = {}
    with _bar(progress, len(open_jobs), len(jobs)) as advance, warnings.catch_warnings():
        # Workers that hold much memory after a job are replaced; what they cache is cheap to compute again.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor", UserWarning)

        def take(waiting: Sequence[Job], workers: int) -> list[Job]:
            """Run jobs and store their records. Returns the jobs that were running when a worker process died."""
            taken: list[Job] = []
            try:
                for record in _results(_claimed(waiting, store, taken), workers, cluster, load):
                    keep(record)
            except _worker_died(cluster):
                for job in taken:
                    if job not in ended:
                        store.release(job)
                lost = [job for job in taken if job not in ended]
                logger.warning("a worker process died; %d jobs are run again", len(lost))
                return lost
            return []

        def keep(record: Record) -> None:
            store.add(record)
            ended[record.job] = record
            advance(record)

        waiting, suspects = open_jobs, []
        while crashed := take(waiting, workers):
            suspects += crashed
            waiting = [job for job in waiting if job not in ended and job not in suspects]
        for job in suspects:  # each alone, to find the one that kills its process
            if take([job], 2) and store.claim(job):
                keep(Record(job, error="the worker process was killed, perhaps because it ran out of memory"))
    elsewhere = tuple(job for job in open_jobs if job not in ended and not store.is_done(job))
    store.close()
    failed = tuple(record for record in ended.values() if record.error)
    return Outcome(len(ended) - len(failed), len(jobs) - len(open_jobs), elsewhere, failed)


@cache
def run_file(path: str | Path) -> None:
    """Run a Python file, such as one that registers methods, once per process."""
    file = Path(path).resolve()
    if file.suffix != ".py" or not file.is_file():
        raise ArgumentError(f"expected the path of a Python file, such as mine.py, got {str(path)!r}")
    module = ModuleType(file.stem)
    sys.modules.setdefault(file.stem, module)  # dataclasses look for their module there
    exec(compile(file.read_text(), str(file), "exec"), module.__dict__)


def attempt(job: Job, load: str | Path | None = None) -> Record:
    """Run a job; if it fails, the record has the traceback."""
    try:
        if load is not None:
            run_file(load)
        return run_job(job)
    except Exception:
        return Record(job, error=traceback.format_exc())


def _claimed(jobs: Iterable[Job], store: Store, taken: list[Job]) -> Iterator[Job]:
    """The jobs that no other runner has claimed, each claimed just before it is sent to a worker."""
    for job in jobs:
        if store.claim(job):
            taken.append(job)
            yield job


def _results(jobs: Iterable[Job], workers: int, cluster: str | None, load: str | Path | None) -> Iterator[Record]:
    """Records in the order of completion. Few jobs are dispatched ahead, so that other runners can claim the rest."""
    with extra("bench"):
        from joblib import Parallel, delayed, parallel_config

    with ExitStack() as stack:
        if cluster is not None:
            with extra("bench"):
                from distributed import Client

            stack.enter_context(Client(cluster))  # type: ignore[no-untyped-call]
            stack.enter_context(parallel_config(backend="dask"))
            settings: dict[str, Any] = {"n_jobs": -1}
        else:
            stack.enter_context(parallel_config(backend="loky", inner_max_num_threads=1))
            settings = {"n_jobs": workers}
        parallel = Parallel(return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1, **settings)
        yield from parallel(delayed(attempt)(job, load) for job in jobs)


def _worker_died(cluster: str | None) -> type[BaseException]:
    """The error that is raised when a job kills its worker process (on a cluster, several in a row)."""
    with extra("bench"):
        died: type[BaseException]
        if cluster is not None:
            from distributed import KilledWorker

            died = KilledWorker
        else:
            from joblib.externals.loky.process_executor import TerminatedWorkerError

            died = TerminatedWorkerError
    return died


@contextmanager
def _bar(shown: bool, count: int, total: int) -> Iterator[Callable[[Record], None]]:
    """A progress bar with the remaining time, if `shown`."""
    if not shown or not count:
        yield lambda record: None
        return
    with progress_bar(total, done=total - count, long=True) as advance:
        failures = 0

        def show(record: Record) -> None:
            nonlocal failures
            failures += bool(record.error)
            text = f"{record.job.method} on {record.job.problem}, seed {record.job.seed}"
            advance(text + (f"; {failures} failed" if failures else ""))

        yield show
