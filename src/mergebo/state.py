"""The state of an optimizer as plain data for JSON, and back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import numpy as np

from mergebo._typing import Rows
from mergebo.beliefs import Belief
from mergebo.errors import ArgumentError, MergeboError, ShapeError, unknown_choice
from mergebo.methods.base import Method
from mergebo.methods.registry import method_to_data
from mergebo.spaces.data import Where, space_from_data, space_to_data
from mergebo.trials import State

if TYPE_CHECKING:
    from mergebo.optimizer import Optimizer

    Made = TypeVar("Made", bound=Optimizer)

__all__: list[str] = []

logger = logging.getLogger(__name__)

FORMAT = 3
"""Version of the data. Earlier ones can be read: 1 had one exact objective and no prior knowledge, 2 had the old names in
`_RENAMED`."""

_RENAMED = {
    **{"spread": "stratified"},  # designs
    **{"families": "structures", "maps": "embedding", "randoms": "random_starts"},  # settings
    **{"neighbours": "adjacency", "succession": "directed-adjacency", "spacings": "slot-distances"},  # structures
}


def state_of(optimizer: Optimizer) -> dict[str, Any]:
    """The complete state, except functions; see `Optimizer.state`."""
    log = optimizer._log
    name, settings = optimizer._named_method or method_to_data(optimizer.method) or (None, {"repr": repr(optimizer.method)})
    return {
        "format": FORMAT,
        "space": space_to_data(optimizer.space),
        "method": name,
        "settings": {key: _as_json(value) for key, value in settings.items()},
        "seed": int(optimizer.seed),
        "initial": optimizer.initial,
        "direction": _as_json(optimizer.direction),
        "design": optimizer.design,
        "objectives": optimizer.objectives,
        "noisy": optimizer.noisy,
        "start": [row.tolist() for row in optimizer._start],
        "beliefs": [belief.to_data() for belief in optimizer.beliefs],
        "heuristic": optimizer.heuristic is not None,
        "generators": [each.bit_generator.state for each in optimizer._generators],
        "finished": list(log.finished),
        "trials": [
            {
                "row": row.tolist(),
                "state": state,
                "value": _as_json(value),
                "noise": _as_json(noise_std),
            }
            for row, state, value, noise_std in zip(log.rows, log.states, log.values, log.noise_stds, strict=True)
        ],
    }


def restored(
    kind: type[Made],
    state: Mapping[str, Any],
    *,
    method: Method | None,
    heuristic: Callable[[Any], float] | None,
    where: Where,
) -> Made:
    """The optimizer with a state from `state_of`; see `Optimizer.from_state`."""
    try:
        made = _made(kind, state, method, heuristic, where)
        for generator, saved in zip(made._generators, state["generators"], strict=True):
            generator.bit_generator.state = saved
        made._start = [_saved_row(made, row, "a point to start with") for row in state.get("start", ())]
        for trial in state["trials"]:
            _add_trial(made, trial)
        log = made._log
        done = [index for index, each in enumerate(log.states) if each != "pending"]
        if any(type(k) is not int for k in state["finished"]) or sorted(state["finished"]) != done:
            raise ArgumentError(f"finished trials are {done}, but the state has {state['finished']}")
        log.finished = list(state["finished"])
        if state["format"] != FORMAT:
            logger.info("restored a state of format %s; it will be saved in format %d", state["format"], FORMAT)
    except MergeboError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, ArithmeticError) as error:
        raise ArgumentError(f"not a valid optimiser state: {error!r}") from error
    return made


def _made(
    kind: type[Made],
    state: Mapping[str, Any],
    method: Method | None,
    heuristic: Callable[[Any], float] | None,
    where: Where,
) -> Made:
    """The optimizer of a state, without trials."""
    if state["format"] not in range(1, FORMAT + 1):
        raise ArgumentError(f"the state has format {state['format']}; this version reads formats 1 to {FORMAT}")
    if state.get("heuristic", False) != (heuristic is not None):
        raise ArgumentError(
            "the state had a heuristic, which is not saved: pass it again, from_state(state, heuristic=...)"
            if heuristic is None
            else "the state had no heuristic: use from_state(state)"
        )
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in state["settings"].items()}
    if state["method"] is None:
        if method is None:
            raise ArgumentError(
                f"the state's method, {settings.get('repr')}, is not saved: pass it again, from_state(state, method=...)"
            )
        settings = {}
    elif method is not None:
        raise ArgumentError(f"the state's method is {state['method']!r}: use from_state(state)")
    design = state.get("design", "uniform")  # the only design of states without this key
    if state["format"] < 3:
        settings, design = _renamed(settings), _RENAMED.get(design, design)
    return kind(
        space_from_data(state["space"], where),
        state["method"] if method is None else method,
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


def _add_trial(optimizer: Optimizer, saved: Mapping[str, Any]) -> None:
    """Add a trial of a saved state, or raise an error if it is inconsistent."""
    number = len(optimizer._log)
    row = _saved_row(optimizer, saved["row"], f"trial {number}")
    state, value = saved["state"], saved["value"]
    if state not in get_args(State):
        raise unknown_choice(f"the state of trial {number}", state, get_args(State))
    if (state == "done") != (value is not None):
        raise ArgumentError(f"trial {number} is {state} but has the value {value!r}")
    optimizer._log.add(row)
    if state == "failed":
        optimizer.fail(number)
    elif state == "done":
        optimizer.tell(number, value, noise_std=saved.get("noise"))


def _saved_row(optimizer: Optimizer, numbers: Any, what: str) -> Rows:
    """A row of a saved state, checked to belong to the space."""
    space, row = optimizer.space, np.array(numbers, np.float64)
    if row.shape != (space.width,):
        raise ShapeError(f"{what} has {row.size} numbers, the space {space.width}")
    with np.errstate(invalid="raise"):  # for numbers that no integer can hold
        found = row.astype(space.dtype)
        if not np.array_equal(found, row) or not np.array_equal(optimizer._row(space.decode(found)), row):
            raise ArgumentError(f"{what} has a row that is not in the space: {numbers}")
    return found


def _renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a state of format 1 or 2, with their present names."""
    return {
        _RENAMED.get(key, key): tuple(_RENAMED.get(each, each) for each in value) if key == "families" else value
        for key, value in settings.items()
    }


def _as_json(value: Any) -> Any:
    """For JSON, which has no tuples."""
    return list(value) if isinstance(value, tuple) else value
