"""The sorting-kernel framework: feature lengths, the worked example of the paper, and the Merge and Mallows kernels."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table

from mergebo.permutations import sample, swap
from mergebo.sorting import EnumerationMap, MergeMap, NetworkMap

console = Console()


def show_lengths() -> None:
    """Print the number of bits that encode a permutation of n items."""
    table = Table(title="Bits that encode a permutation of n items", title_justify="left")
    table.add_column("n", justify="right")
    makers = {
        "Merge": MergeMap,
        "Mallows (all pairs)": EnumerationMap,
        "bitonic": NetworkMap,
        "odd-even merge": lambda n: NetworkMap(n, "odd-even-merge"),
    }
    for name in makers:
        table.add_column(name, justify="right")
    for n in (15, 30, 280):
        table.add_row(str(n), *(str(make(n).length) for make in makers.values()))
    console.print(table)


def show_worked_example() -> None:
    """Print the example of the paper, comparison by comparison."""
    order = [1, 4, 3, 2]
    console.print(f"\n[bold]Merge sort turns {order} into bits[/] (1: the left element is larger)")
    algorithm = MergeMap(4, padded=True).algorithm()
    bits, compared = [], set()
    i, j = next(algorithm)
    try:
        while True:
            larger = order[i] > order[j]
            bits.append(int(larger))
            known = "  (redundant: one half is used up)" if (i, j) in compared else ""
            console.print(f"  compare {order[i]} and {order[j]}  ->  {int(larger)}{known}")
            compared.add((i, j))
            i, j = algorithm.send(larger)
    except StopIteration:
        pass
    short = MergeMap(4).encode([item - 1 for item in order])
    console.print(
        f"  code {''.join(map(str, bits))}; the last bit of a merge is implied, so {''.join(map(str, short))} suffices"
    )
    console.print(f"  decoding gives {(MergeMap(4).decode(short) + 1).tolist()}\n")


def walks(n: int, count: int, steps: int, seed: int) -> np.ndarray:
    """Orders along random walks, each of which starts at random and continues by swaps."""
    rng = np.random.default_rng(seed)
    orders = []
    for order in sample(n, count, seed=rng):
        for _ in range(steps):
            orders.append(order)
            order = swap(order, *rng.choice(n, 2, replace=False))
    return np.array(orders)


def draw(path: Path, n: int = 15) -> None:
    """Plot both kernel matrices for the same orders, and compare their distances."""
    orders = walks(n, count=4, steps=20, seed=0)
    maps = {"Merge": MergeMap(n), "Mallows": EnumerationMap(n)}
    distances = {name: each.distance(orders, orders) / each.length for name, each in maps.items()}
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained", width_ratios=[1, 1, 0.95])
    for axis, (name, distance) in zip(axes[:2], distances.items(), strict=True):
        kernel = np.exp(-distance / (2 * 0.4**2))  # as in `mergebo.kernels`, with the lengthscale 0.4
        image = axis.imshow(kernel, vmin=0, vmax=1, cmap="viridis")
        axis.set_title(f"{name} kernel: {maps[name].length} bits, n = {n}")
        axis.set_xlabel("four random walks of 20 swaps")
        axis.set_xticks(range(0, 81, 20))
        axis.set_yticks(range(0, 81, 20))
    figure.colorbar(image, ax=axes[:2], label="similarity", shrink=0.85)

    pairs = np.triu_indices(len(orders), 1)
    merge, mallows = (distance[pairs] for distance in distances.values())
    axes[2].plot([0, 1], [0, 1], color="0.7", zorder=0)
    axes[2].scatter(mallows, merge, s=7, alpha=0.35, edgecolors="none")
    axes[2].set(xlabel="share of all pairs that differ (Mallows)", ylabel="share of merge comparisons that differ")
    axes[2].set(xlim=(0, 0.85), ylim=(0, 0.85), aspect="equal")
    axes[2].set_title(f"the two distances: correlation {np.corrcoef(merge, mallows)[0, 1]:.2f}")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/demo/sorting-kernels.png"), help="file for the figure")
    arguments = parser.parse_args()
    show_lengths()
    show_worked_example()
    draw(arguments.out)
    console.print(f"Figure of both kernels for the same orders: [bold]{arguments.out}[/]")
