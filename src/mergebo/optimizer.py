"""`Optimizer`: the ask-and-tell interface, with all trials recorded."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mergebo._threads import one_blas_thread
from mergebo._typing import Floats, Rows
from mergebo.beliefs import Belief, check_beliefs
from mergebo.errors import (
    ArgumentError,
    ExhaustedError,
    MergeboError,
    ShapeError,
    TrialError,
    UnsupportedError,
    unknown_choice,
)
from mergebo.explain.report import Explanation, explain
from mergebo.mean import PriorMean
from mergebo.methods.base import BatchMethod, History
from mergebo.methods.recommendation import posterior
from mergebo.methods.registry import make_method
from mergebo.pareto import ParetoFront, chebyshev_scalarise, non_dominated
from mergebo.spaces import SearchSpace
from mergebo.spaces.data import Where, space_from_data, space_to_data
from mergebo.trials import Recommendation, State, Trial

logger = logging.getLogger(__name__)

Direction: TypeAlias = Literal["minimize", "maximize"]
Design: TypeAlias = Literal["stratified", "uniform"]

FORMAT = 3
"""Version of what `state` returns. Earlier ones can be read: 1 had one exact objective and no prior knowledge, 2 had the
old names in `_RENAMED`."""

_RENAMED = {
    **{"spread": "stratified"},  # designs
    **{"families": "structures", "maps": "embedding", "randoms": "random_starts"},  # settings
    **{"neighbours": "adjacency", "succession": "directed-adjacency", "spacings": "slot-distances"},  # structures
}

MAX_EXPONENT = 300
"""Binary exponents up to which values are passed to methods unscaled; others are scaled, which is exact."""

PRIOR_CANDIDATES = 8
"""Random points of which every other point of the initial design is the best by the prior mean."""


class Optimizer:
    """`ask` for a trial, evaluate its point, `tell` its value (or that it failed); `best` is the best trial so far.

    Values are minimised unless `direction="maximize"`. The first `initial` trials are random points, the same for every
    method with the same seed. Orders are uniform. Of binary choices, the first point has none, the second all, and the
    others a random share; with `design="uniform"` each is 1 with probability 1/2. No point is proposed twice, unless values
    are `noisy`.

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
        method: str = "auto",
        *,
        seed: int = 0,
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
        directions = (direction,) * objectives if isinstance(direction, str) else tuple(direction)
        for each in directions:
            if each not in get_args(Direction):
                raise unknown_choice("direction", each, get_args(Direction))
        if len(directions) != objectives:
            raise ArgumentError(f"each of {objectives} objectives needs a direction, got {len(directions)}: {direction!r}")
        if design not in get_args(Design):
            raise unknown_choice("design", design, get_args(Design))
        if isinstance(initial, bool) or not isinstance(initial, int) or initial < 1:
            raise ArgumentError(f"a run starts with at least one random point, got initial={initial!r}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ArgumentError(f"seed must be an integer, at least 0, got {seed!r}")
        if not isinstance(noisy, bool | np.bool_):
            raise ArgumentError(f"noisy must be True or False, got {noisy!r}")
        if heuristic is not None and not callable(heuristic):
            raise ArgumentError(f"a heuristic must be a function that estimates the value of a point, got {heuristic!r}")
        self.space = space
        self.direction = direction if isinstance(direction, str) else directions
        self.objectives = objectives
        self.noisy = bool(noisy)
        """Whether repeated measurements of a point differ; becomes True once a value is recorded with its noise."""
        self.design = design
        self.seed = seed
        self.initial = initial
        self.method_name = method
        self.settings = settings
        self.beliefs = check_beliefs(beliefs, space)
        self.heuristic = heuristic
        self._signs = np.array([1.0 if each == "minimize" else -1.0 for each in directions])
        self._prior_mean: PriorMean | None = None
        if self.beliefs or heuristic is not None:
            if objectives > 1:
                raise ArgumentError("beliefs and a heuristic are about one objective; with several, give start=[points]")
            self._prior_mean = PriorMean(space, self.beliefs, heuristic, float(self._signs[0]))
        self._method = make_method(method, **settings)
        self._design = np.random.default_rng([seed, 0])
        self._rng = np.random.default_rng([seed, 1])
        self._trials: list[Trial] = []
        self._rows: list[Rows] = []
        self._finished: list[int] = []
        self._start = [self._row(point) for point in start]

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in the order in which they were asked for or added."""
        return tuple(self._trials)

    @property
    def best(self) -> Trial | None:
        """The finished trial with the best value; the first of equal ones.

        If values are noisy, a `Recommendation`: of the observed points the one with the best posterior mean, with that mean
        and its standard deviation.
        """
        if self.objectives > 1:
            raise UnsupportedError(f"no single trial is best in {self.objectives} objectives; see pareto")
        done = [trial for trial in self._trials if trial.state == "done"]
        if self.noisy and done:
            done = list(self._recommendations())
        return min(done, key=lambda trial: float(self._signs[0] * trial.value)) if done else None

    @property
    def pareto(self) -> ParetoFront:
        """The non-dominated finished trials: no other is as good in all objectives and better in one.

        If values are noisy, points are compared by their posterior means, which are also the values given.
        """
        done, values, _ = self._results()
        trials = self._recommendations() if self.noisy and done else [self._trials[k] for k in done]
        compared = np.array([self._signs * trial.value for trial in trials]).reshape(len(trials), self.objectives)
        front = [trials[k] for k in np.flatnonzero(non_dominated(compared))]
        front.sort(key=lambda trial: (float(np.ravel(trial.value)[0]), trial.id))
        return ParetoFront(tuple(front), self._signs * values, self._signs)

    @one_blas_thread()
    def _recommendations(self) -> list[Trial]:
        """Posterior mean and standard deviation of each point measured with noise."""
        done, _, _ = self._results()
        histories = [self._history(objective) for objective in range(self.objectives)]
        found = [history.unscaled(posterior(history)) for history in histories]
        means, deviations = (np.stack(each, axis=1) for each in zip(*found, strict=True))
        rows = [self._rows[k].tobytes() for k in done]
        measurements, first = Counter(rows), {row: index for index, row in reversed([*enumerate(rows)])}
        return [
            Recommendation(
                **vars(self._trials[done[index]])
                | {"value": self._as_value(self._signs * means[index]), "std": self._as_value(deviations[index])},
                measurements=measurements[rows[index]],
            )
            for index in sorted(first.values())
        ]

    def _as_value(self, numbers: Floats) -> Any:
        """Numbers as a trial holds them: one, or a tuple with several objectives."""
        return tuple(numbers.tolist()) if self.objectives > 1 else float(numbers[0])

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
            trials += [self._add(row) for row in rows]
        return trials

    def attach(self, point: Any) -> Trial:
        """A pending trial of a point chosen elsewhere. `ask` takes it into account; `tell` its value as for any other."""
        return self._add(self._row(point))

    def _add(self, row: Rows) -> Trial:
        trial = Trial(len(self._trials), self.space.decode(row))
        self._trials.append(trial)
        self._rows.append(row)
        return trial

    def _propose(self, count: int) -> Sequence[Rows]:
        """Between one and `count` rows."""
        known = {row.tobytes() for row in self._rows}
        for row in self._start:
            if row.tobytes() not in known:
                return [row]
        if len(self._trials) < self.initial:
            return [self._initial_row()]
        if self.objectives > 1:  # random weights for every trial distribute a batch along the front
            history = self._history(weights=self._rng.dirichlet(np.ones(self.objectives)))
            return [self._method.propose(history, self._rng)]
        if count > 1 and isinstance(self._method, BatchMethod):
            return list(self._method.propose_batch(self._history(), count, self._rng))
        return [self._method.propose(self._history(), self._rng)]

    def _initial_row(self) -> Rows:
        """The next point of the initial design: a random one, or every other time the best of several by the prior mean."""
        history, number = self._history(), len(self._trials) if self.design == "stratified" else None
        if self._prior_mean is None or len(self._trials) % 2:
            return history.untried_row(self._design, number)
        rows = np.array([history.untried_row(self._design, number) for _ in range(PRIOR_CANDIDATES)])
        best: Rows = rows[self._prior_mean.prior(rows).argmin()]
        return best

    def tell(self, trial: Trial | int | Any, value: Any, *, noise_std: Any = None) -> None:
        """Record the value of a trial; a value that is not finite counts as a failure.

        With a point instead of a trial, the value is that of the pending trial of this point, or of a new one. `noise_std`
        is the standard deviation of the measurement, if known. With several objectives both are lists.
        """
        row = None if isinstance(trial, Trial | str | bytes) or not isinstance(trial, _POINT_TYPES) else self._row(trial)
        index = self._pending(trial) if row is None else self._observed_index(row, noise_std)
        what = f"trial {index}" if index is not None else f"the point {trial}"
        numbers = self._numbers(value, f"the value of {what}")
        stds = None if noise_std is None else self._numbers(noise_std, f"the noise of {what}")
        if stds is not None and not all(math.isfinite(each) and each >= 0 for each in stds):
            raise TrialError(f"the noise of {what} must be a finite standard deviation, at least 0, got {noise_std!r}")
        if index is None:
            assert row is not None
            index = self._add(row).id
        if not all(map(math.isfinite, numbers)):
            logger.info("trial %d failed: its value is %s", index, value)
            self.fail(index)
            return
        self._trials[index] = replace(
            self._trials[index],
            state="done",
            value=self._as_value(np.array(numbers)),
            noise_std=None if stds is None else self._as_value(np.array(stds)),
        )
        self.noisy = self.noisy or stds is not None
        self._finished.append(index)

    def _numbers(self, value: Any, what: str) -> list[float]:
        """A value, or one for each objective, as floats."""
        several = self.objectives > 1
        try:
            given = list(value) if several and not isinstance(value, str | bytes) else [value]
            if any(isinstance(each, str | bytes | bool) for each in given):
                raise TypeError(f"{type(given[0]).__name__} is not a number")
            numbers = [float(each) for each in given]
        except (TypeError, ValueError) as error:
            expected = f"{self.objectives} numbers" if several else "a number"
            raise TrialError(f"{what} must be {expected}, got {value!r}") from error
        if len(numbers) != self.objectives:
            raise TrialError(f"{what} must be {self.objectives} numbers, one for each objective, got {value!r}")
        return numbers

    def _observed_index(self, row: Rows, noise_std: Any) -> int | None:
        """The pending trial of a row, if there is one; an error if the row has an exact value already."""
        same = [k for k, each in enumerate(self._rows) if each.tobytes() == row.tobytes()]
        for k in same:
            if self._trials[k].state == "pending":
                return k
        for k in same:
            if self._trials[k].state == "done" and not self.noisy and noise_std is None:
                raise TrialError(
                    f"the point of trial {k} has the value {self._trials[k].value} already; if measurements differ, use "
                    "Optimizer(..., noisy=True)"
                )
        return None

    def fail(self, trial: Trial | int) -> None:
        """Record that a trial failed. Its point is not proposed again."""
        index = self._pending(trial)
        self._trials[index] = replace(self._trials[index], state="failed")
        self._finished.append(index)

    def _pending(self, trial: Any) -> int:
        index = trial.id if isinstance(trial, Trial) else trial
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self._trials):
            raise TrialError(f"unknown trial {trial!r}; trials are 0..{len(self._trials) - 1}")
        state = self._trials[index].state
        if state != "pending":
            hint = "; to add another measurement, tell its point" if self.noisy and state == "done" else ""
            raise TrialError(
                f"trial {index} is already {state} (value {self._trials[index].value}); nothing was changed{hint}"
            )
        return index

    def _row(self, point: Any) -> Rows:
        """One point as a row."""
        row = self.space.encode(point)
        if row.shape != (self.space.width,):
            raise ShapeError(f"expected one point of {self.space.width} numbers, got {point!r}")
        return row.astype(self.space.dtype)

    def _results(self) -> tuple[list[int], Floats, Floats | None]:
        """Finished trials in the order of observation, with values and noise `(count, objectives)`; smaller is better."""
        done = [k for k in self._finished if self._trials[k].state == "done"]
        shape = len(done), self.objectives
        values = np.array([self._signs * self._trials[k].value for k in done]).reshape(shape)
        given = [self._trials[k].noise_std for k in done]
        unknown = self._as_value(np.full(self.objectives, np.nan))
        noise_std = np.array([unknown if each is None else each for each in given], np.float64).reshape(shape)
        return done, values, None if all(each is None for each in given) else noise_std

    def _history(self, objective: int = 0, weights: Floats | None = None) -> History:
        """The history that methods see: of one objective, or of all, scalarised with weights."""

        def rows(which: list[int]) -> Rows:
            return np.array([self._rows[k] for k in which], self.space.dtype).reshape(len(which), self.space.width)

        done, values, noise_std = self._results()
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
            rows(done),
            scalars,
            rows([k for k in self._finished if self._trials[k].state == "failed"]),
            rows([trial.id for trial in self._trials if trial.state == "pending"]),
            self.initial,
            self.noisy,
            None if noise_std is None else np.hypot.reduce(gradient * noise_std, axis=1),
            self._prior_mean,
            int(exponents[objective]),
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
        return explain(self._history(which), "minimize" if self._signs[which] > 0 else "maximize")

    def state(self) -> dict[str, Any]:
        """The complete state, except the heuristic, as plain data for JSON: `from_state` continues exactly from here."""
        return {
            "format": FORMAT,
            "space": space_to_data(self.space),
            "method": self.method_name,
            "settings": {key: list(value) if isinstance(value, tuple) else value for key, value in self.settings.items()},
            "seed": int(self.seed),
            "initial": self.initial,
            "direction": self.direction if isinstance(self.direction, str) else list(self.direction),
            "design": self.design,
            "objectives": self.objectives,
            "noisy": self.noisy,
            "start": [row.tolist() for row in self._start],
            "beliefs": [belief.to_data() for belief in self.beliefs],
            "heuristic": self.heuristic is not None,
            "generators": [self._design.bit_generator.state, self._rng.bit_generator.state],
            "finished": list(self._finished),
            "trials": [
                {
                    "row": row.tolist(),
                    "state": trial.state,
                    "value": _as_json(trial.value),
                    "noise": _as_json(trial.noise_std),
                }
                for row, trial in zip(self._rows, self._trials, strict=True)
            ],
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], *, heuristic: Callable[[Any], float] | None = None, where: Where = None
    ) -> Optimizer:
        """The optimiser with a state from `state()`. Functions are not saved and have to be passed again.

        `where` is the predicate of its orders, if they have one; a dictionary by variable name if several have one.
        """
        try:
            if state["format"] not in range(1, FORMAT + 1):
                raise ArgumentError(f"the state has format {state['format']}; this version reads formats 1 to {FORMAT}")
            if state.get("heuristic", False) != (heuristic is not None):
                raise ArgumentError(
                    "the state had a heuristic, which is not saved: pass it again, from_state(state, heuristic=...)"
                    if heuristic is None
                    else "the state had no heuristic: use from_state(state)"
                )
            settings = {key: tuple(value) if isinstance(value, list) else value for key, value in state["settings"].items()}
            design = state.get("design", "uniform")  # the only design of states without this key
            if state["format"] < 3:
                settings, design = _renamed(settings), _RENAMED.get(design, design)
            space = space_from_data(state["space"], where)
            made = cls(
                space,
                state["method"],
                seed=state["seed"],
                initial=state["initial"],
                direction=state["direction"],
                design=design,
                objectives=state.get("objectives", 1),
                noisy=state.get("noisy", False),
                beliefs=[Belief.from_data(each) for each in state.get("beliefs", ())],
                heuristic=heuristic,
                **settings,
            )
            made._design.bit_generator.state, made._rng.bit_generator.state = state["generators"]
            made._start = [made._saved_row(row, "a point to start with") for row in state.get("start", ())]
            for trial in state["trials"]:
                made._restore(trial)
            done = [trial.id for trial in made._trials if trial.state != "pending"]
            if any(type(k) is not int for k in state["finished"]) or sorted(state["finished"]) != done:
                raise ArgumentError(f"finished trials are {done}, but the state has {state['finished']}")
            made._finished = list(state["finished"])
            if state["format"] != FORMAT:
                logger.info("restored a state of format %s; it will be saved in format %d", state["format"], FORMAT)
        except MergeboError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, IndexError, ArithmeticError) as error:
            raise ArgumentError(f"not a valid optimiser state: {error!r}") from error
        return made

    def _restore(self, saved: Mapping[str, Any]) -> None:
        """Add a trial of a saved state, or raise an error if it is inconsistent."""
        number = len(self._trials)
        row = self._saved_row(saved["row"], f"trial {number}")
        if saved["state"] not in get_args(State):
            raise unknown_choice(f"the state of trial {number}", saved["state"], get_args(State))
        value, noise = saved["value"], saved.get("noise")
        if (saved["state"] == "done") != (value is not None):
            raise ArgumentError(f"trial {number} is {saved['state']} but has the value {value!r}")
        self._trials.append(Trial(number, self.space.decode(row)))
        self._rows.append(row)
        if value is not None:
            self.tell(number, value, noise_std=noise)
        self._trials[number] = replace(self._trials[number], state=saved["state"])
        if self._trials[number].value is None and value is not None:
            raise ArgumentError(f"trial {number} has the value {value!r}, which is not finite")

    def _saved_row(self, numbers: Any, what: str) -> Rows:
        """A row of a saved state, checked to belong to the space."""
        row = np.array(numbers, np.float64)
        if row.shape != (self.space.width,):
            raise ShapeError(f"{what} has {row.size} numbers, the space {self.space.width}")
        with np.errstate(invalid="raise"):  # for numbers that no integer can hold
            found = row.astype(self.space.dtype)
            if not np.array_equal(found, row) or not np.array_equal(self._row(self.space.decode(found)), row):
                raise ArgumentError(f"{what} has a row that is not in the space: {numbers}")
        return found


def _renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a state of format 1 or 2, with their present names."""
    return {
        _RENAMED.get(key, key): tuple(_RENAMED.get(each, each) for each in value) if key == "families" else value
        for key, value in settings.items()
    }


def _exponents(values: Floats) -> NDArray[np.int64]:
    """Binary exponents by which to scale columns whose squares would overflow or underflow; 0, nearly always, for others."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    exponents = np.frexp(largest)[1].astype(np.int64)
    return np.where((largest > 0) & (np.abs(exponents) > MAX_EXPONENT), exponents, 0)


_POINT_TYPES = (Mapping, Sequence, np.ndarray)
"""Types of points, to tell them from trial ids."""


def _as_json(value: Any) -> Any:
    """For JSON, which has no tuples."""
    return list(value) if isinstance(value, tuple) else value
