"""Compiled code (numba): loops over permutations and bits, each tested against a slow reference implementation.

Functions here assume valid input (the public layers validate it), write only to arrays passed as `out` or created inside,
and have no state. They are compiled at the first call and cached on disk.

Two conventions matter for speed. Indices are unsigned, since numba checks signed ones for negative values; and
data-dependent choices in inner loops are selections, not branches, since permutations are unpredictable for the CPU.
"""
