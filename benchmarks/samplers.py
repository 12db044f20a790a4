"""PermutationSampler and the samplers of Optuna, on orders encoded as Lehmer codes as in Optuna's FAQ.

By default, and in `make bench`: seconds per trial, compared with TPE and GPSampler. With `--scores`: scores after 60 trials,
as a table for the docs (an hour for all; runs in `results/samplers.json` are not repeated).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from harness import Row, run, seconds

import mergebo as mb
from mergebo._threads import one_thread
from mergebo.experiments.jobs import made_with
from mergebo.experiments.metrics import normalised_score, random_search
from mergebo.integrations.optuna import PermutationSampler, suggest_permutation
from mergebo.problems.optima.regenerate import solve

RESULTS = Path(__file__).parent / "results" / "samplers.json"
TRIALS = 60
SIZES = (10, 15, 30)
PROBLEMS = {"round tour": "tsp:random(n={n},seed={instance})", "linear ordering": "lop:planted(n={n},seed={instance})"}
SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "PermutationSampler": lambda seed: PermutationSampler(seed=seed),
    "TPESampler": lambda seed: optuna.samplers.TPESampler(seed=seed, n_startup_trials=20),
    "GPSampler": lambda seed: optuna.samplers.GPSampler(seed=seed, n_startup_trials=20),
    "RandomSampler": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}


def optimised(name: str, sampler: str, seed: int, trials: int = TRIALS) -> tuple[float, float]:
    """The best value of a study, and the processor time per trial after the initial ones."""
    problem = mb.problems.get(name).relabelled(seed)
    study = optuna.create_study(sampler=SAMPLERS[sampler](seed))

    def objective(trial: optuna.Trial) -> float:
        return float(problem.evaluate(np.array(suggest_permutation(trial, "order", problem.space.width))))

    study.optimize(objective, n_trials=20)
    start = time.process_time()
    study.optimize(objective, n_trials=trials - 20)
    return study.best_value, (time.process_time() - start) / (trials - 20)


def overhead() -> list[Row]:
    """Seconds per trial, over 40 trials after 20 initial ones."""
    rows = []
    for n in SIZES:
        name = PROBLEMS["round tour"].format(n=n, instance=100)
        optimised(name, "PermutationSampler", 0, 24)  # compilation
        times = {sampler: optimised(name, sampler, 0)[1] for sampler in SAMPLERS}
        for other in ("TPESampler", "GPSampler"):
            ratio = times["PermutationSampler"] / times[other]
            own, reference = seconds(times["PermutationSampler"]), seconds(times[other])
            rows.append(Row(f"a trial of {n} items / {other}", own, reference, ratio, "x as long", "", None))
    return rows


def scores(instances: range, seeds: range, out: Path) -> None:
    """Print the table of scores (0: random search, 1: best known value), means over all runs."""
    record: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {"runs": {}}
    with one_thread():
        for seed, instance, (kind, pattern), n, sampler in product(seeds, instances, PROBLEMS.items(), SIZES, SAMPLERS):
            key = json.dumps([kind, n, instance, seed, sampler])
            if key in record["runs"]:
                continue
            name = pattern.format(n=n, instance=instance)
            best, each = optimised(name, sampler, seed)
            problem = mb.problems.get(name)
            known = problem.optimum.value if problem.optimum else solve(problem)[0]
            score = float(normalised_score(best, random_search(name, TRIALS)[-1], known))
            record["runs"][key] = {"best": best, "known": known, "score": score, "seconds": round(each, 4)}
            record["made_with"] = made_with()
            out.write_text(json.dumps(record, indent=1) + "\n")
            print(key, record["runs"][key], flush=True)
    print(f"\n| problem | items | runs | {' | '.join(SAMPLERS)} |\n|---|---:|---:|{'---:|' * len(SAMPLERS)}")
    every = {tuple(json.loads(key)): value for key, value in record["runs"].items()}
    found = {key: value for key, value in every.items() if key[2] in instances and key[3] in seeds}
    for kind, n in product(PROBLEMS, SIZES):
        cells = []
        for sampler in SAMPLERS:
            own = [value["score"] for key, value in found.items() if (key[0], key[1], key[-1]) == (kind, n, sampler)]
            error = np.std(own, ddof=1) / np.sqrt(len(own))
            cells.append(f"{np.mean(own):.2f} ± {error:.2f}")
        print(f"| {kind} | {n} | {len(own)} | {' | '.join(cells)} |")


def main() -> None:
    """See the docstring of the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scores", action="store_true")
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if arguments.scores:
        scores(range(100, 100 + arguments.instances), range(arguments.seeds), arguments.out)
    else:
        run("overhead", [overhead])


if __name__ == "__main__":
    main()
