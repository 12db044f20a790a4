"""Storages of studies: opening one, its errors, and the calls of Optuna's storage interface.

Optuna's documentation says that storages are not meant to be accessed directly. The calls below are all of this package that
do so, each for want of a public one:

- `add_trial`: `Study.add_trial` does not return the number of the new trial, and workers have to know which one is theirs.
- `set_user_attr`, `set_system_attr`: `Trial.set_user_attr` needs the `Trial` of the process that asked for it; the result of
  a trial may be recorded by another process. Proposals must be visible before the objective asks for them.
- `fail_unless_running`, `take_from_queue`: `Study.ask` takes any queued trial, and starts a new one if there is none.
- `record_heartbeat`, `heartbeat_interval`: Optuna's own heartbeats are those of `Study.optimize`. Which trials have no
  heartbeat is found out by the public `optuna.storages.fail_stale_trials`.
- `remove_session`: connections of a thread are not closed when it ends.
"""

from __future__ import annotations

import logging
import random
import re
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from mergebo.errors import StorageError
from mergebo.studies.addresses import address, command_line, without_password

__all__ = [
    "GRACE_PERIOD",
    "HEARTBEAT_INTERVAL",
    "database_error",
    "log_level",
    "open_storage",
    "server_outage",
    "study_names",
]

logger = logging.getLogger(__name__)

HEARTBEAT_INTERVAL = 5
"""Seconds between heartbeats of a worker."""
GRACE_PERIOD = 30
"""Seconds without a heartbeat until a worker counts as dead."""
SQLITE_START = b"SQLite format 3\0"
"""The first bytes of a database of SQLite."""
SERVER_AWAY = re.compile(
    r"Connection refused|Is the server running|timed out|timeout expired|No route to host|Network is unreachable"
    r"|starting up|shutting down|in recovery mode|not currently accepting connections|too many (clients|connections)"
    r"|terminating connection|closed the connection unexpectedly|Lost connection|Can't connect to .* \((2|110|111|113)\)"
)
"""What PostgreSQL, MySQL and their drivers say of a server that does not run, is restarted or cannot be reached."""
ATTEMPTS = 10
"""Maximum number of attempts to create the tables while other processes do the same."""


# Opening


def study_names(storage: BaseStorage | str) -> list[str]:
    """The names of all studies in a storage, which may be given by its address."""
    if not isinstance(storage, str):
        return sorted(optuna.get_all_study_names(storage))
    opened = open_storage(storage)
    try:
        return study_names(opened)
    finally:
        close(opened)


def open_storage(
    url: str, *, create: bool = False, heartbeat_interval: int | None = None, grace_period: int = GRACE_PERIOD
) -> Any:
    """Open an Optuna storage; errors say what is wrong with the address or the file.

    With a `heartbeat_interval` in seconds, workers record heartbeats, except in a journal file, and the trial of a worker
    that has recorded none for the grace period is retried.
    """
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend
    from sqlalchemy.exc import ArgumentError as BadAddress
    from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

    scheme, separator, rest = url.partition("://")
    if scheme in ("sqlite", "journal"):
        _check_file(url, scheme, rest.removeprefix("/"), create)
    try:
        if scheme == "journal":
            return JournalStorage(JournalFileBackend(rest.removeprefix("/")))
        heartbeat_options: dict[str, Any] = {}
        if heartbeat_interval is not None:
            heartbeat_options = {
                "heartbeat_interval": heartbeat_interval,
                "grace_period": grace_period,
                "heartbeat_stale_trial_callback": partial(_log_stale, grace_period),
            }
        # A file may be locked by other writers, and connections to a server that was restarted must not be reused.
        engine: dict[str, Any] = {"connect_args": {"timeout": 60}} if scheme == "sqlite" else {"pool_pre_ping": True}
        if not create and not _has_studies(url, engine):
            raise StorageError(
                f"there are no studies in {address(url)}; create one with `{command_line('new --items a,b,c', url)}`"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # heartbeats have long been experimental
            storage = _set_up(lambda: RDBStorage(url, engine_kwargs=engine, **heartbeat_options))
        weakref.finalize(storage, storage.engine.dispose)  # its connections would not be closed with it
        return storage
    except (BadAddress, NoSuchModuleError):
        is_file = url and not separator and "@" not in url and "=" not in url
        hint = f"; did you mean sqlite:///{url}?" if is_file else ""
        raise StorageError(
            f"{address(url)!r} is not the address of a storage, such as sqlite:///file.db, journal:///file.log or "
            f"postgresql://user@host/database{hint}"
        ) from None  # SQLAlchemy shows the address as it is
    except ImportError as error:
        raise StorageError(
            f"{address(url)} needs a driver that is not installed: psycopg[binary] for PostgreSQL, mysqlclient for MySQL "
            f"({error.__cause__ or error})"
        ) from error
    except StorageError:
        raise
    except (SQLAlchemyError, StorageInternalError, OSError, RuntimeError, ValueError) as error:
        original = database_error(error) or str(error)
        message = without_password(original, url)
        # The original error would show the password in a traceback.
        raise StorageError(f"the storage {address(url)} cannot be opened: {message}") from (
            error if message == original else None
        )


def _has_studies(url: str, engine_options: Mapping[str, Any]) -> bool:
    """Whether a database has tables of Optuna. To open it as a storage would add them."""
    from sqlalchemy import create_engine, inspect

    engine = create_engine(url, **engine_options)
    try:
        return inspect(engine).has_table("studies")
    finally:
        engine.dispose()


def close(storage: Any) -> None:
    """Close the connections of a storage, if it has any."""
    if engine := getattr(storage, "engine", None):  # of a database
        engine.dispose()


def _log_stale(grace_period: float, study: optuna.Study, trial: FrozenTrial) -> None:
    logger.warning("trial %d failed: no heartbeat for %g s", trial.number, grace_period)


def _check_file(url: str, scheme: str, location: str, create: bool) -> None:
    """Raise an error for a file that cannot hold a storage."""
    if not url.startswith(f"{scheme}:///") or not location or location == ":memory:":
        raise StorageError(f"{address(url)!r} does not name a file; use {scheme}:///file.db")
    path = Path(location.partition("?")[0])
    if location.startswith("file:"):  # an address that SQLite itself parses
        return
    if not path.parent.is_dir():
        rooted = not path.is_absolute() and Path("/", path).parent.is_dir()
        hint = f"; an absolute path has four slashes: {scheme}:////{location}" if rooted else ""
        raise StorageError(f"the folder of {path} does not exist{hint}")
    if not create and not path.exists():
        create_one = command_line("new --items a,b,c", url)
        raise StorageError(f"there are no studies: {path} does not exist; create one with `{create_one}`")
    if path.is_dir():
        raise StorageError(f"{path} is a folder, not a file")
    if scheme == "sqlite" and path.exists() and not _is_database(path):  # Optuna would leave its connection open
        raise StorageError(f"the storage {url} cannot be opened: {path} is not a database of SQLite")


def _is_database(path: Path) -> bool:
    """Whether a file can be a database of SQLite: it is empty, has the format's first bytes, or cannot be read here."""
    try:
        with path.open("rb") as file:
            start = file.read(len(SQLITE_START))
    except OSError:
        return True
    return start in (b"", SQLITE_START)


def _set_up(make: Callable[[], Any]) -> Any:
    """Open a storage and create its tables, with retries, since creation fails if another process does the same."""
    from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

    for _ in range(ATTEMPTS):
        try:
            return make()
        except (IntegrityError, ProgrammingError, OperationalError) as error:
            if isinstance(error, OperationalError) and "already exists" not in str(error):
                raise
            logger.debug("another process is creating the same tables; retrying: %s", error)
            time.sleep(random.uniform(0, 0.5))
    return make()


def database_error(error: Exception) -> str | None:
    """The message of a database error, in one line and without the SQL; None for other errors."""
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    if isinstance(error, StorageInternalError) and isinstance(error.__cause__, SQLAlchemyError):
        error = error.__cause__
    if not isinstance(error, StorageInternalError | SQLAlchemyError):
        return None
    return str(error.orig if isinstance(error, DBAPIError) else error).partition("\n")[0]


def server_outage(error: BaseException | None) -> str | None:
    """The message of an error if it means that the server of a storage does not respond, which may soon be over.

    None for storages without a server, and if the server or the name service has refused the host, the user or the password.
    """
    from sqlalchemy.exc import DBAPIError

    while error is not None and not isinstance(error, DBAPIError):
        error = error.__cause__
    if error is None or type(error.orig).__module__.startswith("sqlite3"):
        return None
    return database_error(error) if SERVER_AWAY.search(str(error.orig)) else None


@contextmanager
def log_level(level: int) -> Iterator[None]:
    """Set Optuna's log level within a `with` block, and restore it afterwards."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(level)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


# Calls of the storage


def add_trial(study: optuna.Study, trial: FrozenTrial) -> FrozenTrial:
    """Add a trial in one step; returns it with its number."""
    storage = study._storage
    return storage.get_trial(storage.create_new_trial(study._study_id, trial))


def trial_id(study: optuna.Study, number: int) -> int:
    """The id in the storage of the trial with this number."""
    return study._storage.get_trial_id_from_study_id_trial_number(study._study_id, number)


def set_user_attr(study: optuna.Study, number: int, name: str, value: Any) -> None:
    """Set a user attribute of a trial that is not finished."""
    study._storage.set_trial_user_attr(trial_id(study, number), name, value)


def set_system_attr(study: optuna.Study, trial: FrozenTrial, name: str, value: Mapping[str, Any]) -> None:
    """Set a system attribute of a trial that is not finished."""
    study._storage.set_trial_system_attr(trial._trial_id, name, dict(value))


def take_from_queue(
    study: optuna.Study, number: int, params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]
) -> bool:
    """Start a queued trial with these parameters; False if somebody else has."""
    storage, found = study._storage, trial_id(study, number)
    try:
        if not storage.set_trial_state_values(found, TrialState.RUNNING):
            return False
    except UpdateFinishedTrialError:
        return False
    for name, distribution in distributions.items():
        storage.set_trial_param(found, name, distribution.to_internal_repr(params[name]), distribution)
    return True


def fail_unless_running(study: optuna.Study, number: int) -> bool:
    """End a queued trial; False if somebody has started it."""
    found = trial_id(study, number)
    if study._storage.get_trial(found).state == TrialState.RUNNING:
        return False
    with suppress(UpdateFinishedTrialError):
        study._storage.set_trial_state_values(found, TrialState.FAIL)
    return True


def heartbeat_interval(study: optuna.Study) -> float | None:
    """Seconds between heartbeats in the storage of a study; None if there are none."""
    interval = getattr(study._storage, "get_heartbeat_interval", None)
    return None if interval is None else interval()


def record_heartbeat(study: optuna.Study, found: int) -> None:
    """Record a heartbeat for the running trial with this id. To look it up would wait for reads by other threads."""
    study._storage.record_heartbeat(found)  # type: ignore[attr-defined]


def remove_session(storage: BaseStorage) -> None:
    """Close the connection of this thread."""
    storage.remove_session()
