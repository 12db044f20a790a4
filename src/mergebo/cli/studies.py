"""Studies of the command line, kept in Optuna's storage so that several machines and its dashboard can share them."""

from __future__ import annotations

import copy
import logging
import random
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from mergebo.cli.output import escape_control
from mergebo.errors import StorageError, unknown_choice

if TYPE_CHECKING:
    import optuna
    from optuna import Study as OptunaStudy
    from optuna.trial import FrozenTrial

    from mergebo.integrations.optuna import PermutationSampler
    from mergebo.optimizer import Direction, Optimizer
    from mergebo.spaces import Space

logger = logging.getLogger(__name__)

Storage = Annotated[
    str,
    typer.Option(
        envvar="MERGEBO_STORAGE",
        help="Storage of the studies: `sqlite:///file.db`, `postgresql://user@host/db`, `mysql://...` or `journal:///file.log`.",
    ),
]
Name = Annotated[str, typer.Option("--study", envvar="MERGEBO_STUDY", help="Name of the study, if the storage has several.")]

Directions = Annotated[
    list[str] | None,
    typer.Option("--direction", help="`minimize` (the default) or `maximize`; once for each objective."),
]
Method = Annotated[str, typer.Option(help="Optimization method; `mergebo methods` lists them.")]
Initial = Annotated[int, typer.Option(min=1, help="Number of initial points, before the model is used.")]
Noisy = Annotated[bool, typer.Option("--noisy", help="Values are noisy: repeated evaluations of a point differ.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed; the same seed and results give the same points.")]

DEFAULT_STORAGE = "sqlite:///mergebo.db"
"""The default storage, a file in the current folder."""
CONFIG = "mergebo"
"""The study attribute that holds its `StudyConfig`."""
WORKER = "mergebo:worker"
"""The trial attribute that names the worker process that evaluates the trial with a program."""
REASON = "mergebo:reason"
"""The trial attribute that says why a trial failed. A worker's trial that failed without a reason was interrupted."""
STOPPED = "mergebo:stopped"
"""The trial attribute that marks a trial as interrupted because its worker was stopped."""
HEARTBEAT_INTERVAL, GRACE_PERIOD = 5, 30
"""Seconds between heartbeats of a worker, and without a heartbeat until the worker counts as dead."""
ATTEMPTS = 10
"""Maximum number of attempts to create the tables while other processes do the same."""


@dataclass(frozen=True)
class StudyConfig:
    """What defines a study, apart from its directions; stored in the study."""

    space: Space
    method: str = "auto"
    seed: int = 0
    initial: int = 20
    noisy: bool = False

    def to_data(self) -> dict[str, Any]:
        """Plain data, for the study attribute."""
        from mergebo.spaces.data import space_to_data

        return {
            "format": 1,
            "space": space_to_data(self.space),
            "method": self.method,
            "seed": self.seed,
            "initial": self.initial,
            "noisy": self.noisy,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> StudyConfig:
        """The inverse of `to_data`."""
        from mergebo.spaces.data import space_from_data

        if data.get("format") != 1:
            raise StorageError(f"the study has format {data.get('format')!r}; this version reads format 1")
        space: Any = space_from_data(data["space"], None)
        return cls(space, data["method"], data["seed"], data["initial"], data["noisy"])


@dataclass(frozen=True)
class Study:
    """An open study."""

    optuna: optuna.Study
    config: StudyConfig
    storage: Any
    url: str
    """The address of the storage, without the password."""

    @property
    def name(self) -> str:
        """The name of the study."""
        return str(self.optuna.study_name)

    @property
    def space(self) -> Space:
        """The search space."""
        return self.config.space

    @property
    def directions(self) -> list[str]:
        """The direction of each objective."""
        return [str(each.name).lower() for each in self.optuna.directions]

    @property
    def sampler(self) -> PermutationSampler:
        """The sampler that proposes the points."""
        sampler: Any = self.with_sampler.sampler
        return sampler  # type: ignore[no-any-return]

    @cached_property
    def with_sampler(self) -> OptunaStudy:
        """The Optuna study with its sampler, which is slow to import and which few commands need."""
        self.optuna.sampler = _sampler(self.config)
        return self.optuna

    @property
    def noisy(self) -> bool:
        """Whether values are noisy: the study was created with `--noisy`, or a value was recorded with its noise."""
        from mergebo.integrations.optuna import NOISE

        return self.config.noisy or any(NOISE in trial.user_attrs for trial in self.all_trials())

    def all_trials(self) -> list[FrozenTrial]:
        """All trials, indexed by number, including those that were retried and those that were discarded."""
        return self.optuna.get_trials(deepcopy=False)

    def trials(self) -> list[FrozenTrial]:
        """The trials that count, sorted by number; interrupted ones have the state WAITING, since they will be retried."""
        from optuna.trial import TrialState

        found = []
        for trial in counted_trials(self.all_trials()):
            if was_interrupted(trial):
                trial = copy.copy(trial)
                trial.state = TrialState.WAITING
            found.append(trial)
        return sorted(found, key=lambda trial: trial.number)

    def point(self, trial: FrozenTrial) -> dict[str, Any] | None:
        """The point of a trial as plain values by variable name; None if it has none yet."""
        from mergebo.integrations.optuna import read_point

        point = read_point(self.space, trial)
        return None if point is None else plain(point)

    def set_trial_attr(self, number: int, name: str, value: Any) -> None:
        """Set a user attribute of a trial."""
        trial_id = self.storage.get_trial_id_from_study_id_trial_number
        self.storage.set_trial_user_attr(trial_id(self.storage.get_study_id_from_name(self.name), number), name, value)

    def completed(self) -> list[FrozenTrial]:
        """The trials that have a value."""
        return [trial for trial in self.trials() if trial.state.name == "COMPLETE"]

    def exhausted(self) -> bool:
        """Whether every point has a trial and values are not noisy, so that another trial would be useless."""
        trials = self.trials()
        if self.noisy or self.space.size > len(trials):
            return False
        points = [self.point(trial) for trial in trials]
        return len({str(point) for point in points if point is not None}) >= self.space.size

    def discard(self, number: int) -> None:
        """End a trial that must not count."""
        from optuna.trial import TrialState

        from mergebo.integrations.optuna import DISCARDED

        self.set_trial_attr(number, DISCARDED, True)
        self.optuna.tell(number, state=TrialState.FAIL)

    def read(self) -> tuple[Optimizer, list[int]]:
        """An optimiser with all results, and the numbers of its trials."""
        return self.sampler.read(self.optuna)

    @property
    def heartbeat_interval(self) -> float | None:
        """Seconds between heartbeats of the workers of this study; None if they record none."""
        return self.storage.get_heartbeat_interval() if hasattr(self.storage, "get_heartbeat_interval") else None


def was_interrupted(trial: FrozenTrial) -> bool:
    """Whether a trial ended only because its worker did, so that it will be retried."""
    return trial.state.name == "FAIL" and WORKER in trial.user_attrs and REASON not in trial.user_attrs


def counted_trials(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """The trials that count, in the order in which they were first started: of a retried trial, the last retry.

    Two workers may retry a trial at the same moment: the first retry counts, unless only the other one has a value.
    """
    from mergebo.integrations.optuna import DISCARDED, RETRY_OF

    counted = [trial for trial in trials if DISCARDED not in trial.user_attrs]
    retries: dict[int, FrozenTrial] = {}
    for trial in counted:
        if retried := trial.user_attrs.get(RETRY_OF):
            other = retries.get(retried[-1])
            if other is None or (trial.state.name == "COMPLETE" != other.state.name):
                retries[retried[-1]] = trial

    def last(trial: FrozenTrial) -> FrozenTrial:
        while trial.number in retries:
            trial = retries[trial.number]
        return trial

    return [last(trial) for trial in counted if RETRY_OF not in trial.user_attrs]


def plain(point: Mapping[str, Any]) -> dict[str, Any]:
    """A point as plain lists and numbers."""

    def convert(value: Any) -> Any:
        return value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, list | tuple) else value

    return {name: convert(value) for name, value in point.items()}


# --------------------------------------------------------------------------------------------------------------- storage


def create(
    url: str,
    name: str,
    config: StudyConfig,
    directions: Sequence[Direction],
    *,
    heartbeat_interval: int | None = None,
    grace_period: int = GRACE_PERIOD,
    resume: bool = False,
    keep: Iterable[str] = (),
) -> Study:
    """Create a study; with `resume`, a study with the same space and directions may exist already.

    Of an existing study, the fields of the configuration in `keep` remain, and the others are replaced.
    """
    import optuna

    if not name.strip() or escape_control(name) != name:
        raise StorageError(f"the name of a study must be printable and not blank, got {name!r}")
    _sampler(config)  # raises its errors before a study exists that could not be loaded
    storage = open_storage(url, create=True, heartbeat_interval=heartbeat_interval, grace_period=grace_period)
    try:
        created = optuna.create_study(storage=storage, study_name=name, directions=list(directions), load_if_exists=resume)
    except optuna.exceptions.DuplicatedStudyError as error:
        message = f"the study {name!r} already exists in {address(url)}; choose another name: mergebo new NAME"
        raise StorageError(message) from error
    if CONFIG not in created.user_attrs and not created.get_trials(deepcopy=False):  # new, created here or elsewhere
        created.set_user_attr(CONFIG, config.to_data())
    study = _load(storage, url, name)
    _check_same(study, config, directions)
    config = replace(config, **{each: getattr(study.config, each) for each in keep})
    if study.config != config:  # such as another method for the same results
        study.optuna.set_user_attr(CONFIG, config.to_data())
        study = _load(storage, url, name)
    return study


def _sampler(config: StudyConfig) -> PermutationSampler:
    from mergebo.integrations.optuna import PermutationSampler

    return PermutationSampler(
        config.method, space=config.space, seed=config.seed, n_startup_trials=config.initial, noisy=config.noisy
    )


def check_directions(given: Sequence[str] | None) -> list[Direction]:
    """The directions of the objectives, `minimize` by default."""
    from mergebo.optimizer import Direction

    known: tuple[Direction, ...] = get_args(Direction)
    for each in given or ():
        if each not in known:
            raise unknown_choice("--direction", each, known)
    return [known[known.index(each)] for each in given or ("minimize",)]


def load(url: str, name: str = "") -> Study:
    """Load an existing study; without a name, the only one in the storage."""
    storage = open_storage(url)
    names = _names(storage)
    if not names:
        raise StorageError(f"there are no studies in {address(url)}; create one with `mergebo new`")
    if not name and len(names) > 1:
        raise StorageError(
            f"there are several studies in {address(url)}; select one with --study: {', '.join(sorted(names))}"
        )
    return _load(storage, url, name or names[0])


def studies(url: str) -> list[str]:
    """The names of all studies in a storage."""
    return sorted(_names(open_storage(url)))


def _names(storage: Any) -> list[str]:
    import optuna

    return optuna.get_all_study_names(storage)


def _load(storage: Any, url: str, name: str) -> Study:
    import optuna

    if name not in (names := _names(storage)):
        raise unknown_choice(f"a study of {address(url)}", name, names)
    optuna_study = optuna.load_study(study_name=name, storage=storage)
    if CONFIG not in optuna_study.user_attrs:
        raise StorageError(
            f"the study {name!r} in {address(url)} was not created by mergebo; use PermutationSampler for it in Python"
        )
    config = StudyConfig.from_data(optuna_study.user_attrs[CONFIG])
    return Study(optuna_study, config, storage, address(url))


def _check_same(study: Study, config: StudyConfig, directions: Sequence[Direction]) -> None:
    """Raise an error if an existing study has another space or other directions."""
    stored, requested = study.config.to_data()["space"], config.to_data()["space"]
    different = [name for name in {**stored, **requested} if stored.get(name) != requested.get(name)]
    if different:
        changes = "; ".join(f"{name} was {stored.get(name)} and is {requested.get(name)}" for name in different)
        raise StorageError(f"the study {study.name!r} has another space: {changes}; for a new study, use --study NAME")
    if study.directions != list(directions):
        raise StorageError(f"the study {study.name!r} has the directions {study.directions}, not {list(directions)}")


def address(url: str) -> str:
    """The address of a storage without its password, for messages."""
    return re.sub(r"(?<=://)([^/@:]*):.*@", r"\1:***@", url)


def open_storage(
    url: str, *, create: bool = False, heartbeat_interval: int | None = None, grace_period: int = GRACE_PERIOD
) -> Any:
    """Open an Optuna storage; errors say what is wrong with the address or the file.

    With a `heartbeat_interval` in seconds, workers record heartbeats, except in a journal file, and the trial of a worker
    that has recorded none for the grace period is retried.
    """
    import optuna
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # heartbeats have long been experimental
            return _set_up(lambda: RDBStorage(url, engine_kwargs=engine, **heartbeat_options))
    except (BadAddress, NoSuchModuleError) as error:
        hint = f"; did you mean sqlite:///{url}?" if url and not separator else ""
        raise StorageError(
            f"{address(url)!r} is not the address of a storage, such as sqlite:///file.db, journal:///file.log or "
            f"postgresql://user@host/database{hint}"
        ) from error
    except ImportError as error:
        raise StorageError(
            f"{address(url)} needs a driver that is not installed: psycopg[binary] for PostgreSQL, mysqlclient for MySQL "
            f"({error.__cause__ or error})"
        ) from error
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError, OSError, RuntimeError, ValueError) as error:
        raise StorageError(f"the storage {address(url)} cannot be opened: {database_error(error) or error}") from error


def _log_stale(grace_period: float, study: OptunaStudy, trial: FrozenTrial) -> None:
    logger.warning("trial %d failed: no heartbeat for %g s", trial.number, grace_period)


def _check_file(url: str, scheme: str, location: str, create: bool) -> None:
    """Raise an error for a file that cannot hold a storage."""
    if not url.startswith(f"{scheme}:///") or not location or location == ":memory:":
        raise StorageError(f"{url!r} does not name a file; use {scheme}:///file.db")
    path = Path(location.partition("?")[0])
    if location.startswith("file:"):  # an address that SQLite itself parses
        return
    if not path.parent.is_dir():
        rooted = not path.is_absolute() and Path("/", path).parent.is_dir()
        hint = f"; an absolute path has four slashes: {scheme}:////{location}" if rooted else ""
        raise StorageError(f"the folder of {path} does not exist{hint}")
    if not create and not path.exists():
        raise StorageError(f"there are no studies: {path} does not exist; create one with `mergebo new`")
    if path.is_dir():
        raise StorageError(f"{path} is a folder, not a file")


def database_error(error: Exception) -> str | None:
    """The message of a database error, in one line and without the SQL; None for other errors."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    if isinstance(error, StorageInternalError) and isinstance(error.__cause__, SQLAlchemyError):
        error = error.__cause__
    if not isinstance(error, StorageInternalError | SQLAlchemyError):
        return None
    return str(error.orig if isinstance(error, DBAPIError) else error).partition("\n")[0]


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
