"""Ask and tell: the loop in the user's hands, with everything recorded."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from mergebo.errors import ArgumentError, ShapeError, TrialError, UnsupportedError, unknown_choice
from mergebo.optimizers.explanation import Explanation, explain
from mergebo.optimizers.history import History
from mergebo.optimizers.methods import make_method
from mergebo.spaces import AnySpace, Binary, Choice, Integer, Permutation, PermutationSpace, Real, Rows, Space, Variable

Direction: TypeAlias = Literal["minimize", "maximize"]
State: TypeAlias = Literal["pending", "done", "failed"]
Design: TypeAlias = Literal["spread", "uniform"]

Where: TypeAlias = Callable[[Any], object] | Mapping[str, Callable[[Any], object]] | None

FORMAT = 1
"""Version of what `state` returns."""


@dataclass(frozen=True)
class Trial:
    """One point that was asked for, and what came of it."""

    id: int
    point: Any
    state: State = "pending"
    value: float | None = None


class Optimizer:
    """`ask` for a trial, evaluate its point, `tell` its value (or that it failed); `best` is the best trial so far.

    Values are minimised unless `direction="maximize"`. The first `initial` trials are random points, the same for every
    method with the same seed: orders are uniform; of binary choices none are taken first, then all, then any share of
    them, or about half of them throughout with `design="uniform"`. No point is asked for twice.
    """

    def __init__(
        self,
        space: AnySpace,
        method: str = "auto",
        *,
        seed: int = 0,
        initial: int = 20,
        direction: Direction = "minimize",
        design: Design = "spread",
        **settings: Any,
    ) -> None:
        if not isinstance(space, AnySpace):
            raise ArgumentError(f"space must be one such as PermutationSpace(15), got {space!r}")
        if direction not in get_args(Direction):
            raise unknown_choice("direction", direction, get_args(Direction))
        if design not in get_args(Design):
            raise unknown_choice("design", design, get_args(Design))
        if initial < 1:
            raise ArgumentError(f"at least one random point starts a run, got initial={initial}")
        self.space = space
        self.direction = direction
        self.design = design
        self.seed = seed
        self.initial = initial
        self.method_name = method
        self.settings = settings
        self._method = make_method(method, **settings)
        self._design = np.random.default_rng([seed, 0])
        self._rng = np.random.default_rng([seed, 1])
        self._trials: list[Trial] = []
        self._rows: list[Rows] = []
        self._finished: list[int] = []

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in the order in which they were asked for."""
        return tuple(self._trials)

    @property
    def best(self) -> Trial | None:
        """The finished trial with the best value; the first of several equal ones."""
        done = [trial for trial in self._trials if trial.state == "done"]
        return min(done, key=lambda trial: self._sign * float(trial.value or 0.0)) if done else None

    @property
    def _sign(self) -> float:
        return 1.0 if self.direction == "minimize" else -1.0

    def ask(self, count: int | None = None) -> Any:
        """The next trial, or a list of `count` trials for a batch; raises `ExhaustedError` when every point was tried."""
        if count is None:
            return self._ask()
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ArgumentError(f"ask for at least one trial, got {count!r}")
        return [self._ask() for _ in range(count)]

    def _ask(self) -> Trial:
        history = self._history()
        if len(self._trials) < self.initial:
            row = history.fresh_row(self._design, len(self._trials) if self.design == "spread" else None)
        else:
            row = self._method.propose(history, self._rng)
        trial = Trial(len(self._trials), self.space.decode(row))
        self._trials.append(trial)
        self._rows.append(row)
        return trial

    def tell(self, trial: Trial | int, value: float) -> None:
        """Record the value of a trial; one that is not finite counts as failed."""
        index = self._pending(trial)
        try:
            if isinstance(value, str | bytes | bool):
                raise TypeError(f"{type(value).__name__} is no number")
            number = float(value)
        except (TypeError, ValueError) as error:
            raise TrialError(f"the value of trial {index} must be a number, got {value!r}") from error
        if not math.isfinite(number):
            self.fail(index)
            return
        self._trials[index] = replace(self._trials[index], state="done", value=number)
        self._finished.append(index)

    def fail(self, trial: Trial | int) -> None:
        """Record that a trial gave no value. Its point is not asked for again."""
        index = self._pending(trial)
        self._trials[index] = replace(self._trials[index], state="failed")
        self._finished.append(index)

    def _pending(self, trial: Trial | int) -> int:
        index = trial.id if isinstance(trial, Trial) else trial
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self._trials):
            raise TrialError(f"there is no trial {trial!r}; trials are 0..{len(self._trials) - 1}")
        state = self._trials[index].state
        if state != "pending":
            raise TrialError(f"trial {index} is {state} already (value {self._trials[index].value}); nothing was changed")
        return index

    def _history(self) -> History:
        def rows(which: list[int]) -> Rows:
            return np.array([self._rows[k] for k in which], self.space.dtype).reshape(len(which), self.space.width)

        done = [k for k in self._finished if self._trials[k].state == "done"]
        return History(
            self.space,
            rows(done),
            np.array([self._sign * float(self._trials[k].value or 0.0) for k in done]),
            rows([k for k in self._finished if self._trials[k].state == "failed"]),
            rows([trial.id for trial in self._trials if trial.state == "pending"]),
            self.initial,
        )

    def explain(self) -> Explanation:
        """What the results so far say: which structure they support, and what moves the value; for every method alike."""
        return explain(self._history(), self.direction)

    def state(self) -> dict[str, Any]:
        """Everything, as plain data for JSON: `Optimizer.from_state` goes on exactly where this one is."""
        return {
            "format": FORMAT,
            "space": _space_to_data(self.space),
            "method": self.method_name,
            "settings": {key: list(value) if isinstance(value, tuple) else value for key, value in self.settings.items()},
            "seed": self.seed,
            "initial": self.initial,
            "direction": self.direction,
            "design": self.design,
            "generators": [self._design.bit_generator.state, self._rng.bit_generator.state],
            "finished": list(self._finished),
            "trials": [
                {"row": row.tolist(), "state": trial.state, "value": trial.value}
                for row, trial in zip(self._rows, self._trials, strict=True)
            ],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, where: Where = None) -> Optimizer:
        """The optimiser that `state()` described.

        `where` is the predicate of its orders, if they have one, which a state cannot hold; a dictionary by the variables'
        names if they have several.
        """
        try:
            if state["format"] != FORMAT:
                raise ArgumentError(f"the state has format {state['format']}; this version reads format {FORMAT}")
            settings = {key: tuple(value) if isinstance(value, list) else value for key, value in state["settings"].items()}
            space = _space_from_data(state["space"], where)
            made = cls(
                space,
                state["method"],
                seed=state["seed"],
                initial=state["initial"],
                direction=state["direction"],
                design=state.get("design", "uniform"),  # the only one there was before states said so
                **settings,
            )
            made._design.bit_generator.state, made._rng.bit_generator.state = state["generators"]
            kind = made._history().rows.dtype
            for k, trial in enumerate(state["trials"]):
                row = np.array(trial["row"], kind)
                if row.shape != (space.width,):
                    raise ShapeError(f"trial {k} has {row.size} numbers, the space {space.width}")
                made._rows.append(row)
                made._trials.append(Trial(k, space.decode(row), trial["state"], trial["value"]))
            made._finished = [int(k) for k in state["finished"]]
        except (KeyError, TypeError, AttributeError) as error:
            raise ArgumentError(f"this is not the state of an optimiser: {error!r}") from error
        return made


def _space_to_data(space: AnySpace) -> dict[str, Any]:
    if isinstance(space, PermutationSpace):
        return _order_to_data(space.order)
    return {name: _variable_to_data(each) for name, each in space.variables.items()}


def _check_options(name: str, choice: Choice) -> None:
    """An error for options that would not come back from JSON as they are."""
    for option in choice.options:
        try:
            same = json.loads(json.dumps(option)) == option
        except (TypeError, ValueError):
            same = False
        if not same:
            raise UnsupportedError(
                f"a state is plain data for JSON, and the option {option!r} of {name} is none; take texts or numbers as "
                "options, and look up what they stand for in the objective"
            )


def _variable_to_data(variable: Variable) -> list[Any]:
    kind = type(variable).__name__
    if isinstance(variable, Permutation):
        named = variable.items is not None or variable.options
        return [kind, _order_to_data(variable) if named else variable.n]
    return [kind, *vars(variable).values()]


def _order_to_data(order: Permutation) -> dict[str, Any]:
    """Dictionaries are lists of pairs, for JSON has only texts as keys; of a predicate it is kept that there is one."""

    def plain(value: Any) -> Any:
        value = value.items() if isinstance(value, dict) else value
        return value if isinstance(value, str) or not isinstance(value, Iterable) else [plain(each) for each in value]

    said = {name: True if name == "where" else plain(value) for name, value in order.options.items()}
    return {"n": order.n, "items": None if order.items is None else list(order.items), **said}


def _space_from_data(data: Mapping[str, Any], where: Where) -> AnySpace:
    if "items" in data and "n" in data:
        return PermutationSpace(**_order_options("order", data, where))
    kinds: dict[str, Any] = {kind.__name__: kind for kind in (Permutation, Binary, Integer, Real, Choice)}
    variables = {}
    for name, (kind, *values) in data.items():
        if values and isinstance(values[0], Mapping):
            variables[name] = kinds[kind](**_order_options(name, values[0], where))
        else:
            variables[name] = kinds[kind](*values)
    return Space(**variables)


def _order_options(name: str, data: Mapping[str, Any], where: Where) -> dict[str, Any]:
    """What `_order_to_data` wrote, as arguments."""
    if data.get("where"):
        predicate = where.get(name) if isinstance(where, Mapping) else where
        if predicate is None:
            raise ArgumentError(f"{name} had a predicate, which a state cannot hold: give it as from_state(..., where=f)")
        data = {**data, "where": predicate}
    return {**data, **{name: dict(data[name]) for name in ("fixed", "window") if name in data}}
