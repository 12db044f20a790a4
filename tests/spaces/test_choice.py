"""Categorical variables."""

from __future__ import annotations

import numpy as np

import mergebo as mb


def test_an_option_may_be_anything() -> None:
    choice = mb.Choice([None, [1, 2], {"a": 1}, 1.5, "x"])
    space = mb.Space(choice=choice)
    assert space.encode({"choice": [1, 2]}).tolist() == [1]
    assert space.encode({"choice": [[1, 2], None, {"a": 1}]}).tolist() == [[1], [0], [2]]
    assert space.decode(np.array([[2], [4]]))["choice"].tolist() == [{"a": 1}, "x"]
    assert hash(space) == hash(mb.Space(choice=mb.Choice([None, [1, 2], {"a": 1}, 1.5, "x"])))


def test_relabelled_options() -> None:
    choice = mb.Choice(["a", "b", "c", "d"])
    labels = choice.sample_labels(np.random.default_rng(0))
    values = np.array([[0], [3], [1]])
    np.testing.assert_array_equal(choice.undo_relabel(choice.relabel(values, labels), labels), values)
    assert labels[3] == choice.relabel(values, labels)[1, 0]
