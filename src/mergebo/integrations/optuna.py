"""Optuna: permutations as parameters of any study, and a sampler for them.

Optuna has numerical and categorical parameters. An order of n items is represented by n integers, its Lehmer code, as
Optuna's FAQ recommends: digit k is at most n - 1 - k, and every code is an order, so any sampler can be used. Other samplers
treat the digits as unrelated integers; `PermutationSampler` decodes them and searches over orders.
"""

from __future__ import annotations

import logging
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.search_space import intersection_search_space
from optuna.trial import FrozenTrial, TrialState

from mergebo._typing import Rows
from mergebo.beliefs import Belief
from mergebo.errors import ArgumentError, ConstraintError, ExhaustedError
from mergebo.permutations import lehmer_decode, lehmer_encode
from mergebo.spaces import Binary, Choice, Integer, Permutation, Real, SearchSpace, Space, Variable

if TYPE_CHECKING:  # models are slow to import, and not needed to read a study
    from mergebo.methods import Method
    from mergebo.optimizer import Direction, Optimizer

__all__ = [
    "PermutationSampler",
    "distributions",
    "params",
    "params_of",
    "permutation_params",
    "read_point",
    "suggest",
    "suggest_permutation",
]

logger = logging.getLogger(__name__)

ORDER_DEFINITION = "mergebo:"
"""Prefix of the study attribute that holds the items and constraints of an order; its name follows."""
PROPOSED = "mergebo:claim"
"""The trial attribute that holds the proposed parameters, before the objective asks for them."""
NOISE = "mergebo:noise"
"""The trial attribute that holds the standard deviation of the value, if known."""
RETRY_OF = "mergebo:again"
"""The trial attribute of a retry of interrupted trials: their numbers, the last one last."""
DISCARDED = "mergebo:surplus"
"""The trial attribute that marks a trial as discarded: another worker was faster with its point, or the budget was spent."""
MAX_CLASHES = 20
"""Maximum number of proposals for a trial while other workers propose the same points."""


@contextmanager
def log_level(level: int) -> Iterator[None]:
    """Set Optuna's log level within a `with` block, and restore it afterwards."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(level)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


# --------------------------------------------------------------------------------------------- variables as parameters


@dataclass(frozen=True)
class ParameterCodec:
    """A variable and the parameters of a study that represent it, in order."""

    variable: Variable
    parameters: Mapping[str, BaseDistribution]

    def values(self, given: Mapping[str, Any]) -> Rows:
        """The variable's part of a row; an infeasible order is repaired if possible."""
        numbers = [given[name] for name, each in self.parameters.items() if name in given or not each.single()]
        match self.variable:
            case Permutation() as order:
                digits = numbers + [0] * (order.n - len(numbers))
                repaired: Rows = order.repair(order.canonical(lehmer_decode(digits)[None]))[0]
                return repaired
            case Choice():
                return np.array([self._distribution.to_internal_repr(numbers[0])])
            case Integer() if self._grid is not None:
                low, step = self._grid
                return np.rint((np.array(numbers) - low) / step)
        return np.array(numbers)

    def params(self, values: Rows) -> dict[str, Any]:
        """The parameters for the variable's part of a row."""
        match self.variable:
            case Permutation():
                numbers = lehmer_encode(values.astype(np.int64)).tolist()
            case Choice():
                numbers = [self._distribution.to_external_repr(float(values[0]))]
            case Integer() if self._grid is not None:
                low, step = self._grid
                numbers = [min(low + step * int(values[0]), self._distribution.high)]  # type: ignore[attr-defined]
            case Real():
                numbers = values.astype(np.float64).tolist()
            case _:
                numbers = values.astype(np.int64).tolist()
        return dict(zip(self.parameters, numbers, strict=False))

    @property
    def _distribution(self) -> BaseDistribution:
        return next(iter(self.parameters.values()))

    @property
    def _grid(self) -> tuple[float, float] | None:
        """The lowest value and the step of a discretised number; None for other parameters."""
        match self._distribution:
            case IntDistribution(low=low, step=step) if step > 1:
                return low, step
            case FloatDistribution(low=low, step=float(step)):
                return low, step
        return None


def make_codec(name: str, variable: Variable) -> ParameterCodec:
    """A variable of mergebo with its parameters."""
    distributions: dict[str, BaseDistribution]
    match variable:
        case Permutation(n=n, length=length):
            distributions = {f"{name}{k}": IntDistribution(0, n - 1 - k) for k in range(length)}
        case Binary(count):
            distributions = {f"{name}{k}": IntDistribution(0, 1) for k in range(count)}
        case Integer(low, high, log):
            distributions = {name: IntDistribution(int(low), int(high), log=log)}
        case Real(low, high, log):
            distributions = {name: FloatDistribution(low, high, log=log)}
        case Choice(options):
            storable = all(each is None or isinstance(each, bool | int | float | str) for each in options)
            choices = options if storable else [f"{number}: {each}" for number, each in enumerate(options)]
            distributions = {name: CategoricalDistribution(choices)}
        case _:
            raise ArgumentError(f"{variable} cannot be represented by parameters of Optuna")
    return ParameterCodec(variable, distributions)


def _infer_codec(name: str, distribution: BaseDistribution) -> ParameterCodec:
    """A parameter of a study with the corresponding variable."""
    variable: Variable
    match distribution:
        case CategoricalDistribution(choices=choices):
            try:
                variable = Choice(choices)
            except ArgumentError:  # options that are equal, such as 1 and True
                variable = Choice(range(len(choices)))
        case FloatDistribution(low=low, high=high, step=None, log=log):
            variable = Real(low, high, log)
        case IntDistribution(low=low, high=high, step=1, log=log):
            variable = Integer(low, high, log)
        case IntDistribution(low=low, high=high, step=step) | FloatDistribution(low=low, high=high, step=step):
            assert step is not None
            variable = Integer(0, round((high - low) / step))
        case _:
            raise ArgumentError(f"the distribution of the parameter {name} is not supported: {distribution}")
    return ParameterCodec(variable, {name: distribution})


def _lehmer_codes(search_space: Mapping[str, BaseDistribution]) -> Iterator[tuple[str, ParameterCodec]]:
    """Find Lehmer codes: parameters numbered from 0 or 1 on, each with one value less than the one before."""
    series: dict[tuple[str, str], dict[int, str]] = {}
    for name in search_space:
        if numbered := re.fullmatch(r"(.*?)(\d+)(\D*)", name):
            prefix, number, suffix = numbered.groups()
            series.setdefault((prefix, suffix), {})[int(number)] = name
    for (prefix, suffix), names in series.items():
        digits = {names[k]: search_space[names[k]] for k in sorted(names)}
        n = len(digits) + (not any(each.single() for each in digits.values()))  # the last digit, 0, may be left out
        expected = [IntDistribution(0, high) for high in range(n - 1, n - 1 - len(digits), -1)]
        if (
            n > 2
            and list(digits.values()) == expected
            and sorted(names)
            in (
                [*range(len(names))],
                [*range(1, len(names) + 1)],
            )
        ):
            yield (prefix + suffix).strip("_.-[]() ") or "order", ParameterCodec(Permutation(n), digits)


@dataclass(frozen=True)
class SpaceCodec:
    """The variables of a space, each with its parameters."""

    parts: Mapping[str, ParameterCodec]

    def __post_init__(self) -> None:
        for name, count in Counter(name for part in self.parts.values() for name in part.parameters).items():
            if count > 1:
                raise ArgumentError(f"two variables would have the parameter {name!r}; rename one of them")

    @classmethod
    def of(cls, variables: Mapping[str, Variable]) -> SpaceCodec:
        """The codec of variables of mergebo."""
        return cls({name: make_codec(name, variable) for name, variable in variables.items()})

    @classmethod
    def infer(cls, search_space: Mapping[str, BaseDistribution], known: SpaceCodec) -> SpaceCodec:
        """The codec of a study's parameters: known variables first, then Lehmer codes, then each remaining parameter."""
        parts: dict[str, ParameterCodec] = {}
        remaining = dict(search_space)

        def take(name: str, part: ParameterCodec) -> None:
            required = {key: each for key, each in part.parameters.items() if not each.single()}
            if required and all(remaining.get(key) == each for key, each in required.items()):
                while name in parts:
                    name += "'"
                parts[name] = part
                for key in part.parameters:
                    remaining.pop(key, None)

        for name, part in known.parts.items():
            take(name, part)
        for name, part in _lehmer_codes(remaining):
            take(name, part)
        for name, distribution in list(remaining.items()):
            if not distribution.single():
                take(name, _infer_codec(name, distribution))
        return cls(parts)

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """All parameters."""
        return {name: each for part in self.parts.values() for name, each in part.parameters.items()}

    def space(self) -> Space:
        """The space of the variables."""
        return Space(**{name: part.variable for name, part in self.parts.items()})

    def row(self, given: Mapping[str, Any]) -> Rows:
        """The row for given parameters."""
        return np.concatenate([part.values(given) for part in self.parts.values()])

    def params(self, space: SearchSpace, row: Rows) -> dict[str, Any]:
        """The parameters for a row."""
        parts = ((part, space.part(name, row)) for name, part in self.parts.items())
        return {key: value for part, values in parts for key, value in part.params(values).items()}


# ------------------------------------------------------------------------------------------------- inside an objective


def suggest_permutation(
    trial: optuna.trial.BaseTrial, name: str, items: int | Sequence[Any] | Permutation, **constraints: Any
) -> list[Any]:
    """Suggest an order of items in an objective: `suggest_permutation(trial, "order", ["acid", "base", "salt"])`.

    `items` are names or the number of items; the constraints are those of `Permutation`, such as
    `before=[("acid", "base")]`. The order is feasible with any sampler. It is also stored as a user attribute of the trial.
    """
    point = suggest(trial, Space(**{name: _order(items, constraints)}))
    return list(point[name])


def suggest(trial: optuna.trial.BaseTrial, space: SearchSpace) -> Any:
    """Suggest a point of a space in an objective: orders, choices and numbers together."""
    codec = SpaceCodec.of(space.variables)
    given: dict[str, Any] = {}
    for name, distribution in codec.distributions.items():
        match distribution:
            case IntDistribution(low=low, high=high, log=log):
                given[name] = trial.suggest_int(name, low, high, log=log)
            case FloatDistribution(low=low, high=high, log=log):
                given[name] = trial.suggest_float(name, low, high, log=log)
            case CategoricalDistribution(choices=choices):
                given[name] = trial.suggest_categorical(name, choices)
    row = codec.row(given).astype(space.dtype)
    for name, variable in space.variables.items():
        if isinstance(variable, Permutation):
            _store_definition(trial, name, variable)
            trial.set_user_attr(name, [_plain(item) for item in variable.decode(space.part(name, row).astype(np.int64))])
    if not len(space.feasible_rows(row[None])):
        raise optuna.TrialPruned("no feasible order was found near the one that the sampler proposed")
    return space.decode(row)


def permutation_params(
    name: str, order: Sequence[Any], items: int | Sequence[Any] | Permutation, **constraints: Any
) -> dict[str, Any]:
    """The parameters for an order: `study.enqueue_trial(permutation_params("order", ["base", "acid"], items))`."""
    return params(Space(**{name: _order(items, constraints)}), {name: order})


def params(space: SearchSpace, point: Any) -> dict[str, Any]:
    """The parameters for a point of a space, as `suggest` reads them."""
    return SpaceCodec.of(space.variables).params(space, space.encode(point))


def distributions(space: SearchSpace) -> dict[str, BaseDistribution]:
    """The distributions of the parameters of a space, for `optuna.create_trial`."""
    return SpaceCodec.of(space.variables).distributions


def read_point(space: SearchSpace, trial: FrozenTrial) -> Any:
    """The point that `suggest` gave for a trial; None if the trial has none."""
    codec, given = SpaceCodec.of(space.variables), params_of(trial)
    if any(name not in given for name, each in codec.distributions.items() if not each.single()):
        return None
    return space.decode(codec.row(given).astype(space.dtype))


def _order(items: int | Sequence[Any] | Permutation, constraints: Mapping[str, Any]) -> Permutation:
    if isinstance(items, Permutation):
        if constraints:
            raise ArgumentError(f"{items} defines its own constraints; it cannot be combined with {', '.join(constraints)}")
        return items
    return Permutation(items, **constraints) if isinstance(items, int) else Permutation(items=items, **constraints)


def _plain(item: Any) -> Any:
    """An item as a value that a study can store."""
    item = item.item() if isinstance(item, np.generic) else item
    return item if isinstance(item, str | int | float) else str(item)


def _store_definition(trial: optuna.trial.BaseTrial, name: str, order: Permutation) -> None:
    """Store the items and constraints of an order in the study, since its digits do not contain them."""
    study = getattr(trial, "study", None)  # a fixed or frozen trial has none
    if study is None or (order.items is None and not order.options):
        return
    data = order.arguments_to_data() | {"items": None if order.items is None else [_plain(item) for item in order.items]}
    stored = study.user_attrs.get(ORDER_DEFINITION + name)
    if stored is not None and stored["items"] != data["items"]:
        raise ArgumentError(
            f"in the study {study.study_name!r} the items of {name} are {stored['items']}, not {data['items']}; "
            "use another study for other items"
        )
    if stored != data:
        study.set_user_attr(ORDER_DEFINITION + name, data)


# ------------------------------------------------------------------------------------------------------------- sampler


class PermutationSampler(optuna.samplers.BaseSampler):
    """Samples orders, alone or together with ordinary parameters, with a method of mergebo.

    Orders come from `suggest_permutation`, or are Lehmer codes as in Optuna's FAQ: integers x0, x1, ... each with one value
    less than the one before. All other parameters are numbers and choices. Parameters that only some trials have are
    sampled at random, and so are all parameters of the first trial, unless `space` declares the variables in advance.
    Orders with a predicate need `space`, since a study cannot store a predicate.

    Running trials are taken into account, so workers may share a study. The same seed and results give the same proposals.
    A trial with a constraint above 0 (`trial.set_constraint`) counts as worse than all feasible trials.
    """

    def __init__(
        self,
        method: str | Method = "auto",
        *,
        space: SearchSpace | None = None,
        seed: int | None = None,
        n_startup_trials: int = 20,
        noisy: bool = False,
        beliefs: Iterable[Belief] = (),
        **settings: Any,
    ) -> None:
        from mergebo.methods.registry import make_method

        self.space = space
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        self.options = {"method": method, "initial": n_startup_trials, "noisy": noisy, "beliefs": tuple(beliefs), **settings}
        make_method(method, **settings)  # raises its errors now, not in the first trial
        self._known = SpaceCodec.of({} if space is None else space.variables)
        self._others = optuna.samplers.RandomSampler(seed)
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def reseed_rng(self) -> None:
        """Reseed the random parameters; proposals are seeded by trial number and need no new seed."""
        self._others.reseed_rng()

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that are sampled together: those that all trials have, and those of the given space."""
        joint = intersection_search_space(study.get_trials(deepcopy=False)) | self._known.distributions
        return {name: each for name, each in joint.items() if not each.single()}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose the next point; another one if another worker has just proposed the same."""
        codec = self._codec(study, search_space)
        if not codec.parts:
            return {}
        if stored := trial.system_attrs.get(PROPOSED):  # the storage failed after that, and Optuna has called again
            return dict(stored)
        with self._lock:
            for again in range(MAX_CLASHES):
                others = [each for each in study.get_trials(deepcopy=False) if each.number != trial.number]
                before = {each.number: params_of(each) for each in others}
                seed = self._seed(trial.number, again)
                try:
                    proposed = self._propose(study, codec, others, seed)
                except ExhaustedError:  # Optuna continues until it is stopped
                    return codec.params(codec.space(), codec.space().sample_rows(seed=seed))
                self._store_proposal(study, trial, proposed)
                # If values are noisy, points of earlier trials may be repeated; points proposed in the meantime may not.
                now = [each for each in study.get_trials(deepcopy=False) if each.number != trial.number]
                if not any(params_of(each) == proposed != before.get(each.number) for each in now):
                    break
                logger.debug("trial %d: another worker proposed the same point; proposing again", trial.number)
                if again < MAX_CLASHES - 1:  # the other worker may withdraw, too, so the point must be free again for both
                    self._store_proposal(study, trial, {})
                    time.sleep(random.uniform(0, 0.1))
        return proposed

    @staticmethod
    def _store_proposal(study: optuna.Study, trial: FrozenTrial, proposed: Mapping[str, Any]) -> None:
        """Show a proposal to other workers; Optuna has no public call for parameters that are not yet suggested."""
        study._storage.set_trial_system_attr(trial._trial_id, PROPOSED, dict(proposed))

    def propose(self, study: optuna.Study, trials: Sequence[FrozenTrial], again: int = 0) -> dict[str, Any]:
        """The parameters of the point that follows these trials, for callers that create the trial themselves.

        Raises `ExhaustedError` if every point has been tried. If another worker creates a trial with the same point first,
        another number as `again` gives another proposal.
        """
        codec = self._codec(study, intersection_search_space(list(trials)) | self._known.distributions)
        with self._lock:
            return self._propose(study, codec, trials, self._seed(len(trials), again))

    def _propose(self, study: optuna.Study, codec: SpaceCodec, trials: Sequence[FrozenTrial], seed: int) -> dict[str, Any]:
        opt, _ = self._read(study, codec, trials, seed)
        return codec.params(opt.space, opt.space.encode(opt.ask().point))

    def _seed(self, number: int, again: int) -> int:
        return int(np.random.SeedSequence([self.seed, number, again]).generate_state(1)[0])

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A random value of a parameter that is not sampled jointly."""
        return self._others.sample_independent(study, trial, param_name, param_distribution)

    def optimizer(self, study: optuna.Study) -> Optimizer:
        """An `Optimizer` with the trials of the study, for `best`, `pareto` and `explain`."""
        return self.read(study)[0]

    def read(self, study: optuna.Study) -> tuple[Optimizer, list[int]]:
        """The same, and the number in the study of each of its trials; trials that lack parameters are left out."""
        trials = study.get_trials(deepcopy=False)
        codec = self._codec(study, intersection_search_space(trials) | self._known.distributions)
        if not codec.parts:
            raise ArgumentError(f"the study {study.study_name!r} has no complete trial, so its parameters are unknown")
        return self._read(study, codec, trials, self.seed)

    def _codec(self, study: optuna.Study, search_space: Mapping[str, BaseDistribution]) -> SpaceCodec:
        known = dict(self._known.parts)
        for key, data in study.user_attrs.items():
            name = key.removeprefix(ORDER_DEFINITION)
            if name != key and name not in known:
                if data.get("where"):
                    raise ArgumentError(
                        f"the order {name} has a predicate, which a study cannot store; use PermutationSampler(space=...)"
                    )
                known[name] = make_codec(name, Permutation(**Permutation.arguments_from_data(name, data, None)))
        return SpaceCodec.infer(search_space, SpaceCodec(known))

    def _read(
        self, study: optuna.Study, codec: SpaceCodec, trials: Sequence[FrozenTrial], seed: int
    ) -> tuple[Optimizer, list[int]]:
        from mergebo.optimizer import Optimizer

        directions: list[Direction] = ["minimize" if each.name == "MINIMIZE" else "maximize" for each in study.directions]
        opt = Optimizer(
            codec.space(),
            seed=seed,
            objectives=len(directions),
            direction=directions if len(directions) > 1 else directions[0],
            **self.options,
        )
        required = [name for name, each in codec.distributions.items() if not each.single()]
        retried = {number for trial in trials for number in trial.user_attrs.get(RETRY_OF, ())}
        usable = [
            trial
            for trial in trials
            if params_of(trial).keys() >= {*required}
            and trial.state != TrialState.WAITING
            and DISCARDED not in trial.user_attrs
            and not (trial.state == TrialState.FAIL and trial.number in retried)
        ]
        values = _values([trial for trial in usable if trial.state == TrialState.COMPLETE], directions)
        numbers: list[int] = []
        for trial in usable:
            try:
                attached = opt.attach(opt.space.decode(codec.row(params_of(trial)).astype(opt.space.dtype)))
            except ConstraintError as error:  # the trial is older than the constraint
                logger.debug("trial %d is ignored: %s", trial.number, error)
                continue
            numbers.append(trial.number)
            if trial.state == TrialState.COMPLETE:
                value = values[trial.number]
                opt.tell(attached, value if len(directions) > 1 else value[0], noise_std=trial.user_attrs.get(NOISE))
            elif trial.state != TrialState.RUNNING:
                opt.fail(attached)
        return opt, numbers


def params_of(trial: FrozenTrial) -> dict[str, Any]:
    """The parameters of a trial, including those proposed or enqueued for it that are not yet suggested."""
    queued = trial.system_attrs.get("fixed_params", {})  # where Optuna stores the parameters of `enqueue_trial`
    return {**trial.system_attrs.get(PROPOSED, {}), **queued, **trial.params}


def _values(trials: Sequence[FrozenTrial], directions: Sequence[str]) -> dict[int, list[float]]:
    """Values of complete trials by their numbers, with a penalty for trials that violate constraints.

    The values of infeasible trials are worse than those of all feasible ones: by the range of the feasible values for the
    largest violation, and proportionally less for smaller ones.
    """
    signs = np.array([1.0 if each == "minimize" else -1.0 for each in directions])
    violations = np.array([sum(max(0.0, each) for each in trial.constraints.values()) for trial in trials])
    values = signs * np.array([trial.values for trial in trials]).reshape(len(trials), len(signs))
    feasible = values[violations == 0]
    worst, scale = (feasible.max(axis=0), np.ptp(feasible, axis=0)) if len(feasible) else (0 * signs, 0 * signs)
    for k in np.flatnonzero(violations):
        values[k] = worst + np.where(scale > 0, scale, 1.0) * violations[k] / violations.max()
    return {trial.number: (signs * row).tolist() for trial, row in zip(trials, values, strict=True)}
