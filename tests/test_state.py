"""Saved states: of earlier versions, and corrupted ones."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mergebo as mb
from mergebo import errors
from optimizer_helpers import drive, tried_rows
from small_spaces import SPACES

STATES = Path(__file__).parent / "golden_states"


def test_states_of_format_1_are_restored() -> None:
    """Format 1 had one exact objective."""
    optimizer = mb.Optimizer(mb.PermutationSpace(5), "bops-h", initial=4)
    drive(optimizer, 6)
    state = optimizer.state()
    new = ("format", "objectives", "noisy", "start", "beliefs", "heuristic")
    old = {key: value for key, value in state.items() if key not in new}
    old |= {"format": 1, "trials": [{key: trial[key] for key in ("row", "state", "value")} for trial in state["trials"]]}
    loaded = mb.Optimizer.from_state(json.loads(json.dumps(old)))
    assert loaded.state() == state
    drive(loaded, 2)
    drive(optimizer, 2)
    assert tried_rows(loaded) == tried_rows(optimizer)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name for path in STATES.glob("*.json")))
def test_states_of_earlier_versions_are_restored(name: str) -> None:
    """Stored by earlier versions, with the next points that these proposed."""
    saved = json.loads((STATES / name).read_text())
    opt = mb.Optimizer.from_state(saved["state"])
    assert len(opt.trials) == len(saved["state"]["trials"])
    for expected in saved["next"]:
        trial = opt.ask()
        assert json.loads(json.dumps(trial.point, default=lambda value: value.tolist())) == expected["point"]
        opt.tell(trial, expected["value"])
    assert opt.pareto if opt.objectives > 1 else opt.best is not None


def leaves(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all parts of nested data."""
    found = [path] if path else []
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in children:
        found += leaves(value, (*path, key))
    return found


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    data = copy.deepcopy(data)
    here = data
    for key in path[:-1]:
        here = here[key]
    if value is leaves:
        del here[path[-1]]
    else:
        here[path[-1]] = value
    return data


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.just([[0, 1]]),
    st.just(leaves),
    st.just("__import__('os').system('touch pwned')"),
)


def some_state(space: mb.spaces.SearchSpace, method: str) -> dict[str, Any]:
    opt = mb.Optimizer(space, method, seed=0, initial=3, beliefs=())
    for k, trial in enumerate(opt.ask(6)):
        if k == 4:
            opt.fail(trial)
        elif k < 4:
            opt.tell(trial, float(k))
    state: dict[str, Any] = json.loads(json.dumps(opt.state()))
    return state


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_corrupted_state_is_an_error_or_works(space: str, data: Any) -> None:
    """A part of a saved state is replaced by junk or removed: a clear error, or an optimiser that works."""
    state = some_state(SPACES[space], "random")
    broken = changed(state, data.draw(st.sampled_from(leaves(state))), data.draw(JUNK))
    try:
        opt = mb.Optimizer.from_state(broken)
    except errors.MergeboError:
        return
    try:
        trial = opt.ask()
    except errors.ExhaustedError:
        return
    opt.space.encode(trial.point)
    opt.tell(trial, 0.5 if opt.objectives == 1 else [0.5] * opt.objectives)
    json.dumps(opt.state())
    assert not Path("pwned").exists()


def test_invalid_states_are_errors() -> None:
    good = some_state(SPACES["four items"], "random")
    for bad in ({}, {**good, "format": 99}, {**good, "trials": [{}]}, {**good, "space": {"x": ["Nothing", 3]}}, []):
        with pytest.raises(errors.MergeboError):
            mb.Optimizer.from_state(bad)  # type: ignore[arg-type]
    with pytest.raises(errors.ShapeError, match="trial 0 has 2 numbers, the space 4"):
        mb.Optimizer.from_state({**good, "trials": [{"row": [0, 1], "state": "done", "value": 1}]})
