"""Spaces as JSON, in saved states."""

from __future__ import annotations

import json

import pytest

import mergebo as mb
from constrained_spaces import SPACES
from mergebo import errors


def test_a_state_does_not_contain_the_predicate() -> None:
    state = json.loads(json.dumps(mb.Optimizer(SPACES["predicate"], "random").state()))
    with pytest.raises(errors.ArgumentError, match=r"use from_state\(\.\.\., where=f\)"):
        mb.Optimizer.from_state(state)
    steps = {
        "a": mb.Permutation(3, where=lambda order: order[0] != 1),
        "b": mb.Permutation(3, where=lambda order: order[0] == 1),
    }
    state = json.loads(json.dumps(mb.Optimizer(mb.Space(**steps), "random").state()))
    space = mb.Optimizer.from_state(state, where={name: each.where for name, each in steps.items()}).space
    assert space == mb.Space(**steps)
    with pytest.raises(errors.ArgumentError, match="b had a predicate"):
        mb.Optimizer.from_state(state, where={"a": steps["a"].where})


def test_the_data_of_plain_spaces_is_that_of_the_first_format() -> None:
    plain = mb.Optimizer(mb.PermutationSpace(items=["a", "b"]), "random").state()
    assert plain["space"] == {"n": 2, "items": ["a", "b"]}
    mixed = mb.Optimizer(mb.Space(route=mb.Permutation(4), picks=mb.Binary(2)), "random").state()
    assert mixed["space"] == {"route": ["Permutation", 4], "picks": ["Binary", 2]}


def test_options_that_json_does_not_support() -> None:
    for option in (object(), (1, 2), {1: 2}, 1j):
        optimizer = mb.Optimizer(mb.Space(salt=mb.Choice(["K", option])), "random")
        optimizer.ask()
        with pytest.raises(errors.UnsupportedError, match="of salt is not; use strings or numbers"):
            optimizer.state()
