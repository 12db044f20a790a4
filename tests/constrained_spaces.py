"""Spaces with each kind of constraint, and an objective on them."""

from __future__ import annotations

from typing import Any

import numpy as np

import mergebo as mb

SPACES = {
    "before": mb.PermutationSpace(6, before=[(0, 1), (1, 2), (3, 4)]),
    "slots": mb.PermutationSpace(6, fixed={0: 2}, window={1: (0, 3), 2: (3, 5)}),
    "adjacency": mb.PermutationSpace(6, adjacent=[(0, 1)], apart=[(2, 3), (2, 4)]),
    "predicate": mb.PermutationSpace(6, before=[(0, 1)], where=lambda order: order[0] != 3),
    "subset": mb.PermutationSpace(items=list("abcdefg"), choose=3, before=[("a", "b")]),
    "repeated": mb.PermutationSpace(items=list("aabbcd"), apart=[("a", "a")]),
    "cycle": mb.PermutationSpace(7, symmetry="cycle", apart=[(0, 1)]),
    "ring": mb.PermutationSpace(7, symmetry=("cycle", "reversal")),
    "row": mb.PermutationSpace(6, symmetry="reversal"),
    "mixed": mb.Space(route=mb.Permutation(5, before=[(0, 1)], apart=[(2, 3)]), picks=mb.Binary(3)),
}


def objective(space: mb.Space | mb.PermutationSpace, point: Any) -> float:
    row = space.encode(point).astype(float)
    return float(np.sin(row * np.arange(1, len(row) + 1)).sum())
