"""Search spaces: permutations, binary vectors, numbers and categories, alone or combined.

A new kind of variable is a subclass of `Variable`.
"""

from mergebo.spaces.binary import Binary
from mergebo.spaces.choice import Choice
from mergebo.spaces.numbers import Integer, Numeric, Real
from mergebo.spaces.permutation import Permutation
from mergebo.spaces.space import PermutationSpace, SearchSpace, Space
from mergebo.spaces.variable import Variable

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
