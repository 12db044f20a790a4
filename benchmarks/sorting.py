"""Speed and memory of the sorting-kernel framework. Run by `make bench`."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
from harness import Row, best_times, faster, run, within

import mergebo as mb
from mergebo.distances import kendall
from mergebo.permutations import sample
from mergebo.sorting import MergeMap


def plain_merge_code(order: list[int]) -> list[int]:
    """The comparison code by merge sort on Python lists: the straightforward implementation."""
    code: list[int] = []

    def sort(part: list[int]) -> list[int]:
        if len(part) == 1:
            return part
        middle = len(part) // 2
        left, right = sort(part[:middle]), sort(part[middle:])
        merged: list[int] = []
        i = j = 0
        for k in range(len(part)):
            if i < len(left) and j < len(right):
                larger = left[i] > right[j]
                take_left = not larger
            else:
                larger = take_left = i < len(left)
            if k < len(part) - 1:
                code.append(int(larger))
            if take_left:
                merged.append(left[i])
                i += 1
            else:
                merged.append(right[j])
                j += 1
        return merged

    sort(order)
    return code


def numpy_merge_code(orders: np.ndarray) -> np.ndarray:
    """The comparison code by NumPy operations on the batch: one argsort for each level of the merge tree."""
    n = orders.shape[-1]
    made = MergeMap(n)
    depths = {(0, n): 0}
    levels: dict[int, list[tuple[int, ...]]] = {}
    for low, middle, high, offset, width, _ in made.nodes.tolist():
        depth = depths[low, high]
        depths[low, middle] = depths[middle, high] = depth + 1
        levels.setdefault(depth, []).append((low, middle, high, offset, width))
    code = np.empty((*orders.shape[:-1], made.length), np.uint8)
    for nodes in levels.values():
        low, middle, high = (np.arange(n) + d for d in (0, 1, 1))
        for a, m, b, _, _ in nodes:
            low[a:b], middle[a:b], high[a:b] = a, m, b
        slots = np.argsort(low * n + orders, axis=-1)
        bits = slots >= middle
        differs = bits != bits[..., high - 1]
        later = np.cumsum(differs[..., ::-1], axis=-1)[..., ::-1]
        later = np.concatenate([later, np.zeros_like(later[..., :1])], axis=-1)
        bits ^= later[..., :-1] == later[..., high]
        for a, _, _, offset, width in nodes:
            code[..., offset : offset + width] = bits[..., a : a + width]
    return code


def float_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Hamming distances of 0/1 features by one float32 matrix product."""
    x, y = a.astype(np.float32), b.astype(np.float32)
    return x.sum(-1)[:, None] + y.sum(-1)[None] - 2 * (x @ y.T)


def sign_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Kendall distances by all-pairs sign features and one float32 matrix product."""
    i, j = np.triu_indices(a.shape[-1], 1)
    x, y = (np.sign(orders[:, i] - orders[:, j]).astype(np.float32) for orders in (a, b))
    return (len(i) - x @ y.T) / 2


def encoding() -> list[Row]:
    """Merge encode and decode against np.argsort and plain Python."""
    rows = []
    for n, count in ((280, 4000), (1000, 1000)):
        made, orders = MergeMap(n), sample(n, count, seed=0)
        bits = made.encode(orders)
        few = orders[:20].tolist()
        assert plain_merge_code(few[0]) == bits[0].tolist()
        encode, decode, argsort, plain = best_times(
            lambda made=made, orders=orders: made.encode(orders),
            lambda made=made, bits=bits: made.decode(bits),
            lambda orders=orders: np.argsort(orders, axis=-1),
            lambda few=few: [plain_merge_code(order) for order in few],
        )
        rows += [
            within(f"Merge encode / argsort, n = {n}", encode, argsort, at_most=1.5, rounds_of=count),
            within(f"Merge decode / argsort, n = {n}", decode, argsort, at_most=2, rounds_of=count),
            faster(f"Merge encode / plain Python, n = {n}", encode / count, plain / len(few), at_least=100),
        ]
    return rows


def merge_distances() -> list[Row]:
    """Merge cross-distances, 10 000 x 100."""
    made, a, b = MergeMap(280), sample(280, 10_000, seed=1), sample(280, 100, seed=2)
    expected = made.distance(a, b)
    assert (float_distances(numpy_merge_code(a), numpy_merge_code(b)) == expected).all()
    fast, by_numpy, by_matmul = best_times(
        lambda: made.distance(a, b),
        lambda: float_distances(numpy_merge_code(a), numpy_merge_code(b)),
        lambda: float_distances(made.encode(a), made.encode(b)),
        rounds=5,
    )
    what = "Merge 10 000 x 100, n = 280"
    return [
        faster(f"{what} / numpy features + float32 matmul", fast, by_numpy, at_least=4),
        faster(f"{what} / mergebo features + float32 matmul", fast, by_matmul),
    ]


def kendall_distances() -> list[Row]:
    """Kendall cross-distances."""
    a, b = sample(280, 2000, seed=1), sample(280, 100, seed=2)
    assert (sign_distances(a[:50], b) == kendall.cross(a[:50], b)).all()
    fast, reference = best_times(lambda: kendall.cross(a, b), lambda: sign_distances(a, b), rounds=5)
    row = faster(
        "Kendall 2000 x 100, n = 280 / sign features + float32 matmul, per pair",
        fast,
        reference,
        at_least=40,
        rounds_of=200_000,
    )
    return [row]


def memory() -> list[Row]:
    """Peak memory of encoding 100 000 permutations."""
    made = MergeMap(280)
    made.encode(sample(280, 2, seed=0))
    orders = sample(280, 100_000, seed=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bits = made.encode(orders)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    ratio = grown / bits.nbytes
    sizes = (f"{grown / 2**20:.0f} MiB", f"{bits.nbytes / 2**20:.0f} MiB")
    return [Row("Peak memory of encode / its output, 100 000 of n = 280", *sizes, ratio, "x", "<= 1.5x", ratio <= 1.5)]


def process(code: str, **environment: str) -> float:
    """Seconds that a new Python process takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})
    return time.perf_counter() - start


def starting() -> list[Row]:
    """Import time, and the first and second process that use compiled code."""
    bare = min(process("pass") for _ in range(5))
    imported = min(process("import mergebo") for _ in range(5)) - bare
    use = (
        "import mergebo as mb; m = mb.sorting.MergeMap(6); x = mb.permutations.sample(6, 3, seed=0);"
        "m.decode(m.encode(x)); m.distance(x, x)"
    )
    with tempfile.TemporaryDirectory() as folder:
        cold = process(use, NUMBA_CACHE_DIR=folder)
        warm = min(process(use, NUMBA_CACHE_DIR=folder) for _ in range(3))
    return [
        Row("import mergebo", f"{imported:.3f} s", "", imported, "s", "<= 0.3 s", imported <= 0.3),
        Row(
            "encode, decode, distance: second / first process",
            f"{warm:.2f} s",
            f"{cold:.2f} s",
            cold / warm,
            "x faster",
            "> 1x",
            warm < cold,
        ),
    ]


if __name__ == "__main__":
    print(f"mergebo {mb.__version__}")
    # Memory first: the high-water mark of a process never falls.
    run("sorting", [memory, encoding, merge_distances, kendall_distances, starting])
