"""The strategies and invalid values that the suites use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mergebo as mb
from mergebo.errors import MergeboError
from mergebo.permutations import validate
from mergebo.spaces import Variable
from mergebo.testing.problems import invalid_value
from mergebo.testing.strategies import VARIABLES, broken_permutations, sizes, variables


@given(variables())
def test_variables_are_of_the_kinds_with_a_strategy(variable: Variable) -> None:
    assert type(variable) in VARIABLES


@pytest.mark.parametrize("kind", VARIABLES)
def test_each_kind_has_a_strategy_and_invalid_values(kind: type[Variable]) -> None:
    @given(VARIABLES[kind])
    def check(variable: Variable) -> None:
        assert type(variable) is kind
        space = mb.Space(x=variable, other=mb.Binary(1))
        good = space.decode(space.sample_rows(seed=0))
        space.encode(good)
        with pytest.raises(MergeboError):
            space.encode({**good, "x": invalid_value(variable, good["x"])})
        with pytest.raises(MergeboError):
            space.encode({**good, "x": invalid_value.dispatch(object)(variable, good["x"])})  # that of a kind of one's own

    check()


@given(st.data(), sizes(2, 9))
def test_broken_permutations_are_rejected(data: st.DataObject, n: int) -> None:
    with pytest.raises(MergeboError):
        validate(data.draw(broken_permutations(n)), n=n)


def test_the_module_is_exported_as_a_library() -> None:
    assert mb.testing.strategies.VARIABLES is VARIABLES
