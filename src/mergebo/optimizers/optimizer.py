"""Ask and tell: the loop in the user's hands, with everything recorded."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

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
from mergebo.optimizers.explanation import Explanation, explain
from mergebo.optimizers.history import BatchMethod, History
from mergebo.optimizers.knowledge import Knowledge
from mergebo.optimizers.methods import make_method
from mergebo.optimizers.pareto import Front, non_dominated, scalarised
from mergebo.optimizers.recommendation import posterior
from mergebo.space_data import Where, space_from_data, space_to_data
from mergebo.spaces import AnySpace
from mergebo.threads import one_blas_thread

logger = logging.getLogger(__name__)

Direction: TypeAlias = Literal["minimize", "maximize"]
State: TypeAlias = Literal["pending", "done", "failed"]
Design: TypeAlias = Literal["spread", "uniform"]

FORMAT = 2
"""Version of what `state` returns; 1, which is read too, had one exact objective and no prior knowledge."""

SQUARABLE = 300
"""Exponents up to which values are handed to methods as they are; others are scaled, which is exact."""

CONTENDERS = 8
"""Random points of which prior knowledge takes the best, for every other point of the initial design."""


@dataclass(frozen=True)
class Trial:
    """One point that was asked for, and what came of it."""

    id: int
    point: Any
    state: State = "pending"
    value: Any = None
    """A number; with several objectives one for each."""
    noise: Any = None
    """Standard deviation of the value, or of each, if it was told."""


@dataclass(frozen=True)
class Recommendation(Trial):
    """The point that is best as far as noisy measurements tell. Its `value` is what to expect of it, not what was measured.

    `id` is that of its first trial, where the measurement is.
    """

    deviation: Any = None
    """Standard deviation of what is expected; nan while there is nothing to tell it by."""
    measurements: int = 1
    """How often the point was measured."""


class Optimizer:
    """`ask` for a trial, evaluate its point, `tell` its value (or that it failed); `best` is the best trial so far.

    Values are minimised unless `direction="maximize"`. The first `initial` trials are random points, the same for every
    method with the same seed: orders are uniform; of binary choices none are taken first, then all, then any share of
    them, or about half of them throughout with `design="uniform"`. No point is asked for twice, unless values are `noisy`.

    What is known already: points to `start` with are tried first; `beliefs` such as `mb.beliefs.before("a", "b")` and a
    `heuristic`, a function that roughly says the value of a point, favour some of the initial points and are a trend of
    the models, as far as results do not say otherwise. Results from elsewhere are told without asking.

    With several `objectives` a result is a list of so many numbers, `direction` may be a list, too, and `pareto` holds the
    trials that no other beats.
    """

    def __init__(
        self,
        space: AnySpace,
        method: str = "auto",
        *,
        seed: int = 0,
        initial: int = 20,
        direction: Direction | Sequence[Direction] = "minimize",
        design: Design = "spread",
        objectives: int = 1,
        noisy: bool = False,
        start: Iterable[Any] = (),
        beliefs: Iterable[Belief] = (),
        heuristic: Callable[[Any], float] | None = None,
        **settings: Any,
    ) -> None:
        if not isinstance(space, AnySpace):
            raise ArgumentError(f"space must be one such as PermutationSpace(15), got {space!r}")
        if isinstance(objectives, bool) or not isinstance(objectives, int) or objectives < 1:
            raise ArgumentError(f"objectives is how many there are, at least 1, got {objectives!r}")
        directions = (direction,) * objectives if isinstance(direction, str) else tuple(direction)
        for each in directions:
            if each not in get_args(Direction):
                raise unknown_choice("direction", each, get_args(Direction))
        if len(directions) != objectives:
            raise ArgumentError(f"each of {objectives} objectives has a direction, got {len(directions)}: {direction!r}")
        if design not in get_args(Design):
            raise unknown_choice("design", design, get_args(Design))
        if isinstance(initial, bool) or not isinstance(initial, int) or initial < 1:
            raise ArgumentError(f"at least one random point starts a run, got initial={initial!r}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ArgumentError(f"seed is a whole number, at least 0, got {seed!r}")
        if not isinstance(noisy, bool | np.bool_):
            raise ArgumentError(f"noisy is True or False, got {noisy!r}")
        if heuristic is not None and not callable(heuristic):
            raise ArgumentError(f"a heuristic is a function of a point that roughly says its value, got {heuristic!r}")
        self.space = space
        self.direction = direction if isinstance(direction, str) else directions
        self.objectives = objectives
        self.noisy = bool(noisy)
        """Whether another measurement of a point would give another value; so once a value was told with its noise."""
        self.design = design
        self.seed = seed
        self.initial = initial
        self.method_name = method
        self.settings = settings
        self.beliefs = check_beliefs(beliefs, space)
        self.heuristic = heuristic
        self._signs = np.array([1.0 if each == "minimize" else -1.0 for each in directions])
        self._knowledge: Knowledge | None = None
        if self.beliefs or heuristic is not None:
            if objectives > 1:
                raise ArgumentError("beliefs and a heuristic are about one objective; with several, give start=[points]")
            self._knowledge = Knowledge(space, self.beliefs, heuristic, float(self._signs[0]))
        self._method = make_method(method, **settings)
        self._design = np.random.default_rng([seed, 0])
        self._rng = np.random.default_rng([seed, 1])
        self._trials: list[Trial] = []
        self._rows: list[Rows] = []
        self._finished: list[int] = []
        self._start = [self._row(point) for point in start]

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in the order in which they were asked for or told."""
        return tuple(self._trials)

    @property
    def best(self) -> Trial | None:
        """The finished trial with the best value; the first of several equal ones.

        Where values are noisy, a `Recommendation`: of the points that were tried the one that is expected to be the best,
        with its expected value and that value's standard deviation.
        """
        if self.objectives > 1:
            raise UnsupportedError(f"none of several trials is best in {self.objectives} objectives; see pareto")
        done = [trial for trial in self._trials if trial.state == "done"]
        if self.noisy and done:
            done = list(self._expected())
        return min(done, key=lambda trial: float(self._signs[0] * trial.value)) if done else None

    @property
    def pareto(self) -> Front:
        """The finished trials that no other beats: none is as good in all objectives and better in one.

        Where values are noisy, points are compared, and their values given, as they are expected to be.
        """
        done, values, _ = self._results()
        trials = self._expected() if self.noisy and done else [self._trials[k] for k in done]
        compared = np.array([self._signs * trial.value for trial in trials]).reshape(len(trials), self.objectives)
        kept = [trials[k] for k in np.flatnonzero(non_dominated(compared))]
        kept.sort(key=lambda trial: (float(np.ravel(trial.value)[0]), trial.id))
        return Front(tuple(kept), self._signs * values, self._signs)

    @one_blas_thread()
    def _expected(self) -> list[Trial]:
        """What noisy results say about each point that was measured."""
        done, _, _ = self._results()
        histories = [self._history(objective) for objective in range(self.objectives)]
        found = [history.unscaled(posterior(history)) for history in histories]
        means, deviations = (np.stack(each, axis=1) for each in zip(*found, strict=True))
        rows = [self._rows[k].tobytes() for k in done]
        measurements, first = Counter(rows), {row: place for place, row in reversed([*enumerate(rows)])}
        return [
            Recommendation(
                **vars(self._trials[done[place]])
                | {"value": self._plain(self._signs * means[place]), "deviation": self._plain(deviations[place])},
                measurements=measurements[rows[place]],
            )
            for place in sorted(first.values())
        ]

    def _plain(self, numbers: Floats) -> Any:
        """Numbers as a trial holds them: one, or a tuple with several objectives."""
        return tuple(numbers.tolist()) if self.objectives > 1 else float(numbers[0])

    @one_blas_thread()
    def ask(self, count: int | None = None) -> Any:
        """The next trial, or a list of `count` trials for a batch, none of them twice; fewer if there are no more points.

        Raises `ExhaustedError` when every point was tried.
        """
        if count is None:
            return self._ask(1)[0]
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ArgumentError(f"ask for at least one trial, got {count!r}")
        return self._ask(count)

    def _ask(self, count: int) -> list[Trial]:
        made: list[Trial] = []
        while len(made) < count:
            try:
                rows = self._propose(count - len(made))
            except ExhaustedError:
                if not made:
                    raise
                break  # what was made must not be lost
            made += [self._add(row) for row in rows]
        return made

    def begin(self, point: Any) -> Trial:
        """A pending trial of a point that was chosen elsewhere: told like any other, and considered by `ask` until then."""
        return self._add(self._row(point))

    def _add(self, row: Rows) -> Trial:
        trial = Trial(len(self._trials), self.space.decode(row))
        self._trials.append(trial)
        self._rows.append(row)
        return trial

    def _propose(self, count: int) -> Sequence[Rows]:
        """At least one row, at most so many."""
        known = {row.tobytes() for row in self._rows}
        for row in self._start:
            if row.tobytes() not in known:
                return [row]
        if len(self._trials) < self.initial:
            return [self._designed()]
        if self.objectives > 1:  # every trial has its own weights, which spreads a batch along the front
            history = self._history(weights=self._rng.dirichlet(np.ones(self.objectives)))
            return [self._method.propose(history, self._rng)]
        if count > 1 and isinstance(self._method, BatchMethod):
            return list(self._method.propose_batch(self._history(), count, self._rng))
        return [self._method.propose(self._history(), self._rng)]

    def _designed(self) -> Rows:
        """The next point of the initial design: a random one, or every other time the most believed in of several."""
        history, place = self._history(), len(self._trials) if self.design == "spread" else None
        if self._knowledge is None or len(self._trials) % 2:
            return history.fresh_row(self._design, place)
        rows = np.array([history.fresh_row(self._design, place) for _ in range(CONTENDERS)])
        best: Rows = rows[self._knowledge.prior(rows).argmin()]
        return best

    def tell(self, trial: Trial | int | Any, value: Any, *, noise: Any = None) -> None:
        """Record the value of a trial; one that is not finite counts as failed.

        With a point instead of a trial, a result from elsewhere: that of a pending trial, or of a new one. `noise` is the
        standard deviation of this measurement, if it is known. With several objectives both are lists.
        """
        told = None if isinstance(trial, Trial | str | bytes) or not isinstance(trial, _MANY) else self._row(trial)
        index = self._pending(trial) if told is None else self._told(told, noise)
        what = f"trial {index}" if index is not None else f"the point {trial}"
        numbers = self._numbers(value, f"the value of {what}")
        errors = None if noise is None else self._numbers(noise, f"the noise of {what}")
        if errors is not None and not all(math.isfinite(each) and each >= 0 for each in errors):
            raise TrialError(f"the noise of {what} is a standard deviation, not negative and finite, got {noise!r}")
        if index is None:
            assert told is not None
            index = self._add(told).id
        if not all(map(math.isfinite, numbers)):
            logger.info("trial %d failed: its value is %s", index, value)
            self.fail(index)
            return
        self._trials[index] = replace(
            self._trials[index],
            state="done",
            value=self._plain(np.array(numbers)),
            noise=None if errors is None else self._plain(np.array(errors)),
        )
        self.noisy = self.noisy or errors is not None
        self._finished.append(index)

    def _numbers(self, value: Any, what: str) -> list[float]:
        """A value, or one for each objective, as floats."""
        several = self.objectives > 1
        try:
            given = list(value) if several and not isinstance(value, str | bytes) else [value]
            if any(isinstance(each, str | bytes | bool) for each in given):
                raise TypeError(f"{type(given[0]).__name__} is no number")
            numbers = [float(each) for each in given]
        except (TypeError, ValueError) as error:
            wanted = f"{self.objectives} numbers" if several else "a number"
            raise TrialError(f"{what} must be {wanted}, got {value!r}") from error
        if len(numbers) != self.objectives:
            raise TrialError(f"{what} must be {self.objectives} numbers, one for each objective, got {value!r}")
        return numbers

    def _told(self, row: Rows, noise: Any) -> int | None:
        """The pending trial of a row, if there is one; an error if it has an exact value already."""
        same = [k for k, each in enumerate(self._rows) if each.tobytes() == row.tobytes()]
        for k in same:
            if self._trials[k].state == "pending":
                return k
        for k in same:
            if self._trials[k].state == "done" and not self.noisy and noise is None:
                raise TrialError(
                    f"the point of trial {k} has the value {self._trials[k].value} already; if measurements differ, say "
                    "Optimizer(..., noisy=True)"
                )
        return None

    def fail(self, trial: Trial | int) -> None:
        """Record that a trial gave no value. Its point is not asked for again."""
        index = self._pending(trial)
        self._trials[index] = replace(self._trials[index], state="failed")
        self._finished.append(index)

    def _pending(self, trial: Any) -> int:
        index = trial.id if isinstance(trial, Trial) else trial
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self._trials):
            raise TrialError(f"there is no trial {trial!r}; trials are 0..{len(self._trials) - 1}")
        state = self._trials[index].state
        if state != "pending":
            hint = "; tell another measurement by its point" if self.noisy and state == "done" else ""
            raise TrialError(
                f"trial {index} is {state} already (value {self._trials[index].value}); nothing was changed{hint}"
            )
        return index

    def _row(self, point: Any) -> Rows:
        """One point as a row."""
        row = self.space.encode(point)
        if row.shape != (self.space.width,):
            raise ShapeError(f"expected one point of {self.space.width} numbers, got {point!r}")
        return row.astype(self.space.dtype)

    def _results(self) -> tuple[list[int], Floats, Floats | None]:
        """Finished trials in the order of their results, with values and noise `(count, objectives)`; smaller is better."""
        done = [k for k in self._finished if self._trials[k].state == "done"]
        shape = len(done), self.objectives
        values = np.array([self._signs * self._trials[k].value for k in done]).reshape(shape)
        told = [self._trials[k].noise for k in done]
        unknown = self._plain(np.full(self.objectives, np.nan))
        errors = np.array([unknown if each is None else each for each in told], np.float64).reshape(shape)
        return done, values, None if all(each is None for each in told) else errors

    def _history(self, objective: int = 0, weights: Floats | None = None) -> History:
        """What methods see: one objective, or all of them under weights."""

        def rows(which: list[int]) -> Rows:
            return np.array([self._rows[k] for k in which], self.space.dtype).reshape(len(which), self.space.width)

        done, values, errors = self._results()
        exponents = _extremes(values)
        values = np.ldexp(values, -exponents)
        if errors is not None:
            errors = np.ldexp(errors, -exponents)
        if weights is None or not done:
            slopes = np.eye(self.objectives)[[objective]]
            one = values[:, objective]
        else:
            one, slopes = scalarised(values, weights)
        return History(
            self.space,
            rows(done),
            one,
            rows([k for k in self._finished if self._trials[k].state == "failed"]),
            rows([trial.id for trial in self._trials if trial.state == "pending"]),
            self.initial,
            self.noisy,
            None if errors is None else np.hypot.reduce(slopes * errors, axis=1),
            self._knowledge,
            int(exponents[objective]),
        )

    @one_blas_thread()
    def explain(self, objective: int | None = None) -> Explanation:
        """What the results so far say: which structure they support, and what moves the value; for every method alike.

        With several objectives say which, from 0 on.
        """
        every = range(self.objectives)
        if objective is None and self.objectives > 1:
            raise ArgumentError(f"say which objective to explain: explain(objective=0), up to {every[-1]}")
        if objective is not None and objective not in every:
            raise ArgumentError(f"objectives are 0..{every[-1]}, got {objective!r}")
        which = objective or 0
        return explain(self._history(which), "minimize" if self._signs[which] > 0 else "maximize")

    def state(self) -> dict[str, Any]:
        """Everything but the heuristic, as plain data for JSON: `from_state` goes on exactly where this one is."""
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
                {"row": row.tolist(), "state": trial.state, "value": _listed(trial.value), "noise": _listed(trial.noise)}
                for row, trial in zip(self._rows, self._trials, strict=True)
            ],
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], *, heuristic: Callable[[Any], float] | None = None, where: Where = None
    ) -> Optimizer:
        """The optimiser that `state()` described; functions, which are no data, are given again.

        `where` is the predicate of its orders, if they have one; a dictionary by the variables' names if several have one.
        """
        try:
            if state["format"] not in (1, FORMAT):
                raise ArgumentError(f"the state has format {state['format']}; this version reads formats 1 to {FORMAT}")
            if state.get("heuristic", False) != (heuristic is not None):
                raise ArgumentError(
                    "the state had a heuristic, which is not saved: give it again, from_state(state, heuristic=...)"
                    if heuristic is None
                    else "the state had no heuristic: from_state(state) goes on without one"
                )
            settings = {key: tuple(value) if isinstance(value, list) else value for key, value in state["settings"].items()}
            space = space_from_data(state["space"], where)
            made = cls(
                space,
                state["method"],
                seed=state["seed"],
                initial=state["initial"],
                direction=state["direction"],
                design=state.get("design", "uniform"),  # the only one there was before states said so
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
                raise ArgumentError(f"finished trials are {done}, and the state says {state['finished']}")
            made._finished = list(state["finished"])
            if state["format"] != FORMAT:
                logger.info("restored a state of format %s; it will be saved in format %d", state["format"], FORMAT)
        except MergeboError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, IndexError, ArithmeticError) as error:
            raise ArgumentError(f"this is not the state of an optimiser: {error!r}") from error
        return made

    def _restore(self, saved: Mapping[str, Any]) -> None:
        """Add a trial of a saved state as it was, or raise an error if it cannot have been so."""
        number = len(self._trials)
        row = self._saved_row(saved["row"], f"trial {number}")
        if saved["state"] not in get_args(State):
            raise unknown_choice(f"the state of trial {number}", saved["state"], get_args(State))
        value, noise = saved["value"], saved.get("noise")
        if (saved["state"] == "done") != (value is not None):
            raise ArgumentError(f"trial {number} is {saved['state']} and has the value {value!r}")
        self._trials.append(Trial(number, self.space.decode(row)))
        self._rows.append(row)
        if value is not None:
            self.tell(number, value, noise=noise)
        self._trials[number] = replace(self._trials[number], state=saved["state"])
        if self._trials[number].value is None and value is not None:
            raise ArgumentError(f"trial {number} has the value {value!r}, which is not finite")

    def _saved_row(self, numbers: Any, what: str) -> Rows:
        """A row of a saved state, which must be one of the space."""
        row = np.array(numbers, np.float64)
        if row.shape != (self.space.width,):
            raise ShapeError(f"{what} has {row.size} numbers, the space {self.space.width}")
        with np.errstate(invalid="raise"):  # of numbers that no whole number is
            found = row.astype(self.space.dtype)
            if not np.array_equal(found, row) or not np.array_equal(self._row(self.space.decode(found)), row):
                raise ArgumentError(f"{what} has a row that is none of the space: {numbers}")
        return found


def _extremes(values: Floats) -> NDArray[np.int64]:
    """Powers of two that bring each column to a size whose squares are numbers; 0, which is nearly always, if it has one."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    exponents = np.frexp(largest)[1].astype(np.int64)
    return np.where((largest > 0) & (np.abs(exponents) > SQUARABLE), exponents, 0)


_MANY = (Mapping, Sequence, np.ndarray)
"""What a point is, and the number of a trial is not."""


def _listed(value: Any) -> Any:
    """For JSON, which has no tuples."""
    return list(value) if isinstance(value, tuple) else value
