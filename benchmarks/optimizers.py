"""Speed of fitting, scanning and asking, compared with BoTorch where possible. Run by `make bench`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from botorch import acquisition as botorch_acquisition
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from harness import Row, best_times, faster, run, seconds

import mergebo as mb
from mergebo.acquisition import AcquisitionNeighbourhood, LogExpectedImprovement, SearchLimits, local_search, neighbours
from mergebo.gp import GP
from mergebo.methods import KernelModel, mallows_kernel, merge_kernel
from mergebo.neighbours import MOVES, move_slots, move_table
from mergebo.similarity import Adjacency, ARDPositions, ComparisonSimilarity, Footrule, Positions
from mergebo.sorting import EnumerationMap, MergeMap


def data(n: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random orders and their tour lengths."""
    problem = mb.problems.get("tsp:random", n=n)
    rows = problem.space.sample_rows(count, seed=0)
    return rows, problem.evaluate(rows)


def on_features(rows: np.ndarray, y: np.ndarray) -> SingleTaskGP:
    """The reference implementation: BoTorch's model with an RBF kernel on precomputed Merge features."""
    features = torch.from_numpy(MergeMap(rows.shape[1]).encode(rows)).double()
    kernel = ScaleKernel(RBFKernel())
    kernel.base_kernel.lengthscale = 0.6 * np.sqrt(features.shape[-1])
    return SingleTaskGP(features, torch.from_numpy(y).unsqueeze(-1), covar_module=kernel, outcome_transform=None)


def scanning() -> list[Row]:
    """Acquisition values of a full swap neighbourhood."""
    rows = []
    for n, some, target in ((30, 200, 50), (280, 40, 1000)):
        points, values = data(n, 100)
        model = GP(KernelModel(merge_kernel).similarity(mb.PermutationSpace(n)), points, values)
        best = float(model.y.min())
        acquisition = AcquisitionNeighbourhood(model, LogExpectedImprovement(), best)
        centre = mb.permutations.sample(n, seed=5)
        around = neighbours(centre, mb.PermutationSpace(n))[:some]
        features = torch.from_numpy(MergeMap(n).encode(around)).double().unsqueeze(1)
        reference = botorch_acquisition.LogExpectedImprovement(
            on_features(points, model.y).eval(), best_f=best, maximize=False
        )
        with torch.no_grad():
            # As in local search, where scans follow each other.
            repeats = 20 if n == 30 else 1
            fast, slow = best_times(
                lambda acquisition=acquisition, centre=centre, k=repeats: [
                    acquisition.scan(centre, "order", "swap") for _ in range(k)
                ],
                lambda reference=reference, features=features: reference(features),
                rounds=5,
            )
        moves = n * (n - 1) // 2
        what = f"LogEI of all {moves} swaps, n = {n}, N = 100 / BoTorch on Merge features, per neighbour"
        rows.append(faster(what, fast / moves / repeats, slow / some, at_least=target))
    return rows


def increments() -> list[Row]:
    """Distances of full neighbourhoods."""
    n, count, some = 280, 100, 1000
    rows = []
    points = mb.permutations.sample(n, count, seed=0)
    centre = mb.permutations.sample(n, seed=5)
    for name, similarity in (
        ("Kendall on ranks", ComparisonSimilarity(EnumerationMap(n), "rank")),
        ("Kendall on orders", ComparisonSimilarity(EnumerationMap(n))),
        ("Merge on orders", ComparisonSimilarity(MergeMap(n))),
        ("Merge on ranks", ComparisonSimilarity(MergeMap(n), "rank")),
        ("footrule", Footrule(n)),
        ("position", Positions(n)),
        ("a lengthscale per slot", ARDPositions(n)),
        ("adjacency", Adjacency(n)),
    ):
        weights = np.ones(similarity.num_lengthscales)
        for move in MOVES:
            moves = len(move_slots(n, move))
            part = np.random.default_rng(0).choice(moves, some, replace=False)

            def scan(similarity=similarity, move=move, weights=weights) -> None:
                for _ in similarity.scan(centre, points, move, weights):
                    pass

            def explicit(similarity=similarity, move=move, part=part) -> None:
                similarity.distance(centre[move_table(n, move, part)], points)

            fast, slow = best_times(scan, explicit, rounds=3)
            what = f"{name}: distances of all {moves} {move}s, n = {n}, N = {count} / explicit neighbours, each"
            rows.append(faster(what, fast / moves, slow / some, at_least=1.5))
    return rows


def ascending() -> list[Row]:
    """Local search of the acquisition from 11 starts, by first improvement and by steepest ascent."""
    rows = []
    for n, count in ((280, 100), (1000, 50)):
        for name, orders in (("mergebo", merge_kernel), ("bops-h", mallows_kernel)):
            points, values = data(n, count)
            space = mb.PermutationSpace(n)
            model = GP(KernelModel(orders).similarity(space), points, values)
            landscape = AcquisitionNeighbourhood(model, LogExpectedImprovement(), float(model.y.min()))
            starts = np.concatenate([points[[values.argmin()]], space.sample_rows(10, seed=1)])
            landscape.best_neighbours(starts[0], 5)  # compiles
            times, heights, limits = {}, {}, SearchLimits(screening_steps=3, min_improvement=1e-3)
            for ascent, first in (("first", np.random.default_rng(0)), ("steepest", None)):
                start = time.perf_counter()
                heights[ascent] = local_search(landscape, starts, limits, rng=first)[1][0]
                times[ascent] = time.perf_counter() - start
            what = f"{name}, n = {n}, N = {count}: LogEI {heights['first']:.4f} by first improvement"
            what += f" / {heights['steepest']:.4f} by steepest ascent"
            rows.append(faster(what, times["first"], times["steepest"], at_least=1))
    return rows


def fitting() -> list[Row]:
    """Fits of the hyperparameters."""
    rows = []
    for count, target in ((50, 10), (200, 5)):
        points, values = data(30, count)
        similarity = KernelModel(merge_kernel).similarity(mb.PermutationSpace(30))
        y = (values - values.mean()) / values.std()

        def reference(points=points, y=y) -> None:
            model = on_features(points, y)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))

        fast, slow = best_times(lambda s=similarity, p=points, v=values: GP(s, p, v), reference, rounds=5)
        rows.append(faster(f"fit, N = {count} (distances included) / fit_gpytorch_mll", fast, slow, at_least=target))
    return rows


def ask_seconds(method: str, n: int, count: int, rounds: int = 3) -> float:
    """The best time of one `ask` with `count` observations."""
    _, values = data(n, count)
    times = []
    for seed in range(rounds + 1):
        optimizer = mb.Optimizer(mb.PermutationSpace(n), method, seed=seed, initial=count)
        for trial, value in zip(optimizer.ask(count), values, strict=True):
            optimizer.tell(trial, value)
        start = time.perf_counter()
        optimizer.ask()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def asking() -> list[Row]:
    """Complete asks, with 11 starts."""
    rows = []
    for n, count, target in ((15, 100, 0.1), (30, 200, 1.0), (280, 55, 2.0), (1000, 50, 10.0)):
        for method in ("mergebo", "bops-h"):
            took = ask_seconds(method, n, count)
            rows.append(
                Row(f"ask, {method}, n = {n}, N = {count}", seconds(took), "", took, "s", f"<= {target:g} s", took <= target)
            )
    return rows


def growth(path: Path) -> None:
    """Plot the time of `ask` over the number of items and the number of observations."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for method in ("mergebo", "bops-h"):
        for axis, sizes, make in (
            (axes[0], (15, 30, 60, 100, 200, 400, 1000), lambda n: (n, 50)),
            (axes[1], (20, 50, 100, 200, 500, 1000), lambda count: (30, count)),
        ):
            times = []
            for size in sizes:
                times.append(ask_seconds(method, *make(size), rounds=1))
                print(f"{method}: n, N = {make(size)}: {times[-1]:.3g} s", flush=True)
            axis.loglog(sizes, times, "o-", label=method)
    axes[0].set(xlabel="items n (N = 50 results)", ylabel="seconds for one ask")
    axes[1].set(xlabel="results N (n = 30 items)")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"written to {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--growth", type=Path, help="plot the time of asks over n and N instead (takes minutes)")
    arguments = parser.parse_args()
    if arguments.growth:
        growth(arguments.growth)
    else:
        run("optimizers", [scanning, increments, ascending, fitting, asking])
