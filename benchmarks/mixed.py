"""A constrained order with numeric variables and noise: `auto`, random search and Optuna's TPE. Writes results/mixed.json.

Eight reagents are added in some order, at some temperature, with some interval and amount of catalyst
(`addition:quantities`); three of them must precede three others, and measurements are noisy. A run is evaluated by the true
value of the point with the best measurement; "auto, noisy" by that of its recommendation, which is `best` with
`noisy=True`. All methods start from the same points. In place of an infeasible point of TPE a nearby feasible one is
measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

import mergebo as mb
from mergebo._threads import one_thread
from mergebo._typing import Rows
from mergebo.experiments.competitors import COMPETITORS, BudgetExhausted

BUDGET, INITIAL, SEEDS = 60, 20, 20
NOISE = 2.0
METHODS = ("auto", "auto, noisy", "local-search", "genetic", "random", "optuna-tpe")
COMPARED = ("random", "optuna-tpe")
TARGET = 0.8
"""Share of the runs in which `auto` should be ahead of each of these."""

INSTANCES: dict[str, Callable[[int], str]] = {
    "one instance, 20 seeds": lambda seed: "addition:quantities",
    "20 instances": lambda seed: f"addition:random-quantities(n=8,seed={500 + seed},noise={NOISE})",
}


class Measured:
    """The noisy objective with a budget of measurements, which keeps the best one."""

    def __init__(self, problem: mb.problems.Synthesis, seed: int) -> None:
        self.problem = problem
        self.rng = np.random.default_rng([seed, 7])
        self.count = 0
        self.best = (np.inf, np.nan)

    def __call__(self, row: Rows) -> float:
        if self.count == BUDGET:
            raise BudgetExhausted
        self.count += 1
        true = float(self.problem.evaluate_rows(row))
        value = true + self.problem.noise * float(self.rng.normal())
        self.best = min(self.best, (value, true))
        return value


def constrained_space(problem: mb.problems.Synthesis) -> mb.Space:
    """The space of the problem, with three reagents constrained to precede three others."""
    early = problem.moments.argsort().tolist()  # by their optimal moments
    before = list(zip(early[:3], early[3:6], strict=True))
    return mb.Space(**{**problem.space.variables, "order": mb.Permutation(problem.n, before=before)})


def true_value(name: str, method: str, seed: int) -> float:
    """True value of the point with the best measurement in a run, or of the recommended one."""
    problem = mb.problems.get(name)
    assert isinstance(problem, mb.problems.Synthesis)
    measured, space = Measured(problem, seed), constrained_space(problem)
    method, _, noisy = method.partition(", ")
    with one_thread():
        if method in COMPETITORS:
            first = mb.Optimizer(space, "random", seed=seed, initial=INITIAL).ask(INITIAL)
            with suppress(BudgetExhausted):
                COMPETITORS[method](space, measured, np.array([space.encode(trial.point) for trial in first]), seed)
        else:
            optimizer = mb.Optimizer(space, method, seed=seed, initial=INITIAL, noisy=bool(noisy))
            for _ in range(BUDGET):
                trial = optimizer.ask()
                optimizer.tell(trial, measured(space.encode(trial.point)))
            if noisy:
                assert optimizer.best is not None
                return float(problem.evaluate_rows(space.encode(optimizer.best.point)))
    return measured.best[1]


def main() -> None:
    """Run all methods, print the tables and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=";".join(METHODS), help="separated by semicolons")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    methods = arguments.methods.split(";")
    record: dict[str, object] = {"budget": BUDGET, "initial": INITIAL, "noise": NOISE, "judged by": "true value of the best"}
    for title, instance in INSTANCES.items():
        calls = [(instance(seed), method, seed) for method in methods for seed in range(SEEDS)]
        found = np.array(Parallel(arguments.jobs)(delayed(true_value)(*call) for call in calls)).reshape(-1, SEEDS)
        table = Table(title=f"{title}: true value of the best of {BUDGET} measurements, noise {NOISE:g}")
        for column in ("method", "mean", "sd", "auto is ahead in", ""):
            table.add_column(column, justify="left" if column in ("method", "") else "right")
        auto = found[methods.index("auto")]
        for method, values in zip(methods, found, strict=True):
            share = float(np.mean(auto < values))
            mark = "" if method not in COMPARED else "[green]met[/]" if share >= TARGET else "[red]MISSED[/]"
            ahead = "" if method == "auto" else f"{share:.0%}"
            table.add_row(method, f"{values.mean():.2f}", f"{values.std(ddof=1):.2f}", ahead, mark)
        Console(width=110).print(table)
        record[title] = {method: np.round(values, 4).tolist() for method, values in zip(methods, found, strict=True)}
    path = Path(__file__).parent / "results" / "mixed.json"
    path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
