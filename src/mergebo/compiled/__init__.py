"""The only compiled code: loops over rows of permutations and bits, each with a slow twin in the tests.

Functions here assume valid input (the public layers check it), write only to arrays that they are given as `out` or make
themselves, and hold no state. They are compiled at the first call and cached on disk, so the second process starts warm.

Two habits carry the speed. Indices are unsigned, since a signed index costs numba a check for negative values; and
data-dependent choices inside the loops are selections, not branches, since a permutation is noise to a branch predictor.
"""
