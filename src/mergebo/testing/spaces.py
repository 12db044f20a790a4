"""What every space must do."""

from __future__ import annotations

import json

import numpy as np

from mergebo._typing import Rows
from mergebo.acquisition import neighbours
from mergebo.moves import MOVES, random_neighbours
from mergebo.optimizers import Optimizer
from mergebo.optimizers.history import every_row
from mergebo.spaces import AnySpace

LISTED = 5_000
"""Spaces of at most so many points are listed."""


class SpaceSuite:
    """Inherit, and say how to make the space: the tests come along."""

    def make(self) -> AnySpace:
        """The space to test."""
        raise NotImplementedError

    def test_random_rows_are_points_and_points_are_rows(self) -> None:
        """Through decoding and encoding nothing changes, one by one and many at a time."""
        space = self.make()
        rows = space.sample_rows(40, seed=0)
        self._check(space, rows)
        self._check(space, space.spread_rows(range(20), seed=1))
        np.testing.assert_array_equal(space.encode(space.decode(rows)), rows)
        assert rows.dtype == space.dtype
        assert space.sample_rows((2, 3), seed=0).shape == (2, 3, space.width)
        assert space.sample_rows(seed=0).shape == (space.width,)

    def test_the_same_seed_gives_the_same_rows(self) -> None:
        """Also for the space made again."""
        rows = self.make().sample_rows(30, seed=3)
        np.testing.assert_array_equal(self.make().sample_rows(30, seed=3), rows)

    def test_neighbours_are_points(self) -> None:
        """And different from where they come from."""
        space = self.make()
        for row in space.sample_rows(3, seed=1):
            near = random_neighbours(row, space, tuple(MOVES), 20, np.random.default_rng(0))
            self._check(space, near)
            every = neighbours(row, space, tuple(MOVES))
            self._check(space, every[:: max(1, len(every) // 40)])
            for around in (near, every):
                assert (around != row).any(axis=1).all()

    def test_size(self) -> None:
        """A small space has as many points as it says, and random ones are among them."""
        space = self.make()
        if space.size <= LISTED:
            rows = every_row(space)
            assert len(rows) == len(np.unique(rows, axis=0)) == space.size
            self._check(space, rows[:: max(1, len(rows) // 40)])
            listed = {tuple(row) for row in rows.tolist()}
            assert {tuple(row) for row in space.sample_rows(50, seed=2).tolist()} <= listed

    def test_spaces_are_values(self) -> None:
        """Made again it is the same, and not one that has another width."""
        space = self.make()
        assert space == self.make()
        assert hash(space) == hash(self.make())
        assert repr(space) == repr(self.make())

    def test_methods_ask_for_points_and_for_none_twice(self) -> None:
        """Those without a model, which take every space; a state goes on where it was."""
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
    def _check(space: AnySpace, rows: Rows) -> None:
        for row in rows:
            np.testing.assert_array_equal(space.encode(space.decode(row)), row)
        np.testing.assert_array_equal(space.kept(rows), rows)
