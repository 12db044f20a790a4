"""Effect of batches, noise and several objectives on scores. Run manually; it takes an hour or more.

Batches: 20 initial points, then 80 trials one by one, or 10 rounds of 8 with each batch strategy, on generated development
instances. Noise: the true values of the recommended point and of the one with the best measurement, after 60 and 100 noisy
measurements. Objectives: the hypervolume compared with random search.

All runs are stored in `results/loop.json` and not repeated.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import mergebo as mb
from mergebo._threads import one_thread
from mergebo.experiments.jobs import made_with
from mergebo.experiments.metrics import normalised_score, random_search
from mergebo.experiments.suites import DESIGN_SEEDS, SMALL_CLASSES

RESULTS = Path(__file__).parent / "results" / "loop.json"
INITIAL, TRIALS, SIZE = 20, 80, 8
STRATEGIES = ("sequential", "fantasies", "thompson", "law")
NOISE, MEASUREMENTS = 0.1, (60, 100)
"""Standard deviation of the noise relative to the range of values of random points, and total numbers of measurements."""
NOISY = ("TSP 15", "QAP 15", "Flow shop 20", "Linear ordering 30")


def batches(group: str, instance: int, seed: int, strategy: str) -> dict[str, Any]:
    """The score of `auto` after all trials."""
    name = SMALL_CLASSES[group].format(seed=instance)
    problem = mb.problems.get(name).relabelled(seed)
    settings = {} if strategy == "sequential" else {"batch": strategy}
    opt = mb.Optimizer(problem.space, "auto", seed=seed, initial=INITIAL, **settings)
    size = 1 if strategy == "sequential" else SIZE
    for count in (INITIAL, *[size] * (TRIALS // size)):
        for trial in opt.ask(count):
            opt.tell(trial, float(problem.evaluate(trial.point)))
    best = opt.best.value
    random = random_search(name, INITIAL + TRIALS)[-1]
    return {"best": best, "score": float(normalised_score(best, random, problem.optimum.value))}


def noise(group: str, instance: int, seed: int) -> dict[str, Any]:
    """True values of the recommended point and of the one with the best measurement, relative to the range."""
    problem = mb.problems.get(SMALL_CLASSES[group].format(seed=instance)).relabelled(seed)
    random_values = problem.evaluate_rows(problem.space.sample_rows(1000, seed=0))
    value_range = float(np.ptp(random_values))
    rng = np.random.default_rng([seed, 7])
    opt = mb.Optimizer(problem.space, "auto", seed=seed, initial=INITIAL, noisy=True)
    found: dict[str, Any] = {}
    for count in range(1, MEASUREMENTS[-1] + 1):
        trial = opt.ask()
        opt.tell(trial, float(problem.evaluate(trial.point)) + NOISE * value_range * rng.normal())
        if count in MEASUREMENTS:
            best, luckiest = opt.best, min(opt.trials, key=lambda trial: trial.value)
            true, lucky = (float(problem.evaluate(each.point)) for each in (best, luckiest))
            found[str(count)] = {
                "recommended": (true - random_values.min()) / value_range,
                "luckiest": (lucky - random_values.min()) / value_range,
                "off": (best.value - true) / best.std,
                "points": len({str(each.point) for each in opt.trials}),
            }
    return found


def objectives(n: int, instance: int, seed: int, method: str) -> dict[str, Any]:
    """The hypervolume for two conflicting planted orders, with respect to a reference point that most random points beat."""
    other = 100 + (instance - 99) % 5  # the next of the instances
    first, second = (mb.problems.get(f"lop:planted(n={n},seed={each})") for each in (instance, other))
    rows = first.space.sample_rows(1000, seed=0)
    reference = [float(np.median(each.evaluate_rows(rows))) for each in (first, second)]
    opt = mb.Optimizer(first.space, method, seed=seed, initial=INITIAL, objectives=2)
    for _ in range(60):
        trial = opt.ask()
        opt.tell(trial, [float(each.evaluate(trial.point)) for each in (first, second)])
    return {"hypervolume": opt.pareto.hypervolume(reference), "front": len(opt.pareto)}


def jobs(instances: list[int], seeds: list[int], parts: list[str]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """All runs, seed by seed and instance by instance, so that an interrupted run can be compared as far as it got."""
    for seed in seeds:
        for instance in instances:
            if "batches" in parts:
                yield from (
                    ("batches", (group, instance, seed, strategy)) for strategy in STRATEGIES for group in SMALL_CLASSES
                )
            if "noise" in parts:
                yield from (("noise", (group, instance, seed)) for group in NOISY)
            if "objectives" in parts:
                yield from (("objectives", (8, instance, seed, method)) for method in ("auto", "bops-h", "random"))


EXPERIMENTS: dict[str, Callable[..., dict[str, Any]]] = {"batches": batches, "noise": noise, "objectives": objectives}


def tables(runs: dict[str, dict[str, Any]]) -> Iterator[Table]:
    """The runs in three tables, over the cases that all compared columns have in common."""
    found = {tuple(json.loads(key)): value for key, value in runs.items()}
    scores = {key[1:]: value["score"] for key, value in found.items() if key[0] == "batches"}
    strategies = [each for each in STRATEGIES[1:] if any(key[-1] == each for key in scores)]
    title = f"score after {INITIAL} + {TRIALS} trials: batches of {SIZE} / one by one, over the same runs"
    table = Table("class", *strategies, title=title)
    for group in (*SMALL_CLASSES, None):
        cells = []
        for strategy in strategies:
            cases = [
                key[:3]
                for key in scores
                if key[-1] == strategy and (*key[:3], STRATEGIES[0]) in scores and group in (None, key[0])
            ]
            both = [mean(scores[*case, each] for case in cases) for each in (strategy, STRATEGIES[0])] if cases else []
            cells.append("{:.3f} / {:.3f} = {:.0%} ({})".format(*both, both[0] / both[1], len(cases)) if both else "")
        table.add_row(group or "all", *cells)
    yield table
    noisy = {key[1:]: value for key, value in found.items() if key[0] == "noise"}
    title = "true value, relative to the range of random values"
    columns = (
        "measurements",
        "class",
        "runs",
        "recommended",
        "luckiest",
        "difference",
        "better",
        "worse",
        "standardised error",
    )
    table = Table(*columns, title=title)
    for count, group in ((count, group) for count in MEASUREMENTS for group in (*NOISY, None)):
        own = [value[str(count)] for key, value in noisy.items() if group in (None, key[0])]
        if own:
            pairs = [(value["recommended"], value["luckiest"]) for value in own]
            means = [f"{mean(each):.3f}" for each in zip(*pairs, strict=True)]
            differences = np.array([a - b for a, b in pairs])
            error = differences.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.nan
            better, worse = (differences < 0).sum(), (differences > 0).sum()
            off = mean(value["off"] for value in own)
            difference = f"{differences.mean():+.3f} ± {error:.3f}"
            table.add_row(
                str(count), group or "all", str(len(own)), *means, difference, f"{better}", f"{worse}", f"{off:+.2f}"
            )
    yield table
    volumes = {key[1:]: value["hypervolume"] for key, value in found.items() if key[0] == "objectives"}
    table = Table("method", "runs", "hypervolume", title="two linear orderings of 8 items, 60 trials")
    for method in sorted({key[-1] for key in volumes}):
        own = [value for key, value in volumes.items() if key[-1] == method]
        table.add_row(method, str(len(own)), f"{mean(own):.3f}")
    yield table


def main() -> None:
    """Make the missing runs and print the tables; see the docstring of the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", default="100", help="such as 100,101; from 100 to 199, for batches up to 102")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--parts", default="batches,noise,objectives")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if not set(arguments.instances.split(",")) <= {str(each) for each in range(100, 200)}:
        parser.error("development instances are 100 to 199")
    if "batches" in arguments.parts and not set(arguments.instances.split(",")) <= set(map(str, DESIGN_SEEDS)):
        parser.error("scores of batches need best known values, which only the instances 100 to 102 have")
    instances, seeds = ([int(each) for each in given.split(",")] for given in (arguments.instances, arguments.seeds))
    record = json.loads(arguments.out.read_text()) if arguments.out.exists() else {"runs": {}}
    with one_thread():
        for part, case in jobs(instances, seeds, arguments.parts.split(",")):
            key = json.dumps([part, *case])
            if key in record["runs"] or (part == "batches" and case[-1] not in arguments.strategies.split(",")):
                continue
            start = time.process_time()
            record["runs"][key] = EXPERIMENTS[part](*case) | {"seconds": round(time.process_time() - start, 1)}
            record["made_with"] = made_with()
            arguments.out.write_text(json.dumps(record, indent=1) + "\n")
            print(key, record["runs"][key], flush=True)
    for table in tables(record["runs"]):
        Console(width=130).print(table)


if __name__ == "__main__":
    main()
