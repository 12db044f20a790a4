"""Compiled code is cached on disk."""

from __future__ import annotations

import pytest

from fresh_process import python


@pytest.mark.slow
def test_second_process_compiles_nothing() -> None:
    """Later processes load it."""
    code = """
import mergebo as mb
from mergebo.compiled import merge, packed
comparisons = mb.sorting.MergeMap(6)
orders = mb.permutations.sample(6, 3, seed=0)
comparisons.project(comparisons.encode(orders)), comparisons.distance(orders, orders)
for function in (merge.encode, merge.decode, merge.nearest_codes, packed.batch_hamming):
    print(sum(function.stats.cache_hits.values()), sum(function.stats.cache_misses.values()))
"""
    python(code)
    for line in python(code).splitlines():
        hits, misses = map(int, line.split())
        assert hits > 0
        assert misses == 0
