"""Studies: what the command line keeps in Optuna's storage, so that several machines and its dashboard can read it."""

from __future__ import annotations

import copy
import logging
import random
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from mergebo.cli.screen import visible
from mergebo.errors import StorageError, unknown_choice

if TYPE_CHECKING:
    import optuna
    from optuna import Study as OptunaStudy
    from optuna.trial import FrozenTrial

    from mergebo.integrations.optuna import PermutationSampler
    from mergebo.optimizers import Optimizer
    from mergebo.optimizers.optimizer import Direction
    from mergebo.spaces import Space

logger = logging.getLogger(__name__)

Storage = Annotated[
    str,
    typer.Option(
        envvar="MERGEBO_STORAGE",
        help="Where studies are: `sqlite:///file.db`, `postgresql://user@host/db`, `mysql://...` or `journal:///file.log`.",
    ),
]
Name = Annotated[str, typer.Option("--study", envvar="MERGEBO_STUDY", help="Which study, if there are several.")]

Directions = Annotated[
    list[str] | None,
    typer.Option(
        "--direction", help="`minimize` (the default) or `maximize`; once for each objective, if there are several."
    ),
]
Method = Annotated[str, typer.Option(help="How points are chosen; `mergebo methods` lists the ways.")]
Initial = Annotated[int, typer.Option(min=1, help="How many random points come first.")]
Noisy = Annotated[bool, typer.Option("--noisy", help="Another measurement of the same point would give another value.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed and the same results give the same points.")]

HERE = "sqlite:///mergebo.db"
"""The storage if none is said: a file in the current folder."""
SETUP = "mergebo"
"""The attribute of a study that says what it is about."""
WORKER = "mergebo:worker"
"""The attribute of a trial that a program evaluates: which process does."""
REASON = "mergebo:reason"
"""The attribute of a failed trial that says why. A worker's trial that failed without one was cut short."""
STOPPED = "mergebo:stopped"
"""The attribute of a trial that was cut short because somebody stopped its worker."""
BEAT, SILENCE = 5, 30
"""Seconds between signs of life of a worker, and without one until it counts as dead."""
ATTEMPTS = 10
"""How often tables are set up, should others do the same at the same time."""


@dataclass(frozen=True)
class Setup:
    """What a study is about, as it is kept in it."""

    space: Space
    method: str = "auto"
    seed: int = 0
    initial: int = 20
    noisy: bool = False

    def to_data(self) -> dict[str, Any]:
        """As plain data, for the study's attribute."""
        from mergebo.space_data import space_to_data

        return {
            "format": 1,
            "space": space_to_data(self.space),
            "method": self.method,
            "seed": self.seed,
            "initial": self.initial,
            "noisy": self.noisy,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Setup:
        """What `to_data` wrote."""
        from mergebo.space_data import space_from_data

        if data.get("format") != 1:
            raise StorageError(f"the study is of format {data.get('format')!r}; this version reads format 1")
        space: Any = space_from_data(data["space"], None)
        return cls(space, data["method"], data["seed"], data["initial"], data["noisy"])


@dataclass(frozen=True)
class Study:
    """A study that is open."""

    optuna: optuna.Study
    setup: Setup
    storage: Any
    url: str
    """Where it is, to be shown."""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.optuna.study_name)

    @property
    def space(self) -> Space:
        """The space of its points."""
        return self.setup.space

    @property
    def directions(self) -> list[str]:
        """Of each objective."""
        return [str(each.name).lower() for each in self.optuna.directions]

    @property
    def sampler(self) -> PermutationSampler:
        """What chooses its points."""
        found: Any = self.asking.sampler
        return found  # type: ignore[no-any-return]

    @cached_property
    def asking(self) -> OptunaStudy:
        """The same study with what chooses its points, which takes a while to load and few commands need."""
        self.optuna.sampler = _sampler(self.setup)
        return self.optuna

    @property
    def noisy(self) -> bool:
        """Whether another measurement would give another value: somebody said so, or told a value with its noise."""
        from mergebo.integrations.optuna import NOISE

        return self.setup.noisy or any(NOISE in trial.user_attrs for trial in self.every_trial())

    def every_trial(self) -> list[FrozenTrial]:
        """All trials, each in the place of its number: also those that others repeat, and those that do not count."""
        return self.optuna.get_trials(deepcopy=False)

    def trials(self) -> list[FrozenTrial]:
        """All trials that count, in the order of their numbers; those that were cut short are queued, as it were."""
        from optuna.trial import TrialState

        found = []
        for trial in standing(self.every_trial()):
            if was_cut_short(trial):
                trial = copy.copy(trial)
                trial.state = TrialState.WAITING
            found.append(trial)
        return sorted(found, key=lambda trial: trial.number)

    def point(self, trial: FrozenTrial) -> dict[str, Any] | None:
        """The point of a trial, by variable names, in plain values; None if it has none yet."""
        from mergebo.integrations.optuna import read_point

        point = read_point(self.space, trial)
        return None if point is None else plain(point)

    def note(self, number: int, name: str, value: Any) -> None:
        """Set an attribute of a trial."""
        trials = self.storage.get_trial_id_from_study_id_trial_number
        self.storage.set_trial_user_attr(trials(self.storage.get_study_id_from_name(self.name), number), name, value)

    def done(self) -> list[FrozenTrial]:
        """The trials that have a value."""
        return [trial for trial in self.trials() if trial.state.name == "COMPLETE"]

    def exhausted(self) -> bool:
        """Whether every point has a trial, and values are not noisy, so that another trial would be for nothing."""
        trials = self.trials()
        if self.noisy or self.space.size > len(trials):
            return False
        points = [self.point(trial) for trial in trials]
        return len({str(point) for point in points if point is not None}) >= self.space.size

    def discard(self, number: int) -> None:
        """End a trial as if it had never been begun."""
        from optuna.trial import TrialState

        from mergebo.integrations.optuna import SURPLUS

        self.note(number, SURPLUS, True)
        self.optuna.tell(number, state=TrialState.FAIL)

    def read(self) -> tuple[Optimizer, list[int]]:
        """An optimiser with all results, and the numbers of its trials."""
        return self.sampler.read(self.optuna)

    @property
    def beats(self) -> bool:
        """Whether workers of this study give signs of life."""
        return hasattr(self.storage, "get_heartbeat_interval") and self.storage.get_heartbeat_interval() is not None


def was_cut_short(trial: FrozenTrial) -> bool:
    """Whether a trial ended because its worker did, and is to be repeated."""
    return trial.state.name == "FAIL" and WORKER in trial.user_attrs and REASON not in trial.user_attrs


def standing(every: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """Trials that count, in the order in which they were begun first: of one that was repeated, the last repetition.

    Two workers may repeat a trial in the same moment: the first one counts, unless only the other has a value.
    """
    from mergebo.integrations.optuna import AGAIN, SURPLUS

    counted = [trial for trial in every if SURPLUS not in trial.user_attrs]
    repetition: dict[int, FrozenTrial] = {}
    for trial in counted:
        if before := trial.user_attrs.get(AGAIN):
            other = repetition.get(before[-1])
            if other is None or (trial.state.name == "COMPLETE" != other.state.name):
                repetition[before[-1]] = trial

    def last(trial: FrozenTrial) -> FrozenTrial:
        while trial.number in repetition:
            trial = repetition[trial.number]
        return trial

    return [last(trial) for trial in counted if AGAIN not in trial.user_attrs]


def plain(point: Mapping[str, Any]) -> dict[str, Any]:
    """A point in plain lists and numbers."""

    def of(value: Any) -> Any:
        return value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, list | tuple) else value

    return {name: of(value) for name, value in point.items()}


# --------------------------------------------------------------------------------------------------------------- storage


def begin(
    url: str,
    name: str,
    setup: Setup,
    directions: Sequence[Direction],
    *,
    beats: bool = False,
    resume: bool = False,
    keep: Iterable[str] = (),
) -> Study:
    """A new study; with `resume` one that may exist already, if it is about the same.

    `keep` are those parts of the setup that an existing study has its own of, whatever is said here.
    """
    import optuna

    if not name.strip() or visible(name) != name:
        raise StorageError(f"a study has a name that can be read, got {name!r}")
    _sampler(setup)  # an error before there is a study that nobody can load
    storage = open_storage(url, create=True, beats=beats)
    try:
        made = optuna.create_study(storage=storage, study_name=name, directions=list(directions), load_if_exists=resume)
    except optuna.exceptions.DuplicatedStudyError as error:
        said = f"there is a study {name!r} in {address(url)} already; call this one otherwise: new NAME"
        raise StorageError(said) from error
    if SETUP not in made.user_attrs and not made.get_trials(deepcopy=False):  # it was made just now, here or elsewhere
        made.set_user_attr(SETUP, setup.to_data())
    study = _load(storage, url, name)
    _check_same(study, setup, directions)
    setup = replace(setup, **{each: getattr(study.setup, each) for each in keep})
    if study.setup != setup:  # another method goes on with the same results
        study.optuna.set_user_attr(SETUP, setup.to_data())
        study = _load(storage, url, name)
    return study


def _sampler(setup: Setup) -> PermutationSampler:
    from mergebo.integrations.optuna import PermutationSampler

    return PermutationSampler(
        setup.method, space=setup.space, seed=setup.seed, n_startup_trials=setup.initial, noisy=setup.noisy
    )


def check_directions(given: Sequence[str] | None) -> list[Direction]:
    """Directions, one at least."""
    from mergebo.optimizers.optimizer import Direction

    known: tuple[Direction, ...] = get_args(Direction)
    for each in given or ():
        if each not in known:
            raise unknown_choice("--direction", each, known)
    return [known[known.index(each)] for each in given or ("minimize",)]


def load(url: str, name: str = "") -> Study:
    """A study that exists; the only one, if no name is given."""
    storage = open_storage(url)
    names = _names(storage)
    if not names:
        raise StorageError(f"there are no studies in {address(url)}; `mergebo new` begins one")
    if not name and len(names) > 1:
        raise StorageError(
            f"there are several studies in {address(url)}; say which with --study: {', '.join(sorted(names))}"
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
    found = optuna.load_study(study_name=name, storage=storage)
    if SETUP not in found.user_attrs:
        raise StorageError(
            f"the study {name!r} in {address(url)} is not one of mergebo; in Python, PermutationSampler goes on with it"
        )
    setup = Setup.from_data(found.user_attrs[SETUP])
    return Study(found, setup, storage, address(url))


def _check_same(study: Study, setup: Setup, directions: Sequence[Direction]) -> None:
    """An error if a study is about something else."""
    here, wanted = study.setup.to_data()["space"], setup.to_data()["space"]
    other = [name for name in {**here, **wanted} if here.get(name) != wanted.get(name)]
    if other:
        said = "; ".join(f"{name} was {here.get(name)} and is {wanted.get(name)}" for name in other)
        raise StorageError(f"the study {study.name!r} is about something else: {said}; for a new one say --study NAME")
    if study.directions != list(directions):
        raise StorageError(f"the study {study.name!r} has the directions {study.directions}, not {list(directions)}")


def address(url: str) -> str:
    """A storage's address as it is shown: without the password."""
    return re.sub(r"(?<=://)([^/@:]*):.*@", r"\1:***@", url)


def open_storage(url: str, *, create: bool = False, beats: bool = False) -> Any:
    """Optuna's storage at an address; errors say what is wrong with the address or the place.

    With `beats`, workers give signs of life, and a trial whose worker gives none any more is queued again.
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
        signs: dict[str, Any] = {}
        if beats:
            signs = {"heartbeat_interval": BEAT, "grace_period": SILENCE, "heartbeat_stale_trial_callback": _log_stale}
        # Others write to a file, too; and connections to a server that was started again must not be used any more.
        patient: dict[str, Any] = {"connect_args": {"timeout": 60}} if scheme == "sqlite" else {"pool_pre_ping": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # heartbeats are, and have long been
            return _set_up(lambda: RDBStorage(url, engine_kwargs=patient, **signs))
    except (BadAddress, NoSuchModuleError) as error:
        hint = f"; did you mean sqlite:///{url}?" if url and not separator else ""
        raise StorageError(
            f"{address(url)!r} is not the address of a storage, which is like sqlite:///file.db, journal:///file.log or "
            f"postgresql://user@host/database{hint}"
        ) from error
    except ImportError as error:
        raise StorageError(
            f"{address(url)} needs a driver that is not installed; for PostgreSQL it is psycopg[binary], for MySQL "
            f"mysqlclient ({error.__cause__ or error})"
        ) from error
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError, OSError, RuntimeError, ValueError) as error:
        raise StorageError(f"the storage {address(url)} cannot be opened: {database_said(error) or error}") from error


def _log_stale(study: OptunaStudy, trial: FrozenTrial) -> None:
    logger.warning("trial %d failed: no heartbeat for %g s", trial.number, SILENCE)


def _check_file(url: str, scheme: str, place: str, create: bool) -> None:
    """An error for a storage in a file that cannot be."""
    if not url.startswith(f"{scheme}:///") or not place or place == ":memory:":
        raise StorageError(f"{url!r} does not name a file that would keep a study; say {scheme}:///file.db")
    path = Path(place.partition("?")[0])
    if place.startswith("file:"):  # for SQLite itself to read
        return
    if not path.parent.is_dir():
        rooted = not path.is_absolute() and Path("/", path).parent.is_dir()
        hint = f"; a path from the root has four slashes: {scheme}:////{place}" if rooted else ""
        raise StorageError(f"the folder of {path} does not exist{hint}")
    if not create and not path.exists():
        raise StorageError(f"there are no studies here: {path} does not exist; `mergebo new` begins one")
    if path.is_dir():
        raise StorageError(f"{path} is a folder, not a file")


def database_said(error: Exception) -> str | None:
    """What a database complained about, in a line and without the SQL; None if the error is of another kind."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    if isinstance(error, StorageInternalError) and isinstance(error.__cause__, SQLAlchemyError):
        error = error.__cause__
    if not isinstance(error, StorageInternalError | SQLAlchemyError):
        return None
    return str(error.orig if isinstance(error, DBAPIError) else error).partition("\n")[0]


def _set_up(make: Callable[[], Any]) -> Any:
    """A storage with its tables; where another process makes them in the same moment, one of both fails at first."""
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
