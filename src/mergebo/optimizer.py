"""`Optimizer`: the ask-and-tell interface, with all trials recorded."""

from __future__ import annotations

import copy
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mergebo._threads import one_blas_thread
from mergebo._typing import Floats, Rows
from mergebo.beliefs import Belief, check_beliefs
from mergebo.errors import (
    ArgumentError,
    ArgumentTypeError,
    ExhaustedError,
    ShapeError,
    TrialError,
    UnsupportedError,
    unknown_choice,
)
from mergebo.explain import Explanation, explain
from mergebo.mean import PriorMean
from mergebo.methods.auto import models_of
from mergebo.methods.base import BatchMethod, History, Method
from mergebo.methods.dataset import Cache
from mergebo.methods.design import Design, InitialDesign
from mergebo.methods.registry import make_method, method_to_data
from mergebo.pareto import ParetoFront, chebyshev_scalarise, non_dominated
from mergebo.permutations import random_seed
from mergebo.spaces import SearchSpace
from mergebo.spaces.data import Where
from mergebo.trials import Outcome, Recommendation, Trial, TrialLog

__all__ = ["Direction", "Optimizer"]

logger = logging.getLogger(__name__)

Direction: TypeAlias = Literal["minimize", "maximize"]
"""The direction of an objective."""

MAX_EXPONENT = 300
"""Binary exponents up to which values are passed to methods unscaled; others are scaled, which is exact."""


class Optimizer:
    """`ask` for a trial, evaluate its point, `tell` its value, or `fail` it; `best` is the best trial so far.

    Values are minimised unless `direction="maximize"`. The method is a name, with `settings`, or an object such as
    `mb.methods.Auto(embedding=False)`. The first `initial` trials are random points, the same for every method with the
    same seed; `seed=None` chooses a random one, which is recorded. Orders are uniform. Of binary choices, the first point
    has none, the second all, and the others a random share; with `design="uniform"` each is 1 with probability 1/2. No
    point is proposed twice, unless values are `noisy`.

    Prior knowledge: points in `start` are evaluated first. `beliefs` such as `mb.beliefs.before("a", "b")` and a
    `heuristic`, a function that estimates the value of a point, favour some of the initial points and become the mean
    function of the models, unless the observations contradict them. Observations made elsewhere are added by `tell` with
    their point.

    With several `objectives`, a value is a list with a number for each, `direction` may be a list, too, and `pareto` holds
    the non-dominated trials.
    """

    def __init__(
        self,
        space: SearchSpace,
        method: str | Method = "auto",
        *,
        seed: int | None = 0,
        initial: int = 20,
        direction: Direction | Sequence[Direction] = "minimize",
        design: Design = "stratified",
        objectives: int = 1,
        noisy: bool = False,
        start: Iterable[Any] = (),
        beliefs: Iterable[Belief] = (),
        heuristic: Callable[[Any], float] | None = None,
        **settings: Any,
    ) -> None:
        if not isinstance(space, SearchSpace):
            raise ArgumentError(f"space must be a search space such as PermutationSpace(15), got {space!r}")
        if isinstance(objectives, bool) or not isinstance(objectives, int) or objectives < 1:
            raise ArgumentError(f"objectives must be their number, at least 1, got {objectives!r}")
        if not isinstance(direction, Sequence):
            raise unknown_choice("direction", direction, get_args(Direction))
        directions = (direction,) * objectives if isinstance(direction, str) else tuple(direction)
        for each in directions:
            if each not in get_args(Direction):
                raise unknown_choice("direction", each, get_args(Direction))
        if len(directions) != objectives:
            raise ArgumentError(f"each of {objectives} objectives needs a direction, got {len(directions)}: {direction!r}")
        seed = random_seed() if seed is None else seed
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ArgumentError(f"seed must be an integer, at least 0, or None for a random one, got {seed!r}")
        if not isinstance(start, Iterable):
            raise ArgumentTypeError(f"start is a list of points, got {start!r}")
        if not isinstance(noisy, bool | np.bool_):
            raise ArgumentError(f"noisy must be True or False, got {noisy!r}")
        if heuristic is not None and not callable(heuristic):
            raise ArgumentError(f"a heuristic must be a function that estimates the value of a point, got {heuristic!r}")
        self.space = space
        self.direction = direction if isinstance(direction, str) else directions
        self.objectives = objectives
        self.noisy = bool(noisy)
        """Whether repeated measurements of a point differ; becomes True once a value is recorded with its noise."""
        self.seed = int(seed)
        """The seed, also if it was chosen at random."""
        self.beliefs = check_beliefs(beliefs, space)
        self.heuristic = heuristic
        self._signs = np.array([1.0 if each == "minimize" else -1.0 for each in directions])
        self._prior_mean: PriorMean | None = None
        if self.beliefs or heuristic is not None:
            if objectives > 1:
                raise ArgumentError("beliefs and a heuristic are about one objective; with several, give start=[points]")
            self._prior_mean = PriorMean(space, self.beliefs, heuristic, float(self._signs[0]))
        self.method = make_method(method, **settings)
        self._named_method = (method, settings) if isinstance(method, str) else None
        self.initial = initial
        self.design = design
        self._initial_design = InitialDesign(initial, design)
        self._generators = _generators(seed)
        self._log = TrialLog(space, objectives)
        self._start = [self._row(point) for point in start]
        self._cache = Cache()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in the order in which they were asked for or added."""
        return tuple(self._log.trials())

    @property
    def method_name(self) -> str:
        """The name of the method, or that of its class."""
        if self._named_method is not None:
            return self._named_method[0]
        found = method_to_data(self.method)
        return type(self.method).__name__ if found is None else found[0]

    @property
    def best(self) -> Trial | None:
        """The finished trial with the best value; the first of equal ones.

        If values are noisy, a `Recommendation`: of the observed points the one with the best posterior mean, with that mean
        and its standard deviation.
        """
        if self.objectives > 1:
            raise UnsupportedError(f"no single trial is best in {self.objectives} objectives; see pareto")
        done, values, _ = self._log.results()
        if not done:
            return None
        if self.noisy:
            return min(self._recommendations(), key=lambda trial: float(self._signs[0] * trial.value))
        # The first of equal values is that of the trial that was asked for first, not of the one that was finished first.
        best = min(zip((self._signs[0] * values[:, 0]).tolist(), done, strict=True))
        return self._log.trial(best[1])

    @property
    def pareto(self) -> ParetoFront:
        """The non-dominated finished trials: no other is as good in all objectives and better in one.

        If values are noisy, points are compared by their posterior means, which are also the values given.
        """
        done, values, _ = self._log.results()
        trials = self._recommendations() if self.noisy and done else [self._log.trial(k) for k in done]
        compared = np.array([self._signs * trial.value for trial in trials]).reshape(len(trials), self.objectives)
        front = [trials[k] for k in np.flatnonzero(non_dominated(compared))]
        front.sort(key=lambda trial: (float(np.ravel(trial.value)[0]), trial.id))
        return ParetoFront(tuple(front), values, self._signs)

    @one_blas_thread()
    def _recommendations(self) -> list[Trial]:
        """Posterior mean and standard deviation of each point measured with noise."""
        done = self._log.in_state("done")
        models = models_of(self.method).structures
        histories = [self._history(objective) for objective in range(self.objectives)]
        found = [history.unscaled(models.posterior(history)) for history in histories]
        means, deviations = (np.stack(each, axis=1) for each in zip(*found, strict=True))
        rows = [self._log.rows[k].tobytes() for k in done]
        measurements, first = Counter(rows), {row: index for index, row in reversed([*enumerate(rows)])}
        as_value = self._log.as_value
        return [
            Recommendation(
                **vars(self._log.trial(done[index]))
                | {"value": as_value(self._signs * means[index]), "std": as_value(deviations[index])},
                measurements=measurements[rows[index]],
            )
            for index in sorted(first.values())
        ]

    @one_blas_thread()
    def ask(self, count: int | None = None) -> Any:
        """The next trial, or a list of `count` different trials for a batch; fewer if the space is nearly exhausted.

        Raises `ExhaustedError` when all points were tried.
        """
        if count is None:
            return self._ask(1)[0]
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ArgumentError(f"ask for at least one trial, got {count!r}")
        return self._ask(count)

    def _ask(self, count: int) -> list[Trial]:
        trials: list[Trial] = []
        while len(trials) < count:
            try:
                rows = self._propose(count - len(trials))
            except ExhaustedError:
                if not trials:
                    raise
                break  # the trials added so far must not be lost
            trials += [self._log.trial(self._log.add(row)) for row in rows]
        return trials

    # Studies keep trials elsewhere. They ask for rows, with one optimizer and its fitted models for all their proposals.

    def _with_trials(self, log: TrialLog, seed: int) -> Optimizer:
        """The same as if it were new, with another seed and other trials; what was computed so far is shared."""
        other = copy.copy(self)
        other.seed, other._generators, other._log = seed, _generators(seed), log
        other.noisy = self.noisy or any(each is not None for each in log.noise_stds)
        return other

    def _independent(self) -> Optimizer:
        """The same, sharing nothing that changes."""
        other = self._with_trials(self._log.copy(), self.seed)
        other._cache = Cache()
        return other

    @one_blas_thread()
    def _next_row(self) -> Rows:
        """The row of the next trial, which is not added."""
        return self._propose(1)[0]

    def attach(self, point: Any) -> Trial:
        """A pending trial of a point chosen elsewhere. `ask` takes it into account; `tell` its value as for any other."""
        return self._log.trial(self._log.add(self._row(point)))

    def _propose(self, count: int) -> Sequence[Rows]:
        """Between one and `count` rows."""
        for row in self._start:
            if not self._log.indices_of(row):
                return [row]
        design_rng, rng = self._generators
        number = len(self._log)
        if number < self.initial:
            return [self._initial_design.row(number, self._history(), design_rng)]
        if self.objectives > 1:  # random weights for every trial distribute a batch along the front
            history = self._history(weights=rng.dirichlet(np.ones(self.objectives)))
            return [self.method.propose(history, rng)]
        if count > 1 and isinstance(self.method, BatchMethod):
            return list(self.method.propose_batch(self._history(), count, rng))
        return [self.method.propose(self._history(), rng)]

    def tell(self, trial: Trial | int | Any, value: Any, *, noise_std: Any = None) -> None:
        """Record the value of a trial, which is finite; a trial without one has failed, see `fail`.

        With a point instead of a trial, the value is that of the pending trial of this point, or of a new one. `noise_std`
        is the standard deviation of the measurement, if known. With several objectives both are lists. With a list of
        trials, such as those of a batch, there is a value for each; if one is invalid, none is recorded.
        """
        if isinstance(trial, list | tuple) and any(isinstance(each, Trial) for each in trial):
            self._tell_several(trial, value, noise_std)
            return
        row = None if isinstance(trial, Trial | str | bytes) or not isinstance(trial, _POINT_TYPES) else self._row(trial)
        index = self._log.pending_index(trial) if row is None else self._observed_index(row, noise_std)
        what = f"trial {index}" if index is not None else f"the point {trial}"
        outcome = self._finite_outcome(value, noise_std, what)
        if index is None:
            assert row is not None
            index = self._log.add(row)
        self._finish(index, outcome)

    def _tell_several(self, trials: Sequence[Any], values: Any, noise_stds: Any) -> None:
        """Record the values of several trials, or none of them."""
        columns = []
        for what, given in (("values", values), ("standard deviations", noise_stds)):
            if given is None and what != "values":
                given = [None] * len(trials)
            if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or len(given) != len(trials):
                raise TrialError(f"{len(trials)} trials need a list of {len(trials)} {what}, got {given!r}")
            columns.append(given)
        indices = [self._log.pending_index(each) for each in trials]
        for index, count in Counter(indices).items():
            if count > 1:
                raise TrialError(f"trial {index} is {count} times in the list; nothing was recorded")
        outcomes = [
            self._finite_outcome(value, noise, f"trial {index}")
            for index, value, noise in zip(indices, *columns, strict=True)
        ]
        for index, outcome in zip(indices, outcomes, strict=True):
            self._finish(index, outcome)

    def _finite_outcome(self, value: Any, noise_std: Any, what: str) -> Outcome:
        """What an observation records; an error if its value is not finite."""
        outcome = self._log.outcome(value, noise_std, what)
        if outcome[0] == "failed":
            raise TrialError(f"the value of {what} must be finite, got {value!r}; record a failed trial with fail")
        return outcome

    def _finish(self, index: int, outcome: Outcome) -> None:
        self._log.finish(index, *outcome)
        self.noisy = self.noisy or outcome[2] is not None

    def _record_returned(self, trial: Trial, value: Any) -> None:
        """Record what an objective returned for a trial, which has failed if that is not finite."""
        outcome = self._log.outcome(value, None, f"trial {trial.id}")
        if outcome[0] == "failed":
            logger.info("trial %d failed: its value is %s", trial.id, value)
        self._finish(self._log.pending_index(trial), outcome)

    def _observed_index(self, row: Rows, noise_std: Any) -> int | None:
        """The pending trial of a row, if there is one; an error if the row has an exact value already."""
        same = self._log.indices_of(row)
        for k in same:
            if self._log.states[k] == "pending":
                return k
        for k in same:
            if self._log.states[k] == "done" and not self.noisy and noise_std is None:
                raise TrialError(
                    f"the point of trial {k} has the value {self._log.values[k]} already; if measurements differ, use "
                    "Optimizer(..., noisy=True)"
                )
        return None

    def fail(self, trial: Trial | int) -> None:
        """Record that a trial failed. Its point is not proposed again."""
        self._log.finish(self._log.pending_index(trial), "failed")

    def _row(self, point: Any) -> Rows:
        """One point as a row."""
        row = self.space.encode(point)
        if row.shape != (self.space.width,):
            raise ShapeError(f"expected one point of {self.space.width} numbers, got {point!r}")
        return row.astype(self.space.dtype)

    def _history(self, objective: int = 0, weights: Floats | None = None) -> History:
        """The history that methods see: of one objective, or of all, scalarised with weights."""
        log = self._log
        done, values, noise_std = log.results()
        values = self._signs * values
        exponents = _exponents(values)
        values = np.ldexp(values, -exponents)
        if noise_std is not None:
            noise_std = np.ldexp(noise_std, -exponents)
        if weights is None or not done:
            gradient = np.eye(self.objectives)[[objective]]
            scalars = values[:, objective]
        else:
            scalars, gradient = chebyshev_scalarise(values, weights)
        return History(
            self.space,
            log.rows_at(done),
            scalars,
            log.rows_at(log.in_state("failed")),
            log.rows_at(log.in_state("pending")),
            self.initial,
            self.noisy,
            None if noise_std is None else np.hypot.reduce(gradient * noise_std, axis=1),
            self._prior_mean,
            int(exponents[objective]),
            self._cache,
            np.array([log.states[k] == "done" for k in log.finished], bool),
        )

    @one_blas_thread()
    def explain(self, objective: int | None = None) -> Explanation:
        """Explain the results so far, whichever the method: the structure that they support, and effects on the value.

        With several objectives, give the index of one.
        """
        every = range(self.objectives)
        if objective is None and self.objectives > 1:
            raise ArgumentError(f"choose the objective to explain: explain(objective=0), up to {every[-1]}")
        if objective is not None and objective not in every:
            raise ArgumentError(f"objectives are 0..{every[-1]}, got {objective!r}")
        which = objective or 0
        direction = "minimize" if self._signs[which] > 0 else "maximize"
        return explain(self._history(which), direction, models_of(self.method))

    def state(self) -> dict[str, Any]:
        """The complete state, except functions, as plain data for JSON: `from_state` continues exactly from here."""
        from mergebo.state import state_of

        return state_of(self)

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, Any],
        *,
        method: Method | None = None,
        heuristic: Callable[[Any], float] | None = None,
        where: Where = None,
    ) -> Optimizer:
        """The optimiser with a state from `state()`. Functions are not saved and have to be passed again.

        `where` is the predicate of its orders, if they have one; a dictionary by variable name if several have one. A method
        that was given as an object is passed again, unless it can be made from plain settings.
        """
        from mergebo.state import restored

        return restored(cls, state, method=method, heuristic=heuristic, where=where)


def _generators(seed: int) -> list[np.random.Generator]:
    """The generator of the initial design, and that of the method."""
    return [np.random.default_rng([seed, k]) for k in range(2)]


def _exponents(values: Floats) -> NDArray[np.int64]:
    """Binary exponents by which to scale columns whose squares would overflow or underflow; 0, nearly always, for others."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    exponents = np.frexp(largest)[1].astype(np.int64)
    return np.where((largest > 0) & (np.abs(exponents) > MAX_EXPONENT), exponents, 0)


_POINT_TYPES = (Mapping, Sequence, np.ndarray)
"""Types of points, to tell them from trial ids."""
