"""How often proposals fail by hidden constraints, and what it costs not to know them: `python benchmarks/failures.py`.

In each space, evaluations of points that violate constraints fail. One run knows nothing of them; the other has them as
constraints of the order and as bounds. Both have the same seeds; the run that does not know them has twice the budget. Runs
in benchmarks/results/failures.jsonl are not repeated: remove the file to start over.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

import mergebo as mb
from mergebo._threads import one_thread

RESULTS = Path(__file__).parent / "results" / "failures.jsonl"
INITIAL, BUDGET = 20, 60
SEEDS = range(5)
SEEN = 20
"""Number of failures after which the share of failing proposals is counted, too."""
METHODS = ("auto", "bops-h", "mergebo", "random")
KNOWLEDGE = ("hidden", "given")


@dataclass(frozen=True)
class Scenario:
    """A problem whose evaluations fail outside a part of its space."""

    problem: str
    constraints: dict[str, Any]
    """Those that an order must satisfy for its evaluation to succeed."""
    numbers: dict[str, tuple[mb.Real, mb.Real]] = field(default_factory=dict)
    """Numbers beside the order: what can be asked for, and what succeeds."""
    options: dict[str, mb.Choice] = field(default_factory=dict)

    def space(self, knowledge: str) -> mb.Space:
        """The space with the constraints given or hidden."""
        given = knowledge == "given"
        n = mb.problems.get(self.problem).n
        order = mb.Permutation(n, **(self.constraints if given else {}))
        return mb.Space(order=order, **{name: each[given] for name, each in self.numbers.items()}, **self.options)

    def objective(self, seed: int) -> Callable[[dict[str, Any]], float | None]:
        """The value of a point, None if it fails; optimal numbers are near the boundary of what succeeds."""
        problem = mb.problems.get(self.problem).relabelled(seed=seed)
        inside = self.space("given")
        std = float(np.std(problem.evaluate(problem.space.sample_rows(200, seed=0))))
        rng = np.random.default_rng(seed)
        best = {name: rng.uniform(0.5, 1.1) for name in self.numbers}

        def value(point: dict[str, Any]) -> float | None:
            try:
                inside.encode(point)
            except mb.errors.MergeboError:
                return None
            found = float(problem.evaluate(point["order"]))
            for name, (_, good) in self.numbers.items():
                found += 2 * std * float(good.to_unit(point[name]) - best[name]) ** 2
            for name, choice in self.options.items():
                found += 0.5 * std * choice.options.index(point[name])
            return found

        return value


SCENARIOS = {
    "item 0 not before slot 4": Scenario("lop:planted(n=12,seed=101)", {"window": {0: (4, 11)}}),
    "item 0 before item 1": Scenario("qap:nug-like(n=12,seed=101)", {"before": [(0, 1)]}),
    "item 0 apart from items 1 and 2": Scenario("tsp:random(n=10,seed=101)", {"apart": [(0, 1), (0, 2)]}),
    "temperature below 65": Scenario(
        "lop:planted(n=10,seed=102)",
        {},
        {"temperature": (mb.Real(20, 80), mb.Real(20, 65))},
        {"salt": mb.Choice(["K", "Na"])},
    ),
    "temperature below 70, item 0 not last": Scenario(
        "flowshop:random(n=10,machines=5,seed=101)",
        {"window": {0: (0, 7)}},
        {"temperature": (mb.Real(20, 80), mb.Real(20, 70)), "time": (mb.Real(1, 10), mb.Real(1, 10))},
    ),
}


def run(name: str, method: str, knowledge: str, seed: int) -> dict[str, Any]:
    """One run: its values, None for failures."""
    scenario = SCENARIOS[name]
    value = scenario.objective(seed)
    with one_thread():
        optimizer = mb.Optimizer(scenario.space(knowledge), method, seed=seed, initial=INITIAL)
        for _ in range(BUDGET if knowledge == "given" else 2 * BUDGET):
            trial = optimizer.ask()
            found = value(trial.point)
            if found is None:
                optimizer.fail(trial)
            else:
                optimizer.tell(trial, found)
    values = [trial.value for trial in optimizer.trials]
    return {"scenario": name, "method": method, "knowledge": knowledge, "seed": seed, "values": values}


def key(row: dict[str, Any]) -> tuple[str, str, str, int]:
    """The key of a run."""
    return row["scenario"], row["method"], row["knowledge"], row["seed"]


def main() -> None:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--methods", default=",".join(METHODS), help="names of methods, by default all")
    arguments = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    done = {key(row) for row in rows}
    wanted = [
        (name, method, knowledge, seed)
        for seed in SEEDS
        for name in SCENARIOS
        for method in arguments.methods.split(",")
        for knowledge in KNOWLEDGE
    ]
    todo = [each for each in wanted if each not in done]
    with Progress() as progress, ProcessPoolExecutor(arguments.jobs) as pool, RESULTS.open("a") as out:
        task = progress.add_task("runs", total=len(todo))
        for each in as_completed([pool.submit(run, *job) for job in todo]):
            rows.append(each.result())
            out.write(json.dumps(rows[-1]) + "\n")
            out.flush()
            progress.advance(task)
    print(table(rows))


def table(rows: list[dict[str, Any]]) -> str:
    """Shares of failures, and how often the run that does not know the constraints ends at least as well."""
    found = {key(row): row["values"] for row in rows}
    lines = [
        "| fails unless | share of points that fail | method | proposals that failed | after 20 failures | "
        "as good as with known constraints: at once, with twice the evaluations |",
        "|---|---|---|---|---|---|",
    ]
    for name, scenario in SCENARIOS.items():
        points = [scenario.space("hidden").decode(row) for row in scenario.space("hidden").sample_rows(2000, seed=0)]
        value = scenario.objective(0)
        share = np.mean([value(point) is None for point in points])
        for method in METHODS:
            pairs = [
                (found[name, method, "hidden", seed], found[name, method, "given", seed])
                for seed in SEEDS
                if all((name, method, knowledge, seed) in found for knowledge in KNOWLEDGE)
            ]
            if not pairs:
                continue
            failed = [np.array([value is None for value in hidden]) for hidden, _ in pairs]
            proposed = np.concatenate([each[INITIAL:] for each in failed])
            seen = [np.cumsum(each) - each for each in failed]
            late = np.concatenate(
                [each[INITIAL:][before[INITIAL:] >= SEEN] for each, before in zip(failed, seen, strict=True)]
            )
            good = [
                np.mean([best(hidden[:count]) <= best(given) + 1e-9 for hidden, given in pairs])
                for count in (BUDGET, 2 * BUDGET)
            ]
            shown = f"{late.mean():.0%}" if len(late) else "-"
            lines.append(
                f"| {name} | {share:.0%} | {method} | {proposed.mean():.0%} | {shown} | {good[0]:.0%}, {good[1]:.0%} |"
            )
    return "\n".join(lines)


def best(values: list[float | None]) -> float:
    """The smallest value, infinite if all failed."""
    return min((value for value in values if value is not None), default=np.inf)


if __name__ == "__main__":
    main()
