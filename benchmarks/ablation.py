"""Ablation study of `auto`: the same runs with and without each of its parts. `python benchmarks/ablation.py --jobs 2`.

The instances are those for designing methods, and the travelling thief. Each part is tested on the classes that it can
affect. Runs in benchmarks/results/ablation.jsonl are not repeated: remove the file to start over.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from mergebo.experiments.jobs import Job, run_job
from mergebo.experiments.metrics import normalised_score, random_search
from mergebo.experiments.suites import CLASSES_OF_100, DESIGN_SEEDS, SMALL_CLASSES, THIEVES
from mergebo.hyperparameters import Priors, VariancePriors
from mergebo.methods import STRUCTURES, Auto, Bayesian, EmbeddingModels, NeighbourhoodSearch, StructureModels
from mergebo.problems import get
from mergebo.problems.optima.regenerate import solve
from mergebo.similarity import BinarySimilarity, SlotDistances

RESULTS = Path(__file__).parent / "results" / "ablation.jsonl"
SEEDS = range(2)

TOURS, ORDERS, LAYOUTS = (
    ("TSP 15", "TSP 30", "TSP 100"),
    ("Flow shop 20", "Linear ordering 30"),
    ("QAP 30", "Cell placement 30"),
)
LARGE_ORDERS = ("Linear ordering 100",)
INSTANCES = dict.fromkeys(("Flow shop 20", "Flow shop 50", "Floor planning 30"), range(100, 124))
"""More instances where runs vary most: the results with three were once the opposite of those with 24."""


@dataclass(frozen=True)
class Part:
    """A part of `auto`, the classes that it can affect, and what `auto` is without it."""

    classes: tuple[str, ...]
    embedding: bool = True
    improve_tours: bool = True
    exploration: float | None = None
    instances: range = DESIGN_SEEDS
    """Seeds of the instances of each class, if it has not more in `INSTANCES`."""
    models: dict[str, Any] = field(default_factory=dict)
    """Changed settings of `StructureModels`."""

    def method(self) -> Bayesian:
        """`auto` without the part."""
        full = Auto().bayesian()
        assert isinstance(full.search, NeighbourhoodSearch)
        models = StructureModels(**self.models)
        return replace(
            full,
            model=EmbeddingModels(models) if self.embedding else models,
            search=replace(full.search, improve_tours=self.improve_tours),
            exploration=self.exploration,
        )


def with_variants(name: str, variants: Any) -> dict[str, Any]:
    """Settings with other variants of one structure."""
    changed = STRUCTURES | {name: replace(STRUCTURES[name], variants=variants)}
    return {"structures": tuple(changed.values())}


PRECEDENCE = STRUCTURES["precedence"].variants
WITHOUT_DISTANCES = {"structures": tuple(each for each in STRUCTURES.values() if each.name != "slot-distances")}

EVERY_CLASS = (*SMALL_CLASSES, *CLASSES_OF_100, *THIEVES)
TWELVE = range(100, 112)

PARTS = {
    "everything": Part(EVERY_CLASS, instances=TWELVE),
    "exploration": Part(EVERY_CLASS, exploration=1.0, instances=TWELVE),
    "priors of the variance": Part(EVERY_CLASS, models={"priors": Priors()}, instances=TWELVE),
    "longer lengthscales": Part(EVERY_CLASS, models={"priors": VariancePriors(lengthscale=(-0.5, 1.0))}, instances=TWELVE),
    "item embedding": Part(TOURS, embedding=False),
    "starts improved by 2-opt": Part((*TOURS, *THIEVES), improve_tours=False),
    "sampled structure instead of the best one": Part((*TOURS, *ORDERS, *LAYOUTS), models={"sampled": False}),
    "precedence: Kendall times Spearman": Part(
        (*ORDERS, *LARGE_ORDERS), models=with_variants("precedence", lambda n: PRECEDENCE(n)[:1])
    ),
    "precedence: Kendall alone": Part(
        (*ORDERS, *LARGE_ORDERS), models=with_variants("precedence", lambda n: PRECEDENCE(n)[1:])
    ),
    "BIC penalty on lengthscales": Part(ORDERS, models={"penalty": False}),
    "slot distances on grids": Part(LAYOUTS, models=with_variants("slot-distances", lambda n: [SlotDistances(n)])),
    "slot distances": Part(LAYOUTS, models=WITHOUT_DISTANCES),
    "priors where there are binary variables": Part(tuple(THIEVES), models={"binary_priors": VariancePriors()}),
    "kernel on the number of ones": Part(tuple(THIEVES), models={"binary": BinarySimilarity}),
    "output warping": Part(tuple(THIEVES), models={"warped": False}),
}
"""Parts by name; the first is the whole method."""


def jobs(part: str) -> list[tuple[str, Job]]:
    """The runs without a part, each with its class."""
    found = []
    for group in PARTS[part].classes:
        method = f"auto without {part}"
        for seed in SEEDS:
            if group in THIEVES:
                found.append((group, Job(THIEVES[group], method, seed, 55, 5, relabelled=True)))
                continue
            budget = 220 if group in CLASSES_OF_100 else 100
            for instance in INSTANCES.get(group, PARTS[part].instances):
                problem = {**SMALL_CLASSES, **CLASSES_OF_100}[group].format(seed=instance)
                found.append((group, Job(problem, method, seed, budget, 20, relabelled=True)))
    return found


def score(part: str, group: str, job: Job) -> dict[str, Any]:
    """Make one run."""
    values = run_job(job, PARTS[part].method()).values
    random = float(random_search(job.problem, job.budget)[-1])
    (found,) = normalised_score([min(values)], random, reference(job.problem))
    return {"part": part, "group": group, "problem": job.problem, "seed": job.seed, "score": round(float(found), 4)}


@cache
def reference(problem: str) -> float:
    """The best known value, or that of one long search."""
    optimum = get(problem).optimum
    return solve(get(problem), quick=True)[0] if optimum is None else optimum.value


def key(row: dict[str, Any]) -> tuple[str, str, int]:
    """The key of a run."""
    return row["part"], row["problem"], row["seed"]


def main() -> None:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--parts", default="", help="only parts whose name contains this")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    done = {key(row) for row in rows}
    wanted = [name for name in PARTS if arguments.parts in name]
    todo = [(part, group, job) for part in wanted for group, job in jobs(part) if (part, job.problem, job.seed) not in done]
    todo.sort(key=lambda each: each[2].seed)
    with Progress() as progress, ProcessPoolExecutor(arguments.jobs) as pool, RESULTS.open("a") as out:
        task = progress.add_task("runs", total=len(todo))
        for each in as_completed([pool.submit(score, *run) for run in todo]):
            rows.append(each.result())
            out.write(json.dumps(rows[-1]) + "\n")
            out.flush()
            progress.advance(task)
    print(table(rows))


def table(rows: list[dict[str, Any]]) -> str:
    """For each part the mean scores with and without it, by class, and the mean paired difference ± standard error."""
    scores = {key(row): row["score"] for row in rows}
    groups = {row["problem"]: row["group"] for row in rows}
    lines = ["| part | mean score by class: with, without | difference | runs |", "|---|---|---|---|"]
    for part in list(PARTS)[1:]:
        pairs = [
            (groups[problem], scores["everything", problem, seed], value)
            for (name, problem, seed), value in scores.items()
            if name == part and ("everything", problem, seed) in scores
        ]
        if not pairs:
            continue
        by_group: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for group, with_part, without in pairs:
            by_group[group].append((with_part, without))
        means = "; ".join(
            f"{group} {np.mean(found, axis=0)[0]:.2f}, {np.mean(found, axis=0)[1]:.2f}" for group, found in by_group.items()
        )
        gains = np.array([with_part - without for _, with_part, without in pairs])
        error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
        lines.append(f"| {part} | {means} | {gains.mean():+.3f} ± {error:.3f} | {len(gains)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
