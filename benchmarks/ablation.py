"""What each part of `auto` is worth: the same runs with the part and without it. `python benchmarks/ablation.py --jobs 2`.

Instances are those that methods are designed on, and the travelling thief. A part is tried on the classes where it has
something to do. Runs that are in benchmarks/results/ablation.jsonl are not made again: remove the file to start anew.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.progress import Progress

from mergebo.experiments.jobs import Job, run
from mergebo.experiments.metrics import normalised_score, random_search
from mergebo.experiments.suites import DESIGN, HUNDRED, SMALL, THIEF
from mergebo.optimizers import auto
from mergebo.problems import get
from mergebo.problems.reference import solve
from mergebo.surrogate import GP, SameChoices, Spacings
from mergebo.surrogate.gp import LENGTHSCALE_PRIOR

RESULTS = Path(__file__).parent / "results" / "ablation.jsonl"
SEEDS = range(2)

TOURS, ORDERS, LAYOUTS = (
    ("TSP 15", "TSP 30", "TSP 100"),
    ("Flow shop 20", "Linear ordering 30"),
    ("QAP 30", "Cell placement 30"),
)
LARGE_ORDERS = ("Linear ordering 100",)
INSTANCES = {"Flow shop 20": range(100, 124)}
"""More where runs differ most: three instances once said the opposite of what 24 say."""


@dataclass(frozen=True)
class Part:
    """What is left out of `auto`: settings, and what stands in the module in its place."""

    classes: tuple[str, ...]
    settings: str = ""
    instead: dict[str, Any] = field(default_factory=dict)
    families: dict[str, Any] = field(default_factory=dict)
    """In place of those of the same name."""

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """Within, `auto` lacks it."""
        cached = (auto.plain_model, auto.likeliest, auto.learned_places, auto.surprise)
        for each in cached:
            each.cache_clear()
        stand_ins = patch.multiple(auto, **self.instead) if self.instead else nullcontext()
        with stand_ins, patch.dict(auto.FAMILIES, self.families):
            yield
        for each in cached:
            each.cache_clear()


def likeliest(found: Mapping[str, tuple[GP, float]], rng: np.random.Generator) -> GP:
    """The model with the largest share of the evidence."""
    return max(found.values(), key=lambda each: each[1])[0]


PRECEDENCE = auto.FAMILIES["precedence"]

PARTS = {
    "everything": Part((*TOURS, *ORDERS, *LARGE_ORDERS, *LAYOUTS, *THIEF)),
    "maps": Part(TOURS, "(maps=False)"),
    "repaired starts": Part((*TOURS, *THIEF), instead={"repaired": lambda model, rows: rows}),
    "families drawn by their evidence, not the likeliest": Part((*TOURS, *ORDERS, *LAYOUTS), instead={"drawn": likeliest}),
    "precedence by how much": Part((*ORDERS, *LARGE_ORDERS), families={"precedence": lambda n: PRECEDENCE(n)[:1]}),
    "precedence by Kendall alone": Part((*ORDERS, *LARGE_ORDERS), families={"precedence": lambda n: PRECEDENCE(n)[1:]}),
    "counting lengthscales": Part(ORDERS, instead={"unlikelihood": lambda model: model.loss}),
    "grids of slots": Part(LAYOUTS, families={"spacings": lambda n: [Spacings(n)]}),
    "spacings": Part(LAYOUTS, "(families=['precedence','positions','neighbours','succession'])"),
    "the share of ones": Part(tuple(THIEF), instead={"SameShare": SameChoices}),
    "values drawn in": Part(tuple(THIEF), instead={"levelled": lambda values: values}),
    "longer lengthscales": Part(tuple(THIEF), instead={"MIXED_PRIOR": LENGTHSCALE_PRIOR}),
}
"""By name, and first the whole."""


def jobs(part: str) -> list[tuple[str, Job]]:
    """The runs without a part, with their classes."""
    found = []
    for group in PARTS[part].classes:
        method = "auto" + PARTS[part].settings
        for seed in SEEDS:
            if group in THIEF:
                found.append((group, Job(THIEF[group], method, seed, 55, 5, relabelled=True)))
                continue
            budget = 220 if group in HUNDRED else 100
            for instance in INSTANCES.get(group, DESIGN):
                problem = {**SMALL, **HUNDRED}[group].format(seed=instance)
                found.append((group, Job(problem, method, seed, budget, 20, relabelled=True)))
    return found


def score(part: str, group: str, job: Job) -> dict[str, Any]:
    """Make one run."""
    with PARTS[part].left_out():
        values = run(job).values
    random = float(random_search(job.problem, job.budget)[-1])
    (found,) = normalised_score([min(values)], random, reference(job.problem))
    return {"part": part, "group": group, "problem": job.problem, "seed": job.seed, "score": round(float(found), 4)}


@cache
def reference(problem: str) -> float:
    """The best value known, or that of one long search."""
    optimum = get(problem).optimum
    return solve(get(problem), quick=True)[0] if optimum is None else optimum.value


def key(row: dict[str, Any]) -> tuple[str, str, int]:
    """What tells runs apart."""
    return row["part"], row["problem"], row["seed"]


def main() -> None:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--parts", default="", help="only parts whose name contains this")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    there = {key(row) for row in rows}
    wanted = [name for name in PARTS if arguments.parts in name]
    todo = [(part, group, job) for part in wanted for group, job in jobs(part) if (part, job.problem, job.seed) not in there]
    todo.sort(key=lambda each: each[2].seed)
    with Progress() as progress, ProcessPoolExecutor(arguments.jobs) as pool, RESULTS.open("a") as out:
        task = progress.add_task("runs", total=len(todo))
        for each in as_completed([pool.submit(score, *one) for one in todo]):
            rows.append(each.result())
            out.write(json.dumps(rows[-1]) + "\n")
            out.flush()
            progress.advance(task)
    print(table(rows))


def table(rows: list[dict[str, Any]]) -> str:
    """For each part the scores with and without it, by class, and the mean paired difference with its standard error."""
    scores = {key(row): row["score"] for row in rows}
    groups = {row["problem"]: row["group"] for row in rows}
    lines = ["| part | classes: score with it, without it | worth | runs |", "|---|---|---|---|"]
    for part in list(PARTS)[1:]:
        pairs = [
            (groups[problem], scores["everything", problem, seed], value)
            for (name, problem, seed), value in scores.items()
            if name == part and ("everything", problem, seed) in scores
        ]
        if not pairs:
            continue
        by_group: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for group, whole, less in pairs:
            by_group[group].append((whole, less))
        said = "; ".join(
            f"{group} {np.mean(found, axis=0)[0]:.2f}, {np.mean(found, axis=0)[1]:.2f}" for group, found in by_group.items()
        )
        gains = np.array([whole - less for _, whole, less in pairs])
        error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
        lines.append(f"| {part} | {said} | {gains.mean():+.3f} ± {error:.3f} | {len(gains)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
