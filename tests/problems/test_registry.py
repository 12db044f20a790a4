"""Problems by name."""

from __future__ import annotations

import numpy as np
import pytest

from mergebo import errors, problems
from mergebo.problems.registry import FAMILIES


class TestNames:
    @pytest.mark.parametrize("name", [*problems.available(), "tsp:random(n=12,seed=3)~5", "ttp:random(n=9,seed=1)~2"])
    def test_get_by_name(self, name: str) -> None:
        problem = problems.get(name)
        again = problems.get(problem.name)
        assert again.name == problem.name
        rows = problem.space.sample_rows(5, seed=0)
        np.testing.assert_array_equal(again.evaluate_rows(rows), problem.evaluate_rows(rows))

    def test_parameters(self) -> None:
        problem = problems.get("tsp:random", n=12, seed=3)
        assert problem.name == "tsp:random(n=12,seed=3)"
        assert problem.space.width == 12
        other = problems.get("tsp:random", n=12, seed=4)
        assert other.evaluate(np.arange(12)) != problem.evaluate(np.arange(12))
        assert problems.get("flowshop:random(criterion='flowtime')").evaluate(np.arange(20)) > 1000

    def test_every_family_is_listed(self) -> None:
        assert {name.partition(":")[0] for name in problems.available()} == set(FAMILIES)
        assert problems.available("lop") == ["lop:planted(n=30,seed=0,noise=0.5)"]

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("tspp:a280", "did you mean 'tsp'"),
            ("tsp:a28", "did you mean 'a280'"),
            ("a280", "family:instance"),
            ("tsp:random(30)", "every setting needs a name"),
            ("tsp:random(n=)", "must have the form"),
            ("tsp:random(n=__import__('os'))", "must have the form"),
            ("tsp:random(size=3)", "takes n, seed, got size=3"),
            ("tsp:a280(n=3)", "takes no parameters"),
        ],
    )
    def test_unknown(self, name: str, message: str) -> None:
        with pytest.raises(errors.ArgumentError, match=message):
            problems.get(name)

    def test_unknown_family_listed(self) -> None:
        with pytest.raises(errors.ArgumentError, match="problem family"):
            problems.available("nothing")
