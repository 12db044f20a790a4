"""Studies: what the command line keeps in Optuna's storage, so that several machines and its dashboard can read it."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from mergebo.cli.screen import visible
from mergebo.errors import StorageError, unknown_choice

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial

    from mergebo.integrations.optuna import PermutationSampler
    from mergebo.optimizers import Optimizer
    from mergebo.optimizers.optimizer import Direction
    from mergebo.spaces import Space

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
AGAIN = "mergebo:again"
"""The attribute of a trial that was put back: the numbers that it had before."""
WORKER = "mergebo:worker"
"""The attribute of a trial that a program evaluates: which process does."""
REASON = "mergebo:reason"
"""The attribute of a failed trial that says why."""
SURPLUS = "mergebo:surplus"
"""The attribute of a trial that was begun in the same moment as the last one of the budget, and dropped."""
MANY = 1000
"""Points that are left, of which it need not be known how many."""
BEAT, SILENCE, DEATHS = 5, 30, 3
"""Seconds between signs of life of a worker, and without one until it counts as dead; how many may die of one trial."""


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
        from mergebo.optimizers.space_data import space_to_data

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
        from mergebo.optimizers.space_data import space_from_data

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
        found: Any = self.optuna.sampler
        return found  # type: ignore[no-any-return]

    @property
    def noisy(self) -> bool:
        """Whether another measurement would give another value: somebody said so, or told a value with its noise."""
        from mergebo.integrations.optuna import NOISE

        return self.setup.noisy or any(NOISE in trial.user_attrs for trial in self.optuna.get_trials(deepcopy=False))

    def trials(self) -> list[FrozenTrial]:
        """All trials but those that were put back or dropped."""
        every = self.optuna.get_trials(deepcopy=False)
        before = {number for trial in every for number in trial.user_attrs.get(AGAIN, ())}
        return [trial for trial in every if trial.number not in before and SURPLUS not in trial.user_attrs]

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

    def untried(self, trials: Iterable[FrozenTrial]) -> float:
        """How many points there are that none of these trials has; where values are noisy, there is always another.

        Of many it may be fewer than there are.
        """
        given = list(trials)
        least = math.inf if self.noisy else self.space.size - len(given)
        if least > MANY:
            return least
        points = [self.point(trial) for trial in given]
        return self.space.size - len({str(point) for point in points if point is not None})

    def discard(self, number: int) -> None:
        """End a trial as if it had never been begun."""
        from optuna.trial import TrialState

        self.note(number, SURPLUS, True)
        self.optuna.tell(number, state=TrialState.FAIL)

    def read(self) -> tuple[Optimizer, list[int]]:
        """An optimiser with all results, and the numbers of its trials."""
        return self.sampler.read(self.optuna)

    def put_back(self, trial: FrozenTrial, most: int | None = None) -> bool:
        """Queue the point of a trial that was cut short, so that somebody tries it again; so often at most."""
        before = [*trial.user_attrs.get(AGAIN, ()), trial.number]
        if self.point(trial) is None or (most is not None and len(before) > most):
            return False
        self.optuna.enqueue_trial(trial.params, user_attrs={AGAIN: before})
        return True

    @property
    def beats(self) -> bool:
        """Whether workers of this study give signs of life."""
        return hasattr(self.storage, "get_heartbeat_interval") and self.storage.get_heartbeat_interval() is not None

    def drop_stale(self) -> None:
        """Queue again the trials of workers that gave no sign of life for a while."""
        import optuna

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            optuna.storages.fail_stale_trials(self.optuna)

    def drop(self, trial: FrozenTrial) -> None:
        """End a trial whose worker is known to be dead, and queue its point again."""
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        try:
            self.optuna.tell(trial.number, state=TrialState.FAIL)
        except (ValueError, UpdateFinishedTrialError):  # somebody else was faster
            return
        self.put_back(trial, DEATHS)


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
    if name in _names(storage):
        if not resume:
            raise StorageError(f"there is a study {name!r} in {address(url)} already; call this one otherwise: new NAME")
        study = _load(storage, url, name)
        _check_same(study, setup, directions)
        setup = replace(setup, **{each: getattr(study.setup, each) for each in keep})
        if study.setup != setup:  # another method goes on with the same results
            study.optuna.set_user_attr(SETUP, setup.to_data())
    else:
        made = optuna.create_study(storage=storage, study_name=name, directions=list(directions))
        made.set_user_attr(SETUP, setup.to_data())
    return _load(storage, url, name)


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
    found.sampler = _sampler(setup)
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

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    scheme, separator, rest = url.partition("://")
    if scheme in ("sqlite", "journal"):
        _check_file(url, scheme, rest.removeprefix("/"), create)
    try:
        if scheme == "journal":
            return JournalStorage(JournalFileBackend(rest.removeprefix("/")))
        signs: dict[str, Any] = {
            "heartbeat_interval": BEAT,
            "grace_period": SILENCE,
            "heartbeat_stale_trial_callback": _stale,
        }
        patient = {"connect_args": {"timeout": 60}} if scheme == "sqlite" else None  # other workers write, too
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # heartbeats are, and have long been
            return RDBStorage(url, engine_kwargs=patient, **(signs if beats else {}))
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


def _stale(study: optuna.Study, trial: FrozenTrial) -> None:
    """What becomes of a trial whose worker died: it is queued again, unless several have died of it."""
    Study(study, Setup.from_data(study.user_attrs[SETUP]), None, "").put_back(trial, DEATHS)
