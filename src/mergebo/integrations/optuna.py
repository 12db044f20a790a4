"""Optuna: permutations as parameters of any study, and a sampler for them.

Orders are integers of a Lehmer code, as in Optuna's FAQ, so any sampler can be used. Other samplers treat the digits as
unrelated integers; `PermutationSampler` decodes them and searches over orders.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial

from mergebo.beliefs import Belief
from mergebo.errors import ArgumentError, ExhaustedError
from mergebo.permutations import random_seed
from mergebo.spaces import Permutation, SearchSpace, Space
from mergebo.studies.attributes import ORDER_DEFINITION, PROPOSED
from mergebo.studies.codec import SpaceCodec, codec_of
from mergebo.studies.storage import set_system_attr
from mergebo.studies.trials import CommonParameters, PointsSeen, params_of

if TYPE_CHECKING:  # models are slow to import, and not needed to read a study
    from mergebo.methods import Method
    from mergebo.optimizer import Direction, Optimizer
    from mergebo.studies.proposals import Proposer

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

MAX_CLASHES = 20
"""Maximum number of proposals for a trial while other workers propose the same points."""


# Inside an objective


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
    _store_definitions(trial, codec)  # before parameters are suggested, whose errors would not name the items
    given: dict[str, Any] = {}
    for name, distribution in codec.distributions.items():
        match distribution:
            case IntDistribution(low=low, high=high, log=log):
                given[name] = trial.suggest_int(name, low, high, log=log)
            case FloatDistribution(low=low, high=high, log=log):
                given[name] = trial.suggest_float(name, low, high, log=log)
            case CategoricalDistribution(choices=choices):
                given[name] = trial.suggest_categorical(name, choices)
    row = codec.rows([given])[0]
    for name, value in codec.readable(row).items():
        trial.set_user_attr(name, value)
    if not codec.is_feasible(row):
        raise optuna.TrialPruned("no feasible order was found near the one that the sampler proposed")
    return space.decode(row)


def permutation_params(
    name: str, order: Sequence[Any], items: int | Sequence[Any] | Permutation, **constraints: Any
) -> dict[str, Any]:
    """The parameters for an order: `study.enqueue_trial(permutation_params("order", ["base", "acid"], items))`."""
    return params(Space(**{name: _order(items, constraints)}), {name: order})


def params(space: SearchSpace, point: Any) -> dict[str, Any]:
    """The parameters for a point of a space, as `suggest` reads them."""
    return SpaceCodec.of(space.variables).params(space.encode(point))


def distributions(space: SearchSpace) -> dict[str, BaseDistribution]:
    """The distributions of the parameters of a space, for `optuna.create_trial`."""
    return SpaceCodec.of(space.variables).distributions


def read_point(space: SearchSpace, trial: FrozenTrial) -> Any:
    """The point that `suggest` gave for a trial; None if the trial has none."""
    row = SpaceCodec.of(space.variables).row_of(trial)
    return None if row is None else space.decode(row)


def _order(items: int | Sequence[Any] | Permutation, constraints: Mapping[str, Any]) -> Permutation:
    if isinstance(items, Permutation):
        if constraints:
            raise ArgumentError(f"{items} defines its own constraints; it cannot be combined with {', '.join(constraints)}")
        return items
    return Permutation(items, **constraints)


def _store_definitions(trial: optuna.trial.BaseTrial, codec: SpaceCodec) -> None:
    """Store the items and constraints of orders in the study, since their digits do not contain them."""
    study = getattr(trial, "study", None)  # a fixed or frozen trial has none
    for key, definition in codec.definitions.items() if study is not None else ():
        stored = study.user_attrs.get(key)  # type: ignore[union-attr]
        if stored is not None and stored["items"] != definition["items"]:
            raise ArgumentError(
                f"in the study {study.study_name!r} the items of {key.removeprefix(ORDER_DEFINITION)} are "  # type: ignore[union-attr]
                f"{stored['items']}, not {definition['items']}; use another study for other items"
            )
        if stored != definition:
            study.set_user_attr(key, definition)  # type: ignore[union-attr]


# The sampler


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
        self.seed = random_seed() if seed is None else seed
        self.options = {"method": method, "initial": n_startup_trials, "noisy": noisy, "beliefs": tuple(beliefs), **settings}
        make_method(method, **settings)  # raises its errors now, not in the first trial
        self._known = SpaceCodec.of({} if space is None else space.variables)
        self._others = optuna.samplers.RandomSampler(seed)
        self._forget()

    def _forget(self) -> None:
        """Start with no studies: what is known of them is read again when it is needed."""
        self._lock = threading.Lock()
        self._proposers: WeakKeyDictionary[optuna.Study, Proposer] = WeakKeyDictionary()
        self._common = CommonParameters()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_proposers", "_common")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def reseed_rng(self) -> None:
        """Reseed the random parameters; proposals are seeded by trial number and need no new seed."""
        self._others.reseed_rng()

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that are sampled together: those that all trials have, and those of the given space."""
        return self._joint(study.get_trials(deepcopy=False))

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
            proposer = self._proposer(study, codec)
            for again in range(MAX_CLASHES):
                others = [each for each in study.get_trials(deepcopy=False) if each.number != trial.number]
                seen = PointsSeen(others)
                try:
                    proposed = proposer.propose(others, trial.number, again)
                except ExhaustedError:  # Optuna continues until it is stopped
                    return proposer.random_params(trial.number, again)
                set_system_attr(study, trial, PROPOSED, proposed)  # other workers see it now
                # If values are noisy, points of earlier trials may be repeated; points proposed in the meantime may not.
                now = [each for each in study.get_trials(deepcopy=False) if each.number != trial.number]
                if not seen.is_proposed_since(proposed, now):
                    break
                logger.debug("trial %d: another worker proposed the same point; proposing again", trial.number)
                if again < MAX_CLASHES - 1:  # the other worker may withdraw, too, so the point must be free again for both
                    set_system_attr(study, trial, PROPOSED, {})
                    time.sleep(random.uniform(0, 0.1))
        return proposed

    def propose(self, study: optuna.Study, trials: Sequence[FrozenTrial], again: int = 0) -> dict[str, Any]:
        """The parameters of the point that follows these trials, for callers that create the trial themselves.

        Raises `ExhaustedError` if every point has been tried. If another worker creates a trial with the same point first,
        another number as `again` gives another proposal.
        """
        with self._lock:
            proposer = self._proposer(study, self._codec(study, self._joint(trials)))
        return proposer.propose(trials, len(trials), again)

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
        codec = self._codec(study, self._joint(trials))
        if not codec.parts:
            raise ArgumentError(f"the study {study.study_name!r} has no complete trial, so its parameters are unknown")
        with self._lock:
            proposer = self._proposer(study, codec)
        return proposer.read(trials)

    def _joint(self, trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
        """The parameters that all trials have, and those of the given space, unless they have a single value."""
        joint = self._common.of(trials) | self._known.distributions
        return {name: each for name, each in joint.items() if not each.single()}

    def _proposer(self, study: optuna.Study, codec: SpaceCodec) -> Proposer:
        """The proposer for a study, which is kept until its parameters change."""
        from mergebo.studies.proposals import Proposer

        directions: list[Direction] = ["minimize" if each.name == "MINIMIZE" else "maximize" for each in study.directions]
        kept = self._proposers.get(study)
        if kept is None or kept.codec != codec or kept.directions != directions:
            kept = self._proposers[study] = Proposer(codec, directions, seed=self.seed, options=self.options)
        return kept

    def _codec(self, study: optuna.Study, search_space: Mapping[str, BaseDistribution]) -> SpaceCodec:
        known = dict(self._known.parts)
        for key, data in study.user_attrs.items():
            name = key.removeprefix(ORDER_DEFINITION)
            if name != key and name not in known:
                if data.get("where"):
                    raise ArgumentError(
                        f"the order {name} has a predicate, which a study cannot store; use PermutationSampler(space=...)"
                    )
                known[name] = codec_of(Permutation(**Permutation.arguments_from_data(name, data, None)), name)
        return SpaceCodec.infer(search_space, SpaceCodec(known))
