"""Studies: create one or open one, ask for trials, record their results, and read what was found."""

from __future__ import annotations

import logging
import math
import os
import random
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import optuna
from optuna.trial import FrozenTrial, TrialState

from mergebo._text import escape_control, excerpt, format_numbers
from mergebo._typing import Rows
from mergebo.errors import ExhaustedError, MergeboError, StorageError, TrialError, unknown_choice
from mergebo.spaces import Space
from mergebo.spaces.data import space_from_data, space_to_data
from mergebo.studies.addresses import address, command_line
from mergebo.studies.attributes import CANCELLED, CONFIG, DISCARDED, NOISE, REASON, WORKER
from mergebo.studies.codec import SpaceCodec
from mergebo.studies.storage import (
    GRACE_PERIOD,
    add_trial,
    close,
    fail_unless_running,
    open_storage,
    set_user_attr,
    study_names,
    take_from_queue,
)
from mergebo.studies.trials import PointsSeen, counted_trials, params_of, shown_trials, state_of

if TYPE_CHECKING:  # models are slow to import, and few commands need them
    from mergebo.explain import Explanation
    from mergebo.optimizer import Direction, Optimizer
    from mergebo.studies.proposals import Proposer

__all__ = ["Study", "StudyConfig", "create", "load"]

logger = logging.getLogger(__name__)


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
        if not isinstance(data, Mapping):
            raise StorageError(f"the definition of the study is damaged: {excerpt(repr(data))}")
        if data.get("format") != 1:
            raise StorageError(f"the study has format {data.get('format')!r}; this version reads format 1")
        try:
            space: Any = space_from_data(data["space"], None)
            return cls(space, data["method"], data["seed"], data["initial"], data["noisy"])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            problem = str(error) if isinstance(error, MergeboError) else repr(error)
            raise StorageError(f"the definition of the study is damaged: {problem}") from error

    def proposer(self, directions: Sequence[Direction]) -> Proposer:
        """What proposes the points of a study; raises the errors of an invalid method or space."""
        from mergebo.studies.proposals import Proposer

        options = {"method": self.method, "initial": self.initial, "noisy": self.noisy}
        return Proposer(SpaceCodec.of(self.space.variables), directions, seed=self.seed, options=options)


@dataclass(frozen=True)
class Study:
    """An open study. It keeps the fitted models between trials, so keep it open to ask for several."""

    optuna: optuna.Study
    config: StudyConfig
    url: str = ""
    """The address of the storage, without the password."""
    storage: Any = None
    """The storage as it was opened."""
    _asking: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)
    """Threads that ask at the same time would propose the same points."""

    def close(self) -> None:
        """Close the connections to the storage."""
        close(self.storage)

    @property
    def name(self) -> str:
        """The name of the study."""
        return str(self.optuna.study_name)

    def command_line(self, words: str) -> str:
        """A command for this study as it has to be typed: with `--study` and `--storage` where they are needed."""
        selected = os.environ.get("MERGEBO_STUDY") or (len(study_names(self.storage)) > 1)
        return command_line(words, self.url, self.name if selected else "")

    @property
    def space(self) -> Space:
        """The search space."""
        return self.config.space

    @cached_property
    def directions(self) -> list[Direction]:
        """The direction of each objective."""
        return ["minimize" if each.name == "MINIMIZE" else "maximize" for each in self.optuna.directions]

    @cached_property
    def codec(self) -> SpaceCodec:
        """The variables as parameters of Optuna."""
        return SpaceCodec.of(self.space.variables)

    @cached_property
    def proposer(self) -> Proposer:
        """What proposes the points."""
        return self.config.proposer(self.directions)

    # Trials

    def all_trials(self) -> list[FrozenTrial]:
        """All trials, indexed by number, including those that were retried and those that were discarded."""
        return self.optuna.get_trials(deepcopy=False)

    def trials(self) -> list[FrozenTrial]:
        """The trials that count and the cancelled ones, sorted by number.

        Interrupted trials have the state WAITING, since they will be retried.
        """
        return shown_trials(self.all_trials())

    def completed(self) -> list[FrozenTrial]:
        """The trials that have a value."""
        return [trial for trial in self.trials() if trial.state == TrialState.COMPLETE]

    def point(self, trial: FrozenTrial) -> dict[str, Any] | None:
        """The point of a trial as plain values by variable name; None if it has none yet."""
        row = self.codec.row_of(trial)
        return None if row is None else plain(self.space.decode(row))

    def data(self, trial: FrozenTrial) -> dict[str, Any]:
        """A trial as plain data."""
        attributes = {"noise": NOISE, "reason": REASON}
        seconds = self.seconds(trial)
        return {
            "trial": trial.number,
            "state": state_of(trial),
            "value": trial.values[0] if trial.values and len(self.directions) == 1 else trial.values,
            "point": self.point(trial),
            **{name: trial.user_attrs[key] for name, key in attributes.items() if key in trial.user_attrs},
            **({} if seconds is None else {"seconds": seconds}),
        }

    def seconds(self, trial: FrozenTrial) -> float | None:
        """How long the program of a trial has run, with its retries; None without a program, or before it has ended."""
        if trial.duration is None or WORKER not in trial.user_attrs or not trial.state.is_finished():
            return None
        return trial.duration.total_seconds()

    def is_noisy(self, trials: Iterable[FrozenTrial] | None = None) -> bool:
        """Whether values are noisy: the study was created as noisy, or a value was recorded with its noise."""
        if self.config.noisy:
            return True
        return any(NOISE in trial.user_attrs for trial in (self.all_trials() if trials is None else trials))

    def is_exhausted(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether every point has one of these trials and values are not noisy, so that another one would be useless."""
        counted = counted_trials(trials)
        if self.space.size > len(counted) or self.is_noisy(trials):
            return False
        rows = (self.codec.row_of(trial) for trial in counted)
        return len({row.tobytes() for row in rows if row is not None}) >= self.space.size

    # Asking

    def ask(self, count: int = 1) -> list[FrozenTrial]:
        """Start the next trials: queued ones first, then new ones. Fewer, or none, if every point has a trial already."""
        started: list[FrozenTrial] = []
        with self._asking:
            while len(started) < count and (trial := self._ask_one()) is not None:
                started.append(trial)
        return started

    def _ask_one(self) -> FrozenTrial | None:
        again = 0
        while True:
            trials = self.all_trials()
            for trial in trials:
                if trial.state == TrialState.WAITING and self._start_queued(trial, trials):
                    return self.all_trials()[trial.number]
            if self.is_exhausted(trials):
                return None
            try:
                row = self.proposer.row(trials, len(trials), again)
            except ExhaustedError:
                return None
            new = self.new_trial(TrialState.RUNNING, self.codec.params(row), row)
            trial = add_trial(self.optuna, new)
            if not PointsSeen(trials).is_proposed_since(new.params, self.all_trials()[: trial.number]):
                return trial
            logger.debug("trial %d: another process proposed the same point; proposing again", trial.number)
            self.discard(trial.number)
            again = random.getrandbits(32)

    def _start_queued(self, trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> bool:
        """Start a queued trial; False if another process has started it, or if it has no point of the space."""
        params = self.completed_params(trial, trials)
        if params is None or not take_from_queue(self.optuna, trial.number, params, self.codec.distributions):
            return False
        for name, value in self.codec.readable(self.codec.rows([params])[0]).items():
            set_user_attr(self.optuna, trial.number, name, value)
        return True

    def completed_params(self, trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> dict[str, Any] | None:
        """The parameters of a queued trial, together with proposals for those that it lacks.

        None if they are not those of a point of the space: then the trial fails.
        """
        given = {name: value for name, value in params_of(trial).items() if name in self.codec.distributions}
        others = [each for each in trials if each.number != trial.number]
        if given.keys() >= self.codec.distributions.keys():
            params = given
        else:
            try:
                params = self.proposer.propose(others, trial.number) | given
            except ExhaustedError:
                params = self.proposer.random_params(trial.number) | given
        if (problem := self.codec.why_invalid(params)) is None:
            return params
        set_user_attr(self.optuna, trial.number, REASON, problem)
        fail_unless_running(self.optuna, trial.number)
        return None

    def new_trial(
        self,
        state: TrialState,
        params: Mapping[str, Any],
        row: Rows | None = None,
        *,
        values: Sequence[float] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> FrozenTrial:
        """A trial with these parameters, not yet in the storage; its orders are stored with it as people read them.

        The row for the parameters may be given, so that it need not be decoded; the trial may lack parameters.
        """
        known = {name: each for name, each in self.codec.distributions.items() if name in params}
        if row is None and params.keys() >= self.codec.required:
            row = self.codec.rows([params])[0]
        readable = {} if row is None else self.codec.readable(row)
        return optuna.create_trial(
            state=state,
            values=values,
            params={name: params[name] for name in known},
            distributions=known,
            user_attrs={**readable, **(attributes or {})},
        )

    # Results

    def tell(self, number: int, values: Sequence[float], noise: Sequence[float] | None = None) -> FrozenTrial:
        """Record the values of a pending trial, one for each objective, and their standard deviations if they are known."""
        self.check_pending(number)
        for kind, given in (("value", values), ("noise", noise)):
            if given and len(given) != len(self.directions):
                objectives = "one objective" if len(self.directions) == 1 else f"{len(self.directions)} objectives"
                raise TrialError(
                    f"the study has {objectives} and needs one {kind} for each; got {len(given)}: {format_numbers(given)}"
                )
        if not all(map(math.isfinite, values)):
            raise TrialError(f"a value must be finite, got {format_numbers(values)}; for a trial without a value, use fail")
        if noise:
            if not all(math.isfinite(each) and each >= 0 for each in noise):
                raise TrialError(f"noise is a standard deviation, finite and not negative, got {format_numbers(noise)}")
            set_user_attr(self.optuna, number, NOISE, stored_noise(noise))
        return self.optuna.tell(number, list(values))

    def fail(self, number: int, reason: str = "") -> FrozenTrial:
        """Record that a pending trial failed; its point is not proposed again."""
        self.check_pending(number)
        # Stored even if empty: a failed trial of a worker without a reason counts as interrupted, and would be repeated.
        set_user_attr(self.optuna, number, REASON, escape_control(reason))
        return self.optuna.tell(number, state=TrialState.FAIL)

    def cancel(self, number: int, reason: str = "") -> FrozenTrial:
        """Record that a pending trial ended by accident, which says nothing about its point: it may be proposed again."""
        self.check_pending(number)
        set_user_attr(self.optuna, number, CANCELLED, True)
        set_user_attr(self.optuna, number, REASON, escape_control(reason))
        return self.optuna.tell(number, state=TrialState.FAIL)

    def discard(self, number: int) -> None:
        """End a trial that must not count."""
        set_user_attr(self.optuna, number, DISCARDED, True)
        self.optuna.tell(number, state=TrialState.FAIL)

    def check_pending(self, number: int) -> None:
        """Raise an error unless a trial is pending."""
        trials = {trial.number: trial for trial in self.trials()}
        if number not in trials:
            none_yet = f"there are none yet; `{self.command_line('ask')}` creates one"
            hint = f"the last one is {max(trials)}" if trials else none_yet
            raise TrialError(f"trial {number} does not exist; {hint}")
        trial = trials[number]
        match state_of(trial):
            case "pending":
                return
            case "queued":
                raise TrialError(f"trial {number} is queued; `{self.command_line('ask')}` starts it, as `optimize` does")
            case "cancelled":
                raise TrialError(f"trial {number} was cancelled; nothing was changed")
            case "failed":
                raise TrialError(f"trial {number} has already failed; nothing was changed")
        raise TrialError(
            f"trial {number} already has the value {format_numbers(trial.values)}; nothing was changed. To correct a value, "
            f"`{self.command_line('export --out results.csv')}`, edit the table, and import it into a new study"
        )

    # What was found

    def best_trials(self) -> list[FrozenTrial]:
        """The trial with the best value, or all trials on the Pareto front; none if there are no results."""
        if not self.completed():
            return []
        return [self.optuna.best_trial] if len(self.directions) == 1 else self.optuna.best_trials

    def best(self) -> list[dict[str, Any]]:
        """The best trial, or those on the Pareto front, as plain data.

        If values are noisy, these are the points with the best expected values, rather than the best measurements.
        """
        if not self.is_noisy():
            return [self.data(trial) for trial in self.best_trials()]
        with self.proposer.optimizer(self.all_trials()) as (optimizer, numbers):
            found: list[Any] = list(optimizer.pareto.trials) if len(self.directions) > 1 else [optimizer.best]
        return [
            {
                "trial": numbers[each.id],
                "expected": each.value,
                "std": each.std,
                "measurements": each.measurements,
                "point": plain(each.point),
            }
            for each in found
            if each is not None
        ]

    def best_so_far(self, trials: Iterable[FrozenTrial]) -> list[float]:
        """The best value of the first objective after each complete trial."""
        better = max if self.directions[0] == "maximize" else min
        out: list[float] = []
        for trial in trials:
            if trial.values is not None and trial.state == TrialState.COMPLETE:
                out.append(better(out[-1], trial.values[0]) if out else trial.values[0])
        return out

    def explain(self, objective: int = 0) -> Explanation:
        """What the model has learned about an objective."""
        with self.proposer.optimizer(self.all_trials()) as (optimizer, _):
            return optimizer.explain(objective)

    def read(self) -> tuple[Optimizer, list[int]]:
        """An optimizer with all results, and the number of each of its trials."""
        return self.proposer.read(self.all_trials())


def plain(point: Mapping[str, Any]) -> dict[str, Any]:
    """A point as plain lists and numbers."""

    def convert(value: Any) -> Any:
        return value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, list | tuple) else value

    return {name: convert(value) for name, value in point.items()}


def stored_noise(noise: Sequence[float]) -> Any:
    """Standard deviations as they are stored: a number, or one for each objective."""
    return list(noise) if len(noise) > 1 else noise[0]


# Creating and opening


def create(
    url: str,
    name: str,
    config: StudyConfig,
    directions: Sequence[Direction] = ("minimize",),
    *,
    heartbeat_interval: int | None = None,
    grace_period: int = GRACE_PERIOD,
    resume: bool = False,
    keep: Iterable[Literal["method", "seed", "initial", "noisy"]] = (),
) -> Study:
    """Create a study; with `resume`, a study with the same space and directions may exist already.

    Of an existing study, the fields of the configuration in `keep` remain, and the others are replaced.
    """
    if not name.strip() or escape_control(name) != name:
        raise StorageError(f"the name of a study must be printable and not blank, got {name!r}")
    codec = config.proposer(directions).codec  # raises errors before a study exists that could not be loaded
    storage = open_storage(url, create=True, heartbeat_interval=heartbeat_interval, grace_period=grace_period)
    try:
        created = optuna.create_study(storage=storage, study_name=name, directions=list(directions), load_if_exists=resume)
    except optuna.exceptions.DuplicatedStudyError as error:
        another = command_line("new NAME", url)
        message = f"the study {name!r} already exists in {address(url)}; choose another name: `{another} ...`"
        raise StorageError(message) from error
    if CONFIG not in created.user_attrs and not created.get_trials(deepcopy=False):  # new, created here or elsewhere
        for key, definition in codec.definitions.items():
            created.set_user_attr(key, definition)
        created.set_user_attr(CONFIG, config.to_data())
    study = _load(storage, url, name)
    _check_same(study, config, directions)
    config = replace(config, **{each: getattr(study.config, each) for each in keep})
    if study.config != config:  # such as another method for the same results
        study.optuna.set_user_attr(CONFIG, config.to_data())
        study = _load(storage, url, name)
    return study


def load(url: str, name: str = "") -> Study:
    """Load an existing study; without a name, the only one in the storage."""
    storage = open_storage(url)
    names = study_names(storage)
    if not names:
        raise StorageError(
            f"there are no studies in {address(url)}; create one with `{command_line('new --items a,b,c', url)}`"
        )
    if not name and len(names) > 1:
        raise StorageError(f"there are several studies in {address(url)}; select one with --study: {', '.join(names)}")
    return _load(storage, url, name or names[0])


def _load(storage: Any, url: str, name: str) -> Study:
    if name not in (names := study_names(storage)):
        raise unknown_choice(f"a study of {address(url)}", name, names)
    found = optuna.load_study(study_name=name, storage=storage)
    if CONFIG not in found.user_attrs:
        raise StorageError(
            f"the study {name!r} in {address(url)} was not created by mergebo; use PermutationSampler for it in Python"
        )
    return Study(found, StudyConfig.from_data(found.user_attrs[CONFIG]), address(url), storage)


def _check_same(study: Study, config: StudyConfig, directions: Sequence[Direction]) -> None:
    """Raise an error if an existing study has another space or other directions."""
    stored, requested = study.config.to_data()["space"], config.to_data()["space"]
    different = [name for name in {**stored, **requested} if stored.get(name) != requested.get(name)]
    if different:
        changes = "; ".join(f"{name} was {stored.get(name)} and is {requested.get(name)}" for name in different)
        raise StorageError(f"the study {study.name!r} has another space: {changes}; for a new study, use --study NAME")
    if study.directions != list(directions):
        raise StorageError(f"the study {study.name!r} has the directions {study.directions}, not {list(directions)}")
