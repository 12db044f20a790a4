"""Search spaces: permutations, binary vectors, numbers and categories, alone or combined."""

from mergebo.spaces.space import (
    Binary,
    Choice,
    Integer,
    Numeric,
    Permutation,
    PermutationSpace,
    Real,
    SearchSpace,
    Space,
    Variable,
)

__all__ = [
    "Binary",
    "Choice",
    "Integer",
    "Numeric",
    "Permutation",
    "PermutationSpace",
    "Real",
    "SearchSpace",
    "Space",
    "Variable",
]
