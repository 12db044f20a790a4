"""Small spaces of different kinds, whose points can all be tried."""

from __future__ import annotations

import mergebo as mb

SPACES = {
    "four items": mb.PermutationSpace(4),
    "named, constrained": mb.PermutationSpace(items=["a", "b", "c", "d"], before=[("a", "b")]),
    "cyclic": mb.PermutationSpace(5, symmetry=("cycle", "reversal")),
    "two of five": mb.PermutationSpace(5, choose=2),
    "mixed": mb.Space(order=mb.Permutation(3), picks=mb.Binary(2), heat=mb.Real(0, 1), salt=mb.Choice(["K", "Na"])),
}
