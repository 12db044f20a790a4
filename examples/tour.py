"""Find the shortest drill tour through 15 holes of a circuit board with four methods. Run by `make demo`.

Every method gets the same 20 random tours to start from and 60 evaluations in total. The board is relabelled, so that the
numbers of the holes carry no information. The optimum is known, but not to the methods.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table

import mergebo as mb

METHODS = ("auto", "mergebo", "bops-h", "random")
COLOURS = {"auto": "tab:green", "mergebo": "tab:orange", "bops-h": "tab:blue", "random": "0.5"}


def main() -> None:
    """Optimise, compare and plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="tsp:pcb15-0~1", help="any TSP with coordinates")
    parser.add_argument("--budget", type=int, default=60, help="evaluations for each run")
    parser.add_argument("--seeds", type=int, default=3, help="runs for each method")
    parser.add_argument("--out", type=Path, default=Path("build/demo/tour.png"), help="file for the figure")
    arguments = parser.parse_args()
    console = Console()
    problem = mb.problems.get(arguments.problem)
    console.print(problem.describe())

    curves: dict[str, list[np.ndarray]] = {}
    best: tuple[str, mb.Trial] | None = None
    table = Table(title=f"Shortest tour after {arguments.budget} evaluations, {arguments.seeds} runs", title_justify="left")
    for column in ("method", "mean", "best", "above the optimum", "seconds per run"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for method in METHODS:
        start = time.perf_counter()
        runs = [
            mb.minimize(problem.evaluate, problem.space, budget=arguments.budget, method=method, seed=seed, progress=True)
            for seed in range(arguments.seeds)
        ]
        seconds = (time.perf_counter() - start) / arguments.seeds
        curves[method] = [run.convergence() for run in runs]
        ends = np.array([curve[-1] for curve in curves[method]])
        winner = min((run.best for run in runs if run.best), key=lambda trial: trial.value)
        if best is None or winner.value < best[1].value:
            best = (method, winner)
        above = ends.mean() / problem.optimum.value - 1
        table.add_row(method, f"{ends.mean():.0f}", f"{ends.min():.0f}", f"{above:.0%}", f"{seconds:.1f}")
    console.print(table)
    assert best is not None
    draw(problem, curves, *best, arguments.out)
    console.print(f"Figure: [bold]{arguments.out}[/]")


def draw(problem, curves: dict[str, list[np.ndarray]], method: str, trial: mb.Trial, path: Path) -> None:
    """Plot the convergence of all runs, and the best tour found with the optimal one."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained", width_ratios=[1.3, 1])
    for name, runs in curves.items():
        for run in runs:
            left.plot(run, color=COLOURS[name], alpha=0.35, linewidth=1)
        left.plot(np.mean(runs, axis=0), color=COLOURS[name], linewidth=2.5, label=name)
    left.axhline(problem.optimum.value, color="k", linestyle=":", label="optimum")
    left.axvline(19.5, color="0.8", zorder=0)
    left.text(19, left.get_ylim()[1], "random start ", ha="right", va="top", color="0.5")
    left.set(xlabel="evaluations", ylabel="shortest tour so far", title="each run (thin) and the mean (thick)")
    left.legend()
    original = getattr(problem, "problem", problem)
    points = original.coordinates
    for order, style in (
        (problem.optimizers[0], {"color": "0.75", "linewidth": 6}),
        (trial.point, {"color": COLOURS[method]}),
    ):
        cities = problem.to_original(np.array(order, int)) if original is not problem else np.array(order, int)
        ring = points[[*cities, cities[0]]]
        right.plot(*ring.T, "-o", markersize=5, **style)
    right.set(
        aspect="equal",
        title=f"best tour found ({method}): {trial.value:.0f}\ngrey: the optimum, {problem.optimum.value:.0f}",
    )
    right.axis("off")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
