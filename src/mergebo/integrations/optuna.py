"""Optuna: orders in any study, and a sampler that knows what orders are.

Optuna has numbers and categories. An order of n items is held by n integers, its Lehmer code, as Optuna's FAQ recommends:
digit k is at most n - 1 - k, and every code is an order, so any sampler can drive it. To other samplers the digits are
numbers like any other; `PermutationSampler` puts them together again.
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
from mergebo.errors import ArgumentError, ExhaustedError, RuleError
from mergebo.permutations import lehmer_decode, lehmer_encode
from mergebo.space_data import order_from_data, order_to_data
from mergebo.spaces import AnySpace, Binary, Choice, Integer, Permutation, Real, Space, Variable

if TYPE_CHECKING:  # models take a while to load, and whoever only reads a study needs none
    from mergebo.optimizers import Optimizer
    from mergebo.optimizers.optimizer import Direction

__all__ = [
    "PermutationSampler",
    "distributions",
    "held",
    "params",
    "permutation_params",
    "read_point",
    "suggest",
    "suggest_permutation",
]

logger = logging.getLogger(__name__)

REMEMBERED = "mergebo:"
"""Before the name of an order: the attribute of a study that holds its items and rules."""
CLAIM = "mergebo:claim"
"""The attribute of a trial that holds what was proposed for it, before the objective asks for it."""
NOISE = "mergebo:noise"
"""The attribute of a trial that holds the standard deviation of its value, if that is known."""
AGAIN = "mergebo:again"
"""The attribute of a trial that repeats one that was cut short: the numbers that it had before, the last one last."""
SURPLUS = "mergebo:surplus"
"""The attribute of a trial that does not count: another worker was faster with its point, or with the last of a budget."""
CLASHES = 20
"""How often a point is chosen, should another worker choose the same at the same time."""


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
class Coded:
    """A variable, and the parameters of a study that hold it: one, or several in order."""

    variable: Variable
    parameters: Mapping[str, BaseDistribution]

    def values(self, given: Mapping[str, Any]) -> Rows:
        """The variable's part of a row; an order that breaks rules as one nearby that keeps them, if that can be found."""
        numbers = [given[name] for name, each in self.parameters.items() if name in given or not each.single()]
        match self.variable:
            case Permutation() as order:
                digits = numbers + [0] * (order.n - len(numbers))
                kept: Rows = order.closest(order.canonical(lehmer_decode(digits)[None]))[0]
                return kept
            case Choice():
                return np.array([self._distribution.to_internal_repr(numbers[0])])
            case Integer() if self._grid is not None:
                low, step = self._grid
                return np.rint((np.array(numbers) - low) / step)
        return np.array(numbers)

    def params(self, values: Rows) -> dict[str, Any]:
        """The parameters that hold a part of a row."""
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
        """Where a number begins and how far apart its values are; None if they are all whole numbers."""
        match self._distribution:
            case IntDistribution(low=low, step=step) if step > 1:
                return low, step
            case FloatDistribution(low=low, step=float(step)):
                return low, step
        return None


def coded(name: str, variable: Variable) -> Coded:
    """A variable of ours with its parameters."""
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
            plain = all(each is None or isinstance(each, bool | int | float | str) for each in options)
            named = options if plain else [f"{number}: {each}" for number, each in enumerate(options)]
            distributions = {name: CategoricalDistribution(named)}
        case _:
            raise ArgumentError(f"there are no parameters for {variable}")
    return Coded(variable, distributions)


def _found(name: str, distribution: BaseDistribution) -> Coded:
    """A parameter of a study with the variable that it is."""
    variable: Variable
    match distribution:
        case CategoricalDistribution(choices=choices):
            try:
                variable = Choice(choices)
            except ArgumentError:  # such as 1 and True, which == does not tell apart
                variable = Choice(range(len(choices)))
        case FloatDistribution(low=low, high=high, step=None, log=log):
            variable = Real(low, high, log)
        case IntDistribution(low=low, high=high, step=1, log=log):
            variable = Integer(low, high, log)
        case IntDistribution(low=low, high=high, step=step) | FloatDistribution(low=low, high=high, step=step):
            assert step is not None
            variable = Integer(0, round((high - low) / step))
        case _:
            raise ArgumentError(f"the parameter {name} has a distribution that is not known here: {distribution}")
    return Coded(variable, {name: distribution})


def _codes(search_space: Mapping[str, BaseDistribution]) -> Iterator[tuple[str, Coded]]:
    """Parameters that are the digits of an order: numbered from 0 or 1 on, each with one value less than the one before."""
    series: dict[tuple[str, str], dict[int, str]] = {}
    for name in search_space:
        if numbered := re.fullmatch(r"(.*?)(\d+)(\D*)", name):
            before, number, after = numbered.groups()
            series.setdefault((before, after), {})[int(number)] = name
    for (before, after), names in series.items():
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
            yield (before + after).strip("_.-[]() ") or "order", Coded(Permutation(n), digits)


@dataclass(frozen=True)
class Coding:
    """The variables of a space, each with its parameters."""

    parts: Mapping[str, Coded]

    def __post_init__(self) -> None:
        for name, count in Counter(name for part in self.parts.values() for name in part.parameters).items():
            if count > 1:
                raise ArgumentError(f"two variables would have the parameter {name!r}; call one of them otherwise")

    @classmethod
    def of(cls, variables: Mapping[str, Variable]) -> Coding:
        """Of variables of ours."""
        return cls({name: coded(name, variable) for name, variable in variables.items()})

    @classmethod
    def found(cls, search_space: Mapping[str, BaseDistribution], known: Coding) -> Coding:
        """Of the parameters of a study: what is known, orders that look like ones, every other parameter as what it is."""
        parts: dict[str, Coded] = {}
        left = dict(search_space)

        def take(name: str, part: Coded) -> None:
            wanted = {key: each for key, each in part.parameters.items() if not each.single()}
            if wanted and all(left.get(key) == each for key, each in wanted.items()):
                while name in parts:
                    name += "'"
                parts[name] = part
                for key in part.parameters:
                    left.pop(key, None)

        for name, part in known.parts.items():
            take(name, part)
        for name, part in _codes(left):
            take(name, part)
        for name, distribution in list(left.items()):
            if not distribution.single():
                take(name, _found(name, distribution))
        return cls(parts)

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """All parameters."""
        return {name: each for part in self.parts.values() for name, each in part.parameters.items()}

    def space(self) -> Space:
        """The space of the variables."""
        return Space(**{name: part.variable for name, part in self.parts.items()})

    def row(self, given: Mapping[str, Any]) -> Rows:
        """The row that parameters hold."""
        return np.concatenate([part.values(given) for part in self.parts.values()])

    def params(self, space: AnySpace, row: Rows) -> dict[str, Any]:
        """The parameters that hold a row."""
        parts = ((part, space.part(name, row)) for name, part in self.parts.items())
        return {key: value for part, values in parts for key, value in part.params(values).items()}


# ------------------------------------------------------------------------------------------------- inside an objective


def suggest_permutation(
    trial: optuna.trial.BaseTrial, name: str, items: int | Sequence[Any] | Permutation, **rules: Any
) -> list[Any]:
    """An order of items, for an objective: `suggest_permutation(trial, "order", ["acid", "base", "salt"])`.

    `items` are names, or how many items there are; rules are those of `Permutation`, such as `before=[("acid", "base")]`.
    Any sampler may drive it, and the order keeps the rules with all of them. People find it among the attributes.
    """
    point = suggest(trial, Space(**{name: _order(items, rules)}))
    return list(point[name])


def suggest(trial: optuna.trial.BaseTrial, space: AnySpace) -> Any:
    """A point of a space, for an objective: orders, choices and numbers at once."""
    coding = Coding.of(space.variables)
    given: dict[str, Any] = {}
    for name, distribution in coding.distributions.items():
        match distribution:
            case IntDistribution(low=low, high=high, log=log):
                given[name] = trial.suggest_int(name, low, high, log=log)
            case FloatDistribution(low=low, high=high, log=log):
                given[name] = trial.suggest_float(name, low, high, log=log)
            case CategoricalDistribution(choices=choices):
                given[name] = trial.suggest_categorical(name, choices)
    row = coding.row(given).astype(space.dtype)
    for name, variable in space.variables.items():
        if isinstance(variable, Permutation):
            _remember(trial, name, variable)
            trial.set_user_attr(name, [_plain(item) for item in variable.decode(space.part(name, row).astype(np.int64))])
    if not len(space.kept(row[None])):
        raise optuna.TrialPruned("no order that keeps the rules was found near the one that the sampler chose")
    return space.decode(row)


def permutation_params(
    name: str, order: Sequence[Any], items: int | Sequence[Any] | Permutation, **rules: Any
) -> dict[str, Any]:
    """The parameters that hold an order: `study.enqueue_trial(permutation_params("order", ["base", "acid"], items))`."""
    return params(Space(**{name: _order(items, rules)}), {name: order})


def params(space: AnySpace, point: Any) -> dict[str, Any]:
    """The parameters that hold a point of a space, as `suggest` reads them."""
    return Coding.of(space.variables).params(space, space.encode(point))


def distributions(space: AnySpace) -> dict[str, BaseDistribution]:
    """The parameters of a space and what they may be, for `optuna.create_trial`."""
    return Coding.of(space.variables).distributions


def read_point(space: AnySpace, trial: FrozenTrial) -> Any:
    """The point of a space that a trial has, as `suggest` gave it; None if it has none."""
    coding, given = Coding.of(space.variables), held(trial)
    if any(name not in given for name, each in coding.distributions.items() if not each.single()):
        return None
    return space.decode(coding.row(given).astype(space.dtype))


def _order(items: int | Sequence[Any] | Permutation, rules: Mapping[str, Any]) -> Permutation:
    if isinstance(items, Permutation):
        if rules:
            raise ArgumentError(f"the rules of {items} are its own, got {', '.join(rules)}")
        return items
    return Permutation(items, **rules) if isinstance(items, int) else Permutation(items=items, **rules)


def _plain(item: Any) -> Any:
    """An item as a study can hold it."""
    item = item.item() if isinstance(item, np.generic) else item
    return item if isinstance(item, str | int | float) else str(item)


def _remember(trial: optuna.trial.BaseTrial, name: str, order: Permutation) -> None:
    """Note in the study which items and rules an order has, which its digits do not say."""
    study = getattr(trial, "study", None)  # a trial that is only looked at has none
    if study is None or (order.items is None and not order.options):
        return
    data = order_to_data(order) | {"items": None if order.items is None else [_plain(item) for item in order.items]}
    there = study.user_attrs.get(REMEMBERED + name)
    if there is not None and there["items"] != data["items"]:
        raise ArgumentError(
            f"in the study {study.study_name!r} the items of {name} are {there['items']}, not {data['items']}; "
            "orders of other items need another study"
        )
    if there != data:
        study.set_user_attr(REMEMBERED + name, data)


# ------------------------------------------------------------------------------------------------------------- sampler


class PermutationSampler(optuna.samplers.BaseSampler):
    """Drives orders, and ordinary parameters beside them, with one of our methods.

    Orders are those of `suggest_permutation`, and Lehmer codes as in Optuna's FAQ: integers x0, x1, ... each with one value
    less than the one before. All other parameters are numbers and choices. What only some trials have is drawn at random,
    and so is everything in the first trial. With `space` the sampler knows from the beginning what there is; orders with a
    predicate need that, for a study cannot hold one.

    Running trials are considered, so that workers may share a study. The same seed and the same results give the same
    proposals. A trial with a constraint above 0 (`trial.set_constraint`) counts as worse than all that keep theirs.
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        space: AnySpace | None = None,
        seed: int | None = None,
        n_startup_trials: int = 20,
        noisy: bool = False,
        beliefs: Iterable[Belief] = (),
        **settings: Any,
    ) -> None:
        from mergebo.optimizers.methods import make_method

        self.space = space
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        self.options = {"method": method, "initial": n_startup_trials, "noisy": noisy, "beliefs": tuple(beliefs), **settings}
        make_method(method, **settings)  # an error now rather than in a trial
        self._known = Coding.of({} if space is None else space.variables)
        self._others = optuna.samplers.RandomSampler(seed)
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def reseed_rng(self) -> None:
        """Proposals have the seed and the number of their trial, so only what is drawn at random needs another seed."""
        self._others.reseed_rng()

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Parameters that are chosen together: those of all trials, and those of the given space."""
        found = intersection_search_space(study.get_trials(deepcopy=False)) | self._known.distributions
        return {name: each for name, each in found.items() if not each.single()}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next point. Where another worker has just chosen the same, another one."""
        coding = self._coding(study, search_space)
        if not coding.parts:
            return {}
        if claimed := trial.system_attrs.get(CLAIM):  # the storage failed after that, and all is done once more
            return dict(claimed)
        with self._lock:
            for again in range(CLASHES):
                others = [each for each in study.get_trials(deepcopy=False) if each.number != trial.number]
                before = {each.number: held(each) for each in others}
                seed = self._seed(trial.number, again)
                try:
                    proposed = self._propose(study, coding, others, seed)
                except ExhaustedError:  # Optuna goes on until it is told to stop
                    return coding.params(coding.space(), coding.space().sample_rows(seed=seed))
                self._claim(study, trial, proposed)
                # What was there before may be repeated on purpose, if values are noisy; what came meanwhile may not.
                now = [each for each in study.get_trials(deepcopy=False) if each.number != trial.number]
                if not any(held(each) == proposed != before.get(each.number) for each in now):
                    break
                logger.debug("trial %d: another worker proposed the same point; proposing again", trial.number)
                if again < CLASHES - 1:  # the other one may give way, too, so both must be able to come back to the point
                    self._claim(study, trial, {})
                    time.sleep(random.uniform(0, 0.1))
        return proposed

    @staticmethod
    def _claim(study: optuna.Study, trial: FrozenTrial, proposed: Mapping[str, Any]) -> None:
        """Let other workers know, for no public call says what a trial will be before its objective asks for it."""
        study._storage.set_trial_system_attr(trial._trial_id, CLAIM, dict(proposed))

    def propose(self, study: optuna.Study, trials: Sequence[FrozenTrial], again: int = 0) -> dict[str, Any]:
        """The parameters of the next point, for those who make a trial with it: the one that follows these trials.

        Raises `ExhaustedError` if there is none. Should others make one with the same point first, then `again` is a number
        for another choice.
        """
        coding = self._coding(study, intersection_search_space(list(trials)) | self._known.distributions)
        with self._lock:
            return self._propose(study, coding, trials, self._seed(len(trials), again))

    def _propose(self, study: optuna.Study, coding: Coding, trials: Sequence[FrozenTrial], seed: int) -> dict[str, Any]:
        opt, _ = self._read(study, coding, trials, seed)
        return coding.params(opt.space, opt.space.encode(opt.ask().point))

    def _seed(self, number: int, again: int) -> int:
        return int(np.random.SeedSequence([self.seed, number, again]).generate_state(1)[0])

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A random value of a parameter that is not chosen together with the others."""
        return self._others.sample_independent(study, trial, param_name, param_distribution)

    def optimizer(self, study: optuna.Study) -> Optimizer:
        """What the study's results say: an `Optimizer` with its trials, for `best`, `pareto` and `explain`."""
        return self.read(study)[0]

    def read(self, study: optuna.Study) -> tuple[Optimizer, list[int]]:
        """The same, and the number in the study of each of its trials: only those that have all parameters are in it."""
        trials = study.get_trials(deepcopy=False)
        coding = self._coding(study, intersection_search_space(trials) | self._known.distributions)
        if not coding.parts:
            raise ArgumentError(f"no trial of the study {study.study_name!r} is complete, so its parameters are not known")
        return self._read(study, coding, trials, self.seed)

    def _coding(self, study: optuna.Study, search_space: Mapping[str, BaseDistribution]) -> Coding:
        known = dict(self._known.parts)
        for key, data in study.user_attrs.items():
            name = key.removeprefix(REMEMBERED)
            if name != key and name not in known:
                if data.get("where"):
                    raise ArgumentError(
                        f"the order {name} has a predicate, which a study cannot hold; give PermutationSampler(space=...)"
                    )
                known[name] = coded(name, order_from_data(name, data, None))
        return Coding.found(search_space, Coding(known))

    def _read(
        self, study: optuna.Study, coding: Coding, trials: Sequence[FrozenTrial], seed: int
    ) -> tuple[Optimizer, list[int]]:
        from mergebo.optimizers import Optimizer

        directions: list[Direction] = ["minimize" if each.name == "MINIMIZE" else "maximize" for each in study.directions]
        opt = Optimizer(
            coding.space(),
            seed=seed,
            objectives=len(directions),
            direction=directions if len(directions) > 1 else directions[0],
            **self.options,
        )
        needed = [name for name, each in coding.distributions.items() if not each.single()]
        repeated = {number for trial in trials for number in trial.user_attrs.get(AGAIN, ())}
        known = [
            trial
            for trial in trials
            if held(trial).keys() >= {*needed}
            and trial.state != TrialState.WAITING
            and SURPLUS not in trial.user_attrs
            and not (trial.state == TrialState.FAIL and trial.number in repeated)
        ]
        values = _values([trial for trial in known if trial.state == TrialState.COMPLETE], directions)
        numbers: list[int] = []
        for trial in known:
            try:
                begun = opt.begin(opt.space.decode(coding.row(held(trial)).astype(opt.space.dtype)))
            except RuleError as error:  # it is from before there was the rule
                logger.debug("trial %d is ignored: %s", trial.number, error)
                continue
            numbers.append(trial.number)
            if trial.state == TrialState.COMPLETE:
                value = values[trial.number]
                opt.tell(begun, value if len(directions) > 1 else value[0], noise=trial.user_attrs.get(NOISE))
            elif trial.state != TrialState.RUNNING:
                opt.fail(begun)
        return opt, numbers


def held(trial: FrozenTrial) -> dict[str, Any]:
    """The parameters of a trial, and those that it will have as soon as its objective asks for them."""
    queued = trial.system_attrs.get("fixed_params", {})  # where Optuna keeps what `enqueue_trial` was given
    return {**trial.system_attrs.get(CLAIM, {}), **queued, **trial.params}


def _values(trials: Sequence[FrozenTrial], directions: Sequence[str]) -> dict[int, list[float]]:
    """Values of complete trials by their numbers. Those that violate constraints are worse than all others.

    By how much is on the scale of the values: one range of those that violate nothing, for the largest violation.
    """
    signs = np.array([1.0 if each == "minimize" else -1.0 for each in directions])
    violations = np.array([sum(max(0.0, each) for each in trial.constraints.values()) for trial in trials])
    values = signs * np.array([trial.values for trial in trials]).reshape(len(trials), len(signs))
    kept = values[violations == 0]
    worst, spread = (kept.max(axis=0), np.ptp(kept, axis=0)) if len(kept) else (0 * signs, 0 * signs)
    for k in np.flatnonzero(violations):
        values[k] = worst + np.where(spread > 0, spread, 1.0) * violations[k] / violations.max()
    return {trial.number: (signs * row).tolist() for trial, row in zip(trials, values, strict=True)}
