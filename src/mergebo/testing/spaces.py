"""Conformance tests for spaces."""

from __future__ import annotations

import json

import numpy as np

from mergebo._typing import Rows
from mergebo.acquisition import neighbours
from mergebo.neighbours import MOVES
from mergebo.optimizer import Optimizer
from mergebo.spaces import SearchSpace

__all__ = ["SpaceSuite"]

MAX_ENUMERATED = 5_000
"""Maximum size of spaces that are enumerated."""


class SpaceSuite:
    """Inherit from this class and implement `make`, which creates the space to test."""

    def make(self) -> SearchSpace:
        """The space to test."""
        raise NotImplementedError

    def test_random_rows_are_points_and_points_are_rows(self) -> None:
        """Decoding and encoding gives the same rows, one by one and in batches."""
        space = self.make()
        rows = space.sample_rows(40, seed=0)
        self._check(space, rows)
        self._check(space, space.design_rows(range(20), seed=1))
        np.testing.assert_array_equal(space.encode(space.decode(rows)), rows)
        assert rows.dtype == space.dtype
        assert space.sample_rows((2, 3), seed=0).shape == (2, 3, space.width)
        assert space.sample_rows(seed=0).shape == (space.width,)

    def test_the_same_seed_gives_the_same_rows(self) -> None:
        """Also for a copy of the space."""
        rows = self.make().sample_rows(30, seed=3)
        np.testing.assert_array_equal(self.make().sample_rows(30, seed=3), rows)

    def test_neighbours_are_points(self) -> None:
        """And differ from the centre."""
        space = self.make()
        for row in space.sample_rows(3, seed=1):
            sampled = space.random_neighbours(row, MOVES, 20, np.random.default_rng(0))
            self._check(space, sampled)
            all_rows = neighbours(row, space, tuple(MOVES))
            self._check(space, all_rows[:: max(1, len(all_rows) // 40)])
            for found in (sampled, all_rows):
                assert (found != row).any(axis=1).all()

    def test_size(self) -> None:
        """`size` is the number of points of a small space, and random points are among them."""
        space = self.make()
        if space.size <= MAX_ENUMERATED:
            rows = space.enumerate_rows()
            assert len(rows) == len(np.unique(rows, axis=0)) == space.size
            self._check(space, rows[:: max(1, len(rows) // 40)])
            points = {tuple(row) for row in rows.tolist()}
            assert {tuple(row) for row in space.sample_rows(50, seed=2).tolist()} <= points

    def test_spaces_are_values(self) -> None:
        """Spaces compare by value."""
        space = self.make()
        assert space == self.make()
        assert hash(space) == hash(self.make())
        assert repr(space) == repr(self.make())

    def test_methods_propose_distinct_points(self) -> None:
        """Methods without a model support every space, and their state survives a round trip through JSON."""
        space = self.make()
        for method in ("random", "local-search", "genetic"):
            optimizer = Optimizer(space, method, initial=4)
            for _ in range(min(10, int(min(space.size, 10)))):
                trial = optimizer.ask()
                optimizer.tell(trial, float(len(optimizer.trials) * 7 % 5))
            rows = np.array([space.encode(trial.point) for trial in optimizer.trials])
            self._check(space, rows)
            assert len(np.unique(rows, axis=0)) == len(rows)
            state = optimizer.state()
            where = next((each.where for each in space.variables.values() if getattr(each, "where", None)), None)  # type: ignore[attr-defined]
            again = Optimizer.from_state(json.loads(json.dumps(state)), where=where)
            assert again.space == space
            assert again.state() == json.loads(json.dumps(state))

    @staticmethod
    def _check(space: SearchSpace, rows: Rows) -> None:
        for row in rows:
            np.testing.assert_array_equal(space.encode(space.decode(row)), row)
        np.testing.assert_array_equal(space.feasible_rows(rows), rows)
